/**
 * Runs one query on a separate connection, which cannot write and sees only the views. It runs in a separate
 * process if the world can start one, because only a process can be killed during a query; otherwise in a
 * thread.
 */
import { constants, DatabaseSync } from "node:sqlite";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { hash } from "node:crypto";
import type { LogId } from "../../core/ids.ts";
import { limit as limits } from "../../core/limit.ts";
import { errorText } from "../../core/first-error.ts";
import {
  rowBytes,
  describeError,
  tooMuch,
  type QueryRows,
  severalStatements,
  tooManyRows,
  viewNames,
  viewsHint as hint,
} from "../sql/query-result.ts";
import { queryViews, unpackField, unpackPositions } from "./schema.ts";
import { makeSegments, type PackedField } from "./segments.ts";

export interface QueryRequest {
  readonly path: string;
  readonly sql: string;
  readonly limit: number;
  readonly bytesMax: number;
}

export type QueryAnswer = QueryRows | { readonly error: string; readonly hint: string };

/** SQLite's code for a value that is too long. */
const sqliteTooBig = 18;

/** Bytes in hexadecimal, as on PostgreSQL: JSON has none. */
const plainOf = (value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;

if (parentPort !== null) parentPort.postMessage(answer(workerData as QueryRequest));
else {
  process.once("message", (request: QueryRequest) => {
    endWhenLarge(limits.queryMemoryBytesMax);
    process.send?.(answer(request), () => process.disconnect?.());
  });
}

/**
 * Ends this process above a memory limit. SQLite sorts in memory, because erased data must not remain in
 * temporary files, and Node builds it without a memory limit; while a query runs, only a thread can check.
 */
function endWhenLarge(bytesMax: number): void {
  const look = `const clock = new Int32Array(new SharedArrayBuffer(4));
    while (process.memoryUsage.rss() <= ${bytesMax}) Atomics.wait(clock, 0, 0, 20);
    process.kill(process.pid, "SIGKILL");`;
  new Worker(look, { eval: true }).unref();
}

function answer({ path, sql, limit, bytesMax }: QueryRequest): QueryAnswer {
  // No value is longer than that, also inside the query.
  const lengths = { length: limits.queryBytesMax };
  const database = new DatabaseSync(path, { readOnly: true, timeout: 1_000, limits: lengths });
  try {
    const unpacking = addUnpacking(database);
    const inner = hideViews(database, sql);
    database.exec("PRAGMA query_only=ON; PRAGMA trusted_schema=OFF");
    // SQLite declares the tables of these functions on first use, which the authorizer would reject.
    database.prepare("SELECT 1 FROM json_each('[]'), json_tree('[]')").get();
    database.setAuthorizer((...asked) => (unpacking.now ? constants.SQLITE_OK : authorize(inner, ...asked)));
    const statement = database.prepare(sql);
    if (statement.sourceSQL.trim() !== sql.trim()) return { error: severalStatements, hint };
    const columns = statement.columns().map(({ name }) => name);
    if (columns.length === 0) return { error: "the statement returns no rows", hint };
    statement.setReturnArrays(true);
    const rows: unknown[][] = [];
    let bytes = 0;
    for (const given of statement.iterate() as unknown as Iterable<unknown[]>) {
      if (rows.length === limit) return tooManyRows(limit);
      const row = given.map(plainOf);
      bytes += rowBytes(row);
      if (bytes > bytesMax) return tooMuch(bytesMax);
      rows.push(row);
    }
    return { columns, rows };
  } catch (error) {
    const isTooLong = error instanceof Error && "errcode" in error && error.errcode === sqliteTooBig;
    if (isTooLong) return { ...tooMuch(bytesMax), error: `a value of more than ${lengths.length} bytes` };
    return { error: describeError(errorText(error)), hint };
  } finally {
    database.close();
  }
}

/**
 * Hides each view behind another one with a name that the query does not contain. SQLite tells the authorizer
 * for which view a table is read, but a common table expression may have the name of a view; it cannot have a
 * name like these.
 */
function hideViews(database: DatabaseSync, sql: string): string {
  let inner = "inner_0_";
  for (let count = 1; sql.toLowerCase().includes(inner); count++) inner = `inner_${count}_`;
  database.exec("PRAGMA temp_store=MEMORY");
  database.exec(queryViews.replaceAll("CREATE VIEW ", `CREATE TEMP VIEW ${inner}`));
  for (const name of viewNames) {
    database.exec(`CREATE TEMP VIEW ${name} AS SELECT * FROM ${inner}${name}`);
  }
  return inner;
}

/**
 * The functions that unpack segments for the views. Meanwhile they may read what the query itself may not.
 */
function addUnpacking(database: DatabaseSync): { readonly now: boolean } {
  const unpacking = { now: false };
  const session = database.prepare("SELECT session FROM logs WHERE id = ?");
  const name = database.prepare("SELECT name FROM names WHERE id = ?");
  const segments = makeSegments(database, {
    digest: (prefixHex, text) =>
      hash("sha256", Buffer.concat([Buffer.from(prefixHex, "hex"), Buffer.from(text)]), "hex"),
    sessionOf: remembered((id) => session.get(id)?.["session"] as LogId),
    name: remembered((id) => String(name.get(id)?.["name"])),
  });
  database.function(unpackPositions, { deterministic: true }, (from, to) =>
    JSON.stringify(Array.from({ length: Number(to) + 1 - Number(from) }, (_, place) => Number(from) + place)),
  );
  database.function(unpackField, (log, seq, field) => {
    if (log === null || seq === null) return null;
    unpacking.now = true;
    try {
      const found = segments.field(Number(log), Number(seq), String(field) as PackedField) ?? null;
      // A number would become a fraction.
      return typeof found === "number" ? BigInt(found) : found;
    } finally {
      unpacking.now = false;
    }
  });
  return unpacking;
}

function remembered<T>(find: (id: number) => T): (id: number) => T {
  const known = new Map<number, T>();
  return (id) => {
    const found = known.get(id) ?? find(id);
    known.set(id, found);
    return found;
  };
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
  if (action === SQLITE_SELECT || action === SQLITE_RECURSIVE) return SQLITE_OK;
  // Unpacking is only for the views: a query could otherwise read deleted data with it.
  const unpacks = column === unpackField || column === unpackPositions;
  if (action === SQLITE_FUNCTION && !unpacks) return SQLITE_OK;
  if (action === SQLITE_FUNCTION) return view?.startsWith(inner) === true ? SQLITE_OK : SQLITE_DENY;
  if (action !== SQLITE_READ) return SQLITE_DENY;
  const open =
    // Passed if only the table itself counts, as in count(*) of a view.
    column === "" ||
    view?.startsWith(inner) === true ||
    table?.startsWith(inner) === true ||
    (viewNames as readonly (string | null)[]).includes(table) ||
    table?.startsWith("json_") === true;
  return open ? SQLITE_OK : SQLITE_DENY;
}
