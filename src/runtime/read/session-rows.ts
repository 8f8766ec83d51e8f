/** The rows of the session index that match a filter, read page by page. */
import { limit } from "../../core/limit.ts";
import { present } from "../../core/present.ts";
import type { SessionFilter, SessionRow, Store } from "../../store/port.ts";

/** The most recently active first. A session that is written to meanwhile may come twice. */
export async function* readRows(
  store: Pick<Store, "list">,
  filter: SessionFilter,
  pageRows: number = limit.listMax,
): AsyncGenerator<SessionRow, void, undefined> {
  for (let cursor: string | undefined; ;) {
    const page = await store.list(filter, { limit: pageRows, ...present({ cursor }) });
    yield* page.rows;
    if (page.cursor === null) return;
    ({ cursor } = page);
  }
}
