/** Statements of node:sqlite with something put before them, until they are set free again. */
import { StatementSync, type SQLInputValue } from "node:sqlite";

type Run = (this: StatementSync, ...args: SQLInputValue[]) => unknown;

/**
 * Calls `before` with the SQL of every statement that is run. What it throws is what SQLite would have
 * thrown.
 */
export function beforeEachRun(before: (sql: string) => void): () => void {
  const prototype = StatementSync.prototype as unknown as { run: Run };
  const { run } = prototype;
  prototype.run = function (this: StatementSync, ...args) {
    before(this.sourceSQL);
    return run.apply(this, args);
  };
  return () => void (prototype.run = run);
}
