/** Files that share a process: each is reported by its name, and one that hangs takes no other with it. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import { batchesOf } from "./batch.ts";
import { runTestFiles, type Outcome } from "./file-queue.ts";

const fixture = (name: string): string => join(import.meta.dirname, "fixture", `${name}.ts`);
const limits = { testMs: 3_000, silentMs: 8_000, endMs: 2_000 };
const names = ["seeded", "missing", "spins", "passes"];

let text = "";
let outcome: Outcome;

before(async () => {
  const print = (piece: string): void => void (text += piece);
  outcome = await runTestFiles([names.map(fixture)], { jobs: 1, limits, print });
});

test("every file of a process has its own result, in order", () => {
  assert.deepEqual(
    outcome.results.map(({ file }) => file),
    names.map(fixture),
  );
  const passed = outcome.results.map(({ file, events }) =>
    events.flatMap(({ type, data }) => (type === "test:pass" && data.name !== file ? [data.name] : [])),
  );
  // What the blocked process had not yet said of its file is lost.
  const expected = [["is seeded"], [], [], ["passes", "runs only the hooks of this file"]];
  assert.deepEqual(passed, expected);
  assert.match(text, /1 ended before/);
});

test("a file that cannot be loaded fails by name, and the next one runs", () => {
  assert.ok(outcome.failed);
  const failed = outcome.results[1]?.events.flatMap((event) =>
    event.type === "test:fail" ? [event.data.name] : [],
  );
  assert.deepEqual(failed, ["the file loads", fixture("missing")]);
});

test("a file that hangs fails by name, and those behind it run in another process", () => {
  const problems = outcome.results.map(({ problem }) => problem);
  assert.deepEqual([problems[0], problems[1], problems[3]], [null, null, null]);
  assert.match(problems[2] ?? "", /^hung: nothing happened for \d+ s; killed; last test that began: "/);
  assert.match(problems[2] ?? "", /fixture\/spins\.ts > spins"; before it the process ran .*seeded\.ts/);
  assert.match(text, /spins\.ts: hung/);
  assert.ok(outcome.summary.includes("files 4"), outcome.summary.join());
});

test("the processor time of each file is its own", () => {
  const [seeded = 0, missing = 0, spins = 0] = outcome.results.map(({ cpuSeconds }) => cpuSeconds);
  assert.ok(seeded > 0 && missing < seeded, `${seeded} and ${missing}`);
  // It was killed, and could not say what it took.
  assert.equal(spins, 0);
});

test("files of a folder share a process, except those that keep one for themselves", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-batch-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const write = (path: string, line = ""): string => {
    const file = join(folder, "test", path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, `/** A test. */\n${line}\n`);
    return file;
  };
  const [one, own, two] = [
    write("core/a.test.ts"),
    write("core/b.test.ts", "// Process of its own: it measures memory."),
    write("core/deep/c.test.ts"),
  ];
  const [crash, other] = [write("crash/a.test.ts"), write("crash/b.test.ts")];
  assert.deepEqual(batchesOf([one, own, crash, two, other]), [[one, two], [own], [crash], [other]]);
  const many = Array.from({ length: 20 }, (_, place) => write(`cli/${place}.test.ts`));
  assert.deepEqual(batchesOf(many), [many.slice(0, 16), many.slice(16)]);
});
