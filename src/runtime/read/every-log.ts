/** Every log of a store, from the logs themselves: the session index may be damaged or missing. */
import type { LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Store } from "../../store/port.ts";

export async function* everyLog(store: Store): AsyncGenerator<LogId> {
  for await (const page of logPages(store)) yield* page;
}

export async function* logPages(store: Store): AsyncGenerator<readonly LogId[]> {
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Store["logs"]>> = await store.logs(cursor, limit.listMax);
    yield page.rows;
    ({ cursor } = page);
  } while (cursor !== null);
}
