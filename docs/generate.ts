/**
 * `npm run docs`: writes the generated pages of docs and the Python client, then builds the site into
 * dist/docs. With `--check` it writes nothing and fails if one of them is not current. `--site FOLDER` builds
 * the site alone, into that folder; `--if-changed` only when its sources are others than those of the last
 * build.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describeCalls } from "./describe-calls.ts";
import { describeCli } from "./describe-cli.ts";
import { describeEvents } from "./describe-events.ts";
import { describeTools } from "./describe-tools.ts";

const root = join(import.meta.dirname, "..");
/** Exists only after a build that succeeded. */
const mark = join(root, "node_modules/.cache/skein-docs");

async function writePages(isCheck: boolean): Promise<void> {
  const { describePythonClient, pythonClientFile } = await import("./python/client.ts");
  const pages = {
    "docs/event-catalog.md": describeEvents(),
    "docs/calls.md": await describeCalls(),
    "docs/cli.md": await describeCli(),
    "docs/built-in-tools.md": await describeTools(),
    [pythonClientFile]: describePythonClient(),
  };
  for (const [name, text] of Object.entries(pages)) {
    const path = join(root, name);
    if (!isCheck) writeFileSync(path, text);
    else if (!existsSync(path) || readFileSync(path, "utf8") !== text) process.exitCode = 1;
  }
}

async function writeSiteTo(folder: string): Promise<void> {
  const startedMs = performance.now();
  const { buildSite, writeSite } = await import("./site/build.ts");
  const site = await buildSite();
  writeSite(site, folder);
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  const mebibytes = (site.bytes / 2 ** 20).toFixed(1);
  console.error(`docs site: ${site.files.size} files, ${mebibytes} MiB, in ${seconds} s: ${folder}`);
}

/** Of everything the site is made of. */
function digestOfSources(): string {
  const hash = createHash("sha256").update(`${root}\n`);
  const sources = [
    "*.md",
    "docs/**/*.{md,ts,css,svg,png}",
    "examples/**/*.*",
    "src/**/*.ts",
    "package-lock.json",
  ];
  for (const path of globSync(sources, { cwd: root }).toSorted()) {
    const bytes = readFileSync(join(root, path));
    hash.update(`${path}\n${bytes.length}\n`).update(bytes);
  }
  return hash.digest("hex");
}

async function writeIfChanged(folder: string): Promise<void> {
  const digest = digestOfSources();
  const isBuilt = existsSync(join(folder, "index.html"));
  if (isBuilt && existsSync(mark) && readFileSync(mark, "utf8") === digest) return;
  try {
    await writeSiteTo(folder);
    mkdirSync(dirname(mark), { recursive: true });
    writeFileSync(mark, digest);
  } catch (error) {
    // The server starts without docs rather than not at all.
    console.error(`the docs site could not be built: ${(error as Error).message}`);
  }
}

const words = process.argv.slice(2);
const at = words.indexOf("--site");
const folder = (at < 0 ? undefined : words[at + 1]) ?? join(root, "dist/docs");
if (words.includes("--if-changed")) await writeIfChanged(folder);
else {
  if (at < 0) await writePages(words.includes("--check"));
  if (!words.includes("--check")) await writeSiteTo(folder);
}
