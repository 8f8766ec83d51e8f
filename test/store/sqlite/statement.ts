/** Statements of node:sqlite with something put before them, until they are set free again. */
import { StatementSync, type SQLInputValue } from "node:sqlite";

type Run = (this: StatementSync, ...args: SQLInputValue[]) => unknown;

/**
 * Calls `before` with the SQL of every statement that is run, or asked for a row. What it throws is what
 * SQLite would have thrown.
 */
export function beforeEachRun(before: (sql: string) => void, how: "run" | "get" = "run"): () => void {
  const prototype = StatementSync.prototype as unknown as Record<typeof how, Run>;
  const run = prototype[how];
  prototype[how] = function (this: StatementSync, ...args) {
    before(this.sourceSQL);
    return run.apply(this, args);
  };
  return () => void (prototype[how] = run);
}
