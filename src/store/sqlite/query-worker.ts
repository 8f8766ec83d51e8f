/** The thread that runs one query on a connection of its own, which cannot write and sees only the views. */
import { constants, DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { viewNames } from "./schema.ts";

export interface QueryRequest {
  readonly path: string;
  readonly sql: string;
  readonly limit: number;
}

export type QueryAnswer =
  | { readonly columns: readonly string[]; readonly rows: readonly (readonly unknown[])[] }
  | { readonly error: string; readonly hint: string };

const hint = `one SELECT over the views ${viewNames.join(", ")}; see docs/views.md`;

/** A common table expression with the name of a view would be taken for the view by the authorizer. */
const redefinesView = new RegExp(
  String.raw`\b["\[\`]?(${viewNames.join("|")})["\]\`]?\s*(\([^)]*\)\s*)?as\b`,
  "i",
);

parentPort?.postMessage(answer(workerData as QueryRequest));

function answer({ path, sql, limit }: QueryRequest): QueryAnswer {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
  try {
    database.exec("PRAGMA query_only=ON; PRAGMA trusted_schema=OFF");
    // SQLite declares the tables of these functions on first use, which the authorizer would refuse.
    database.prepare("SELECT 1 FROM json_each('[]'), json_tree('[]')").get();
    database.setAuthorizer(authorize);
    if (redefinesView.test(sql)) return { error: "the name of a view is given to something else", hint };
    const statement = database.prepare(sql);
    if (statement.sourceSQL.trim() !== sql.trim()) return { error: "there is more than one statement", hint };
    const columns = statement.columns().map(({ name }) => name);
    if (columns.length === 0) return { error: "it gives no rows", hint };
    statement.setReturnArrays(true);
    const rows: unknown[][] = [];
    for (const row of statement.iterate() as unknown as Iterable<unknown[]>) {
      if (rows.length === limit) return { error: `more than ${limit} rows`, hint: "add a LIMIT" };
      rows.push(row);
    }
    return { columns, rows };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error), hint };
  } finally {
    database.close();
  }
}

/** Reading is allowed through the views only: SQLite names the view that a table is read for. */
function authorize(
  action: number,
  first: string | null,
  column: string | null,
  _database: string | null,
  view: string | null,
) {
  const { SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE, SQLITE_OK, SQLITE_DENY } = constants;
  if (action === SQLITE_SELECT || action === SQLITE_FUNCTION || action === SQLITE_RECURSIVE) return SQLITE_OK;
  if (action !== SQLITE_READ) return SQLITE_DENY;
  const open =
    // Asked for when a table counts but none of its columns does, as in count(*) of a view.
    column === "" ||
    (viewNames as readonly (string | null)[]).includes(view) ||
    (viewNames as readonly (string | null)[]).includes(first) ||
    first?.startsWith("json_") === true;
  return open ? SQLITE_OK : SQLITE_DENY;
}
