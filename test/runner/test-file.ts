/**
 * Runs a test file, or several that share a process, and watches from outside: a process that hangs is killed
 * with everything it started, and its file is reported with the last test that began.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestEvent } from "node:test/reporters";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { logVariable, type Entry } from "./inside.ts";
import { killGroup, killTree } from "./process-tree.ts";
import { resultsOf } from "./process-result.ts";

export interface FileResult {
  readonly file: string;
  readonly events: readonly TestEvent[];
  /** What the file wrote to its standard output and standard error. */
  readonly output: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Why the file failed, beyond its failed tests. */
  readonly problem: string | null;
}

export interface FileLimits {
  /** A single test; node:test ends it, unless the event loop is blocked. */
  readonly testMs: number;
  /** Without any test that begins or ends. Longer than `testMs`. */
  readonly silentMs: number;
  /** From the end of the last test until the process has ended. */
  readonly endMs: number;
}

const fileLimits: FileLimits = { testMs: 300_000, silentMs: 330_000, endMs: 30_000 };

/** Titles of tests to leave out, as JSON. */
export const skipVariable = "SKEIN_TEST_SKIP";

const inside = join(import.meta.dirname, "inside.ts");
const together = join(import.meta.dirname, "together.ts");
const running = new Set<number>();

/** Kills what still runs: for a runner that is interrupted. */
export function killRunning(): void {
  for (const pid of running) killTree(pid);
}

interface RunOptions {
  readonly limits?: FileLimits;
  /** Further variables of its environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** One file, in a process of its own. */
export async function runTestFile(file: string, options: RunOptions = {}): Promise<FileResult> {
  const [result] = await runTestProcess([file], options);
  if (result === undefined) throw new Error(`${file} has no result`);
  return result;
}

/**
 * The files that began in one process, in their order. Those behind a file that ended the process are
 * missing: they have not run.
 */
export async function runTestProcess(
  files: readonly string[],
  options: RunOptions = {},
): Promise<readonly FileResult[]> {
  const { limits = fileLimits, env = {} } = options;
  const folder = mkdtempSync(join(tmpdir(), "skein-test-file-"));
  const log = join(folder, "log");
  writeFileSync(log, "");
  const started = performance.now();
  const child = start(files, log, { limits, env: { ...process.env, ...env } });
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => void (output += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => void (output += text));
  const pid = child.pid ?? 0;
  running.add(pid);
  const closed = once(child, "close");
  const hang = await watch(child, log, limits);
  // Something that the file started and left running may hold its output open.
  await Promise.race([closed, sleep(500)]);
  killGroup(pid);
  running.delete(pid);
  const entries = entriesOf(log);
  rmSync(folder, { recursive: true });
  const events = entries.flatMap((entry) => ("event" in entry ? [revived(entry.event)] : []));
  const seconds = (performance.now() - started) / 1000;
  const ended = entries.findLast((entry) => "ended" in entry)?.ended;
  const times = { seconds, cpuSeconds: ended?.cpuSeconds ?? 0 };
  const problem = hang ?? problemOf(child, events);
  const [file = ""] = files;
  if (files.length === 1) return [{ file, events, output, ...times, problem }];
  return resultsOf(files, { entries, events, output, times, problem });
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);

function start(
  files: readonly string[],
  log: string,
  { limits, env: given }: { readonly limits: FileLimits; readonly env: NodeJS.ProcessEnv },
): ChildProcess {
  const skipped = JSON.parse(given[skipVariable] ?? "[]") as readonly string[];
  const flags = [
    "--conditions=skein-source",
    `--import=${inside}`,
    `--test-reporter=${inside}`,
    "--test-reporter-destination=stdout",
    `--test-timeout=${limits.testMs}`,
    ...skipped.map((title) => `--test-skip-pattern=/${escaped(title)}$/`),
  ];
  const env = { ...given, [logVariable]: log };
  // A process group of its own, to be killed as a whole.
  const [file = ""] = files;
  const program = files.length === 1 ? [resolve(file)] : [together, ...files];
  return spawn(process.execPath, [...flags, ...program], {
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Resolves when the process has ended: with null, or with why it had to be killed. */
async function watch(child: ChildProcess, log: string, limits: FileLimits): Promise<string | null> {
  const exited = once(child, "exit").then(() => true);
  let size = 0;
  let heard = performance.now();
  while (!(await Promise.race([exited, sleep(watchMs(limits), false)]))) {
    const sizeNow = statSync(log).size;
    if (sizeNow > size) [size, heard] = [sizeNow, performance.now()];
    const silentMs = performance.now() - heard;
    if (silentMs < limits.endMs) continue;
    const entries = entriesOf(log);
    const open = entries.reduce<readonly string[] | null>(openAfter, null);
    if (open === null && silentMs < limits.silentMs) continue;
    killTree(child.pid ?? 0);
    await exited;
    return hangMessage(entries, open, silentMs);
  }
  return null;
}

const watchMs = ({ endMs }: FileLimits): number => Math.min(1_000, endMs / 4);

/** Another test may begin after all known ones have ended. */
function openAfter(last: readonly string[] | null, entry: Entry): readonly string[] | null {
  return "open" in entry ? entry.open : "began" in entry ? null : last;
}

function hangMessage(entries: readonly Entry[], open: readonly string[] | null, silentMs: number): string {
  const last = entries.reduce((name, entry) => ("began" in entry ? entry.began : name), "");
  const test = last === "" ? "no test had begun" : `last test that began: "${last}"`;
  const seconds = (silentMs / 1000).toFixed(0);
  if (open === null) return `hung: nothing happened for ${seconds} s; killed; ${test}`;
  const kinds = [...new Set(open)].join(", ") || "unknown";
  return `hung after its tests had ended: open ${kinds}; killed after ${seconds} s; ${test}`;
}

function problemOf({ exitCode, signalCode }: ChildProcess, events: readonly TestEvent[]): string | null {
  const failed = events.some(({ type }) => type === "test:fail");
  if (signalCode !== null) return `ended by ${signalCode}`;
  if (exitCode !== 0) return failed ? null : `exit code ${exitCode}`;
  return events.some(({ type }) => type === "test:pass") ? null : "no test ran";
}

/** A process that was killed may have left half a line. */
function entriesOf(log: string): Entry[] {
  const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Entry);
}

/** An error that prints as it did where it was thrown. */
function revived(event: TestEvent): TestEvent {
  if (event.type !== "test:fail") return event;
  const { error } = event.data.details;
  const cause = { [inspect.custom]: () => error.cause };
  const whole = Object.assign(new Error(error.message), error, { cause });
  return { ...event, data: { ...event.data, details: { ...event.data.details, error: whole } } };
}
