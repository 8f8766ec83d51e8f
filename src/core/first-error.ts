/** What went wrong first: what fails while things are put away must not stand before the reason for it. */

/** Of an error in whose wake others came, the first; any other error is the first itself. */
export function firstError(error: unknown): unknown {
  let first = error;
  while (first instanceof SuppressedError) first = first.suppressed;
  return first;
}

/** What people are told of an error. */
export function errorText(error: unknown): string {
  const first = firstError(error);
  return first instanceof Error ? first.message : String(first);
}
