/** The temporary folder of a mutation run. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeScratch } from "./scratch.ts";

const script = `
  const { makeScratch } = await import(${JSON.stringify(join(import.meta.dirname, "scratch.ts"))});
  console.log(makeScratch(() => {}, process.argv[1]));
  setInterval(() => {}, 1000);`;

test("an interrupted run removes its folder, and the next run that of a killed one", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-scratch-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, folder]);
    await once(child.stdout, "data");
    assert.equal(readdirSync(folder).length, 1);
    child.kill(signal);
    await once(child, "exit");
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    await end(signal);
    assert.deepEqual(readdirSync(folder), [], signal);
  }
  await end("SIGKILL");
  const [left = ""] = readdirSync(folder);
  const other = join(folder, "skein-mutate-other");
  mkdirSync(other);
  const scratch = makeScratch(() => {}, folder);
  assert.ok(!existsSync(join(folder, left)), "the folder of a killed run is gone");
  assert.ok(existsSync(scratch) && existsSync(other));
});
