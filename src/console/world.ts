/** The console's world: time. Everything else gets its clock from here. */

export const now = (): number => Date.now();

/** Calls once, later; the returned function cancels it. */
export function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** Calls at an interval; the returned function ends it. */
export function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  return () => clearInterval(timer);
}

/** A unique idempotency key: a retry with the same one has no further effect. */
export const freshKey = (): string => crypto.randomUUID();
