/** What the command line knows to be secret: variables called so, and what the configuration names. */
import { mayRegister, type Redactor } from "../../core/secret/redactor.ts";
import { learnEnvironment, learnKeys, learnSecret, openRedactor } from "../../runtime/log/redact.ts";
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

/** What the configuration names as secret and this process cannot look for; each with the reason. */
export function notLookedFor(env: Env): readonly { readonly name: string; readonly why: string }[] {
  return readSecrets(env).names.flatMap((name) => {
    const value = env[name];
    if (value === undefined || value.trim() === "") return [{ name, why: "is not set" }];
    return mayRegister(name, value) ? [] : [{ name, why: "is too short or too long to be found" }];
  });
}
