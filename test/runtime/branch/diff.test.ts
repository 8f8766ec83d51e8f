/** What differs between two positions of a session, and between two sessions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionDiff } from "../../../src/runtime/branch/diff.ts";
import { limit } from "../../../src/core/limit.ts";
import { all, inFile, inMemory } from "../place.ts";
import { engineWith, scripted, use } from "../turn/scripted.ts";

/** What matters, in short. */
const brief = ({ state, items, transcript }: SessionDiff) => ({
  state: state?.map(({ field, from, to }) => [field, from, to]),
  items: items?.map(({ change, key }) => [change, key]),
  removed: transcript?.removed.map(({ type, text }) => [type, text]),
  added: transcript?.added.map(({ type, text }) => [type, text]),
});

test("two positions of a session: how it stands, what it knows", async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "o", labels: { team: "web" }, budget: { steps: 4 } });
  await session.record("fact", "x", 1);
  await session.save("before");
  await session.record("fact", "x", 2);
  await session.record("task", "t", "do");
  await session.label({ team: "core", since: "may" });
  await session.bind({ kind: "file", path: "/a.txt" });
  await session.budget({ steps: 9 });
  await session.score("tone", 1);
  await session.suspend({ reason: "lunch" });
  const diff = await session.diff("before");
  assert.deepEqual(
    [diff.from, diff.to, diff.common],
    [
      { session: session.id, seq: 3 },
      { session: session.id, seq: 11 },
      { session: session.id, seq: 3 },
    ],
  );
  assert.deepEqual(brief(diff), {
    state: [
      ["status", "open", "suspended"],
      ["why", null, { by: "person", reason: "lunch" }],
      ["labels.team", "web", "core"],
      ["labels.since", undefined, "may"],
      ["bindings./a.txt", undefined, "file, read"],
      ["budget.limits.steps", 4, 9],
      ["checkpoints.before", undefined, 3],
      ["scores.tone", undefined, 1],
    ],
    items: [
      ["changed", "x"],
      ["added", "t"],
    ],
    removed: [],
    added: [],
  });
  const back = await session.diff(11, 3, { only: ["items"] });
  assert.deepEqual(brief(back), {
    state: undefined,
    items: [
      ["changed", "x"],
      ["removed", "t"],
    ],
    removed: undefined,
    added: undefined,
  });
  assert.deepEqual(brief(await session.diff(5, 5)), { state: [], items: [], removed: [], added: [] });
});

test("two sessions: the transcript of each since they diverged, and both contexts", async () => {
  const script = scripted(["one", [use("scratch", { key: "k", value: 1 })], "two", "three"]);
  await using engine = engineWith(script);
  const a = await engine.open({ objective: "o" });
  await all(a.ask("first"));
  const b = await a.fork();
  await all(a.ask("on the left"));
  await all(b.ask("on the right"));
  const diff = await a.diff(
    { session: a.id },
    { session: b.id.slice(-8) },
    { only: ["transcript", "context"] },
  );
  assert.deepEqual(diff.common, { session: a.id, seq: (await b.state()).fork!.seq });
  assert.deepEqual(brief(diff).removed, [
    ["input.received", "on the left"],
    ["tool.requested", 'scratch {"key":"k","value":1}'],
    ["tool.settled", "ok: done"],
    ["model.responded", "two"],
  ]);
  assert.deepEqual(brief(diff).added, [
    ["input.received", "on the right"],
    ["model.responded", "three"],
  ]);
  const { context } = diff;
  const [left, right] = [await a.context(), await b.context()];
  assert.deepEqual([context!.from, context!.to], [left.digest, right.digest]);
  assert.deepEqual(
    left.parts.slice(0, context!.shared),
    right.parts.slice(0, context!.shared),
    "what is shared is the same",
  );
  assert.ok(context!.shared >= 3);
  assert.deepEqual(
    context!.added.map(({ part }) => JSON.stringify(part).includes("on the right")),
    [true, false],
  );
  assert.match(context!.added[0]!.digest, /^[0-9a-f]{64}$/);
});

test("rewound entries are absent from the transcript and present in the log", async () => {
  await using engine = engineWith(scripted(["a", "b"]));
  const session = await engine.open({ objective: "o" });
  await all(session.ask("first"));
  const { seq } = await session.head();
  await all(session.ask("second"));
  const { seq: later } = await session.head();
  await session.rewind(seq);
  assert.deepEqual(brief(await session.diff(later)).removed, [
    ["input.received", "second"],
    ["model.responded", "b"],
  ]);
  assert.deepEqual(brief(await session.diff(seq)).added, []);
});

test("strangers have nothing in common; a long transcript is cut, and says so", async () => {
  await using place = inMemory();
  const [a, b] = [await place.engine.open({ objective: "a" }), await place.engine.open({ objective: "b" })];
  const records = Array.from({ length: 999 }, () => ({ type: "input.received", text: "t" }) as const);
  await b.append(records);
  await b.append(records.slice(0, limit.diffSaidMax - 998));
  const seqs = (await all(b.events({ types: ["input.received"] }))).map(({ seq }) => seq);
  const drive = await b.drive();
  await drive.begin();
  await drive.lease.release();
  assert.equal(seqs.length, limit.diffSaidMax + 1);
  const { common, transcript } = await a.diff({ session: a.id }, { session: b.id });
  assert.deepEqual([common, transcript!.added.length, transcript!.isCut], [null, limit.diffSaidMax, true]);
});

test("places and aspects that do not exist are refused", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await assert.rejects(session.diff(2), { code: "not-found", message: /position 2 does not exist/ });
  await assert.rejects(session.diff("nowhere"), { code: "not-found", message: /no checkpoint "nowhere"/ });
  await assert.rejects(session.diff(1, { session: "zzzz" }), { code: "not-found" });
  await assert.rejects(session.diff(1, 1, { only: ["faces" as never] }), {
    code: "invalid",
    hint: 'did you mean "files"?',
  });
  await assert.rejects(session.diff(1, 1, { only: "items" as never }), { code: "invalid" });
});
