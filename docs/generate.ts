/** Writes docs/event-catalog.md from the catalogue. With `--check` it writes nothing and fails if that would. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeCatalog } from "../src/core/catalog.ts";

const path = join(import.meta.dirname, "event-catalog.md");
const text = describeCatalog();

if (!process.argv.includes("--check")) writeFileSync(path, text);
else if (!existsSync(path) || readFileSync(path, "utf8") !== text) process.exitCode = 1;
