/**
 * Guards that pages advance. Every reader goes from page to page by the previous page, so a store that
 * returns the same page again, because of corruption or a driver bug, would be read forever. Each driver
 * wraps its store in `withProgress`, which rejects with `corrupt` instead.
 */
import type { StoredRecord } from "../core/chain.ts";
import { SkeinError } from "../core/error.ts";
import type { ResultPage, ReadRange, Store } from "./port.ts";

export function withProgress(store: Store): Store {
  return {
    ...store,
    async read(session, range) {
      const page = await store.read(session, range);
      checkRecords(page, range);
      return page;
    },
    async feed(after, count) {
      const page = await store.feed(after, count);
      if (page.records.length > 0 && page.position === after) throw stuck("feed", after);
      return page;
    },
    async logs(after, count) {
      const page = await store.logs(after, count);
      checkCursor("logs", page, after);
      return page;
    },
    async list(filter, given) {
      const page = await store.list(filter, given);
      checkCursor("list", page, given.cursor ?? null);
      return page;
    },
  };
}

/** Positions lie in the requested range, each after the previous one in reading order. */
function checkRecords(page: readonly StoredRecord[], { fromSeq, toSeq, reverse = false }: ReadRange): void {
  let before = reverse ? Infinity : -Infinity;
  for (const { seq } of page) {
    const isNext = reverse ? seq < before : seq > before;
    if (!isNext || seq < fromSeq || seq > toSeq) {
      throw new SkeinError("corrupt", `read: expected records ${fromSeq} to ${toSeq} in order, got ${seq}`, {
        hint: '"skein verify" finds what is damaged',
      });
    }
    before = seq;
  }
}

function checkCursor(call: string, { rows, cursor }: ResultPage<unknown>, before: string | null): void {
  if (cursor === null || (rows.length > 0 && cursor !== before)) return;
  throw stuck(call, cursor);
}

/** For a loop over pages whose next page is the same again. */
export const stuck = (call: string, position: unknown): SkeinError =>
  new SkeinError(
    "corrupt",
    `${call}: the page after position ${String(position)} repeats the previous page`,
    {
      hint: '"skein verify" finds what is damaged',
    },
  );
