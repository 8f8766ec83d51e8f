/** Runs untrusted work with a timeout, which also ends a regular expression. */
import { createContext, Script } from "node:vm";

interface Place {
  work?: (() => void) | undefined;
}

const script = new Script("work()");
/** One for the process: a context that holds nothing between two calls. */
let made: Place | null = null;

/**
 * The result of the work; null after a timeout. It must be synchronous, and change nothing: it may be ended
 * at any point. It blocks this process meanwhile.
 */
export function inTime<T extends object>(work: () => T, ms: number): T | null {
  made ??= createContext({ work: undefined } satisfies Place) as Place;
  const before = made.work;
  let given: T | null = null;
  made.work = () => {
    given = work();
  };
  try {
    script.runInContext(made, { timeout: ms });
    return given;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return null;
    throw error;
  } finally {
    made.work = before;
  }
}
