/** Read-only SQL over the documented views, outside of this process so that a slow query blocks nothing. */
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import {
  endedQuery,
  failedQuery,
  slowQuery,
  type QueryRows,
  type QueryOptions,
} from "../sql/query-result.ts";
import type { StoreWorld } from "../port.ts";
import { runApart } from "./apart.ts";
import type { QueryAnswer, QueryRequest } from "./query-worker.ts";

export async function query(
  path: string,
  sql: string,
  options: QueryOptions & { readonly world: StoreWorld },
): Promise<QueryRows> {
  // The worker's file has the extension of this one: .ts in a checkout, .js in the package.
  const file = new URL(
    import.meta.url.endsWith(".ts") ? "./query-worker.ts" : "./query-worker.js",
    import.meta.url,
  );
  const request: QueryRequest = { path, sql, limit: options.limit, bytesMax: options.bytesMax };
  const ended = new AbortController();
  const { world, timeoutMs, signal } = options;
  const leave = (): void => ended.abort();
  signal?.addEventListener("abort", leave, { once: true });
  if (signal?.aborted === true) leave();
  const late = world.sleep(timeoutMs, ended.signal).then(() => null);
  const asked = runApart(world, file, request, ended.signal);
  // An ended process may reject too: that error is irrelevant.
  asked.catch(() => undefined);
  try {
    const answer = await Promise.race([asked as Promise<QueryAnswer>, late]);
    if (signal?.aborted === true) throw endedQuery();
    if (answer === null) throw slowQuery(timeoutMs);
    if ("error" in answer) throw failedQuery(answer);
    return answer;
  } catch (error) {
    if (error instanceof SkeinError) throw error;
    if (signal?.aborted === true) throw endedQuery(error);
    throw wasKilled(error) ? tooLarge(error) : error;
  } finally {
    signal?.removeEventListener("abort", leave);
    ended.abort();
  }
}

/** By itself, see query-worker.ts, or by a system without memory. */
const wasKilled = (error: unknown): boolean => error instanceof Error && error.cause === "SIGKILL";

const tooLarge = (cause: unknown): SkeinError =>
  new SkeinError("refused", `query: exceeded the memory limit of ${limit.queryMemoryBytesMax} bytes`, {
    hint: "add conditions on session, type or time; sort fewer and shorter texts",
    cause,
  });
