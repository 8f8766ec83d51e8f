/** Reads a file that a person wrote: an agent or a policy. */
import { existsSync, readFileSync } from "node:fs";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { databaseOf } from "../../tool/live-database.ts";

export function readDocument(what: string, path: string): string {
  try {
    // Closing a file of an open database would drop the locks that this process holds on it.
    if (existsSync(`${databaseOf(path)}-shm`)) throw new Error("it belongs to an open database");
    const bytes = readFileSync(path);
    if (bytes.length <= limit.definitionBytesMax) return bytes.toString("utf8");
  } catch (cause) {
    throw new SkeinError("not-found", `the ${what} file ${quote(path)} cannot be read`, {
      hint: "pass the path of a Markdown, YAML or JSON file",
      cause,
    });
  }
  throw new SkeinError("invalid", `${quote(path)}: too long for a file of this kind`, {
    hint: `at most ${limit.definitionBytesMax} bytes`,
  });
}
