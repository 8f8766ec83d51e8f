/**
 * A connection to one SQLite file: opened with the settings that durability depends on, each read back;
 * refused if the file is not a Skein store; poisoned by the first I/O error, after which nothing is
 * acknowledged any more.
 */
import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { SkeinError } from "../../core/error.ts";
import { version } from "../../core/version.ts";
import type { Durability, StoreWorld } from "../port.ts";
import { fillPackedOrigins } from "./origins.ts";
import { addPackedCosts } from "./packed-costs.ts";
import { applicationId, pageBytes, reservedNames, schema, schemaVersion, upgradeFrom } from "./schema.ts";

/** Locks held longer than this are awaited without blocking the process. */
export const busyTimeoutMs = 20;

/** Earlier versions can corrupt the file when two connections write (the WAL-reset race). */
const sqliteVersionMin = [3, 51, 3] as const;

/** SQLite's code for a lock that another connection holds. */
export const sqliteBusy = 5;

export interface SqliteConnection {
  readonly database: DatabaseSync;
  readonly path: string;
  /** True if an earlier process met an I/O error and the file was not verified since. */
  readonly suspect: boolean;
  /** Runs `work`; converts SQLite errors, and poisons the connection after an I/O error. */
  guard<T>(work: () => T): T;
  /** Why the connection is unusable, or null. */
  poison(): SkeinError | null;
  /** Checks that the file is still in place. If not, nothing is acknowledged any more. */
  lookForFile(): void;
  trusted(): void;
  close(): void;
}

export interface ConnectionOptions {
  readonly path: string;
  readonly world: StoreWorld;
  readonly durability: Durability;
  readonly create: boolean;
  readonly lockWaitMs: number;
  readonly workspace: string;
  readonly tenant: string;
}

export async function connect(options: ConnectionOptions): Promise<SqliteConnection> {
  checkVersion();
  const { path, create } = options;
  if (!create && !existsSync(path)) {
    throw new SkeinError("not-found", `no store at ${path}`, {
      hint: 'check the path; "skein open" creates a new store',
      where: path,
    });
  }
  if (existsSync(path) && statSync(path).isDirectory()) {
    throw new SkeinError("invalid", `${path} is a directory, not a store`, {
      hint: `try ${path}/skein.db`,
      where: path,
    });
  }
  if (create) makePrivate(path);
  refuseJournal(path);
  const database = translate(path, () => new DatabaseSync(path, { timeout: busyTimeoutMs }));
  try {
    await waitForLock(options, () => translate(path, () => prepareFile(database, options)));
    return connection(database, path);
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * A new file is private to its owner, and SQLite gives its companion files the same mode. Existing files keep
 * theirs.
 */
function makePrivate(path: string): void {
  if (path === ":memory:" || existsSync(path)) return;
  try {
    closeSync(openSync(path, "a", 0o600));
  } catch {
    // SQLite reports the problem better.
  }
}

/**
 * A rollback journal next to the store is not Skein's: a store is in WAL mode from its first byte on. SQLite
 * would replay the journal on the first read, which replaces the store with the journal's pages. SQLite looks
 * next to the target of a link, and ignores an empty journal.
 */
function refuseJournal(path: string): void {
  if (path === ":memory:" || !existsSync(path)) return;
  for (const file of new Set([path, realpathSync(path)])) {
    const journal = `${file}-journal`;
    const found = lstatSync(journal, { throwIfNoEntry: false });
    if (found === undefined || (found.isFile() && found.size === 0)) continue;
    throw new SkeinError("corrupt", `a rollback journal lies beside the store: ${journal}`, {
      hint: "Skein never writes one, and opening the store would replay it; find its origin, then remove it",
      where: path,
    });
  }
}

function connection(database: DatabaseSync, path: string): SqliteConnection {
  const marker = `${path}-suspect`;
  let poisoned: SkeinError | null = null;
  const isThere = stays(path);
  const lookForFile = (cause?: unknown): SkeinError | null => {
    if (poisoned !== null || isThere()) return poisoned;
    poisoned = new SkeinError("unavailable", `the store's file was moved or removed: ${path}`, {
      hint: "stop this process, restore the file with its -wal and -shm files, then open it again",
      where: path,
      cause,
    });
    return poisoned;
  };
  return {
    database,
    path,
    suspect: existsSync(marker),
    guard(work) {
      if (poisoned !== null) throw poisoned;
      try {
        return work();
      } catch (error) {
        const kind = sqliteKind(error);
        if (kind === "io" || kind === "corrupt") {
          const moved = lookForFile(error);
          if (moved !== null) throw moved;
          poisoned = new SkeinError("unavailable", `the store is disabled after an I/O error: ${path}`, {
            hint: "close it, check the disk, then open it again; Skein verifies it first",
            where: path,
            cause: error,
          });
          try {
            writeFileSync(marker, `${String(error)}\n`);
          } catch {
            // If the disk cannot take the marker either, this process still acknowledges nothing.
          }
        }
        throw asSkeinError(path, error);
      }
    },
    poison: () => poisoned,
    lookForFile: () => void lookForFile(),
    trusted: () => rmSync(marker, { force: true }),
    close() {
      poisoned ??= new SkeinError("unavailable", "the store is closed", { hint: "open it again" });
      if (!database.isOpen) return;
      database.close();
    },
  };
}

/** Whether a file is still in its place. True if the system does not know. */
function stays(given: string): () => boolean {
  // Independent of later changes of the working directory.
  const path = realpathSync(given);
  const nameOf = (): string => {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  };
  const name = nameOf();
  return () => {
    try {
      return nameOf() === name;
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : null;
      return code !== "ENOENT" && code !== "ENOTDIR";
    }
  };
}

/** Checks that the file is a Skein store or empty before changing anything; then settings; then tables. */
function prepareFile(database: DatabaseSync, options: ConnectionOptions): void {
  const fresh = inspect(database, options.path);
  if (fresh && !options.create) {
    throw new SkeinError("not-found", `${options.path} is an empty file, not a store`, {
      hint: 'check the path; "skein open" creates a new store',
      where: options.path,
    });
  }
  const full = options.durability === "disk";
  // In SQLite's default mode these settings and the switch to WAL write a rollback journal, which a kill
  // would leave behind. They write one page, and the changed part lies in one sector.
  if (pragma(database, "journal_mode") !== "wal") database.exec("PRAGMA journal_mode=MEMORY");
  if (fresh) database.exec(`PRAGMA page_size=${pageBytes}; PRAGMA auto_vacuum=INCREMENTAL`);
  const settings: readonly (readonly [string, string | number, string | number])[] = [
    ["journal_mode", "WAL", "wal"],
    ["synchronous", full ? "FULL" : "NORMAL", full ? 2 : 1],
    ["secure_delete", "ON", 1],
    ["foreign_keys", "ON", 1],
    ["trusted_schema", "OFF", 0],
    ["journal_size_limit", 67_108_864, 67_108_864],
    // The writer checkpoints, see writer.ts: SQLite's own checkpoints hide I/O errors.
    ["wal_autocheckpoint", 0, 0],
    ...(process.platform === "darwin" && full ? ([["fullfsync", "ON", 1]] as const) : []),
  ];
  for (const [name, value, expected] of settings) {
    database.exec(`PRAGMA ${name}=${value}`);
    const got = pragma(database, name);
    if (got !== expected) {
      throw new SkeinError("unavailable", `SQLite: ${name}: expected ${value}, got ${String(got)}`, {
        hint: "move the store to a local, writable disk",
      });
    }
  }
  if (fresh) createTables(database, options);
  checkTenant(database, options);
  if (Number(pragma(database, "user_version")) < schemaVersion) upgrade(database);
}

/** A file belongs to one tenant: the feed, the views and the workspace's log cover the whole file. */
function checkTenant(database: DatabaseSync, { path, tenant }: ConnectionOptions): void {
  const row = database.prepare("SELECT value FROM meta WHERE key = 'tenant'").get();
  if (row?.["value"] === tenant) return;
  throw new SkeinError("refused", `${path} belongs to the tenant ${JSON.stringify(row?.["value"])}`, {
    hint: "use one file per tenant",
    where: path,
  });
}

/** True if the file is empty. Throws if it belongs to another program, or a newer Skein. */
function inspect(database: DatabaseSync, path: string): boolean {
  const tables = database.prepare("SELECT count(*) AS count FROM sqlite_master").get();
  const id = pragma(database, "application_id");
  const version = Number(pragma(database, "user_version"));
  if (tables?.["count"] === 0 && id === 0) return true;
  if (id !== applicationId) {
    throw new SkeinError("invalid", `${path} is an SQLite file, but not a Skein store`, {
      hint: "choose another path; the file is unchanged",
      where: path,
    });
  }
  if (version > schemaVersion) {
    throw new SkeinError(
      "refused",
      `${path}: store layout ${version} is not supported; this Skein reads layouts up to ${schemaVersion}`,
      {
        hint: "update Skein; the store is unchanged",
        where: path,
      },
    );
  }
  return false;
}

function createTables(database: DatabaseSync, options: ConnectionOptions): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have been first.
    if (pragma(database, "application_id") === 0) {
      database.exec(`${schema} PRAGMA application_id=${applicationId}; PRAGMA user_version=${schemaVersion}`);
      const name = database.prepare("INSERT INTO names (id, name) VALUES (?, ?)");
      for (const [place, text] of reservedNames.entries()) name.run(place + 1, text);
      const meta = database.prepare("INSERT INTO meta (key, value) VALUES (?, ?)");
      meta.run("workspace", options.workspace);
      meta.run("tenant", options.tenant);
      meta.run("program", version);
    }
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** Migrates an older layout to this one, all or nothing. */
function upgrade(database: DatabaseSync): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have been first.
    const layout = Number(pragma(database, "user_version"));
    if (layout < schemaVersion) database.exec(upgradeFrom(layout));
    if (layout < 5) fillPackedOrigins(database);
    if (layout === 3 || layout === 4 || layout === 5) addPackedCosts(database);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

const pragma = (database: DatabaseSync, name: string): unknown =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];

function checkVersion(): void {
  const version = process.versions["sqlite"] ?? "0";
  const parts = version.split(".").map(Number);
  const order = sqliteVersionMin
    .map((least, place) => Math.sign((parts[place] ?? 0) - least))
    .find((sign) => sign !== 0);
  if (order !== undefined && order < 0) {
    throw new SkeinError("unavailable", `SQLite ${version} can corrupt a store that two processes write`, {
      hint: `use a Node that bundles SQLite ${sqliteVersionMin.join(".")} or later, such as 24.21 or 26.10`,
    });
  }
}

/** Retries while another program holds the lock, up to `lockWaitMs`, without blocking this one. */
export async function waitForLock<T>(
  options: { readonly world: StoreWorld; readonly lockWaitMs: number; readonly path: string },
  work: () => T | Promise<T>,
): Promise<T> {
  const { world, lockWaitMs } = options;
  const giveUpAt = world.now() + lockWaitMs;
  for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 25)) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (world.now() >= giveUpAt) {
        throw new SkeinError("unavailable", `the store is locked by another program: ${options.path}`, {
          hint: "wait for it, or stop it; nothing was written",
          where: options.path,
          cause: error,
        });
      }
      await world.sleep(waitMs);
    }
  }
}

function translate<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asSkeinError(path, error);
  }
}

/** The kind of an SQLite error. */
function sqliteKind(error: unknown): FailureKind | null {
  if (!(error instanceof Error) || !("errcode" in error)) return null;
  return troubles.get(Number(error.errcode) & 0xff) ?? null;
}

type FailureKind = "constraint" | "busy" | "io" | "corrupt" | "full" | "readonly" | "cantopen" | "notadb";

/** SQLite's primary result codes, as far as they need different messages. */
const troubles: ReadonlyMap<number, FailureKind> = new Map([
  [sqliteBusy, "busy"],
  [6, "busy"],
  [8, "readonly"],
  [10, "io"],
  [11, "corrupt"],
  [13, "full"],
  [14, "cantopen"],
  [19, "constraint"],
  [26, "notadb"],
]);

/** A duplicate row. */
export const isConstraint = (error: unknown): boolean => sqliteKind(error) === "constraint";

export const isBusy = (error: unknown): boolean =>
  error instanceof SkeinError ? isBusy(error.cause) : sqliteKind(error) === "busy";

/** The error as a message. An error of another source is passed on unchanged. */
function asSkeinError(path: string, error: unknown): unknown {
  const say = (code: "unavailable" | "invalid" | "corrupt", message: string, hint: string) =>
    new SkeinError(code, message, { hint, where: path, cause: error });
  switch (sqliteKind(error)) {
    case "busy":
      return say("unavailable", `the store is locked by another program: ${path}`, "retry");
    case "io":
      return say(
        "unavailable",
        `reading or writing the store failed: ${path}`,
        "check the disk, then open the store again",
      );
    case "corrupt":
      return say("corrupt", `the store is damaged: ${path}`, 'run "skein verify --all" and restore a backup');
    case "full":
      return say("unavailable", `the disk is full: ${path}`, "free some space; nothing was written");
    case "readonly":
      return say(
        "unavailable",
        `the store cannot be written: ${path}`,
        "check the permissions of file and directory",
      );
    case "cantopen":
      return say(
        "unavailable",
        `the store cannot be opened: ${path}`,
        "check that the directory exists and is writable",
      );
    case "notadb":
      return say("invalid", `${path} is not a Skein store`, "choose another path; the file is unchanged");
    case "constraint":
    case null:
      return error;
  }
}
