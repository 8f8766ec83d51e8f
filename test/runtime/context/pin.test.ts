/** Pins through the engine: room, refusals, requests, and a smaller window. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "../../../src/core/present.ts";
import type { Models } from "../../../src/model/port.ts";
import { engineWith, scripted, use, type Line } from "../turn/scripted.ts";
import { all } from "../place.ts";

/** The scripted model under two names, with the window that the name says. */
function windows(lines: readonly Line[]) {
  const script = scripted(lines);
  const model: Models["model"] = async (name) => {
    const made = await script.models.model(name);
    const windowTokens = name === "test/small" ? 4_000 : 200_000;
    return { ...made, facts: { ...made.facts, windowTokens } };
  };
  return { ...script, models: { ...script.models, model } };
}

test("a pinned item is in the next request, and its plan is in the log", async () => {
  const script = windows(["Yes.", "Of course."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Look after the store" });
  await session.ask("Begin.").result;
  await session.record("decision", "production", "never delete the production database");
  await session.pin("decision", "production", { because: "it cannot be restored" });
  assert.deepEqual([...(await session.fold()).mind.pins.keys()], ["decision/production"]);
  await session.ask("Go on.").result;
  const sent = JSON.stringify(script.calls.at(-1)?.parts);
  assert.match(sent, /pinned, it holds from here on: decision production: never delete.*Go on\./);
  await session.unpin("decision", "production");
  await session.ask("And now?").result;
  assert.match(JSON.stringify(script.calls.at(-1)?.parts), /not pinned any more: decision production/);
  const events = await all(session.events());
  const requested = events.filter(({ type }) => type === "model.requested");
  assert.equal(events.filter(({ type }) => type === "context.planned").length, 1);
  for (const { seq } of requested) assert.equal((await session.context({ atSeq: seq })).matches, true);
});

test("a pin over its share is refused with its size, and an agent can give it more", async () => {
  const value = "word ".repeat(20_000);
  await using engine = engineWith(windows(["Yes."]));
  await engine.addAgent({
    name: "roomy",
    instructions: "Answer.",
    context: { shares: { pinned: 0.2 } },
  });
  const open = (agent?: string) => engine.open({ objective: "Pin", ...present({ agent }) });
  const [plain, roomy] = [await open(), await open("roomy")];
  for (const session of [plain, roomy]) await session.record("fact", "long", value);
  await assert.rejects(plain.pin("fact", "long"), {
    code: "refused",
    message: /^pin: fact "long": expected pinned items of at most 16,000 tokens, got 18,\d{3}$/,
  });
  await roomy.pin("fact", "long");
  await assert.rejects(plain.pin("fact", "none"), { code: "not-found" });
  await assert.rejects(
    engine.addAgent({ name: "a", instructions: "b", context: { shares: { items: 0.9 } } }),
    {
      message: /expected shares of at most 0\.75/,
    },
  );
});

test("a pinned item takes no value that exceeds the share, from a person or the model", async () => {
  const long = "word ".repeat(20_000);
  const tooLong = use("record", { kind: "fact", key: "id", value: long });
  const script = windows([[tooLong], "I see."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Pin" });
  await session.record("fact", "id", "4711");
  await session.pin("fact", "id");
  await assert.rejects(session.record("fact", "id", long), {
    code: "refused",
    message: /^record: fact "id" is pinned: expected pinned items of at most 16,000 tokens, got 18,\d{3}$/,
  });
  await session.record("fact", "id", "4712");
  await session.record("fact", "other", long);
  assert.deepEqual(
    (await session.items()).map(({ key, pinned }) => [key, pinned]),
    [
      ["id", true],
      ["other", undefined],
    ],
  );
  await session.ask("Record it.").result;
  assert.match(JSON.stringify(script.calls.at(-1)?.parts), /record: fact \\"id\\" is pinned: expected/);
  assert.equal((await session.items())[0]?.value, "4712");
});

test("a second pin of the same item writes nothing", async () => {
  await using engine = engineWith(windows([]));
  const session = await engine.open({ objective: "Pin" });
  await session.record("fact", "id", "4711");
  const first = await session.pin("fact", "id");
  const [again, beside] = await Promise.all([session.pin("fact", "id"), session.pin("fact", "id")]);
  assert.deepEqual([again.seq, again.duplicate, beside.seq], [first.seq, true, first.seq]);
  assert.equal((await session.state()).items[0]?.pinned, true);
  await session.unpin("fact", "id");
  assert.equal((await session.pin("fact", "id")).duplicate, false);
  const pins = (await all(session.events())).filter(({ type }) => type === "item.pinned");
  assert.equal(pins.length, 2);
});

test("a session whose pins do not fit the window of its new model is suspended, and says so", async () => {
  await using engine = engineWith(windows(["Yes.", "Yes.", "Yes."]));
  const session = await engine.open({ objective: "Keep it" });
  await session.ask("Begin.").result;
  await session.record("fact", "long", "word ".repeat(2_000));
  await session.pin("fact", "long");
  await session.migrate({ model: "test/small" });
  await session.input("Go on.");
  const ran = await session.run();
  assert.deepEqual([ran.status, ran.by], ["suspended", "error"]);
  const last = (await all(session.events())).findLast(({ type }) => type === "session.suspended");
  const { reason } = (last?.content ?? {}) as { reason?: string };
  assert.match(
    reason ?? "",
    /pinned items have about 1,8\d{2} tokens, and the window of test\/small \(4,000\) has 500/,
  );
  await session.unpin("fact", "long");
  await session.activate();
  assert.equal((await session.run()).status, "open");
});
