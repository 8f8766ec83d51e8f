/** Reads rows of a database that another program may have open, from a private copy. */
import { copyFileSync, existsSync, rmSync, statSync } from "node:fs";
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
  copyQuiet(path, copy);
  return guard(path, () => {
    const database = new DatabaseSync(copy, { readOnly: true });
    database.prepare("SELECT count(*) FROM sqlite_master").get();
    return database;
  });
}

const suffixes = ["", "-wal", "-shm"];
const copiesMax = 5;

/** A copy is whole only if nothing was written meanwhile, and no transaction is open in the file itself. */
function copyQuiet(path: string, copy: string): void {
  for (let attempt = 0; attempt < copiesMax; attempt++) {
    const before = stateOf(path);
    if ((statSync(`${path}-journal`, { throwIfNoEntry: false })?.size ?? 0) > 0) throw locked(path);
    for (const suffix of suffixes) {
      rmSync(copy + suffix, { force: true });
      if (suffix === "" || existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix);
    }
    if (before === stateOf(path)) return;
  }
  throw locked(path);
}

const stateOf = (path: string): string =>
  ["", "-wal"]
    .map((suffix) => statSync(path + suffix, { throwIfNoEntry: false }))
    .map((stat) => `${stat?.size ?? 0} ${stat?.mtimeMs ?? 0}`)
    .join(" ");

const locked = (path: string, cause?: unknown): SkeinError =>
  new SkeinError("unavailable", `${quote(path)}: the database is locked`, {
    hint: "close the program that uses it, then retry",
    cause,
  });

/** Errors of the database as errors of the source. */
function guard<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof SkeinError) throw cause;
    const code = cause instanceof Error && "errcode" in cause ? cause.errcode : undefined;
    if (code === 5 || code === 6) throw locked(path, cause);
    throw new SkeinError("corrupt", `${quote(path)}: the database cannot be read: ${reasonOf(cause)}`, {
      hint: "check the file",
      cause,
    });
  }
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

const isName = (text: string): boolean => /^[a-z_]+$/.test(text);

function hasTable(database: DatabaseSync, table: string): boolean {
  return (
    database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table) !== undefined
  );
}

/** Each row as a record: file `DATABASE/TABLE`, range its row id. Damage ends the table, not the rest. */
export function scanRows(database: DatabaseSync, file: string, query: RowQuery, sink: RecordSink): void {
  const table = `${file}/${query.table}`;
  let last = 0;
  try {
    if (!isName(query.table) || !hasTable(database, query.table)) return;
    const statement = database.prepare(
      `SELECT rowid AS "#", * FROM ${query.table} WHERE ${query.where} ORDER BY rowid`,
    );
    for (const row of statement.iterate(query.parameter)) {
      const { "#": id, ...value } = row;
      last = Number(id);
      sink.record({ file: table, from: last, to: last + 1, value: { ...value } });
    }
  } catch (cause) {
    if (!isOfDatabase(cause)) throw cause;
    sink.damage({ file: table, from: last + 1, to: last + 2 }, reasonOf(cause));
  }
}

const isOfDatabase = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ERR_SQLITE_ERROR";

export function readRow(database: DatabaseSync, table: string, id: number): unknown {
  if (!isName(table)) return undefined;
  const row = guard(table, () => database.prepare(`SELECT * FROM ${table} WHERE rowid = ?`).get(id));
  return row === undefined ? undefined : { ...row };
}

export function listRows(database: DatabaseSync, sql: string): Record<string, unknown>[] {
  return guard("the database", () =>
    database
      .prepare(sql)
      .all()
      .map((row) => ({ ...row })),
  );
}
