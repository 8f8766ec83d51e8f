/** Retrieval by words and by meaning, with an embedding model that says what it is told to. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { EventOf } from "../../../src/core/event.ts";
import { compactionPromptLine } from "../../../src/core/compaction/plan.ts";
import { embedderOf } from "../../../src/model/embedding.ts";
import type { Models } from "../../../src/model/port.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import type { EmbeddingModelInstance } from "../../../src/model/embedding-model-instance.ts";
import { openEngine } from "../../../src/index.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { all, newPath } from "../place.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

interface Scripted {
  readonly model: EmbeddingModelInstance;
  /** The texts of each call. */
  readonly calls: string[][];
}

/** Texts about money are alike, and so are others; what else they say hardly counts. */
function embedding(fails: () => "throws" | "hangs" | "odd" | null = () => null): Scripted {
  const calls: string[][] = [];
  const vector = (text: string): number[] => {
    const isMoney = /salary|wages|pay/i.test(text) ? 1 : 0;
    return [isMoney, 0.3, (text.length % 7) / 50, (text.length % 5) / 50];
  };
  const model = {
    specificationVersion: "v3",
    provider: "test.embedding",
    modelId: "scripted",
    maxEmbeddingsPerCall: 10,
    supportsParallelCalls: false,
    async doEmbed({ values }: { readonly values: readonly string[] }) {
      calls.push([...values]);
      const failing = fails();
      if (failing === "throws") throw new Error("the provider is down");
      if (failing === "hangs") return new Promise(() => undefined);
      if (failing === "odd") return { embeddings: [[Number.NaN]] };
      return { embeddings: values.map(vector) };
    },
  } as const;
  return { model, calls };
}

const filler = "Of no interest to anybody who reads it in the evening. ";

type Make = (models: Models, model: EmbeddingModelInstance | undefined) => Promise<Engine>;

const opened: Make = (models, model) =>
  openEngine({ store: "memory:", models, ...(model === undefined ? {} : { embeddingModel: model }) });

async function compacted(
  model: EmbeddingModelInstance | undefined,
  make = opened,
): Promise<{ engine: Engine; session: Session }> {
  const script = scripted(
    [({ parts }) => (JSON.stringify(parts).includes(compactionPromptLine) ? "Much was said." : "Well.")],
    { windowTokens: 40_000 },
  );
  const engine = await make(script.models, model);
  const session = await engine.open({ objective: "Keep the books" });
  await all(session.ask("Hello."));
  await session.record("fact", "wages-of-bakers", `Wages rise by 3 percent in May. ${filler.repeat(14)}`);
  for (let place = 0; place < 120; place++)
    await session.record("fact", `sundry-${place}`, `${place}: ${filler.repeat(12)}`);
  for (const text of ["What is new?", "Go on, please.", "And now?"]) await all(session.ask(text));
  assert.equal((await session.compress()).compacted, true);
  // The first request after a compaction plans the context, for what it is asked itself.
  await all(session.ask("Hello again, nice weather today."));
  return { engine, session };
}

const brought = async (session: Session): Promise<readonly EventOf<"context.retrieved">["body"][]> => {
  const events = await all(session.events({ types: ["context.retrieved"] }));
  return events.map((event) => (event as EventOf<"context.retrieved">).body);
};

test("an item that only means what an input asks for is brought in, and says so", async () => {
  const plain = await compacted(undefined);
  await all(plain.session.ask("How much more salary do they get?"));
  assert.deepEqual(await brought(plain.session), []);
  await plain.engine.close();

  const { model, calls } = embedding();
  const { engine, session } = await compacted(model);
  await all(session.ask("How much more salary do they get?"));
  const [found] = await brought(session);
  assert.deepEqual([found?.ranker, found?.note], ["hybrid", undefined]);
  const item = (await session.items()).find(({ key }) => key === "wages-of-bakers");
  assert.deepEqual(
    found?.entries.map(({ kind, seq, why }) => [kind, seq, why]),
    [["item", item?.seq, "meaning"]],
  );
  // Each text once: 121 items, and the input.
  assert.equal(calls.flat().length, 122);
  assert.ok(calls.every((texts) => texts.length <= 10));
  await all(session.ask("And how much salary next year?"));
  assert.equal(calls.flat().length, 123);
  for (const { seq } of await all(session.events({ types: ["model.requested"] })))
    assert.equal((await session.context({ atSeq: seq })).matches, true);

  // Vectors are derived: a rebuild deletes them, and they are made again.
  await engine.rebuild();
  await all(session.ask("What about the pay in autumn?"));
  assert.ok(calls.flat().length > 200);
  await engine.close();
});

test("a store keeps vectors: another engine embeds nothing again, and an erasure takes them", async () => {
  const { path, remove } = newPath();
  try {
    const inFile: Make = (models, model) =>
      openEngine({ store: path, durability: "process", models, ...(model && { embeddingModel: model }) });
    const first = embedding();
    const { engine, session } = await compacted(first.model, inFile);
    await all(session.ask("How much more salary do they get?"));
    assert.equal(first.calls.flat().length, 122);
    await engine.close();

    const again = embedding();
    const reopened = await inFile(scripted(["Well."], { windowTokens: 40_000 }).models, again.model);
    const same = await reopened.session(session.id);
    await all(same.ask("And how much salary next year?"));
    // The input alone.
    assert.equal(again.calls.flat().length, 1);
    const item = (await same.items()).find(({ key }) => key === "wages-of-bakers");
    const vectors = (): number => countVectors(path, item?.seq ?? 0);
    assert.equal(vectors(), 1);
    await same.erase({ ranges: [[item?.seq ?? 0, item?.seq ?? 0]] });
    assert.equal(vectors(), 0);
    await reopened.close();
  } finally {
    remove();
  }
});

/** Of one record. */
function countVectors(path: string, seq: number): number {
  const database = new DatabaseSync(path, { readOnly: true });
  const row = database.prepare("SELECT count(*) AS count FROM vectors WHERE seq = ?").get(seq);
  database.close();
  return Number(row?.["count"]);
}

for (const failing of ["throws", "odd"] as const) {
  test(`with a provider that is down (${failing}) words answer, and the event says so`, async () => {
    const { model, calls } = embedding(() => failing);
    const { engine, session } = await compacted(model);
    await all(session.ask("By how much do the wages of bakers rise in May?"));
    const [found] = await brought(session);
    assert.deepEqual([found?.ranker, found?.note], ["bm25", "embedding-failed"]);
    assert.deepEqual(
      found?.entries.map(({ kind, why }) => [kind, why]),
      [["item", "words"]],
    );
    // It is left alone for a while.
    const asked = calls.length;
    await all(session.ask("And the wages of bakers who retire in May?"));
    assert.equal(calls.length, asked);
    await engine.close();
  });
}

test("that a provider is down is said once, also if nothing is brought in", async () => {
  const { model } = embedding(() => "throws");
  const { engine, session } = await compacted(model);
  await all(session.ask("Something else: how far is the moon?"));
  await all(session.ask("And by how much do the wages of bakers rise in May?"));
  assert.deepEqual(
    (await brought(session)).map(({ note, entries }) => [note, entries.length > 0]),
    [
      ["embedding-failed", false],
      ["embedding-down", true],
    ],
  );
  const { reasons } = await session.context();
  assert.deepEqual(
    reasons.flatMap(({ lacked = [] }) => lacked),
    ["embedding-failed", "embedding-down"],
  );
  for (const { seq } of await all(session.events({ types: ["model.requested"] })))
    assert.equal((await session.context({ atSeq: seq })).matches, true);
  await engine.close();
});

test("a provider that never answers holds an input up for seconds, not for ever", async () => {
  const { model } = embedding(() => "hangs");
  const slept: number[] = [];
  const real = realWorld();
  const sleep: typeof real.sleep = (ms, signal) =>
    real.sleep(slept.push(ms) > 0 && ms === 8_000 ? 1 : ms, signal);
  const { engine, session } = await compacted(model, async (models) => {
    const script = { calls: [], models: { ...models, embedder: embedderOf(model) } };
    return engineWith(script, { world: { ...real, sleep } });
  });
  await all(session.ask("By how much do the wages of bakers rise in May?"));
  assert.equal((await brought(session))[0]?.note, "embedding-failed");
  assert.equal(slept.filter((ms) => ms === 8_000).length, 1);
  await engine.close();
});

test("a value that is not an embedding model is refused with an example", async () => {
  for (const wrong of ["openai/text-embedding-3-small", null, {}, { specificationVersion: "v9" }]) {
    const script = scripted(["Well."]);
    const given = { store: "memory:", models: script.models, embeddingModel: wrong } as never;
    const engine = await openEngine(given);
    const session = await engine.open({ objective: "x" });
    await assert.rejects(all(session.ask("Hello")), {
      code: "invalid",
      message: /embeddingModel: expected an embedding model of the AI SDK/,
    });
    await engine.close();
  }
});
