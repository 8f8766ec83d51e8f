/**
 * The environment of a started program. Bindings name their secrets in the log; the values are looked up when
 * a tool is opened, and removed from its output.
 */
import { SkeinError } from "../core/error.ts";
import type { StoredBinding, ToolWorld } from "./port.ts";

/** Shorter values are not hidden: they may occur as ordinary words. */
const hiddenCharsMin = 6;

export function secretsOf(
  world: Pick<ToolWorld, "secret">,
  { name, secrets = [] }: StoredBinding,
): Record<string, string> {
  return Object.fromEntries(
    secrets.map((secret) => {
      const value = world.secret(secret);
      if (value !== undefined) return [secret, value];
      throw new SkeinError("unavailable", `"${name}": secret ${secret} is not set`, {
        hint: `set the environment variable ${secret}, or unbind "${name}"`,
      });
    }),
  );
}

export function hideSecrets(text: string, secrets: Readonly<Record<string, string>>): string {
  return Object.entries(secrets)
    .filter(([, value]) => value.length >= hiddenCharsMin)
    .toSorted(([, a], [, b]) => b.length - a.length)
    .reduce((hidden, [name, value]) => hidden.replaceAll(value, () => `[${name}]`), text);
}

/** Enough for programs to be found and to work; nothing else of this process is visible to them. */
export function plainEnv(world: Pick<ToolWorld, "secret">): Record<string, string> {
  return {
    PATH: world.secret("PATH") ?? "/usr/local/bin:/usr/bin:/bin",
    HOME: world.secret("HOME") ?? "/",
    LANG: world.secret("LANG") ?? "C.UTF-8",
    TERM: "dumb",
  };
}
