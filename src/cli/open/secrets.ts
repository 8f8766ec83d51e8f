/** The secrets of the command line: variables with secret-like names, and those of the configuration. */
import { mayRegister, type Redactor } from "../../core/secret/redactor.ts";
import { learnEnvironment, learnKeys, learnSecret, openRedactor } from "../../runtime/log/redact.ts";
import { readSecrets } from "./config.ts";

type Env = Readonly<Record<string, string | undefined>>;

export function redactorFor(env: Env): Redactor {
  const { names, looksLike, providers } = readSecrets(env);
  const redactor = openRedactor({ looksLike });
  const world = { redactor };
  // Named ones first, so that a value has its chosen name.
  for (const name of names) learnSecret(world, name, env[name]);
  learnKeys(world, env, providers);
  learnEnvironment(world, env);
  return redactor;
}

/** Secrets of the configuration that this process cannot search for; each with the reason. */
export function notLookedFor(env: Env): readonly { readonly name: string; readonly why: string }[] {
  return readSecrets(env).names.flatMap((name) => {
    const value = env[name];
    if (value === undefined || value.trim() === "") return [{ name, why: "is not set" }];
    return mayRegister(name, value) ? [] : [{ name, why: "is too short or too long to be found" }];
  });
}
