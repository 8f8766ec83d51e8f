/** The version of this Skein, as its package has it. Loaded by any Node since 18, see main.ts. */
import { readFileSync } from "node:fs";

export function version(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
