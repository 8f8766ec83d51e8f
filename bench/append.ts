/** Durable appends through the engine beside plain node:sqlite that writes as much, in the same run. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openEngine } from "../src/index.ts";
import {
  inputOf,
  makeDirectory,
  median,
  number,
  samples,
  sideBySide,
  timeMs,
  type Measure,
} from "./measure.ts";

const contentBytes = 1_024;
const sessions = 64;

export async function benchAppend(): Promise<Measure[]> {
  using directory = makeDirectory();
  return [
    await syncCost(directory.path("sync")),
    ...(await single(directory.path)),
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

export function plainDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(
    "PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
  );
  database.exec("PRAGMA secure_delete=ON");
  return database;
}

/**
 * What people write by hand today: a table of messages by session and position, one insert and commit each.
 */
function byHand(database: DatabaseSync): (seq: number) => void {
  database.exec(
    `CREATE TABLE messages (
       session TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, content TEXT NOT NULL,
       PRIMARY KEY (session, seq)
     ) STRICT`,
  );
  const insert = database.prepare("INSERT INTO messages (session, seq, at, content) VALUES (?, ?, ?, ?)");
  const content = "x".repeat(contentBytes);
  return (seq) => void insert.run("ses_01m7f9zwswcsgtgaqn47pdx946", seq, Date.now(), content);
}

/** Not even that: a table from which nothing could be found again but by its row. */
function bare(database: DatabaseSync): () => void {
  database.exec("CREATE TABLE bare (id INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT");
  const insert = database.prepare("INSERT INTO bare (content) VALUES (?)");
  const content = "x".repeat(contentBytes);
  return () => void insert.run(content);
}

async function single(path: (name: string) => string): Promise<Measure[]> {
  const count = 200;
  await using engine = await openEngine({ store: path("one.db") });
  const session = await engine.open({ objective: "bench" });
  const text = inputOf(contentBytes);
  using hand = plainDatabase(path("hand.db"));
  using empty = plainDatabase(path("bare.db"));
  const [writeByHand, writeBare] = [byHand(hand), bare(empty)];
  const times: { readonly ours: number[]; readonly hand: number[]; readonly bare: number[] } = {
    ours: [],
    hand: [],
    bare: [],
  };
  const warm = 10;
  for (let round = -warm; round < 25; round++) {
    const many = (work: (place: number) => unknown) => async (): Promise<void> => {
      for (let i = 0; i < count; i++) await work((round + warm) * count + i);
    };
    if (round === 0) for (const list of Object.values(times)) list.length = 0;
    times.hand.push(await timeMs(many(writeByHand)));
    times.bare.push(await timeMs(many(writeBare)));
    times.ours.push(await timeMs(many(() => session.append(text))));
  }
  const [oursMs, handMs, bareMs] = [median(times.ours), median(times.hand), median(times.bare)];
  const rate = (ms: number): string => `${number((count / ms) * 1e3)}/s`;
  return [
    {
      name: "durable single append ÷ plain insert and commit",
      value: handMs / oursMs,
      unit: "×",
      bar: { least: 0.7 },
      detail: `${rate(oursMs)} beside ${rate(handMs)}, a table by session and seq`,
    },
    {
      name: "… ÷ insert into a bare table without any index",
      value: bareMs / oursMs,
      unit: "×",
      bar: null,
      detail: `${rate(oursMs)} beside ${rate(bareMs)}, from which nothing can be found`,
    },
  ];
}

async function many(path: string, plainPath: string): Promise<Measure> {
  // So many that the logs are long: at first they all lie on a few pages, which never happens again.
  const rounds = 150;
  await using engine = await openEngine({ store: path });
  const handles = await Promise.all(
    Array.from({ length: sessions }, () => engine.open({ objective: "bench" })),
  );
  const text = inputOf(contentBytes);
  using plain = plainDatabase(plainPath);
  const { begin, write, commit } = plainRows(plain, sessions);
  const content = "x".repeat(contentBytes);
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
      for (let i = 0; i < rounds; i++) {
        seq += 1;
        begin();
        for (let log = 1; log <= sessions; log++) write(log, seq, content);
        commit();
      }
    },
    { warm: 3 },
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

interface PlainRows {
  begin(): void;
  /** To a log, from 1. */
  write(log: number, seq: number, content: string): void;
  commit(): void;
}

/**
 * The same rows and head updates by hand: no hashes, no expectations, no index but the one that finds a
 * record.
 */
export function plainRows(database: DatabaseSync, logs: number): PlainRows {
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
  const open = database.prepare("INSERT INTO logs (id, head, hash, at) VALUES (?, 0, ?, 0)");
  for (let log = 1; log <= logs; log++) open.run(log, hash);
  const insert = database.prepare(
    `INSERT INTO records
     (log, seq, at, type, v, actor, turn, cause, key, body, content_hash, content_bytes, hash, salt, content)
     VALUES (?, ?, ?, 1, 1, 1, NULL, NULL, NULL, '{"from":"user"}', ?, ?, ?, ?, ?)`,
  );
  const move = database.prepare("UPDATE logs SET head = ?, hash = ?, at = ? WHERE id = ?");
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  return {
    begin: () => void begin.run(),
    write(log, seq, content) {
      const now = Date.now();
      insert.run(log, seq, now, hash, content.length, hash, salt, content);
      move.run(seq, hash, now, log);
    },
    commit: () => void commit.run(),
  };
}
