/** Reports the original error, not the cleanup error that followed it. */

/** The first error of a chain of suppressed errors; any other error as it is. */
export function firstError(error: unknown): unknown {
  let first = error;
  while (first instanceof SuppressedError) first = first.suppressed;
  return first;
}

/** The text of an error for people. */
export function errorText(error: unknown): string {
  const first = firstError(error);
  return first instanceof Error ? first.message : String(first);
}
