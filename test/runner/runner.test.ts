/** The test runner: a file that hangs is killed from outside, fails by name, and the others go on. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { runTestFiles, slowestOf, type Outcome } from "./file-queue.ts";
import type { FileResult } from "./test-file.ts";

const fixture = (name: string): string => join(import.meta.dirname, "fixture", `${name}.ts`);

/** Short for a test of the runner, long enough for a busy machine to start a process. */
const limits = { testMs: 3_000, silentMs: 8_000, endMs: 2_000 };

let text = "";
let outcome: Outcome;

before(async () => {
  const names = ["spins", "waits", "fails-open", "missing", "seeded"];
  const env = process.env["SKEIN_TEST_SEED"];
  process.env["SKEIN_TEST_SEED"] = "4242";
  const print = (piece: string): void => void (text += piece);
  outcome = await runTestFiles(
    names.map((name) => [fixture(name)]),
    { jobs: 3, limits, print },
  );
  if (env === undefined) delete process.env["SKEIN_TEST_SEED"];
  else process.env["SKEIN_TEST_SEED"] = env;
});

function resultOf(name: string): FileResult {
  const result = outcome.results.find(({ file }) => file === fixture(name));
  assert.ok(result);
  return result;
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("a file that blocks its event loop is killed with its programs", async () => {
  const { problem, output } = resultOf("spins");
  assert.match(problem ?? "", /^hung: nothing happened for \d+ s; killed; last test that began: "spins"$/);
  assert.match(text, /fixture\/spins\.ts: hung/);
  const pid = Number(/started (\d+)/.exec(output)?.[1]);
  for (let tries = 0; isAlive(pid) && tries < 50; tries++) await sleep(100);
  assert.equal(isAlive(pid), false, "a program of the file outlived it");
});

test("a test that waits for ever fails, and its process is killed", () => {
  assert.match(
    resultOf("waits").problem ?? "",
    /^hung after its tests had ended: open .*Timeout; .*"waits"$/,
  );
  assert.match(text, /test timed out after 3000ms/);
});

test("a test that fails and leaves a server open is reported in full, and its process is killed", () => {
  const { problem } = resultOf("fails-open");
  assert.match(problem ?? "", /open .*TCPServerWrap; .*"fails with a server open"$/);
  assert.match(text, /reported in full/);
});

test("a file that cannot be loaded fails by name", () => {
  assert.equal(resultOf("missing").problem, "exit code 1");
  assert.match(text, /fixture\/missing\.ts: exit code 1/);
});

test("the run continues after a file that hung, and the counts include every failure", () => {
  assert.equal(resultOf("seeded").problem, null);
  assert.ok(outcome.failed);
  // A failed test each of "waits" and "fails-open", and four files that failed as a whole.
  assert.ok(outcome.summary.includes("fail 6"), outcome.summary.join());
  assert.match(slowestOf(outcome.results).join("\n"), /^ +\d+\.\d s \(processor +\d+\.\d s\) {2}.*\.ts$/m);
});

test("properties and random choices take the seed of the run", () => {
  assert.match(resultOf("seeded").output, /properties 4242, choices 4242/);
});

test("a file begins beside those that wait, while processors are idle", async () => {
  const overlap = async (share: number): Promise<boolean> => {
    const files = [[fixture("sleeps")], [fixture("sleeps")]];
    const options = { jobs: 1, moreJobs: 1, idleShare: () => share, print: () => undefined };
    const { results } = await runTestFiles(files, options);
    const spans = results.map(({ output }) => /slept (\d+) (\d+)/.exec(output)?.slice(1).map(Number) ?? []);
    const [first = [], second = []] = spans.toSorted(([one = 0], [other = 0]) => one - other);
    return Number(second[0]) < Number(first[1]);
  };
  assert.deepEqual(await Promise.all([overlap(1), overlap(0)]), [true, false]);
});
