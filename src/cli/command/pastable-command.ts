/** Command lines to paste: they name the program as it was started, and the store where it was given. */
import { basename, delimiter, dirname } from "node:path";

/** `store` is what --store said; SKEIN_STORE and the default need no word. */
export function pastableCommand(
  store: unknown,
  env: Readonly<Record<string, string | undefined>> = process.env,
  script = process.argv[1] ?? "",
): (words: string) => string {
  const program = shellWord(programOf(env, script));
  const more = typeof store === "string" ? ` --store ${shellWord(withoutPassword(store))}` : "";
  return (words) => `${program} ${words}${more}`;
}

/** A terminal is no place for a password. */
const withoutPassword = (store: string): string => store.replace(/^(\w+:\/\/[^:@/]*):[^@/]*@/, "$1@");

const shellWord = (word: string): string =>
  /^[\w.,:=/@-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** bin/skein says how it was called; an installed program is a file named skein. */
function programOf(env: Readonly<Record<string, string | undefined>>, script: string): string {
  const given = env["SKEIN_PROGRAM"] || script;
  const isNamed = basename(given) === "skein";
  const isFound = (env["PATH"] ?? "").split(delimiter).includes(dirname(given));
  return isNamed && !isFound ? given : "skein";
}
