/** A run on a server, like the library's: updates as they arrive, and a result. */
import { SkeinError } from "../protocol/library.ts";
import type { SessionUpdate, SessionRun } from "../runtime/turn/ask.ts";
import type { RunResult } from "../runtime/turn/runner.ts";

/**
 * Makes a run of its updates. The request is sent at once; further updates are read as fast as they are
 * consumed, or read and dropped if only `result` is awaited.
 */
export function runOf(updates: AsyncGenerator<SessionUpdate, RunResult>): SessionRun {
  const started = Promise.withResolvers<{ readonly seq: number }>();
  const result = Promise.withResolvers<RunResult>();
  for (const { promise } of [started, result]) promise.catch(() => null);
  let first: Promise<IteratorResult<SessionUpdate, RunResult>> | null = take();
  first.catch(() => null);
  let isRead = false;

  async function take(): Promise<IteratorResult<SessionUpdate, RunResult>> {
    try {
      const next = await updates.next();
      if (next.done === true) result.resolve(next.value);
      const seq = next.done === true ? next.value.seq : "seq" in next.value ? next.value.seq : undefined;
      if (seq !== undefined) started.resolve({ seq });
      return next;
    } catch (error) {
      started.reject(error);
      result.reject(error);
      throw error;
    }
  }

  async function* read(): AsyncGenerator<SessionUpdate, RunResult> {
    isRead = true;
    try {
      for (;;) {
        const next = await (first ?? take());
        first = null;
        if (next.done === true) return next.value;
        yield next.value;
      }
    } finally {
      result.reject(new SkeinError("unavailable", "run: read all updates before the result"));
      await updates.return(undefined as never);
    }
  }

  const run = read();
  async function drain(): Promise<void> {
    while ((await run.next()).done !== true);
  }
  return Object.defineProperties(run, {
    started: { value: started.promise },
    result: {
      get() {
        if (!isRead) drain().catch(() => null);
        return result.promise;
      },
    },
  }) as SessionRun;
}
