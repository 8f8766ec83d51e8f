/** Writes docs/event-catalogue.md from the catalogue. With `--check` it writes nothing and fails if that would. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeCatalogue } from "../src/core/catalog.ts";

const path = join(import.meta.dirname, "event-catalogue.md");
const text = describeCatalogue();

if (!process.argv.includes("--check")) writeFileSync(path, text);
else if (!existsSync(path) || readFileSync(path, "utf8") !== text) process.exitCode = 1;
