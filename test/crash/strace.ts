/**
 * The writer under strace: the calls that matter to a store on disk, in order, and faults put in at the n-th
 * of them. Mostly only the named calls are stopped at, so that a run takes hardly longer than without.
 */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startChild, warmUp, writerCommand } from "./child.ts";
import { Ledger } from "./ledger.ts";
import type { Order } from "./writer.ts";

const run = promisify(execFile);

/** A call as strace saw it. */
export interface Call {
  readonly name: string;
  /** The file that it was about, by descriptor (null where it was named) and by name. */
  readonly fd: number | null;
  readonly file: string;
  /** What was written. */
  readonly bytes: Buffer;
  /** The last argument: where it was written to, or how long the file became. */
  readonly at: number;
  /** Whether a fault was put in here. */
  readonly injected: boolean;
}

export interface Traced {
  readonly lines: readonly string[];
  readonly ledger: Ledger;
  readonly calls: readonly Call[];
  readonly signal: NodeJS.Signals | null;
}

/** The calls of Linux for "on stable storage"; which of them SQLite uses depends on how it was built. */
export const syncCalls = "fsync,fdatasync";

export const isSync = ({ name }: Call): boolean => syncCalls.split(",").includes(name);

/** Whether the writer says a line here that begins so. */
export const isSaying = ({ name, fd, bytes }: Call, beginning: string): boolean =>
  name === "write" && fd === 1 && bytes.toString().startsWith(beginning);

/**
 * Why strace cannot be used here, or false. Under CI it is installed where that is possible, and must be
 * there.
 */
export async function withoutStrace(): Promise<string | false> {
  if (await works()) return false;
  const reason = "strace is missing or may not trace; as root: apt-get install strace";
  if (process.env["CI"] !== "true") return reason;
  if (process.getuid?.() === 0) await install();
  if (await works()) return false;
  throw new Error(reason);
}

async function works(): Promise<boolean> {
  return run("strace", ["-qq", "-e", "trace=none", "true"]).then(
    () => true,
    () => false,
  );
}

async function install(): Promise<void> {
  const options = { timeout: 120_000, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
  const aptGet = (...args: readonly string[]) => run("apt-get", args, options);
  await aptGet("install", "-y", "strace")
    .catch(() => aptGet("update").then(() => aptGet("install", "-y", "strace")))
    .catch(() => undefined);
}

export interface TraceOptions {
  /** Names, with commas between. */
  readonly calls: string;
  /** What strace calls an injection: `fsync:error=EIO:when=3`. */
  readonly inject?: string;
  /** Whether to keep all that is written, and not just its beginning. */
  readonly whole?: true;
}

/** A place for stores and traces, with the writer's compiled program; gone when it is disposed of. */
export interface Rig extends AsyncDisposable {
  /** A path for a new store. */
  path(): string;
  trace(order: Extract<Order, { do: "write" }>, options: TraceOptions): Promise<Traced>;
}

export async function makeRig(): Promise<Rig> {
  const directory = await mkdtemp(join(tmpdir(), "skein-strace-"));
  const cache = join(directory, "cache");
  await warmUp(cache);
  let count = 0;
  return {
    path: () => join(directory, `${++count}.db`),
    async trace(order, options) {
      const log = join(directory, `${++count}.strace`);
      const child = startChild(["strace", ...argumentsOf(options), "-o", log, ...writerCommand], { cache });
      const ledger = new Ledger();
      child.listen((line) => ledger.note(order.writer, line));
      child.order(order);
      const { signal, stderr } = await child.ended;
      if (!child.lines.includes("ready")) throw new Error(`the writer did not start under strace: ${stderr}`);
      const calls = parseCalls(await readFile(log, "latin1"));
      await rm(log);
      return { lines: child.lines, ledger, calls, signal };
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

function argumentsOf({ calls, inject, whole }: TraceOptions): string[] {
  // Without the filter every call of the process is stopped at, which is slow; but with it strace sends no
  // signals.
  const filter = inject?.includes(":signal=") === true ? [] : ["--seccomp-bpf"];
  const printing = ["-qq", "-y", "-xx", "-s", whole === true ? "1000000" : "32", "-e", "signal=none"];
  const injecting = inject === undefined ? [] : ["-e", `inject=${inject}`];
  return ["-f", ...filter, ...printing, "-e", `trace=${calls}`, ...injecting];
}

/** Lines such as `123 pwrite64(21<\x2f\x74…>, "\x53\x51…", 8192, 0) = 8192`. */
export function parseCalls(text: string): Call[] {
  return wholeLines(text).flatMap((line) => {
    const found = /^\d+ +([a-z0-9_]+)\((?:(\d+)<([^>]*)>)?(?:(?:, )?"([^"]*)")?(.*)$/.exec(line);
    if (found === null) return [];
    const [, name = "", fd, file = "", quoted = "", rest = ""] = found;
    const bytes = Buffer.from(quoted.replaceAll("\\x", ""), "hex");
    const last = /(\d+)\)? +=/.exec(rest)?.[1];
    if (last === undefined && (name === "pwrite64" || name === "ftruncate"))
      throw new Error(`strace did not print where ${name} wrote: ${line.slice(-200)}`);
    return [
      {
        name,
        fd: fd === undefined ? null : Number(fd),
        file: fd === undefined ? bytes.toString() : Buffer.from(file.replaceAll("\\x", ""), "hex").toString(),
        bytes,
        at: Number(last ?? 0),
        injected: rest.endsWith("(INJECTED)"),
      },
    ];
  });
}

/**
 * The lines with the two halves of an interrupted call joined: strace prints the beginning with
 * `<unfinished ...>` when another thread makes a call meanwhile, and the end as `<... pwrite64 resumed>`.
 * The call counts where it returned. One that never returned, because the process ended, is left out.
 */
function wholeLines(text: string): string[] {
  const begun = new Map<string, string>();
  return text.split("\n").flatMap((line) => {
    const thread = /^\d+/.exec(line)?.[0] ?? "";
    const beginning = /^(.*?),? *<unfinished \.\.\.>$/s.exec(line)?.[1];
    if (beginning !== undefined) {
      begun.set(thread, beginning);
      return [];
    }
    const ending = /^\d+ +<\.\.\. [a-z0-9_]+ resumed>(.*)$/s.exec(line)?.[1];
    if (ending === undefined) return [line];
    const joined = begun.get(thread);
    begun.delete(thread);
    return joined === undefined ? [] : [joined + ending];
  });
}

/**
 * Does the work for each, two at a time, for a machine of two cores. Nothing is under way any more when it
 * fails.
 */
export async function eachOf<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = list.values();
  const worker = async () => {
    for (const one of left) await work(one);
  };
  const failed = (await Promise.allSettled([worker(), worker()])).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}
