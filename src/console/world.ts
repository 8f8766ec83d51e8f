/** The console's world: time. All else is given its clock, as everywhere. */

export const now = (): number => Date.now();

/** Calls once, later; the function that comes back calls it off. */
export function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** Calls again and again; the function that comes back ends it. */
export function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  return () => clearInterval(timer);
}

/** A key that nobody else has: what is sent again with the same one is done once. */
export const freshKey = (): string => crypto.randomUUID();
