/** Child processes of a crash test: started, listened to line by line, killed by their id, waited for. */
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import type { Order } from "./writer.ts";

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it said besides its lines: warnings, a stack. */
  readonly stderr: string;
}

export interface Child {
  readonly process: ChildProcess;
  /** Everything it said up to now, line by line; a line cut off by its end is left out. */
  readonly lines: readonly string[];
  /** Resolves after the process ended and everything that it said has arrived. */
  readonly ended: Promise<Ended>;
  /** Resolves with the first line, or when it ended without any. */
  readonly ready: Promise<void>;
  order(order: Order): void;
  /** Gives every line, also those that came before, to the listener. */
  listen(listener: (line: string) => void): void;
}

export function startChild(command: readonly string[], options: { readonly cache?: string } = {}): Child {
  const env = { ...process.env };
  for (const name of ["NODE_OPTIONS", "NODE_TEST_CONTEXT", "NODE_V8_COVERAGE"]) delete env[name];
  // In a run of all tests most of it is compiled already.
  if (options.cache !== undefined) env["NODE_COMPILE_CACHE"] ??= options.cache;
  const [file = "", ...args] = command;
  const child = spawn(file, args, { env, stdio: ["pipe", "pipe", "pipe"] });
  const lines: string[] = [];
  const listeners: ((line: string) => void)[] = [];
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Ended>();
  let rest = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) {
      lines.push(line);
      listeners.forEach((listener) => listener(line));
    }
    if (parts.length > 0) ready.resolve();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (stderr += text));
  // The program may end before it reads its order.
  child.stdin.on("error", () => undefined);
  child.on("error", ended.reject);
  child.on("close", (code, signal) => {
    ready.resolve();
    ended.resolve({ code, signal, stderr });
  });
  return {
    process: child,
    lines,
    ended: ended.promise,
    ready: ready.promise,
    order: (order) => void child.stdin.write(`${JSON.stringify(order)}\n`),
    listen(listener) {
      lines.forEach((line) => listener(line));
      listeners.push(listener);
    },
  };
}

/** The command that runs the writer on this Node. */
export const writerCommand: readonly string[] = [process.execPath, join(import.meta.dirname, "writer.ts")];

/** Runs the writer once and lets it end by itself, so that those to come start from its compiled program. */
export async function warmUp(cache: string): Promise<void> {
  const child = startChild(writerCommand, { cache });
  child.order({ do: "warm" });
  const { code, stderr } = await child.ended;
  if (code !== 0) throw new Error(`the writer does not start: ${stderr}`);
}
