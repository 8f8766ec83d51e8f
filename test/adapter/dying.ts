/** Kills a process at one append of its store; and runs such a process. */
import { spawn } from "node:child_process";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import { internalsOf } from "../../src/runtime/engine/internals.ts";

/** Returns how many appends there were so far. 0: none of them kills. */
export function dieAt(engine: Engine, killAt: number, when: string): () => number {
  const { store } = internalsOf(engine);
  const append = store.append.bind(store);
  let count = 0;
  Object.assign(store, {
    async append(...given: Parameters<typeof append>) {
      count += 1;
      const isLast = count === killAt;
      if (isLast && when === "before") process.kill(process.pid, "SIGKILL");
      const outcome = await append(...given);
      if (isLast) process.kill(process.pid, "SIGKILL");
      return outcome;
    },
  });
  return () => count;
}

export interface Finished {
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

/** Runs a program to its end. */
export function runProgram(file: string, args: readonly string[]): Promise<Finished> {
  const child = spawn(process.execPath, [...process.execArgv, file, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve) => child.on("close", (_, signal) => resolve({ signal, output })));
}

/** Each append of a run, before and after it. */
export const pointsOf = (appends: number): readonly (readonly [at: number, when: string])[] =>
  Array.from({ length: appends }, (_, place) => place + 1).flatMap((at) => [
    [at, "before"] as const,
    [at, "after"] as const,
  ]);
