/** Secrets of bindings: named in the log, looked up when a tool is opened, hidden again in what it says. */
import { SkeinError } from "../core/error.ts";
import type { Bound, ToolWorld } from "./port.ts";

/** Shorter values are not hidden: they are words that may stand anywhere. */
const hiddenCharsMin = 6;

export function secretsOf(
  world: Pick<ToolWorld, "secret">,
  { name, secrets = [] }: Bound,
): Record<string, string> {
  return Object.fromEntries(
    secrets.map((secret) => {
      const value = world.secret(secret);
      if (value !== undefined) return [secret, value];
      throw new SkeinError("unavailable", `"${name}" needs the secret ${secret}, which is not set`, {
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
