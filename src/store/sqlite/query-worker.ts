/**
 * Runs one query on a connection of its own, which cannot write and sees only the views. It is a process of
 * its own where the world can start one, because only a process can be ended in the middle of a query; else a
 * thread.
 */
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

if (parentPort !== null) parentPort.postMessage(answer(workerData as QueryRequest));
else {
  process.once("message", (request: QueryRequest) => {
    process.send?.(answer(request), () => process.disconnect?.());
  });
}

function answer({ path, sql, limit }: QueryRequest): QueryAnswer {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
  try {
    const inner = hideViews(database, sql);
    database.exec("PRAGMA query_only=ON; PRAGMA trusted_schema=OFF");
    // SQLite declares the tables of these functions on first use, which the authorizer would refuse.
    database.prepare("SELECT 1 FROM json_each('[]'), json_tree('[]')").get();
    database.setAuthorizer((...asked) => authorize(inner, ...asked));
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

/**
 * Puts each view behind another of a name that the query does not contain. SQLite tells the authorizer for
 * which view a table is read, but a common table expression may have the name of a view; it cannot have a
 * name like these.
 */
function hideViews(database: DatabaseSync, sql: string): string {
  let inner = "inner_0_";
  for (let count = 1; sql.toLowerCase().includes(inner); count++) inner = `inner_${count}_`;
  const definition = database.prepare("SELECT sql FROM main.sqlite_master WHERE type = 'view' AND name = ?");
  database.exec("PRAGMA temp_store=MEMORY");
  for (const name of viewNames) {
    const select = String(definition.get(name)?.["sql"]).replace(/^CREATE VIEW \w+ AS\s/, "");
    database.exec(`CREATE TEMP VIEW ${inner}${name} AS ${select}`);
    database.exec(`CREATE TEMP VIEW ${name} AS SELECT * FROM ${inner}${name}`);
  }
  return inner;
}

function authorize(
  inner: string,
  action: number,
  table: string | null,
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
    view?.startsWith(inner) === true ||
    table?.startsWith(inner) === true ||
    (viewNames as readonly (string | null)[]).includes(table) ||
    table?.startsWith("json_") === true;
  return open ? SQLITE_OK : SQLITE_DENY;
}
