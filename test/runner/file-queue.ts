/** Runs test files side by side, each in its own process, and prints each when it has ended. */
import type { TestEvent } from "node:test/reporters";
import { spec } from "node:test/reporters";
import { runTestFile, type FileLimits, type FileResult } from "./test-file.ts";

export interface Outcome {
  readonly results: readonly FileResult[];
  readonly skips: readonly { readonly name: string; readonly reason: string }[];
  readonly failed: boolean;
  /** Counts, one a line. */
  readonly summary: readonly string[];
}

export interface QueueOptions {
  readonly limits?: FileLimits;
  /** How many files run at the same time. */
  readonly jobs: number;
  readonly print: (text: string) => void;
}

export async function runTestFiles(files: readonly string[], options: QueueOptions): Promise<Outcome> {
  const started = performance.now();
  const reporter = new spec();
  reporter.setEncoding("utf8").on("data", options.print);
  const waiting = files.values();
  const results: FileResult[] = [];
  const runNext = async (): Promise<void> => {
    for (const file of waiting) {
      const result = await runTestFile(file, options.limits === undefined ? {} : { limits: options.limits });
      results.push(result);
      for (const event of eventsOf(result)) reporter.write(event);
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, runNext));
  await new Promise((resolve) => reporter.once("end", resolve).end());
  const events = results.flatMap(eventsOf);
  const seconds = (performance.now() - started) / 1000;
  return {
    results,
    skips: events.flatMap(skipOf),
    failed: events.some(({ type }) => type === "test:fail"),
    summary: summaryOf(files, events, seconds),
  };
}

/** The files that took longest, for the end of a run. */
export function slowestOf(results: readonly FileResult[], count = 10): string[] {
  const slowest = results.toSorted((one, other) => other.seconds - one.seconds).slice(0, count);
  return slowest.map(
    ({ file, seconds, cpuSeconds }) =>
      `${seconds.toFixed(1).padStart(6)} s (processor ${cpuSeconds.toFixed(1)} s)  ${file}`,
  );
}

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

function summaryOf(files: readonly string[], events: readonly TestEvent[], seconds: number): string[] {
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
  ];
}
