/**
 * Builds the console into dist/console. With --if-changed only when what it is made of is not what it was made
 * of last; then a failure is said, and whoever comes next does without the console.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { consoleSources } from "../src/cli/open/console-files.ts";

const root = join(import.meta.dirname, "..");
const page = join(root, "dist/console/index.html");
/** What it was made of. It is there only after a build that ended well. */
const mark = join(root, "node_modules/.cache/skein-console");
const sources = [`src/{${consoleSources.join(",")}}/**/*.*`, "package-lock.json"];

function digestOfSources(): string {
  const hash = createHash("sha256").update(`${root}\n`);
  for (const path of globSync(sources, { cwd: root }).toSorted()) {
    const bytes = readFileSync(join(root, path));
    hash.update(`${path}\n${bytes.length}\n`).update(bytes);
  }
  return hash.digest("hex");
}

const madeOf = (): string => (existsSync(mark) && existsSync(page) ? readFileSync(mark, "utf8") : "");

async function build(): Promise<boolean> {
  const vite = join(root, "node_modules/vite/bin/vite.js");
  const args = [vite, "build", "--config", join(root, "src/console/vite.config.ts"), "--logLevel", "error"];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  const [code] = (await once(child, "exit")) as [number | null];
  return code === 0;
}

const ifChanged = process.argv.includes("--if-changed");
const digest = digestOfSources();
if (!ifChanged || madeOf() !== digest) {
  const startedMs = performance.now();
  process.stderr.write("building the console, which takes a few seconds …");
  rmSync(mark, { force: true });
  const isBuilt = await build();
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  process.stderr.write(isBuilt ? ` done in ${seconds} s\n` : " it could not be built\n");
  if (!isBuilt) process.exitCode = ifChanged ? 0 : 1;
  else {
    mkdirSync(dirname(mark), { recursive: true });
    writeFileSync(mark, digest);
  }
} else {
  // Newer than its sources, which a checkout may have touched: "skein serve" looks at the times.
  const now = new Date();
  utimesSync(page, now, now);
}
