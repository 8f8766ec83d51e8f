/** Durable appends through the engine beside plain node:sqlite that writes as much, in the same run. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openEngine } from "../src/index.ts";
import { inputOf, makeDirectory, number, samples, median, sideBySide, type Measure } from "./measure.ts";

const contentBytes = 1_024;
const sessions = 64;

export async function benchAppend(): Promise<Measure[]> {
  using directory = makeDirectory();
  return [
    await syncCost(directory.path("sync")),
    await single(directory.path("one.db"), directory.path("plain.db")),
    await many(directory.path("many.db"), directory.path("plain-many.db")),
  ];
}

/** The raw limit of this disk, for comparison. */
async function syncCost(path: string): Promise<Measure> {
  const file = openSync(path, "w");
  const page = Buffer.alloc(8_192);
  const times = await samples(300, () => {
    writeSync(file, page);
    fdatasyncSync(file);
  });
  closeSync(file);
  return { name: "plain fdatasync of one page", value: median(times), unit: "ms", bar: null, detail: "" };
}

function plainDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(
    "PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
  );
  database.exec("PRAGMA secure_delete=ON");
  return database;
}

async function single(path: string, plainPath: string): Promise<Measure> {
  const count = 200;
  await using engine = await openEngine({ store: path });
  const session = await engine.open({ objective: "bench" });
  const text = inputOf(contentBytes);
  using plain = plainDatabase(plainPath);
  plain.exec("CREATE TABLE plain (id INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT");
  const insert = plain.prepare("INSERT INTO plain (content) VALUES (?)");
  const content = "x".repeat(contentBytes);
  const { oursMs, plainMs } = await sideBySide(
    15,
    async () => {
      for (let i = 0; i < count; i++) await session.append(text);
    },
    () => {
      for (let i = 0; i < count; i++) insert.run(content);
    },
  );
  return {
    name: "durable single append ÷ plain insert and commit",
    value: plainMs / oursMs,
    unit: "×",
    bar: { least: 0.7 },
    detail: `${number((count / oursMs) * 1e3)}/s beside ${number((count / plainMs) * 1e3)}/s`,
  };
}

async function many(path: string, plainPath: string): Promise<Measure> {
  const rounds = 40;
  await using engine = await openEngine({ store: path });
  const handles = await Promise.all(
    Array.from({ length: sessions }, () => engine.open({ objective: "bench" })),
  );
  const text = inputOf(contentBytes);
  using plain = plainDatabase(plainPath);
  const write = plainRows(plain);
  let seq = 0;
  const { oursMs, plainMs } = await sideBySide(
    11,
    () =>
      Promise.all(
        handles.map(async (session) => {
          for (let i = 0; i < rounds; i++) await session.append(text);
        }),
      ),
    () => {
      for (let i = 0; i < rounds; i++) write(++seq);
    },
  );
  const events = sessions * rounds;
  return {
    name: "64 sessions at once ÷ plain rows and heads, 64 a commit",
    value: plainMs / oursMs,
    unit: "×",
    bar: { least: 0.5 },
    detail: `${number((events / oursMs) * 1e3)}/s beside ${number((events / plainMs) * 1e3)}/s`,
  };
}

/**
 * The same rows and head updates by hand: no hashes, no expectations, no index but the one that finds a
 * record.
 */
function plainRows(database: DatabaseSync): (seq: number) => void {
  database.exec(`
    CREATE TABLE logs (
      id INTEGER PRIMARY KEY, head INTEGER NOT NULL, hash BLOB NOT NULL, at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE records (
      position INTEGER PRIMARY KEY, log INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
      type INTEGER NOT NULL,
      v INTEGER NOT NULL, actor INTEGER NOT NULL, turn INTEGER, cause INTEGER, key BLOB, body TEXT NOT NULL,
      content_hash BLOB, content_bytes INTEGER, hash BLOB NOT NULL, salt BLOB, content TEXT
    ) STRICT;
    CREATE UNIQUE INDEX records_seq ON records (log, seq);
  `);
  const hash = Buffer.alloc(32, 7);
  const salt = Buffer.alloc(16, 7);
  const content = "x".repeat(contentBytes);
  const open = database.prepare("INSERT INTO logs (id, head, hash, at) VALUES (?, 0, ?, 0)");
  for (let log = 1; log <= sessions; log++) open.run(log, hash);
  const insert = database.prepare(
    `INSERT INTO records
     (log, seq, at, type, v, actor, turn, cause, key, body, content_hash, content_bytes, hash, salt, content)
     VALUES (?, ?, ?, 1, 1, 1, NULL, NULL, NULL, '{"from":"user"}', ?, ?, ?, ?, ?)`,
  );
  const move = database.prepare("UPDATE logs SET head = ?, hash = ?, at = ? WHERE id = ?");
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  return (seq) => {
    begin.run();
    for (let log = 1; log <= sessions; log++) {
      const now = Date.now();
      insert.run(log, seq, now, hash, contentBytes, hash, salt, content);
      move.run(seq, hash, now, log);
    }
    commit.run();
  };
}
