/**
 * Runs one SQL statement on a SQLite file and prints its result as JSON. It is a separate program, because
 * only a process can be killed during a query. Its argument is a `StatementRequest` in JSON.
 */
import { constants, DatabaseSync } from "node:sqlite";
import { errorText } from "../core/first-error.ts";
import { cell, rowsLimit, type StatementRows } from "./rows.ts";

export interface StatementRequest {
  readonly path: string;
  readonly sql: string;
  readonly rowsMax: number;
  readonly mayWrite: boolean;
}

/** `isWrite`: a `write` binding would allow it. */
export type StatementAnswer = StatementRows | { readonly error: string; readonly isWrite?: boolean };

/** Pragmas that read the schema without changing anything. */
const readingPragmas: ReadonlySet<string> = new Set(
  "table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list".split(" "),
);
const busyMs = 5_000;

process.stdout.write(JSON.stringify(answer(JSON.parse(process.argv[2] ?? "{}") as StatementRequest)));

function answer({ path, sql, rowsMax, mayWrite }: StatementRequest): StatementAnswer {
  let isWrite = false;
  try {
    using database = new DatabaseSync(path, { readOnly: !mayWrite, timeout: busyMs });
    if (!mayWrite) database.exec("PRAGMA query_only=ON; PRAGMA trusted_schema=OFF");
    database.setAuthorizer((action, first, second) => {
      if (isAllowed(action, [first, second], mayWrite)) return constants.SQLITE_OK;
      isWrite ||= isAllowed(action, [first, second], true);
      return constants.SQLITE_DENY;
    });
    const statement = database.prepare(sql);
    if (restOf(sql, statement.sourceSQL) !== "")
      return { error: "expected one statement, got several; send them one at a time" };
    const columns = statement.columns().map(({ name }) => name);
    if (columns.length === 0)
      return { columns, rows: [], isMore: false, changes: Number(statement.run().changes) };
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    const rows: unknown[][] = [];
    let chars = 0;
    for (const given of statement.iterate() as unknown as Iterable<unknown[]>) {
      const row = given.map(cell);
      // Many columns of long texts are as large as many rows; far more than is shown is enough.
      for (const value of row) chars += typeof value === "string" ? value.length : 8;
      if (rows.length === rowsMax || chars > rowsLimit.answerBytesMax / 4)
        return { columns, rows, isMore: true };
      rows.push(row);
    }
    return { columns, rows, isMore: false };
  } catch (error) {
    return { error: errorText(error), isWrite };
  }
}

/** The text after the statement, without comments and semicolons. */
function restOf(sql: string, statement: string): string {
  const rest = sql.slice(sql.indexOf(statement) + statement.length);
  return rest.replaceAll(/--[^\n]*|\/\*[^]*?(?:\*\/|$)|[\s;]/g, "");
}

/** No other file is ever opened, and reading stays reading. */
function isAllowed(action: number, [first, second]: readonly (string | null)[], mayWrite: boolean): boolean {
  const { SQLITE_ATTACH, SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_PRAGMA } = constants;
  const { SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE } = constants;
  // VACUUM attaches too, and may name a target file.
  if (action === SQLITE_ATTACH) return false;
  if (action === SQLITE_FUNCTION) return second !== "load_extension";
  if (action === SQLITE_PRAGMA) return readingPragmas.has(first?.toLowerCase() ?? "");
  // Every statement is a separate transaction: the connection ends with it.
  if (action === SQLITE_TRANSACTION || action === SQLITE_SAVEPOINT) return false;
  return mayWrite || action === SQLITE_SELECT || action === SQLITE_READ || action === SQLITE_RECURSIVE;
}
