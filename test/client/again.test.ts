/** The behaviour tests of the engine once more, with a client of a server in the engine's place. */
// Process of its own: it starts one for all of its files.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { freshSeed } from "../crash/random.ts";
import { sliced, slicedEvery } from "../slice.ts";
import { longFiles, table } from "./again.ts";

const folder = join(import.meta.dirname, "../runtime");
const rows = Object.entries(table).flatMap(([file, row]) =>
  typeof row === "string" ? [] : [{ file, ...row }],
);
/** Half of them, and the other half in another run. */
const run = sliced(
  slicedEvery(
    rows.filter(({ file }) => !longFiles.has(file)),
    2,
    freshSeed(),
  ),
  rows,
);

test("every behaviour test runs over HTTP too, or says why it does not", () => {
  const files = globSync("**/*.test.ts", { cwd: folder }).toSorted();
  assert.deepEqual(Object.keys(table).toSorted(), files);
  const known = rows.map(({ file }) => file);
  assert.deepEqual(
    [...longFiles].filter((file) => !known.includes(file)),
    [],
  );
  for (const { file, but } of rows) {
    const source = readFileSync(join(folder, file), "utf8");
    for (const name of Object.keys(but)) assert.ok(source.includes(name), `${file} has no test "${name}"`);
  }
});

test("the engine's behaviour tests pass over the client", async (t) => {
  const skips = rows
    .flatMap(({ but }) => Object.keys(but))
    .map((name) => `--test-skip-pattern=${literal(name)}`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ["--test", "--test-isolation=none", "--test-force-exit", "--test-reporter=tap", ...skips];
  const stand = ["--import", join(import.meta.dirname, "stand.ts")];
  const child = spawn(
    process.execPath,
    ["--conditions=skein-source", ...args, ...stand, ...run.map(({ file }) => join(folder, file))],
    { env, stdio: ["ignore", "pipe", "inherit"], signal: t.signal, killSignal: "SIGKILL" },
  );
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, "exit") as Promise<[number]>]);
  const passed = Number(/^# pass (\d+)/m.exec(said)?.[1] ?? 0);
  assert.equal(code, 0, failures(said));
  assert.ok(passed >= sliced(100, 350), `only ${passed} tests were run`);
  t.diagnostic(`${passed} behaviour tests of ${run.length} files over HTTP`);
});

const literal = (name: string): string => name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/** What failed, and why. */
function failures(said: string): string {
  const pieces = said.split(/^(?= *not ok)/m).slice(1);
  return pieces.map((piece) => piece.split("\n").slice(0, 25).join("\n")).join("\n");
}
