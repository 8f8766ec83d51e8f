/** Regular expressions in a separate thread, because a model's expression may run forever. */
import { Worker } from "node:worker_threads";
import { SkeinError } from "../core/error.ts";
import type { GrepAnswer, GrepRequest, GrepSetup } from "./grep-worker.ts";

export interface Grep extends AsyncDisposable {
  /** The matching lines, at most so many. */
  matches(text: string, most: number): Promise<readonly { readonly line: number; readonly text: string }[]>;
}

/** Ends with the signal, whatever the expression is doing. Rejects an invalid one. */
export async function openGrep(
  pattern: string,
  options: { readonly ignoreCase: boolean; readonly signal: AbortSignal },
): Promise<Grep> {
  const setup: GrepSetup = { pattern, flags: flagsFor(pattern, options.ignoreCase ? "i" : "") };
  const file = new URL(
    import.meta.url.endsWith(".ts") ? "./grep-worker.ts" : "./grep-worker.js",
    import.meta.url,
  );
  const worker = new Worker(file, { workerData: setup, execArgv: [] });
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined);
  worker.once("error", ended.reject);
  const stop = () => {
    ended.reject(new SkeinError("refused", "the search timed out; use a simpler expression"));
    void worker.terminate();
  };
  options.signal.addEventListener("abort", stop, { once: true });
  if (options.signal.aborted) stop();
  return {
    matches: async (text, most) => {
      const answer = new Promise<GrepAnswer>((resolve) => worker.once("message", resolve));
      const request: GrepRequest = { text, most };
      worker.postMessage(request);
      return Promise.race([answer, ended.promise]);
    },
    [Symbol.asyncDispose]: async () => {
      options.signal.removeEventListener("abort", stop);
      await worker.terminate();
    },
  };
}

/** With Unicode if the expression is valid so, otherwise without. */
function flagsFor(pattern: string, flags: string): string {
  for (const candidate of [`u${flags}`, flags]) {
    try {
      // oxlint-disable-next-line no-new -- only whether it parses
      new RegExp(pattern, candidate);
      return candidate;
    } catch (error) {
      if (candidate === flags)
        throw new SkeinError("invalid", `invalid regular expression: ${(error as Error).message}`);
    }
  }
  return flags;
}
