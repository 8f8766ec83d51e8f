/** What the command line knows to be secret: variables called so, and what the configuration names. */
import type { Redactor } from "../core/secret.ts";
import { learnEnvironment, learnKeys, learnSecret, openRedactor } from "../runtime/redact.ts";
import { readSecrets } from "./config.ts";

type Env = Readonly<Record<string, string | undefined>>;

export function redactorFor(env: Env): Redactor {
  const { names, looksLike, providers } = readSecrets(env);
  const redactor = openRedactor({ looksLike });
  const world = { redactor };
  // Named ones first, so that a value has the name that was chosen for it.
  for (const name of names) learnSecret(world, name, env[name]);
  learnKeys(world, env, providers);
  learnEnvironment(world, env);
  return redactor;
}
