/** Where the projections stand in the feed, so that they never bring back what was erased. */

/**
 * Whoever makes projections reads texts first and writes them later; what was erased in between must not come
 * back. So where they stand is a position of the feed and, once something was erased, the number of erasures:
 * a step from a place with another number is not taken.
 */
export function placeOfProjections(position: string | null, erasures: number): string | null {
  return erasures === 0 ? position : `${position ?? "0"}~${erasures}`;
}

export const positionIn = (place: string): string => place.replace(/~\d+$/, "");
