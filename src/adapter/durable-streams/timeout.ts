/** Work that ends after a time. */
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

/** Runs with a signal that is also aborted after a time. */
export async function withTimeout<T>(
  engine: Engine,
  ms: number,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController();
  const done = new AbortController();
  const slept = internalsOf(engine).world.sleep(ms, AbortSignal.any([signal, done.signal]));
  slept.then(
    () => timeout.abort(),
    () => null,
  );
  try {
    return await run(AbortSignal.any([signal, timeout.signal]));
  } finally {
    done.abort();
  }
}
