/** Going on with another model: what cannot travel is named, and what does not fit is compacted first. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../../src/core/error.ts";
import type { ModelFacts, Models } from "../../../src/model/port.ts";
import type { ModelReport } from "../../../src/runtime/transfer/move-model.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { all } from "../place.ts";
import { engineWith, scripted, type Line, type Scripted } from "../turn/scripted.ts";

/** Models that differ by their names: their windows, their eyes; one cannot be had any more. */
function several(lines: readonly Line[]): Scripted {
  const script = scripted(lines);
  const known: Readonly<Record<string, Partial<ModelFacts>>> = {
    "test/small": { windowTokens: 4_000, outputTokensMax: 500 },
    "test/blind": { images: false },
  };
  const models: Models = {
    ...script.models,
    async model(name) {
      if (name === "test/gone") throw new SkeinError("unavailable", "there is no key for test");
      const model = await script.models.model(name);
      return { ...model, facts: { ...model.facts, ...known[name] } };
    },
  };
  return { ...script, models };
}

const typesOf = async (session: Session): Promise<string[]> =>
  (await all(session.events())).map(({ type }) => type);

async function asked(session: Session, text: string): Promise<void> {
  for await (const _ of session.ask(text)) continue;
}

test("reasoning and images that the next model cannot be shown are named, and counted", async () => {
  const thinking = { type: "reasoning", text: "let me see", metadata: { test: { signature: "s" } } } as const;
  const script = several([[thinking, { type: "text", text: "a cat" }], "still a cat"]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "o", model: "test/large" });
  const blob = await engine.putBlob(Uint8Array.of(1, 2, 3));
  await session.input([{ type: "image", blob, mediaType: "image/png" }]);
  await asked(session, "what is it?");
  const report = (await session.migrate({ model: "test/blind" })) as ModelReport;
  assert.deepEqual(report, {
    session: session.id,
    seq: (await session.head()).seq,
    from: "test/large",
    to: "test/blind",
    left: ["1 piece of reasoning by test/large, with its signature", "1 image, which the model cannot see"],
    compacted: false,
  });
  const last = (await all(session.events())).at(-1);
  assert.deepEqual(
    [last?.type, last?.body, last?.content],
    ["session.migrated", { from: "test/large", to: "test/blind" }, { left: report.left }],
  );
  await asked(session, "and now?");
  const sent = JSON.stringify(script.calls.at(-1)?.parts);
  assert.match(sent, /"model":"test\/blind"/);
  assert.doesNotMatch(sent, /let me see|signature|"type":"image"/);
  assert.match(sent, /an image \(image\/png\) that this model cannot see/);
});

test("a transcript too long for the next model is compacted first, by the previous model", async () => {
  const summary = "## Summary\n\nMany rates were read out, and all of them were right.";
  const script = several([({ parts }) => (JSON.stringify(parts).includes("Summarize") ? summary : "noted")]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "o", model: "test/large" });
  for (let turn = 0; turn < 12; turn++)
    await asked(session, `rate ${turn}: ${"four point one ".repeat(150)}`);
  const before = await session.context();
  assert.ok(before.tokens > 4_000, `${before.tokens} tokens`);
  const report = (await session.migrate({ model: "test/small" })) as ModelReport;
  assert.deepEqual([report.compacted, report.to], [true, "test/small"]);
  const types = await typesOf(session);
  assert.ok(types.indexOf("transcript.compacted") < types.indexOf("session.migrated"));
  const after = await session.context();
  assert.ok(after.tokens < 4_000, `${after.tokens} tokens`);
  assert.equal((await session.fold()).standing.lease.held, false);
  await asked(session, "go on");
  assert.equal((await session.fold()).standing.status, "open");
});

test("a session can leave an unavailable model", async () => {
  const script = several(["yes"]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "o", model: "test/gone" });
  const report = (await session.migrate({ model: "test/large" })) as ModelReport;
  assert.deepEqual([report.from, report.to, report.left], ["test/gone", "test/large", []]);
  await asked(session, "are you there?");
  assert.equal((await session.fold()).standing.status, "open");
});

test("to the same model, to an unavailable one, or of an ended session: nothing is written", async () => {
  const script = several(["yes"]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "o", model: "test/large" });
  const before = await typesOf(session);
  await assert.rejects(session.migrate({ model: "test/large" }), { code: "refused", message: /already/ });
  await assert.rejects(session.migrate({ model: "test/gone" }), { code: "unavailable" });
  assert.deepEqual(await typesOf(session), before);
  await session.close();
  await assert.rejects(session.migrate({ model: "test/small" }), { code: "refused", hint: /reopen/ });
});
