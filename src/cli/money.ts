/** Money as people read it. It is counted in billionths of a dollar; what nobody knows is not zero. */

/** `$12.34`; small sums get as many digits as they need to be seen. Null is unknown. */
export function money(nanoUsd: number | null): string {
  if (nanoUsd === null) return "an unknown price";
  if (nanoUsd === 0) return "$0.00";
  const usd = nanoUsd / 1e9;
  if (usd >= 0.995) return `$${usd.toFixed(2)}`;
  // Two digits that say something, wherever they begin; never more than there are.
  const digits = Math.min(9, Math.max(2, 1 - Math.floor(Math.log10(usd)) + 1));
  return `$${usd.toFixed(digits)}`;
}
