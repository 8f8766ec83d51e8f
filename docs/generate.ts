/** Writes the generated pages of docs. With `--check` it writes nothing and fails if a page is not current. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeCatalog } from "../src/core/catalog.ts";
import { describeCalls } from "./describe-calls.ts";

const pages = { "event-catalog.md": describeCatalog(), "calls.md": describeCalls() };

for (const [name, text] of Object.entries(pages)) {
  const path = join(import.meta.dirname, name);
  if (!process.argv.includes("--check")) writeFileSync(path, text);
  else if (!existsSync(path) || readFileSync(path, "utf8") !== text) process.exitCode = 1;
}
