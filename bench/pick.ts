/** Picking the next of many sessions that could be run, and how soon a message becomes a turn. */
import { choose } from "../src/core/trigger/schedule.ts";
import { makeSessionId, makeWorkspaceId } from "../src/core/ids.ts";
import { openEngine } from "../src/index.ts";
import type { Model, Models } from "../src/entry/model.ts";
import { realWorld } from "../src/runtime/world.ts";
import { draftOf, entryOf } from "../src/store/conformance/bench.ts";
import type { Part, Store } from "../src/store/port.ts";
import { sqliteStore } from "../src/store/sqlite/store.ts";
import { makeDirectory, median, samples, type Measure } from "./measure.ts";

const sessions = 100_000;
const agents = 20;
const together = 100;
const messages = 101;

export async function benchPick(): Promise<Measure[]> {
  using directory = makeDirectory();
  return [await pick(directory.path("pick.db")), await message(directory.path("message.db"))];
}

async function pick(path: string): Promise<Measure> {
  const world = realWorld();
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const store = await sqliteStore({ path, world, workspace, durability: "process" });
  try {
    await fill(store);
    const limits = [{ agent: "a3", running: 0 }];
    const times = await samples(101, async () => {
      const nowMs = world.now();
      const leased = await store.leased();
      const rows = await store.due({ nowMs, limit: 64, perAgent: 64 });
      const [next] = choose(rows, leased, { limits, most: 4 });
      await store.nextDue(nowMs);
      if (next === undefined) throw new Error("nothing to pick");
    });
    return {
      name: "picking the next of 100,000 runnable sessions",
      value: median(times),
      unit: "ms",
      bar: { most: 5 },
      detail: `of ${agents} agents and 3 priorities, with a limit`,
    };
  } finally {
    await store.close();
  }
}

async function fill(store: Store): Promise<void> {
  const world = realWorld();
  for (let made = 0; made < sessions; made += together) {
    const parts = Array.from({ length: together }, (_, place): Part => {
      const number = made + place;
      const index = entryOf({
        agent: `a${number % agents}`,
        priority: 4 + (number % 3),
        labels: { team: `t${number % 7}` },
        due: 0,
      });
      const session = makeSessionId({ nowMs: world.now(), random: world.random(10) });
      return { session, expect: "absent", drafts: [draftOf({}, world.digest)], index };
    });
    await store.append(parts);
  }
}

async function message(path: string): Promise<Measure> {
  const facts = { windowTokens: 100_000, outputTokensMax: 1_000, images: false, price: null };
  const model: Model = {
    name: "bench/model",
    facts,
    async *stream() {
      yield { type: "text", text: "ok" };
      const usage = { inputTokens: 1, outputTokens: 1 };
      return { blocks: [{ type: "text", text: "ok" }], finish: "stop", usage, sent: null };
    },
  };
  const models: Models = { byDefault: model.name, model: async () => model, list: () => [] };
  await using engine = await openEngine({ store: path, models });
  const session = await engine.open({ objective: "Take messages" });
  await using _ = await engine.work({ concurrency: 4 });
  const begunMs: number[] = [];
  for (let number = 0; number < messages; number++) {
    begunMs.push(Date.now());
    await engine.send(session.id, `message ${number}`);
    for (;;) {
      const { lease, lastTurn } = (await session.fold()).standing;
      if (!lease.held && lastTurn === number + 1) break;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
  const times: number[] = [];
  for await (const { at } of session.events({ types: ["turn.started"] }))
    times.push(at - (begunMs[times.length] ?? 0));
  return {
    name: "from a message to its turn, one process",
    value: median(times),
    unit: "ms",
    bar: { most: 20 },
    detail: `median of ${times.length}; the slowest took ${Math.max(...times)} ms`,
  };
}
