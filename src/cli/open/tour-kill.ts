/**
 * The part of the tour with other processes: one that is killed while it appends, one that reads what is
 * left.
 */
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { SkeinError } from "../../core/error.ts";

/** How long the writer may write, after its first acknowledgement. */
const writeMs = 500;

export interface KillReport {
  /** The acknowledged positions, in the order of the sent lines. */
  readonly acknowledged: readonly number[];
  readonly acknowledgedMs: number;
}

export interface SurvivalReport {
  /** Acknowledged lines found at their position. */
  readonly found: number;
  readonly missing: number;
  /** Lines that were written, but not acknowledged before the end. */
  readonly unanswered: number;
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

const lineNumber = (number: number): string => `Line ${number} of many`;

/** Feeds a `skein append --lines` process, and kills it in the middle. */
export async function killWriter(store: string, session: string, stopped: AbortSignal): Promise<KillReport> {
  const child = startSkein(["append", session, "--lines", "--json", "--store", store]);
  const kill = () => void child.kill("SIGKILL");
  stopped.addEventListener("abort", kill, { once: true });
  const acknowledged: number[] = [];
  let startedMs = 0;
  let timer: NodeJS.Timeout | undefined;
  try {
    void feed(child);
    for await (const line of createInterface({ input: child.stdout })) {
      if (acknowledged.length === 0) {
        startedMs = performance.now();
        timer = setTimeout(kill, writeMs);
      }
      // The last line may be cut off, and then does not count.
      if (line.endsWith("}")) acknowledged.push((JSON.parse(line) as { seq: number }).seq);
    }
    const endedMs = performance.now();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    if (acknowledged.length === 0) {
      throw new SkeinError("unavailable", "tour: the appending process did not start", {
        hint: "run it again; a slow disk may need longer",
      });
    }
    return { acknowledged, acknowledgedMs: Math.round(endedMs - startedMs) };
  } finally {
    clearTimeout(timer);
    kill();
    stopped.removeEventListener("abort", kill);
  }
}

/** Sends lines until the reader closes. */
async function feed(child: Child): Promise<void> {
  const { stdin } = child;
  // The pipe breaks when the reader is killed, as intended.
  stdin.on("error", () => undefined);
  const closed = once(child, "close");
  for (let number = 1; stdin.writable; number++) {
    if (!stdin.write(`${lineNumber(number)}\n`))
      await Promise.race([once(stdin, "drain").catch(() => null), closed]);
  }
}

/** Reads the log in a new process, and compares it with the acknowledgements. */
export async function readBack(
  store: string,
  session: string,
  { acknowledged }: KillReport,
): Promise<SurvivalReport> {
  const child = startSkein(["log", session, "--json", "--type", "input.received", "--store", store]);
  child.stdin.end();
  const texts = new Map<number, string>();
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line) as { seq: number; content: { blocks: { text: string }[] } };
    texts.set(event.seq, event.content.blocks[0]?.text ?? "");
  }
  const found = acknowledged.filter((seq, place) => texts.get(seq) === lineNumber(place + 1)).length;
  const lines = [...texts.values()].filter((text) => text.startsWith("Line ")).length;
  return { found, missing: acknowledged.length - found, unanswered: lines - found };
}

function startSkein(words: readonly string[]): Child {
  const main = new URL(import.meta.url.endsWith(".ts") ? "../main.ts" : "../main.js", import.meta.url);
  return spawn(process.execPath, [fileURLToPath(main), ...words], { stdio: ["pipe", "pipe", "inherit"] });
}
