/** The library as the package has it: compiled, with its declarations. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import { runCommand } from "./command.ts";
import { root } from "./source.ts";

export const tsc = join(root, "node_modules/.bin/tsc");

/** By the digest of what it was compiled from: tests of the same sources share it, also of later runs. */
const cache = join(root, "node_modules/.cache/skein-library");

/** Copies the compiled library into a folder; only its declarations if so. */
export async function copyLibrary(folder: string, declarationsOnly = false): Promise<void> {
  const filter = (path: string): boolean => !declarationsOnly || !path.endsWith(".js");
  cpSync(await compiled(), folder, { recursive: true, filter });
}

async function compiled(): Promise<string> {
  const digest = digestOfSources();
  const folder = join(cache, digest);
  if (existsSync(folder)) return folder;
  const begun = join(cache, `begun-${process.pid}`);
  await compile(begun);
  const isOld = (name: string): boolean => name !== digest && !name.startsWith("begun-");
  for (const name of readdirSync(cache).filter(isOld))
    rmSync(join(cache, name), { recursive: true, force: true });
  try {
    renameSync(begun, folder);
  } catch {
    // Another process was faster, with the same.
    rmSync(begun, { recursive: true });
  }
  return folder;
}

/** Its types are not checked again: `npm run check` does that. */
async function compile(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const project = ["-p", join(root, "tsconfig.build.json"), "--noCheck", "--singleThreaded"];
  const { code, stdout, stderr } = await runCommand(process.execPath, [tsc, ...project, "--outDir", folder], {
    cwd: root,
    timeoutMs: 240_000,
  });
  assert.equal(code, 0, stdout + stderr);
}

function digestOfSources(): string {
  const hash = createHash("sha256");
  const sources = ["src/**/*.ts", "tsconfig*.json", "package-lock.json"];
  for (const path of globSync(sources, { cwd: root }).toSorted())
    hash
      .update(`${path}\n`)
      .update(readFileSync(join(root, path)))
      .update("\n");
  return hash.digest("hex").slice(0, 32);
}
