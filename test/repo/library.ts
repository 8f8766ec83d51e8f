/** The library as the package has it: compiled, with its declarations. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runCommand } from "./command.ts";
import { root } from "./source.ts";

export const tsc = join(root, "node_modules/.bin/tsc");

/** Compiles src into a folder. Its types are not checked again: `npm run check` does that. */
export async function compileLibrary(folder: string, ...words: readonly string[]): Promise<void> {
  const project = ["-p", join(root, "tsconfig.build.json"), "--noCheck", "--singleThreaded"];
  const { code, stdout, stderr } = await runCommand(
    process.execPath,
    [tsc, ...project, "--outDir", folder, ...words],
    { cwd: root, timeoutMs: 240_000 },
  );
  assert.equal(code, 0, stdout + stderr);
}
