/** Bundles: how fast they are written and taken in, what memory that needs, and how long others wait. */
import { createReadStream, createWriteStream, statSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { openEngine, type Engine } from "../src/index.ts";
import { inputOf, makeDirectory, median, number, timeMs, type Measure } from "./measure.ts";

const mib = 1_048_576;
const records = 20_000;
const recordBytes = 4_096;
const blobs = 12;
const blobBytes = 4 * mib;
const whole = (records * recordBytes + blobs * blobBytes) / mib;
const rounds = 3;
/** What somebody who writes beside it may wait. */
const waitMsMax = 50;

export async function benchBundle(): Promise<Measure[]> {
  using directory = makeDirectory();
  const [store, file] = [directory.path("from.db"), directory.path("x.skein")];
  const id = await write(store);
  const times = { out: [] as number[], in: [] as number[] };
  let grown = 0;
  for (let round = 0; round < rounds; round++) {
    const memory = watchMemory();
    times.out.push(await exportAll(store, id, file));
    times.in.push(await importAll(directory.path(`to-${round}.db`), file));
    grown = Math.max(grown, memory.grownMib());
  }
  const [outRate, inRate] = [whole / (median(times.out) / 1_000), whole / (median(times.in) / 1_000)];
  const beside = await besideWriter(store, id, directory.path("live.db"), file);
  const size = `${number(whole)} MiB, ${number(statSync(file).size / mib)} MiB packed`;
  return [
    { name: "export", value: outRate, unit: "MiB/s", bar: { least: 50 }, detail: size },
    { name: "import", value: inRate, unit: "MiB/s", bar: { least: 50 }, detail: size },
    {
      name: "memory that both take",
      value: grown,
      unit: "MiB",
      bar: { most: 128 },
      detail: `at its most, of ${number(whole)} MiB`,
    },
    ...beside,
  ];
}

/** Words by chance, of 4,000 that are all as frequent: they pack less well than what people write. */
function makeText(): (bytes: number) => string {
  let seed = 42;
  const next = (): number => {
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    return seed >>> 0;
  };
  const words = Array.from({ length: 4_000 }, () =>
    Array.from({ length: 2 + (next() % 9) }, () => String.fromCharCode(97 + (next() % 26))).join(""),
  );
  return (bytes) => {
    let text = "";
    while (text.length < bytes) text += `${words[next() % words.length]} `;
    return text.slice(0, inputOf(bytes).length);
  };
}

async function write(path: string): Promise<string> {
  await using engine = await openEngine({ store: path, durability: "process" });
  const session = await engine.open({ objective: "a long session" });
  const text = makeText();
  for (let left = records; left > 0; left -= 500) {
    await session.append(
      Array.from({ length: 500 }, () => ({ type: "input.received", text: text(recordBytes) }) as const),
    );
  }
  for (let number = 0; number < blobs; number++) {
    const bytes = Buffer.from(text(blobBytes + 100)).subarray(0, blobBytes - number);
    const blob = await engine.putBlob(bytes);
    await session.input([{ type: "file", blob, mediaType: "text/plain" }]);
  }
  return session.id;
}

async function exportAll(path: string, id: string, file: string): Promise<number> {
  await using engine = await openEngine({ store: path });
  return await timeMs(() => pipeline(Readable.from(engine.export(id)), createWriteStream(file)));
}

async function importAll(path: string, file: string): Promise<number> {
  await using engine = await openEngine({ store: path });
  return await timeMs(() => engine.import(createReadStream(file)));
}

function watchMemory(): { grownMib(): number } {
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20);
  return {
    grownMib() {
      clearInterval(timer);
      return (most - before) / mib;
    },
  };
}

/** Somebody who appends to the same store, in the same process, as fast as it goes. */
async function besideWriter(store: string, id: string, live: string, file: string): Promise<Measure[]> {
  await using source = await openEngine({ store });
  const out = await withWriter(source, () =>
    pipeline(Readable.from(source.export(id)), createWriteStream(file)),
  );
  await using target = await openEngine({ store: live });
  const taken = await withWriter(target, () => target.import(createReadStream(file)));
  const rate = (ms: number): string => `${number(whole / (ms / 1_000))} MiB/s beside it`;
  return [
    {
      name: "longest wait of a writer beside an export",
      value: out.waitMs,
      unit: "ms",
      bar: { most: waitMsMax },
      detail: `${out.over} of ${out.appends} appends over it, ${rate(out.ms)}`,
    },
    {
      name: "longest wait of a writer beside an import",
      value: taken.waitMs,
      unit: "ms",
      bar: { most: waitMsMax },
      detail: `${taken.over} of ${taken.appends} appends over it, ${rate(taken.ms)}`,
    },
  ];
}

async function withWriter(engine: Engine, work: () => Promise<unknown>) {
  const session = await engine.open({ objective: "somebody else" });
  const stop = new AbortController();
  const waits: number[] = [];
  const writing = (async () => {
    while (!stop.signal.aborted) {
      waits.push(await timeMs(() => session.append("beside")));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
  const ms = await timeMs(work);
  stop.abort();
  await writing;
  const over = waits.filter((wait) => wait > waitMsMax).length;
  return { ms, waitMs: Math.max(...waits), over, appends: waits.length };
}
