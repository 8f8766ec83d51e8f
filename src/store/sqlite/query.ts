/** Read-only SQL over the documented views, in a thread of its own so that a slow query holds up nothing. */
import { Worker } from "node:worker_threads";
import { SkeinError } from "../../core/error.ts";
import type { StoreWorld } from "../port.ts";
import type { QueryAnswer, QueryRequest } from "./query-worker.ts";

export async function query(
  path: string,
  sql: string,
  options: { readonly limit: number; readonly timeoutMs: number; readonly world: StoreWorld },
): Promise<{ readonly columns: readonly string[]; readonly rows: readonly (readonly unknown[])[] }> {
  // The worker's file has the extension of this one: .ts in a checkout, .js in the package.
  const file = new URL(
    import.meta.url.endsWith(".ts") ? "./query-worker.ts" : "./query-worker.js",
    import.meta.url,
  );
  const request: QueryRequest = { path, sql, limit: options.limit };
  const worker = new Worker(file, { workerData: request });
  const done = new AbortController();
  const late = options.world.sleep(options.timeoutMs, done.signal).then(() => null);
  try {
    const answer = await Promise.race([answerOf(worker), late]);
    if (answer === null) {
      throw new SkeinError("refused", `the query took longer than ${options.timeoutMs} ms and was ended`, {
        hint: "narrow it down: name a session, a type or a time",
      });
    }
    if ("error" in answer)
      throw new SkeinError("invalid", `the query failed: ${answer.error}`, { hint: answer.hint });
    return answer;
  } finally {
    done.abort();
    await worker.terminate();
  }
}

function answerOf(worker: Worker): Promise<QueryAnswer> {
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}
