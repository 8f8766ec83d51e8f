/**
 * The test command: the checks, then every test file; or, when files or folders are named, only those. Long
 * tests run in slices, unless `--long` is given.
 * `--times` lists the processor time of every file, not only of the ten that took most.
 * Some browser files run in turns. Nothing is left out in silence: they and skipped tests are listed, and
 * under CI a skip without a reason fails.
 * The counts come last.
 */
import { globSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { runChecks } from "./check.ts";
import { offerChromium } from "./browser/chromium.ts";
import { randomSeed } from "./crash/random.ts";
import { offerServer } from "./postgres/offer.ts";
import { batchesOf } from "./runner/batch.ts";
import { costliestOf, machineSeconds, runTestFiles, slowestOf } from "./runner/file-queue.ts";
import { seedVariable } from "./runner/inside.ts";
import { killRunning } from "./runner/test-file.ts";
import { leftOutBy } from "./runner/turns.ts";

process.chdir(join(import.meta.dirname, ".."));
const atStart = machineSeconds();
/** The longest begin first: at the end one of them alone would be waited for. */
const longest = [
  "test/repo/pack.test.ts",
  "test/client/again.test.ts",
  "test/postgres/crash.test.ts",
  "test/crash/turn.test.ts",
  "test/crash/turn-live.test.ts",
  "test/store/postgres.test.ts",
  "test/crash/fault.test.ts",
  "test/repo/docs.test.ts",
  "test/browser/look.test.ts",
  "test/server/load.test.ts",
  "test/crash/kill.test.ts",
  "test/sim/sim.test.ts",
];
const isLong = process.argv.includes("--long");
if (isLong) process.env["SKEIN_TEST_LONG"] = "1";
const isTimed = process.argv.includes("--times");
const named = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const seed = (process.env[seedVariable] ??= String(randomSeed()));
const leftOut = named.length > 0 || isLong ? [] : leftOutBy(Number(seed) >>> 0);
const found = (named.length > 0 ? named : ["test"])
  .flatMap(testFiles)
  .filter((file) => !leftOut.includes(file));
const files = [
  ...longest.filter((file) => found.includes(file)),
  ...found.filter((file) => !longest.includes(file)),
];

if (named.length > 0) console.log("checks left out: files were named");
console.log(`seed ${seed}: repeat a run with ${seedVariable}=${seed}`);
const turns = `in turns, left out by this seed: ${leftOut.join(", ")}; npm run test:long runs all`;
if (leftOut.length > 0) console.log(turns);
// Most of what a short test costs is to compile the sources; programs that tests start take it from here too.
// It stays for the next run: an entry of a file that has changed is replaced.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "../node_modules/.cache/skein-compile");
const [failedChecks, server] = await Promise.all([named.length > 0 ? [] : runChecks(), offerPrograms()]);

for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => void stopEarly());
// In the long run each file is alone: it shows that no test needs what another one left behind.
const batches = isLong ? files.map((file) => [file]) : batchesOf(files);
// One more than there are cores, and two while some are idle: many tests wait for a timer or a process.
const jobs = availableParallelism() + 1;
const moreJobs = 2;
const print = (text: string): void => void process.stdout.write(text);
const { skips, summary, failed, results } = await runTestFiles(batches, { jobs, moreJobs, print });
await server?.stop();
const bareSkips = skips.filter((skip) => skip.reason === "");
for (const { name, reason } of skips) console.log(`﹣ skipped: ${name}: ${reason || "no reason given"}`);
if (failedChecks.length > 0) console.log(`✖ failed before the tests: ${failedChecks.join(", ")}`);
if (leftOut.length > 0) console.log(turns);
if (!isLong) console.log("long tests ran in slices: npm run test:long runs every case");
console.log(`slowest files:\n${slowestOf(results).join("\n")}`);
console.log(`most processor time:\n${costliestOf(results, isTimed ? results.length : 10).join("\n")}`);
if (failed) console.log(`ℹ seed ${seed}`);
console.log(summary.map((line) => `ℹ ${line}`).join("\n"));
// Of all that ran meanwhile: Chromium, PostgreSQL, the checks, and whatever else the machine did.
const atEnd = machineSeconds();
const [busy, idle] = [atEnd.busy - atStart.busy, atEnd.idle - atStart.idle];
console.log(`ℹ machine: ${busy.toFixed(0)} s of its processors busy, ${idle.toFixed(0)} s idle`);

const skippedInSilence = process.env["CI"] === "true" && bareSkips.length > 0;
if (failed || failedChecks.length > 0 || skippedInSilence || files.length === 0) process.exitCode = 1;

async function stopEarly(): Promise<never> {
  killRunning();
  await server?.stop();
  process.exit(130);
}

/** One after the other: both may have to be installed. */
async function offerPrograms(): ReturnType<typeof offerServer> {
  const started = await offerServer(files);
  await offerChromium(files);
  return started;
}

function testFiles(path: string): string[] {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isFolder ? globSync(`${path}/**/*.test.ts`).toSorted() : [path];
}
