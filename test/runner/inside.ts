/**
 * Loaded into the process of every test file (`--import`), and also its reporter (`--test-reporter`). Writes
 * what happens to a log, one line of JSON an entry. The entry of a test that begins is written before its
 * body runs: a test that blocks the event loop is still known by name.
 */
import { openSync, readFileSync, writeSync } from "node:fs";
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";

/** One line of the log. */
export type Entry =
  | { readonly began: string }
  | { readonly event: TestEvent }
  /** Every test has ended, and these resources keep the process alive. */
  | { readonly open: readonly string[] }
  /** The file that begins, of several in one process; the times are those of the process so far. */
  | { readonly file: string; readonly at: Times }
  /** Of the process, when it ended. */
  | { readonly ended: Times };

export interface Times {
  readonly seconds: number;
  /** Processor time of the process and of those that it waited for. */
  readonly cpuSeconds: number;
}

export const logVariable = "SKEIN_TEST_LOG";
export const seedVariable = "SKEIN_TEST_SEED";
/** How long after its last test a process may live before it says what keeps it alive. */
const settleMs = 3_000;

const path = process.env[logVariable];
// Programs that the tests start inherit the environment and are not test files.
delete process.env[logVariable];
const log = path === undefined ? null : openSync(path, "a");
// Some tests replace the timers.
const { setTimeout, clearTimeout } = globalThis;

if (log !== null) {
  await seedProperties(process.argv.slice(1));
  const { beforeEach } = await import("node:test");
  beforeEach((context) => note({ began: context.fullName }));
  process.on("exit", () => note({ ended: times() }));
}

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let unfinished = 0;
  let settled: NodeJS.Timeout | undefined;
  for await (const event of source) {
    if (event.type === "test:enqueue" && event.data.nesting === 0) unfinished += 1;
    if (event.type === "test:complete" && event.data.nesting === 0) unfinished -= 1;
    clearTimeout(settled);
    settled = unfinished > 0 ? undefined : setTimeout(noteOpen, settleMs).unref();
    if (isTold(event)) note({ event: plainEvent(event) });
    if (isEndOf(event)) onReported?.(event.data.name);
  }
  clearTimeout(settled);
  // A reporter is a generator of text; this one prints nothing.
  yield "";
}

/** Called before each of several files that run in this process, each as a suite of its name. */
export const noteFile = (file: string): void => note({ file, at: times() });

let onReported: ((suite: string) => void) | undefined;

/** Resolves when all that the file did is in the log, so that the next one may block the event loop. */
export function untilReported(file: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  onReported = (suite) => void (suite === file && resolve());
  return promise;
}

const isEndOf = (event: TestEvent): event is TestEvent & { type: "test:pass" | "test:fail" } =>
  (event.type === "test:pass" || event.type === "test:fail") && event.data.nesting === 0;

function note(entry: Entry): void {
  if (log === null) return;
  const bytes = Buffer.from(`${JSON.stringify(entry)}\n`);
  for (let from = 0; from < bytes.length;) from += writeSync(log, bytes, from);
}

function noteOpen(): void {
  note({ open: process.getActiveResourcesInfo() });
}

/** Without it the seed of a property is known only once the property has failed, and never if it hangs. */
async function seedProperties(files: readonly string[]): Promise<void> {
  const seed = process.env[seedVariable];
  if (seed === undefined || !files.some((file) => readFileSync(file, "utf8").includes('"fast-check"')))
    return;
  const { default: fc } = await import("fast-check");
  fc.configureGlobal({ seed: Number(seed) | 0 });
}

const told = /^test:(start|pass|fail|plan|diagnostic)$/;

/** The counts at the end are those of one file; the runner counts for itself. */
function isTold(event: TestEvent): boolean {
  const isCount =
    event.type === "test:diagnostic" && event.data.nesting === 0 && countLine.test(event.data.message);
  return told.test(event.type) && !isCount;
}

const countLine = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

/** An error does not survive JSON: its text does. */
function plainEvent(event: TestEvent): TestEvent {
  if (event.type !== "test:fail") return event;
  const { error } = event.data.details;
  const text = inspect(error.cause ?? error);
  const { code, failureType } = error as { readonly code?: string; readonly failureType?: string };
  const plain = { message: error.message, code, failureType, cause: text };
  return { ...event, data: { ...event.data, details: { ...event.data.details, error: plain as never } } };
}

const times = (): Times => ({ seconds: process.uptime(), cpuSeconds: cpuSeconds() });

function cpuSeconds(): number {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const own = (userCPUTime + systemCPUTime) / 1e6;
  try {
    // Fields 16 and 17, counted after the name in parentheses: ticks of children that were waited for.
    const fields = readFileSync("/proc/self/stat", "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return own + (Number(fields[13]) + Number(fields[14])) / 100;
  } catch {
    return own;
  }
}
