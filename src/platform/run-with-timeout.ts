/** Runs untrusted work with a timeout, which also ends a regular expression. */
import { createContext, Script } from "node:vm";

interface WorkContext {
  work?: (() => void) | undefined;
}

const script = new Script("work()");
/** One for the process: a context that holds nothing between two calls. */
let made: WorkContext | null = null;

/** How often work that had no processor is begun again, each time with twice the time. */
const againMax = 4;

/**
 * The result of the work; null after `ms` of processor time. It must be synchronous, and change nothing: it
 * may be ended at any point, and be begun again. It blocks this process meanwhile. On a busy machine the
 * clock goes on while the thread waits for a processor, so a timeout by the clock alone proves nothing.
 */
export function inTime<T extends object>(work: () => T, ms: number): T | null {
  for (let time = ms, tries = 0; ; tries++, time *= 2) {
    const before = process.threadCpuUsage();
    const given = within(work, time);
    if (given !== null || tries === againMax) return given;
    const { user, system } = process.threadCpuUsage(before);
    if (user + system >= ms * 1_000) return null;
  }
}

/** The result of the work; null when the clock has gone on by `ms` before it ended. */
function within<T extends object>(work: () => T, ms: number): T | null {
  made ??= createContext({ work: undefined } satisfies WorkContext) as WorkContext;
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
