/**
 * What must not follow the length of history: opening, forking, states, slices, memory; and how fast all of
 * it verifies.
 */
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openEngine, type Engine, type Session } from "../src/index.ts";
import { inputOf, makeDirectory, median, number, sideBySide, timeMs, type Measure } from "./measure.ts";

const long = 1_000_000;
const short = 1_000;
const rewinds = 1_000;

export async function benchHistory(): Promise<Measure[]> {
  using directory = makeDirectory();
  const path = directory.path("history.db");
  const ids = await write(path);
  return [
    ...(await opening(path, ids)),
    ...(await slices(path, ids.long)),
    memory(path, ids.long),
    await verifying(path),
    ...(await forking(path, ids)),
    ...(await positions(path, ids.long)),
  ];
}

interface Ids {
  readonly long: string;
  readonly short: string;
}

/** Both sessions in one store, as inputs of 1,024 bytes. Durability is not what is measured here. */
async function write(path: string): Promise<Ids> {
  await using engine = await openEngine({ store: path, durability: "process" });
  const fill = async (count: number): Promise<string> => {
    const session = await engine.open({ objective: `${count} events` });
    const text = inputOf(1_024);
    for (let left = count - 1; left > 0; left -= 1_000) {
      const records = Array.from(
        { length: Math.min(left, 1_000) },
        () => ({ type: "input.received", text }) as const,
      );
      await session.append(records);
    }
    return session.id;
  };
  return { short: await fill(short), long: await fill(long) };
}

/** A fresh engine each time, so that nothing is known of the session. */
async function opening(path: string, ids: Ids): Promise<Measure[]> {
  const once = async (id: string): Promise<number> => {
    await using engine = await openEngine({ store: path });
    return await timeMs(async () => (await engine.session(id)).state());
  };
  const times: { readonly [K in keyof Ids]: number[] } = { long: [], short: [] };
  for (let run = 0; run < 41; run++) {
    times.short.push(await once(ids.short));
    times.long.push(await once(ids.long));
  }
  const [longMs, shortMs] = [median(times.long), median(times.short)];
  const detail = `${number(longMs)} ms beside ${number(shortMs)} ms`;
  return [
    {
      name: "open to first state, 1,000,000 events ÷ 1,000",
      value: longMs / shortMs,
      unit: "×",
      bar: { most: 1.5 },
      detail,
    },
    {
      name: "open to first state, 1,000,000 events, median",
      value: longMs,
      unit: "ms",
      bar: { most: 5 },
      detail: "",
    },
  ];
}

async function slices(path: string, id: string): Promise<Measure[]> {
  await using engine = await openEngine({ store: path });
  const session = await engine.session(id);
  using plain = new DatabaseSync(path, { readOnly: true });
  const log = plain.prepare("SELECT id FROM logs WHERE session = ?").get(id)?.["id"];
  const select = plain.prepare("SELECT * FROM records WHERE log = ? AND seq BETWEEN ? AND ? ORDER BY seq");
  const places = Array.from({ length: 20 }, (_, place) => 400_000 + place * 7_919);
  const { oursMs, plainMs } = await sideBySide(
    41,
    async () => {
      for (const fromSeq of places) {
        let count = 0;
        for await (const _ of session.events({ fromSeq, toSeq: fromSeq + 99 })) count++;
        if (count !== 100) throw new Error(`${count} events instead of 100`);
      }
    },
    () => {
      for (const fromSeq of places) select.all(Number(log), fromSeq, fromSeq + 99);
    },
  );
  const detail = `${number((oursMs / 20) * 1e3)} µs beside ${number((plainMs / 20) * 1e3)} µs`;
  return [
    {
      name: "100 events from the middle ÷ plain SELECT",
      value: oursMs / plainMs,
      unit: "×",
      bar: { most: 2 },
      detail,
    },
  ];
}

/** In a process of its own that does nothing else. */
function memory(path: string, id: string): Measure {
  const program = `
    const { openEngine } = await import(${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)});
    const engine = await openEngine({ store: ${JSON.stringify(path)} });
    await (await engine.session(${JSON.stringify(id)})).state();
    console.log(process.memoryUsage.rss());
    await engine.close();`;
  const rss = Number(
    execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" }),
  );
  const value = rss / 1_048_576;
  return {
    name: "memory after opening the 1,000,000-event session",
    value,
    unit: "MiB",
    bar: { most: 150 },
    detail: "rss",
  };
}

async function verifying(path: string): Promise<Measure> {
  await using engine = await openEngine({ store: path });
  let records = 0;
  const ms = await timeMs(async () => {
    const report = await engine.verify();
    if (!report.ok) throw new Error("the bench's own store does not verify");
    ({ records } = report);
  });
  const value = (records / ms) * 1e3;
  return {
    name: "verify",
    value,
    unit: "events/s",
    bar: { least: 100_000 },
    detail: `${number(ms)} ms for ${number(records)}`,
  };
}

async function forking(path: string, ids: Ids): Promise<Measure[]> {
  await using engine = await openEngine({ store: path, durability: "process" });
  const [longSession, shortSession] = [await engine.session(ids.long), await engine.session(ids.short)];
  const { oursMs, plainMs } = await sideBySide(
    31,
    () => longSession.fork(),
    () => shortSession.fork(),
  );
  const before = checkpointedBytes(path);
  for (let fork = 0; fork < 1_000; fork++) await longSession.fork();
  const value = (checkpointedBytes(path) - before) / 1_000;
  const detail = `${number(oursMs)} ms beside ${number(plainMs)} ms`;
  return [
    {
      name: "fork at 1,000,000 events ÷ at 1,000",
      value: oursMs / plainMs,
      unit: "×",
      bar: { most: 1.5 },
      detail,
    },
    {
      name: "bytes a fork, over 1,000 forks",
      value,
      unit: "bytes",
      bar: { most: 1_024 },
      detail: "after a checkpoint",
    },
  ];
}

export function checkpointedBytes(path: string): number {
  using database = new DatabaseSync(path);
  const row = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  if (row?.["busy"] !== 0) throw new Error("the checkpoint was held up");
  return statSync(path).size;
}

async function positions(path: string, id: string): Promise<Measure[]> {
  await using engine = await openEngine({ store: path, durability: "process" });
  const session = await engine.session(id);
  const before = await randomStates(engine, session);
  for (let turn = 1; turn <= rewinds; turn++) {
    await session.append("between rewinds");
    await session.rewind(((turn * 7_919) % (long - 1)) + 1);
  }
  const after = await randomStates(engine, session);
  const bar = { most: 5 };
  return [
    { name: "state at an earlier position of 1,000,000, median", value: before, unit: "ms", bar, detail: "" },
    { name: "the same after 1,000 rewinds", value: after, unit: "ms", bar, detail: "" },
  ];
}

async function randomStates(engine: Engine, { id }: Session): Promise<number> {
  const session = await engine.session(id);
  const { seq: head } = await session.head();
  const times: number[] = [];
  for (let run = 0; run < 200; run++) {
    const atSeq = ((run * 104_729) % head) + 1;
    times.push(await timeMs(() => session.state({ atSeq })));
  }
  return median(times);
}
