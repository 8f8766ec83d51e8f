/**
 * What packing is worth and what it costs: bytes on disk, slices, and how long others wait, on real prose in
 * the records that real turns write; then one session that grows long. SKEIN_BENCH_PACK_EVENTS says how long.
 */
import { copyFileSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openEngine, type Engine, type Session } from "../src/index.ts";
import { realWorld } from "../src/runtime/world.ts";
import type { LogId } from "../src/core/ids.ts";
import type { Store } from "../src/store/port.ts";
import { sqliteStore } from "../src/store/sqlite/store.ts";
import { makeDirectory, median, number, samples, timeMs, type Measure } from "./measure.ts";
import { makeProse, openProse } from "./pack-prose.ts";

const turns = 1_500;
const compactEvery = 40;
const slices = 300;
const sliceEvents = 100;
const long = Number(process.env["SKEIN_BENCH_PACK_EVENTS"] ?? 100_000);
const short = 10_000;

export async function benchPack(): Promise<Measure[]> {
  using directory = makeDirectory();
  return [...(await packTurns(directory)), ...(await packLong(directory))];
}

type Directory = Pick<ReturnType<typeof makeDirectory>, "path">;

/** Bytes of the file that records take, packed or not, with all that goes with them. */
function recordBytes(path: string): number {
  using database = new DatabaseSync(path);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const row = database
    .prepare(
      `SELECT sum(pgsize) AS bytes FROM dbstat
       WHERE name LIKE 'records%' OR name LIKE 'segments%' OR name LIKE 'packed%'`,
    )
    .get();
  return Number(row?.["bytes"]);
}

async function opened(path: string): Promise<Store & AsyncDisposable> {
  const world = realWorld();
  const store = await sqliteStore({ path, world, workspace: "" as never, durability: "process" });
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}

async function packTurns(directory: Directory): Promise<Measure[]> {
  const plain = directory.path("plain.db");
  const packed = directory.path("packed.db");
  const busy = directory.path("busy.db");
  const id = await write(plain);
  for (const path of [packed, busy]) copyFileSync(plain, path);
  const before = recordBytes(plain);
  {
    await using store = await opened(packed);
    await store.pack(id, Number.MAX_SAFE_INTEGER);
  }
  const after = recordBytes(packed);
  const packing = await packBeside(busy, id);
  const { packedMs, plainMs } = await sliceBoth(plain, packed, id);
  const megabytes = (bytes: number): string => `${number(bytes / 1e6)} MB`;
  return [
    {
      name: "packed ÷ not packed, turns of prose, on disk",
      value: after / before,
      unit: "×",
      bar: { most: 0.35 },
      detail: `${megabytes(after)} for ${megabytes(before)}, ${packing.records} records`,
    },
    {
      name: `a slice of ${sliceEvents} from segments ÷ not packed`,
      value: packedMs / plainMs,
      unit: "×",
      bar: { most: 3 },
      detail: `${number(packedMs)} ms beside ${number(plainMs)} ms, at random positions`,
    },
    {
      name: "an append beside packing, longer by, 99th percentile",
      value: packing.waitMs,
      unit: "ms",
      bar: { most: 50 },
      detail:
        `${number(packing.waitMs + packing.aloneMs)} ms beside ${number(packing.aloneMs)} ms alone; ` +
        `${number(packing.records / (packing.ms / 1_000))} records packed a second`,
    },
  ];
}

async function write(path: string): Promise<LogId> {
  const { engine, turn } = await openProse(path);
  const session = await engine.open({
    objective: "Find out how it is done",
    agent: "bench",
    bind: [{ kind: "tool", name: "look_up" }],
  });
  for (let count = 1; count <= turns; count++) {
    await turn(session);
    if (count % compactEvery === 0) await session.compress({ strategy: "summarize" });
  }
  await engine.close();
  return session.id;
}

/** Packs while somebody else appends, one record after the other. */
async function packBeside(path: string, id: LogId) {
  await using engine = await openEngine({ store: path, durability: "process" });
  const other = await engine.open({ objective: "Beside" });
  const waits: number[] = [];
  const store = await opened(path);
  const state = { done: false };
  const appendOne = (): Promise<number> => timeMs(() => other.append("x".repeat(200)));
  const alone = await samples(300, appendOne);
  const appending = (async () => {
    while (!state.done) waits.push(await appendOne());
  })();
  const start = performance.now();
  const { records } = await store.pack(id, Number.MAX_SAFE_INTEGER);
  const ms = performance.now() - start;
  state.done = true;
  await appending;
  await store.close();
  return { records, ms, waitMs: high(waits) - high(alone), aloneMs: high(alone) };
}

/** The 99th percentile. */
function high(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
}

async function sliceBoth(plainPath: string, packedPath: string, id: LogId) {
  await using plainEngine = await openEngine({ store: plainPath, durability: "process" });
  await using packedEngine = await openEngine({ store: packedPath, durability: "process" });
  const [plain, packed] = [await plainEngine.session(id), await packedEngine.session(id)];
  const last = (await plain.head()).seq - sliceEvents - 1;
  const times = { plain: [] as number[], packed: [] as number[] };
  for (let round = 0; round < slices; round++) {
    const fromSeq = 1 + ((round * 7_919_317) % last);
    times.plain.push(await timeMs(() => slice(plain, fromSeq)));
    times.packed.push(await timeMs(() => slice(packed, fromSeq)));
  }
  return { plainMs: median(times.plain), packedMs: median(times.packed) };
}

async function slice(session: Session, fromSeq: number): Promise<void> {
  let count = 0;
  for await (const event of session.events({ fromSeq, toSeq: fromSeq + sliceEvents - 1 })) {
    count += event.seq > 0 ? 1 : 0;
  }
  if (count !== sliceEvents) throw new Error(`${count} events in a slice of ${sliceEvents}`);
}

/** One session that grows long, of inputs only, beside a short one; both packed. */
async function packLong(directory: Directory): Promise<Measure[]> {
  const path = directory.path("long.db");
  const prose = makeProse();
  const ids = { long: "", short: "" };
  {
    await using engine = await openEngine({ store: path, durability: "process" });
    ids.short = await grown(engine, short, prose);
    ids.long = await grown(engine, long, prose);
  }
  const before = recordBytes(path);
  const packMs = await timeMs(async () => {
    await using store = await opened(path);
    for (const id of Object.values(ids)) await store.pack(id as LogId, Number.MAX_SAFE_INTEGER);
  });
  const after = recordBytes(path);
  const events = `${number(long)} events`;
  return [
    {
      name: `a session of ${events}, packed ÷ not packed`,
      value: after / before,
      unit: "×",
      bar: { most: 0.45 },
      detail: `${number(statSync(path).size / 1e6)} MB in all; packed in ${number(packMs / 1_000)} s`,
    },
    ...(await compare(path, ids, events)),
  ];
}

async function grown(engine: Engine, count: number, prose: (length: number) => string): Promise<string> {
  const session = await engine.open({ objective: `${count} events` });
  for (let left = count - 1; left > 0; left -= 1_000) {
    const records = Array.from(
      { length: Math.min(left, 1_000) },
      (_, place) => ({ type: "input.received", text: prose(80 + ((place * 37) % 400)) }) as const,
    );
    await session.append(records);
  }
  return session.id;
}

async function compare(path: string, ids: Readonly<Record<"long" | "short", string>>, events: string) {
  const times = { append: pair(), state: pair(), slice: pair() };
  for (let round = 0; round < 41; round++) {
    for (const which of ["short", "long"] as const) {
      // A fresh engine each time, so that nothing is known of the session.
      await using engine = await openEngine({ store: path, durability: "process" });
      const session = await engine.session(ids[which]);
      times.state[which].push(await timeMs(() => session.state()));
      times.append[which].push(await timeMs(() => session.append("one more")));
      const fromSeq = 1 + ((round * 7_919_317) % ((which === "long" ? long : short) - 200));
      times.slice[which].push(await timeMs(() => slice(session, fromSeq)));
    }
  }
  return Object.entries(times).map(([name, found]): Measure => {
    const [longMs, shortMs] = [median(found.long), median(found.short)];
    const detail = `${number(longMs)} ms beside ${number(shortMs)} ms`;
    const bar = { most: 3 };
    return { name: `${name}, packed, ${events} ÷ 10,000`, value: longMs / shortMs, unit: "×", bar, detail };
  });
}

const pair = (): { readonly long: number[]; readonly short: number[] } => ({ long: [], short: [] });
