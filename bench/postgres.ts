/**
 * The store in PostgreSQL beside plain SQL on the same server, in the same run: a server of its own, with its
 * files on disk and fsync on.
 */
import postgres, { type Sql } from "postgres";
import { openEngine, type Engine, type Session } from "../src/index.ts";
import { startPostgres } from "../test/postgres/server.ts";
import { inputOf, median, number, sideBySide, timeMs, type Measure } from "./measure.ts";

const contentBytes = 1_024;
const sessions = 64;
const long = 1_000_000;
const short = 1_000;
const listed = 100_000;

export async function benchPostgres(): Promise<Measure[]> {
  const settings = { shared_buffers: "512MB", max_wal_size: "8GB", checkpoint_timeout: "30min" };
  await using server = await startPostgres({ settings });
  const url = await server.newDatabase();
  const plain = postgres(url, { max: 4, onnotice: () => undefined, fetch_types: false });
  try {
    return [
      ...(await single(url, plain)),
      await many(url, plain),
      await size(url, plain),
      ...(await history(url)),
      await listing(url),
    ];
  } finally {
    await plain.end({ timeout: 1 });
  }
}

/** The columns of a record and one index, by hand: no hashes, no expectations, no feed. */
async function plainTable(plain: Sql): Promise<void> {
  await plain.unsafe("DROP TABLE IF EXISTS plain");
  await plain.unsafe(`CREATE TABLE plain (
    log bigint NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, type text NOT NULL, v integer NOT NULL,
    actor text NOT NULL, body text NOT NULL, content_hash bytea, content_bytes integer, hash bytea NOT NULL,
    salt bytea, content text, PRIMARY KEY (log, seq)
  )`);
}

const hash = "07".repeat(32);
const salt = "07".repeat(16);
const actor = "user:prn_01m7f9zwswcsgtgaqn47pdx946";
const text = inputOf(contentBytes);
const content = JSON.stringify({ blocks: [{ type: "text", text }] });

const insertOne = `INSERT INTO plain VALUES ($1, $2, $3, 'x.note', 1, $4, '{"from":"user"}',
  decode($5, 'hex'), $6, decode($5, 'hex'), decode($7, 'hex'), $8)`;
const insertMany = `INSERT INTO plain SELECT d.log, d.seq, $3, 'x.note', 1, $4, '{"from":"user"}',
  decode(d.hash, 'hex'), $5, decode(d.hash, 'hex'), decode(d.salt, 'hex'), d.content
  FROM unnest($1::bigint[], $2::bigint[], $6::text[], $7::text[], $8::text[])
    d (log, seq, hash, salt, content)`;

const append = (session: Session): Promise<unknown> => session.append({ type: "x.note", content: { text } });

async function single(url: string, plain: Sql): Promise<Measure[]> {
  const count = 100;
  await plainTable(plain);
  await using engine = await openEngine({ store: url });
  const session = await engine.open({ objective: "bench" });
  let seq = 0;
  const { oursMs, plainMs } = await sideBySide(
    75,
    async () => {
      for (let i = 0; i < count; i++) await append(session);
    },
    async () => {
      for (let i = 0; i < count; i++) {
        const values = [1, ++seq, Date.now(), actor, hash, contentBytes, salt, content];
        await plain.unsafe(insertOne, values, { prepare: true });
      }
    },
    { warm: 15 },
  );
  const rate = (ms: number): string => `${number((count / ms) * 1e3)}/s`;
  return [
    {
      name: "PostgreSQL: durable append ÷ plain one-row INSERT",
      value: plainMs / oursMs,
      unit: "×",
      bar: { least: 0.7 },
      detail: `${rate(oursMs)} beside ${rate(plainMs)}`,
    },
  ];
}

/** Plain: as many rows in each statement as there are sessions, the next sent while the last is under way. */
async function many(url: string, plain: Sql): Promise<Measure> {
  const rounds = 40;
  await plainTable(plain);
  await using engine = await openEngine({ store: url });
  const handles = await openAll(engine);
  const logs = Array.from({ length: sessions }, (_, log) => log + 1);
  const array = (list: readonly (string | number)[]): string =>
    `{${list.map((one) => (typeof one === "string" ? JSON.stringify(one) : one)).join(",")}}`;
  let seq = 0;
  const write = (): Promise<unknown> => {
    const at = ++seq;
    const values = [array(logs), array(logs.map(() => at)), Date.now(), actor, contentBytes];
    const texts = [hash, salt, content].map((one) => array(logs.map(() => one)));
    return plain.unsafe(insertMany, [...values, ...texts], { prepare: true });
  };
  const { oursMs, plainMs } = await sideBySide(
    45,
    () =>
      Promise.all(
        handles.map(async (session) => {
          for (let i = 0; i < rounds; i++) await append(session);
        }),
      ),
    async () => {
      let under: Promise<unknown> = Promise.resolve();
      for (let i = 0; i < rounds; i++) {
        const next = write();
        await under;
        under = next;
      }
      await under;
    },
    { warm: 30 },
  );
  const events = sessions * rounds;
  return {
    name: "PostgreSQL: 64 sessions at once ÷ plain INSERTs of 64 rows, pipelined",
    value: plainMs / oursMs,
    unit: "×",
    bar: { least: 0.6 },
    detail: `${number((events / oursMs) * 1e3)}/s beside ${number((events / plainMs) * 1e3)}/s`,
  };
}

const openAll = (engine: Engine): Promise<Session[]> =>
  Promise.all(Array.from({ length: sessions }, () => engine.open({ objective: "bench" })));

/** All that the store takes for a record, with its indexes, to the bytes of its content. */
async function size(url: string, plain: Sql): Promise<Measure> {
  await using engine = await openEngine({ store: `${url}?tenant=size`, durability: "process" });
  const before = await bytesOf(plain);
  const handles = await openAll(engine);
  const events = 20_000;
  await Promise.all(
    handles.map(async (session) => {
      for (let i = 0; i < events / sessions / 20; i++) {
        await session.append(Array.from({ length: 20 }, () => ({ type: "x.note", content: { text } })));
      }
    }),
  );
  const written = Math.floor(events / sessions / 20) * 20 * sessions;
  const value = ((await bytesOf(plain)) - before) / (written * contentBytes);
  return {
    name: "PostgreSQL: bytes an event ÷ its 1,024 bytes of content",
    value,
    unit: "×",
    bar: { most: 1.6 },
    detail: `${number(written)} events, with all indexes`,
  };
}

async function bytesOf(plain: Sql): Promise<number> {
  await plain.unsafe("CHECKPOINT");
  const [row] = await plain.unsafe(
    `SELECT sum(pg_total_relation_size(c.oid))::float8 AS bytes FROM pg_class c
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'skein' AND c.relkind IN ('r', 'm')`,
  );
  return Number(row?.["bytes"]);
}

async function history(url: string): Promise<Measure[]> {
  const place = `${url}?tenant=history`;
  const ids = await write(place);
  const resume = async (id: string): Promise<number> => {
    await using engine = await openEngine({ store: place });
    return await timeMs(async () => (await engine.session(id)).state());
  };
  await using engine = await openEngine({ store: place });
  const [a, b] = [await engine.session(ids.long), await engine.session(ids.short)];
  const rewind = (session: Session, head: number) => async (round: number) => {
    await session.rewind(Math.max(1, Math.floor(head / 2) - round));
  };
  const flat = async (name: string, run: (which: "long" | "short", round: number) => Promise<unknown>) => {
    const times = { long: [] as number[], short: [] as number[] };
    for (let round = 0; round < 31; round++) {
      for (const which of ["short", "long"] as const) {
        const told = await timeMs(async () => {
          const own = await run(which, round);
          if (typeof own === "number") times[which].push(own);
        });
        if (times[which].length <= round) times[which].push(told);
      }
    }
    const [longMs, shortMs] = [median(times.long), median(times.short)];
    return {
      name: `PostgreSQL: ${name}, 1,000,000 events ÷ 1,000`,
      value: longMs / shortMs,
      unit: "×",
      bar: { most: 1.5 },
      detail: `${number(longMs)} ms beside ${number(shortMs)} ms`,
    };
  };
  return [
    await flat("resume", (which) => resume(ids[which])),
    await flat("fork", (which) => (which === "long" ? a : b).fork()),
    await flat("rewind", (which, round) =>
      which === "long" ? rewind(a, long)(round) : rewind(b, short)(round),
    ),
  ];
}

async function write(place: string): Promise<{ readonly long: string; readonly short: string }> {
  await using engine = await openEngine({ store: place, durability: "process" });
  const fill = async (count: number): Promise<string> => {
    const session = await engine.open({ objective: `${count} events` });
    for (let left = count - 1; left > 0; left -= 1_000) {
      const records = Array.from(
        { length: Math.min(left, 1_000) },
        (_, place) => ({ type: "x.note", content: { text: `note ${left - place}` } }) as const,
      );
      await session.append(records);
    }
    return session.id;
  };
  return { short: await fill(short), long: await fill(long) };
}

async function listing(url: string): Promise<Measure> {
  await using engine = await openEngine({ store: `${url}?tenant=list`, durability: "process" });
  for (let left = listed; left > 0; left -= 500) {
    await Promise.all(
      Array.from({ length: 500 }, (_, n) => engine.open({ objective: `number ${left - n}` })),
    );
  }
  const times: number[] = [];
  for (let round = 0; round < 51; round++) {
    times.push(
      await timeMs(async () => {
        const { rows } = await engine.sessions({ limit: 50 });
        if (rows.length !== 50) throw new Error(`${rows.length} rows instead of 50`);
      }),
    );
  }
  return {
    name: "PostgreSQL: list 50 of 100,000 sessions, median",
    value: median(times),
    unit: "ms",
    bar: { most: 10 },
    detail: "",
  };
}
