/** The records of a log between two positions, read page by page. */
import type { StoredRecord } from "../../core/chain.ts";
import type { LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Range } from "../../core/range.ts";
import type { ReadRange, Store } from "../../store/port.ts";

type PagesOptions = Partial<Pick<ReadRange, "types" | "contents" | "reverse">>;

/** Without contents unless they are asked for. The range may end at Infinity. */
export async function* readPages(
  store: Pick<Store, "read">,
  log: LogId,
  [firstSeq, lastSeq]: Range,
  { contents = false, ...options }: PagesOptions = {},
): AsyncGenerator<readonly StoredRecord[]> {
  let [fromSeq, toSeq] = [firstSeq, lastSeq];
  while (fromSeq <= toSeq) {
    const range = { fromSeq, toSeq, limit: limit.pageRecordsMax, contents, ...options };
    const page = await store.read(log, range);
    const last = page.at(-1)?.seq;
    // A page that does not lead on would be read for ever.
    if (last === undefined || last < fromSeq || last > toSeq) return;
    yield page;
    if (options.reverse === true) toSeq = last - 1;
    else fromSeq = last + 1;
  }
}

/** The same, one record after the other. */
export async function* readRecords(
  ...asked: Parameters<typeof readPages>
): AsyncGenerator<StoredRecord, void, undefined> {
  for await (const page of readPages(...asked)) yield* page;
}
