/** From a file's change to the turn it brings about, and what many sessions that sleep for files cost. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openEngine } from "../src/index.ts";
import { realWorld } from "../src/runtime/world.ts";
import { makeDirectory, median, number, type Measure } from "./measure.ts";

const changes = 15;
const debounceMs = 300;
const sessions = 10_000;
const folders = 100;
const filesEach = 10;
const idleMs = 10_000;
const worker = fileURLToPath(new URL("./wake-worker.ts", import.meta.url));

export async function benchWake(): Promise<Measure[]> {
  using directory = makeDirectory();
  return [await latency(directory), ...(await sleeping(directory))];
}

async function latency(directory: { path(name: string): string }): Promise<Measure> {
  const path = directory.path("watched");
  mkdirSync(path);
  await using engine = await openEngine({ store: directory.path("latency.db") });
  const session = await engine.open({
    objective: "Watch",
    model: "offline/offline",
    bind: [{ kind: "directory", path }],
    wake: [{ kind: "file", path, debounceMs }],
  });
  await using _ = await engine.work();
  const world = realWorld();
  await world.sleep(1_000);
  const times: number[] = [];
  for (let change = 0; change < changes; change++) {
    const turns = (await session.fold()).standing.lastTurn;
    writeFileSync(`${path}/${change}`, `${change}`);
    const changedMs = Date.now();
    while ((await session.fold()).standing.lastTurn === turns) await world.sleep(2);
    for await (const event of session.events({ types: ["turn.started"] }))
      times[change] = event.at - changedMs - debounceMs;
    await world.sleep(50);
  }
  return {
    name: "file change to turn started, beside the debounce",
    value: median(times),
    unit: "ms",
    bar: { most: 250 },
    detail: `median of ${changes}, the worst ${number(Math.max(...times))} ms`,
  };
}

interface Cost {
  readonly share: number;
  readonly rss: number;
  readonly startMs: number;
}

async function sleeping(directory: { path(name: string): string }): Promise<Measure[]> {
  const root = directory.path("many");
  for (let folder = 0; folder < folders; folder++) {
    mkdirSync(`${root}/${folder}`, { recursive: true });
    for (let file = 0; file < filesEach; file++) writeFileSync(`${root}/${folder}/${file}`, `${file}`);
  }
  const [idle, many] = [directory.path("idle.db"), directory.path("many.db")];
  await (await openEngine({ store: idle })).close();
  {
    await using engine = await openEngine({ store: many, durability: "process" });
    for (let made = 0; made < sessions; made += folders) {
      await Promise.all(
        Array.from({ length: folders }, async (_, folder) => {
          const path = `${root}/${folder}`;
          const bind = [{ kind: "directory", path }] as const;
          const session = await engine.open({ objective: "Wait", bind, wake: [{ kind: "file", path }] });
          await session.sleep();
        }),
      );
    }
  }
  const plain = costOf(idle);
  const watching = costOf(many);
  const beyond = (watching.rss - plain.rss) / 2 ** 20;
  const startS = number(watching.startMs / 1_000);
  const detail = `${number(watching.share * 100)} % beside ${number(plain.share * 100)} %`;
  return [
    {
      name: `${sessions.toLocaleString("en-US")} sleeping sessions in ${folders} directories: of a core`,
      value: (watching.share - plain.share) * 100,
      unit: "%",
      bar: { most: 1 },
      detail: `${detail}, over ${idleMs / 1_000} s`,
    },
    {
      name: "… memory beyond an idle worker",
      value: beyond,
      unit: "MiB",
      bar: { most: 100 },
      detail: `${number(watching.rss / 2 ** 20)} MiB; all watched after ${startS} s`,
    },
  ];
}

function costOf(store: string): Cost {
  const args = ["--expose-gc", worker, store, String(idleMs)];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`the worker ended with ${status}: ${stderr}`);
  return JSON.parse(stdout) as Cost;
}
