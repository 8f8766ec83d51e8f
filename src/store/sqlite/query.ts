/** Read-only SQL over the documented views, apart from this process so that a slow query holds up nothing. */
import { Worker } from "node:worker_threads";
import { SkeinError } from "../../core/error.ts";
import type { StoreWorld } from "../port.ts";
import type { QueryAnswer, QueryRequest } from "./query-worker.ts";

export async function query(
  path: string,
  sql: string,
  options: {
    readonly limit: number;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal;
    readonly world: StoreWorld;
  },
): Promise<{ readonly columns: readonly string[]; readonly rows: readonly (readonly unknown[])[] }> {
  // The worker's file has the extension of this one: .ts in a checkout, .js in the package.
  const file = new URL(
    import.meta.url.endsWith(".ts") ? "./query-worker.ts" : "./query-worker.js",
    import.meta.url,
  );
  const request: QueryRequest = { path, sql, limit: options.limit };
  const ended = new AbortController();
  const { world, timeoutMs, signal } = options;
  const leave = (): void => ended.abort();
  signal?.addEventListener("abort", leave, { once: true });
  if (signal?.aborted === true) leave();
  const late = world.sleep(timeoutMs, ended.signal).then(() => null);
  const asked = world.apart
    ? world.apart(file, request, ended.signal)
    : inWorker(file, request, ended.signal);
  // A process that is ended says so too, or not: nobody listens then.
  asked.catch(() => undefined);
  try {
    const answer = await Promise.race([asked as Promise<QueryAnswer>, late]);
    if (signal?.aborted === true) {
      throw new SkeinError("unavailable", "the query was ended before it had an answer");
    }
    if (answer === null) {
      throw new SkeinError("refused", `the query took longer than ${timeoutMs} ms and was ended`, {
        hint: "narrow it down: name a session, a type or a time",
      });
    }
    if ("error" in answer)
      throw new SkeinError("invalid", `the query failed: ${answer.error}`, { hint: answer.hint });
    return answer;
  } catch (error) {
    if (signal?.aborted !== true || error instanceof SkeinError) throw error;
    throw new SkeinError("unavailable", "the query was ended before it had an answer", { cause: error });
  } finally {
    signal?.removeEventListener("abort", leave);
    ended.abort();
  }
}

/** A thread is ended only between two rows; but it needs no process. */
function inWorker(file: URL, request: QueryRequest, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(file, { workerData: request });
    worker.once("message", resolve);
    worker.once("error", reject);
    signal.addEventListener("abort", () => void worker.terminate(), { once: true });
  });
}
