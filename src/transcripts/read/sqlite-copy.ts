/** Reads rows of a database that another program may have open, from a private copy. */
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { RecordSink } from "./splitter.ts";

/** The rows of a table that belong together. `where` has one parameter. */
export interface RowQuery {
  readonly table: string;
  readonly where: string;
  readonly parameter: string;
}

/** Copies the database with its write-ahead log, and opens the copy read-only. */
export async function openCopy(path: string, folder: string, name: string): Promise<DatabaseSync> {
  // Loaded when needed: few programs read a database, and the module warns on some versions of Node.
  const { DatabaseSync } = await import("node:sqlite");
  const copy = join(folder, name);
  for (const suffix of ["", "-wal", "-shm"]) {
    if (suffix === "" || existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix);
  }
  try {
    const database = new DatabaseSync(copy, { readOnly: true });
    database.prepare("SELECT count(*) FROM sqlite_master").get();
    return database;
  } catch (cause) {
    const locked =
      cause instanceof Error && "errcode" in cause && (cause.errcode === 5 || cause.errcode === 6);
    throw new SkeinError(
      locked ? "unavailable" : "corrupt",
      `${quote(path)}: the database ${locked ? "is locked" : "cannot be opened"}`,
      { hint: locked ? "close the program that uses it, then retry" : "check the file", cause },
    );
  }
}

const isName = (text: string): boolean => /^[a-z_]+$/.test(text);

function hasTable(database: DatabaseSync, table: string): boolean {
  return (
    database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table) !== undefined
  );
}

/** Each row as a record: the file is `DATABASE/TABLE`, the range its row id. */
export function scanRows(database: DatabaseSync, file: string, query: RowQuery, sink: RecordSink): void {
  if (!isName(query.table) || !hasTable(database, query.table)) return;
  const statement = database.prepare(
    `SELECT rowid AS "#", * FROM ${query.table} WHERE ${query.where} ORDER BY rowid`,
  );
  for (const row of statement.iterate(query.parameter)) {
    const { "#": id, ...value } = row;
    const from = Number(id);
    sink.record({ file: `${file}/${query.table}`, from, to: from + 1, value: { ...value } });
  }
}

export function readRow(database: DatabaseSync, table: string, id: number): unknown {
  if (!isName(table)) return undefined;
  const row = database.prepare(`SELECT * FROM ${table} WHERE rowid = ?`).get(id);
  return row === undefined ? undefined : { ...row };
}

export function listRows(database: DatabaseSync, sql: string): Record<string, unknown>[] {
  return database
    .prepare(sql)
    .all()
    .map((row) => ({ ...row }));
}
