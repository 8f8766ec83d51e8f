/** Command lines to paste: they name the program as it was started, and the store if it was given. */
import { basename, delimiter, dirname } from "node:path";

/** `store` is the value of --store; SKEIN_STORE and the default need no option. */
export function pastableCommand(
  store: unknown,
  env: Readonly<Record<string, string | undefined>> = process.env,
  script = process.argv[1] ?? "",
): (words: string) => string {
  const program = shellWord(programOf(env, script));
  const more = typeof store === "string" ? ` --store ${shellWord(withoutPassword(store))}` : "";
  return (words) => `${program} ${words}${more}`;
}

/** Passwords must not appear in a terminal. */
const withoutPassword = (store: string): string => store.replace(/^(\w+:\/\/[^:@/]*):[^@/]*@/, "$1@");

export const shellWord = (word: string): string =>
  /^[\w.,:=/@-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** bin/skein passes how it was called; an installed program is a file named skein. */
function programOf(env: Readonly<Record<string, string | undefined>>, script: string): string {
  const given = env["SKEIN_PROGRAM"] || script;
  const isNamed = basename(given) === "skein";
  const isFound = (env["PATH"] ?? "").split(delimiter).includes(dirname(given));
  return isNamed && !isFound ? given : "skein";
}
