/** What drivers share about erasing: which ranges make sense, and how projections are kept from bringing it back. */
import { limit } from "../core/limit.ts";
import type { FeedPage, Part } from "./port.ts";

/** What is wrong with what a part is to erase; null when nothing is. */
export function rangesFlaw({ erase, drafts, drop }: Part): string | null {
  if (erase === undefined) return null;
  if (drop === true || drafts.length === 0) return "erasing goes with drafts that say so";
  if (erase.length > limit.eraseRecordsMax) {
    return `${erase.length} ranges to erase in one part; at most ${limit.eraseRecordsMax}`;
  }
  const isRange = ([fromSeq, toSeq]: readonly [number, number]): boolean =>
    Number.isSafeInteger(fromSeq) && Number.isSafeInteger(toSeq) && fromSeq >= 1 && fromSeq <= toSeq;
  return erase.every(isRange) ? null : "a range to erase goes from a position, from 1, to one not before it";
}

/**
 * Whoever makes projections reads texts first and writes them later; what was erased in between must not come
 * back. So where they stand is a position of the feed and, once something was erased, the number of erasures: a
 * step from a place with another number is not taken.
 */
export function placeOfProjections(position: string | null, erasures: number): string | null {
  return erasures === 0 ? position : `${position ?? "0"}~${erasures}`;
}

export const positionIn = (place: string): string => place.replace(/~\d+$/, "");

/** The feed from such a place, which gives out others like it. */
export function feedFrom(
  feed: (after: string | null, count: number) => FeedPage,
  after: string | null,
  count: number,
): FeedPage {
  if (after === null) return feed(null, count);
  const plain = positionIn(after);
  const page = feed(plain, count);
  return { ...page, position: `${page.position}${after.slice(plain.length)}` };
}
