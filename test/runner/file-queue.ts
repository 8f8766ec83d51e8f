/** Runs test files in several processes side by side, and prints each file when its process has ended. */
import { cpus } from "node:os";
import type { TestEvent } from "node:test/reporters";
import { spec } from "node:test/reporters";
import { runTestProcess, type FileLimits, type FileResult } from "./test-file.ts";

export interface Outcome {
  readonly results: readonly FileResult[];
  readonly skips: readonly { readonly name: string; readonly reason: string }[];
  readonly failed: boolean;
  /** Counts, one a line. */
  readonly summary: readonly string[];
}

export interface QueueOptions {
  readonly limits?: FileLimits;
  /** How many processes run at the same time. */
  readonly jobs: number;
  /** So many more while processors are idle; by default none. */
  readonly moreJobs?: number;
  /** The share of the processors that was idle since it was asked last. */
  readonly idleShare?: () => number;
  readonly print: (text: string) => void;
}

/** Each batch of files shares a process. */
export async function runTestFiles(
  batches: readonly (readonly string[])[],
  options: QueueOptions,
): Promise<Outcome> {
  const started = performance.now();
  const reporter = new spec();
  reporter.setEncoding("utf8").on("data", options.print);
  const waiting = batches.values();
  const results: FileResult[] = [];
  const run = async (batch: readonly string[]): Promise<void> => {
    const ended = await runTestProcess(batch, options.limits === undefined ? {} : { limits: options.limits });
    results.push(...ended);
    for (const event of ended.flatMap(eventsOf)) reporter.write(event);
    // A file that was killed has taken its process with it.
    if (ended.length < batch.length) await run(batch.slice(ended.length));
  };
  const runNext = async (): Promise<void> => {
    for (const batch of waiting) await run(batch);
  };
  const more = whileIdle(options, async () => {
    const next = waiting.next();
    if (next.done !== true) await run(next.value);
  });
  await Promise.all(Array.from({ length: options.jobs }, runNext));
  await more.ended();
  await new Promise((resolve) => reporter.once("end", resolve).end());
  const events = results.flatMap(eventsOf);
  const seconds = (performance.now() - started) / 1000;
  return {
    results,
    skips: events.flatMap(skipOf),
    failed: events.some(({ type }) => type === "test:fail"),
    summary: summaryOf(results, events, seconds),
  };
}

const idleMin = 0.3;
const lookMs = 1_000;

/** Works beside the other jobs for as long as processors are idle: many tests wait for timers. */
function whileIdle(
  { moreJobs = 0, idleShare = makeIdleShare() }: QueueOptions,
  work: () => Promise<void>,
): { ended(): Promise<void> } {
  const going = new Set<Promise<void>>();
  const timer = setInterval(() => {
    if (idleShare() < idleMin || going.size >= moreJobs) return;
    const one = work().finally(() => going.delete(one));
    going.add(one);
  }, lookMs);
  return {
    async ended() {
      clearInterval(timer);
      await Promise.all(going);
    },
  };
}

/** Processor seconds of the machine since it was started. */
export function machineSeconds(): { readonly busy: number; readonly idle: number } {
  const sum = (numbers: readonly number[]): number => numbers.reduce((one, other) => one + other, 0) / 1_000;
  const all = cpus().map(({ times }) => times);
  const idle = sum(all.map((times) => times.idle));
  return { busy: sum(all.flatMap((times) => Object.values(times))) - idle, idle };
}

function makeIdleShare(): () => number {
  let before = machineSeconds();
  return () => {
    const now = machineSeconds();
    const [busy, idle] = [now.busy - before.busy, now.idle - before.idle];
    before = now;
    return idle / Math.max(busy + idle, 1e-3);
  };
}

/** The files that took longest, for the end of a run. */
export const slowestOf = (results: readonly FileResult[], count = 10): string[] =>
  results
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, count)
    .map(timesOf);

/** The files that took most of the processor, which other work on the machine hardly changes. */
export const costliestOf = (results: readonly FileResult[], count = 10): string[] =>
  results
    .toSorted((one, other) => other.cpuSeconds - one.cpuSeconds)
    .slice(0, count)
    .map(timesOf);

const timesOf = ({ file, seconds, cpuSeconds }: FileResult): string =>
  `${seconds.toFixed(1).padStart(6)} s (processor ${cpuSeconds.toFixed(1).padStart(5)} s)  ${file}`;

/** What a file did, with what it printed first and, where it failed as a whole, a failure under its name. */
function eventsOf({ file, events, output, problem, seconds }: FileResult): TestEvent[] {
  const said = output === "" ? [] : [{ type: "test:stdout", data: { file, message: output } } as TestEvent];
  if (problem === null) return [...said, ...events];
  const error = Object.assign(new Error(`${file}: ${problem}`), { code: "ERR_TEST_FAILURE", stack: "" });
  Object.assign(error, { failureType: "testCodeFailure", cause: `${file}: ${problem}` });
  const data = {
    name: file,
    nesting: 0,
    testNumber: 1,
    file,
    details: { duration_ms: seconds * 1000, error },
  };
  return [...said, ...events, { type: "test:fail", data } as unknown as TestEvent];
}

function skipOf(event: TestEvent): { readonly name: string; readonly reason: string }[] {
  if (event.type !== "test:pass") return [];
  const skip = event.data.skip ?? event.data.todo ?? false;
  return skip === false ? [] : [{ name: event.data.name, reason: skip === true ? "" : skip }];
}

function summaryOf(files: readonly FileResult[], events: readonly TestEvent[], seconds: number): string[] {
  const ended = events.filter((event) => event.type === "test:pass" || event.type === "test:fail");
  const tests = ended.filter(({ data }) => data.details.type !== "suite");
  const skipped = tests.filter(({ type, data }) => type === "test:pass" && Boolean(data.skip ?? data.todo));
  const failed = tests.filter(({ type }) => type === "test:fail").length;
  return [
    `files ${files.length}`,
    `tests ${tests.length}`,
    `pass ${tests.length - failed - skipped.length}`,
    `fail ${failed}`,
    `skipped ${skipped.length}`,
    `seconds ${seconds.toFixed(0)}`,
    `processor seconds ${files.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0).toFixed(0)}`,
  ];
}
