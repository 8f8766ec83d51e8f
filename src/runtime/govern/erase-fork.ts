/**
 * What a new fork must record about erased contents: its parent, whose log says so, may be deleted one day.
 */
import { readPages } from "../read/record-pages.ts";
import type { CommandOf } from "../../core/command.ts";
import type { SessionId } from "../../core/ids.ts";
import * as range from "../../core/range.ts";
import type { Ranges } from "../../core/range.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import { rangesBytesMax } from "./erase-survey.ts";

type Erasures = NonNullable<CommandOf<"fork">["erased"]>;

/** `parent` is its current state: what was erased after the fork point is missing from the fork as well. */
export async function erasedBefore(
  store: Store,
  session: SessionId,
  seq: number,
  parent: State,
): Promise<Erasures> {
  const { erased } = parent.standing;
  const ranges = range.clip(erased.ranges, seq);
  if (ranges.length === 0) return [];
  const isWhole = range.count(ranges) === range.count(erased.ranges);
  const { records, bytes } = isWhole ? erased : await countIn(store, session, ranges);
  // The sums are right, and each fits a body.
  return split(ranges).map((each, place) =>
    place === 0 ? { ranges: each, records, bytes } : { ranges: each, records: 0, bytes: 0 },
  );
}

async function countIn(
  store: Store,
  session: SessionId,
  ranges: Ranges,
): Promise<{ readonly records: number; readonly bytes: number }> {
  let [records, bytes] = [0, 0];
  for (const each of ranges) {
    for await (const page of readPages(store, session, each)) {
      for (const { contentHash, contentBytes } of page) {
        if (contentHash === null) continue;
        records += 1;
        bytes += contentBytes ?? 0;
      }
    }
  }
  return { records, bytes };
}

function split(ranges: Ranges): readonly Ranges[] {
  const lists: { ranges: range.Range[]; bytes: number }[] = [];
  for (const each of ranges) {
    const bytes = JSON.stringify(each).length + 1;
    const last = lists.at(-1);
    if (last !== undefined && last.bytes + bytes <= rangesBytesMax) {
      last.ranges.push(each);
      last.bytes += bytes;
    } else lists.push({ ranges: [each], bytes });
  }
  return lists.map((one) => one.ranges);
}
