/** Where the projections stand in the feed, so that they never bring back what was erased. */
import type { FeedPage } from "../port.ts";

/**
 * Whoever makes projections reads texts first and writes them later; what was erased in between must not come
 * back. So where they stand is a position of the feed and, once something was erased, the number of erasures:
 * a step from a place with another number is not taken.
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
