/** The thread behind grep.ts: matches each text against the expression, answers with the matching lines. */
import { parentPort, workerData } from "node:worker_threads";

export interface GrepSetup {
  readonly pattern: string;
  readonly flags: string;
}

export interface GrepRequest {
  readonly text: string;
  readonly most: number;
}

export type GrepAnswer = readonly { readonly line: number; readonly text: string }[];

const { pattern, flags } = workerData as GrepSetup;
const expression = new RegExp(pattern, flags);

parentPort?.on("message", ({ text, most }: GrepRequest) => {
  const found: { line: number; text: string }[] = [];
  for (const [before, line] of text.split("\n").entries()) {
    if (found.length >= most) break;
    if (expression.test(line))
      found.push({ line: before + 1, text: line.replace(/\r$/, "").slice(0, 1_000) });
  }
  parentPort?.postMessage(found satisfies GrepAnswer);
});
