/**
 * Slack: the bytes of a page between its cells, which SQLite never reads. When SQLite moves rows from page to
 * page it leaves copies behind there, and secure_delete overwrites a row where it lies now, not where it once
 * lay. So after something was erased, slack is overwritten in the file itself.
 *
 * That is safe as it is done here: with the lock held that every writer needs, after everything in the -wal
 * file was moved to the main file, so that the page in the file is the page; only where the page's own header
 * says that nothing lies; and with a commit afterwards, by which all other connections forget their copies of
 * pages. Whoever reads at that moment reads the same rows before and after.
 */
import { fsync, read, readSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import type { StoreWorld } from "../port.ts";
import { busyTimeoutMs, sqliteBusy, waitForLock, type Connection } from "./connection.ts";
import { fileOf } from "./raw-file.ts";

/** Pages that are looked at together, without a lock. */
const lookPages = 128;
/** Pages that are overwritten while the lock is held; a few milliseconds. */
const cleanPages = 64;

const [readAsync, fsyncAsync] = [promisify(read), promisify(fsync)];

export interface SlackOptions {
  readonly connection: Connection;
  readonly world: StoreWorld;
  readonly lockWaitMs: number;
}

/** Gives back how many pages had something in their slack. */
export async function cleanSlack(options: SlackOptions): Promise<number> {
  const { database, path } = options.connection;
  const pageBytes = pragma(database, "page_size");
  const pages = pragma(database, "page_count");
  const file = fileOf(path);
  const other = new DatabaseSync(path, { timeout: busyTimeoutMs });
  let found = 0;
  try {
    for (const [name, value] of settings) other.exec(`PRAGMA ${name}=${value}`);
    const buffer = Buffer.alloc(lookPages * pageBytes);
    for (let first = 1; first <= pages; first += lookPages) {
      const { bytesRead } = await readAsync(file, buffer, 0, buffer.length, (first - 1) * pageBytes);
      const dirty: number[] = [];
      for (let start = 0; start + pageBytes <= bytesRead; start += pageBytes) {
        const page = buffer.subarray(start, start + pageBytes);
        const number = first + start / pageBytes;
        if (!isEmpty(slackOf(page, number))) dirty.push(number);
      }
      for (let from = 0; from < dirty.length; from += cleanPages) {
        const some = dirty.slice(from, from + cleanPages);
        found += await waitForLock({ ...options, path }, () =>
          clean({ database, other, file, pageBytes }, some),
        );
      }
    }
    if (found > 0) await fsyncAsync(file);
    return found;
  } finally {
    other.close();
  }
}

/** As those of the connection itself; see connection.ts. */
const settings = [
  ["synchronous", "FULL"],
  ["secure_delete", "ON"],
  ["wal_autocheckpoint", "0"],
] as const;

interface Cleaning {
  readonly database: DatabaseSync;
  readonly other: DatabaseSync;
  readonly file: number;
  readonly pageBytes: number;
}

/** All in one go: nothing of this process runs in between. */
function clean({ database, other, file, pageBytes }: Cleaning, pages: readonly number[]): number {
  // Most of it is done before the lock is taken.
  moveWal(database);
  other.exec("BEGIN IMMEDIATE");
  try {
    if (!moveWal(database)) throw Object.assign(new Error("database is locked"), { errcode: sqliteBusy });
    let found = 0;
    const page = Buffer.alloc(pageBytes);
    for (const number of pages) {
      if (!isTree(file, number, pageBytes)) continue;
      const start = (number - 1) * pageBytes;
      if (readSync(file, page, 0, pageBytes, start) < pageBytes) continue;
      const slack = slackOf(page, number);
      if (isEmpty(slack)) continue;
      slack.fill(0);
      writeSync(file, slack, 0, slack.length, start + slack.byteOffset - page.byteOffset);
      found += 1;
    }
    // It must be a change, whatever it is: a connection keeps its pages until somebody else changes one.
    other.exec(
      `INSERT INTO meta (key, value) VALUES ('slack', '1')
       ON CONFLICT (key) DO UPDATE SET value = CAST(value + 1 AS TEXT)`,
    );
    other.exec("COMMIT");
    return found;
  } finally {
    if (other.isTransaction) other.exec("ROLLBACK");
  }
}

/** False when not everything in the -wal file is in the main file. */
function moveWal(database: DatabaseSync): boolean {
  const row = database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get() ?? {};
  const [refused, pages, moved] = Object.values(row).map(Number);
  return refused === 0 && pages === moved;
}

const zeros = Buffer.alloc(65_536);
const isEmpty = (bytes: Buffer): boolean => bytes.equals(zeros.subarray(0, bytes.length));

/** The kinds of pages that hold cells, as the first byte of their header says. */
const leaves = [10, 13];
const trees = [2, 5, ...leaves];

/** Between the pointers to the cells and the first cell; empty when the page holds none. */
function slackOf(page: Buffer, number: number): Buffer {
  const header = number === 1 ? 100 : 0;
  const kind = page[header] ?? 0;
  if (!trees.includes(kind)) return page.subarray(0, 0);
  const start = header + (leaves.includes(kind) ? 8 : 12) + 2 * page.readUInt16BE(header + 3);
  const end = page.readUInt16BE(header + 5) || 65_536;
  return end <= page.length && start < end ? page.subarray(start, end) : page.subarray(0, 0);
}

/**
 * Whether the page holds cells, as the map of pages has it: the first byte of a page of another kind could be
 * anything. Root pages and those below them are told apart there.
 */
function isTree(file: number, number: number, pageBytes: number): boolean {
  if (number === 1) return true;
  const perMap = Math.floor(pageBytes / mapEntryBytes) + 1;
  const map = Math.floor((number - 2) / perMap) * perMap + 2;
  if (map === number) return false;
  const entry = Buffer.alloc(1);
  readSync(file, entry, 0, 1, (map - 1) * pageBytes + (number - map - 1) * mapEntryBytes);
  return entry[0] === rootPage || entry[0] === treePage;
}

const mapEntryBytes = 5;
const rootPage = 1;
const treePage = 5;

const pragma = (database: DatabaseSync, name: string): number =>
  Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
