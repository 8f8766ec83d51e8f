/**
 * The test command: the checks, then every test file; or, when files or folders are named, only those.
 * Nothing is left out in silence: skipped tests are listed, and under CI a skip without a reason fails.
 * The counts of node's own test runner come last.
 */
import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import { run } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { spec } from "node:test/reporters";
import { runChecks } from "./check.ts";
import { offerChromium } from "./browser/chromium.ts";
import { offerServer } from "./postgres/offer.ts";

process.chdir(join(import.meta.dirname, ".."));
/** Those that take minutes begin first: at the end one of them alone would be waited for. */
const longest = [
  "test/sim/sim.test.ts",
  "test/sim/fresh.test.ts",
  "test/crash/turn.test.ts",
  "test/crash/kill.test.ts",
];
const named = process.argv.slice(2);
const found = (named.length > 0 ? named : ["test"]).flatMap(testFiles);
const files = [
  ...longest.filter((file) => found.includes(file)),
  ...found.filter((file) => !longest.includes(file)),
];

if (named.length > 0) console.log("checks left out: files were named");
const [failedChecks, server] = await Promise.all([named.length > 0 ? [] : runChecks(), offerPrograms()]);

const { skips, summary } = await runTests(files);
await server?.stop();
const bareSkips = skips.filter((skip) => skip.reason === "");
for (const { name, reason } of skips) console.log(`﹣ skipped: ${name}: ${reason || "no reason given"}`);
if (failedChecks.length > 0) console.log(`✖ failed before the tests: ${failedChecks.join(", ")}`);
console.log(summary.map((line) => `ℹ ${line}`).join("\n"));

const skippedInSilence = process.env["CI"] === "true" && bareSkips.length > 0;
if (failedChecks.length > 0 || skippedInSilence || files.length === 0) process.exitCode = 1;

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

interface Outcome {
  readonly skips: readonly { readonly name: string; readonly reason: string }[];
  readonly summary: readonly string[];
}

async function runTests(files: readonly string[]): Promise<Outcome> {
  const skips: { name: string; reason: string }[] = [];
  const summary: string[] = [];
  const reporter = new spec();
  reporter.pipe(process.stdout, { end: false });
  const events = run({
    files: [...files],
    concurrency: 2,
    timeout: 300_000,
    execArgv: ["--conditions=skein-source"],
  });
  for await (const event of events as AsyncIterable<TestEvent>) {
    // The spec reporter would print the counts before the failures; they are held back for the end.
    if (event.type === "test:diagnostic" && event.data.file === undefined) {
      summary.push(event.data.message);
      continue;
    }
    if (event.type === "test:pass") {
      const skip = event.data.skip ?? event.data.todo ?? false;
      if (skip !== false) skips.push({ name: event.data.name, reason: skip === true ? "" : skip });
    }
    if (event.type === "test:fail") process.exitCode = 1;
    reporter.write(event);
  }
  await new Promise((resolve) => reporter.once("end", resolve).end());
  return { skips, summary };
}
