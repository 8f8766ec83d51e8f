/** Bad input of the library: each has a code, a message and a hint, and changes nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../../src/core/error.ts";
import { openEngine } from "../../../src/index.ts";
import { limit } from "../../../src/core/limit.ts";
import { listTickets, parsePlan, runPlan } from "../../../src/tickets/tickets.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { all, inFile, inMemory, newPath } from "../place.ts";
import { kind } from "../../kind.ts";

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

/** What a caller may give that no log can hold. */
const unholdable: Readonly<Record<string, unknown>> = {
  "half a surrogate pair": "\ud83d",
  "a NUL": "a\0b",
  "a Date": new Date(),
  "a Map": new Map(),
  "a BigInt": 1n,
  NaN: Number.NaN,
  Infinity,
  "a function": () => 1,
  "a hole": [undefined],
  "a key with half a pair": { "\ud83d": 1 },
  "what is nested too deep": nested(limit.jsonDepthMax),
};

/** Every way to put a value into a log. */
const ways: Readonly<Record<string, (session: Session, value: never) => Promise<unknown>>> = {
  record: (session, value) => session.record("fact", "k", value),
  scratch: (session, value) => session.scratch("k", value),
  "foreign body": (session, value) => session.append({ type: "x.a", body: { deep: value } }),
  "foreign content": (session, value) => session.append({ type: "x.a", content: { deep: value } }),
  options: (session, value) => session.bind({ kind: "file", name: "n", options: value }),
  pattern: (session, value) => session.grant({ tool: "t", rule: "ask", pattern: value }),
};

/** Rejects with a SkeinError that has a hint, and leaves the session where it was. */
async function assertRefused(
  session: Session,
  work: () => Promise<unknown>,
  code: string,
  what: string,
): Promise<void> {
  const before = await session.head();
  const error = await work().then(
    () => assert.fail(`${what} was taken`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SkeinError, `${what}: ${String(error)}`);
  assert.equal(error.code, code, `${what}: ${error.message}`);
  assert.ok(error.message.length > 0 && error.message.length < 400, what);
  assert.deepEqual(await session.head(), before, what);
}

test("values that would not survive the log are refused everywhere", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  for (const [what, value] of Object.entries(unholdable)) {
    for (const [way, put] of Object.entries(ways)) {
      await assertRefused(session, () => put(session, value as never), "invalid", `${what} by ${way}`);
    }
  }
  const texts = ["\ud83d", "a\0b"];
  for (const text of texts) {
    await assertRefused(session, () => session.append(text), "invalid", "an input");
    await assertRefused(session, () => session.rename(text), "invalid", "a name");
    await assertRefused(session, () => session.suspend({ reason: text }), "invalid", "a reason");
    await assert.rejects(place.engine.open({ objective: text }), { code: "invalid" });
  }
  assert.equal((await place.engine.sessions()).rows.length, 1);
});

test("valid values survive the log, at the edge of depth too", async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "o" });
  const values = [
    null,
    0,
    -1.5,
    "",
    "\u0001\u2028 😀 \uFFFF",
    [],
    {},
    { a: [null, true] },
    nested(limit.jsonDepthMax - 1),
  ];
  for (const value of values) await session.record("fact", `k${values.indexOf(value)}`, value);
  const items = await session.items();
  assert.deepEqual(
    items.map(({ value }) => value),
    values,
  );
  await session.append({ type: "x.a", body: { "": 1, __proto__: null, constructor: 2 }, content: null });
  const [, event] = await all(session.events({ fromSeq: 10 }));
  assert.deepEqual([event?.body, event?.content], [{ "": 1, constructor: 2 }, null]);
});

test("a body of 4 KiB and a content of 1 MiB are taken, and not a byte more", async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "o" });
  const bodyOf = (bytes: number): string => "b".repeat(bytes - 2);
  await session.append({ type: "x.a", body: bodyOf(limit.bodyBytesMax) });
  const longBody = () => session.append({ type: "x.a", body: bodyOf(limit.bodyBytesMax + 1) });
  await assertRefused(session, longBody, "invalid", "a long body");
  await session.append({ type: "x.a", content: bodyOf(limit.contentBytesMax) });
  const longContent = () => session.append({ type: "x.a", content: bodyOf(limit.contentBytesMax + 1) });
  await assertRefused(session, longContent, "invalid", "a long content");
  const umlauts = () => session.append({ type: "x.a", body: "ü".repeat(limit.bodyBytesMax / 2) });
  await assertRefused(session, umlauts, "invalid", "bytes count, not characters");
  const [event] = await all(session.events({ reverse: true, limit: 1 }));
  assert.equal(String(event?.content).length, limit.contentBytesMax - 2);
});

test("a content over 64 KiB is stored as a blob and reads as before", async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "o" });
  const at = (bytes: number): string => "c".repeat(bytes - 2);
  await session.append({ type: "x.a", content: at(limit.contentInlineBytesMax) });
  await session.append({ type: "x.a", content: at(limit.contentInlineBytesMax + 1) });
  const [inline, blob] = await place.store.read(session.id, {
    fromSeq: 2,
    toSeq: 3,
    limit: 2,
    contents: true,
  });
  assert.equal(inline?.contentBytes, limit.contentInlineBytesMax);
  assert.match(blob?.content ?? "", /^\{"\$blob":\{"sha256":"[0-9a-f]{64}","bytes":65537\}\}$/);
  const events = await all(session.events({ fromSeq: 2 }));
  assert.deepEqual(
    events.map(({ content }) => (content as string).length),
    [65_534, 65_535],
  );
  const posing = () =>
    session.append({ type: "x.a", content: { $blob: { sha256: "0".repeat(64), bytes: 1 } } });
  await assertRefused(session, posing, "invalid", "a content that poses as a reference");
  for (const content of [{ blocks: "text" }, { blocks: [null, 1] }, { blocks: { blob: 1 } }]) {
    await session.append({ type: "x.a", content });
  }
});

test("only input and foreign records are appended, in a shape that the catalogue knows", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const wrong: readonly unknown[] = [
    { type: "session.closed" },
    { type: "x." },
    { type: "X.a" },
    { type: 5 },
    {},
    null,
    5,
    [],
    [null],
    [undefined],
    undefined,
    { type: "input.received" },
    { type: "input.received", text: 5 },
    { type: "input.received", text: "a", from: "nobody" },
    { type: "input.received", blocks: [{ type: "video" }] },
    { type: "input.received", blocks: "text" },
    Array.from({ length: limit.appendRecordsMax + 1 }, () => ({ type: "x.a" })),
  ];
  for (const records of wrong) {
    const put = () => session.append(records as never);
    await assertRefused(session, put, "invalid", JSON.stringify(records)?.slice(0, 60) ?? "");
  }
});

test("unknown options are refused with the nearest known spelling", async () => {
  await using place = inMemory();
  const { engine } = place;
  const session = await engine.open({ objective: "o" });
  const calls: readonly (readonly [() => Promise<unknown>, string])[] = [
    [() => engine.open({ objective: "o", lables: {} } as never), 'did you mean "labels"?'],
    [() => engine.sessions({ stauts: "open" } as never), 'did you mean "status"?'],
    [() => engine.feed({ affter: "1" } as never), 'did you mean "after"?'],
    [() => engine.search("a", { sesion: "x" } as never), 'did you mean "session"?'],
    [() => engine.delete(session.id, { raeson: "x" } as never), 'did you mean "reason"?'],
    [() => session.state({ atseq: 1 } as never), 'did you mean "atSeq"?'],
    [() => session.append("a", { kye: "k" } as never), 'did you mean "key"?'],
    [() => session.record("fact", "k", 1, { becuase: "b" } as never), 'did you mean "because"?'],
    [() => session.fork({ atSqe: 1 } as never), 'did you mean "atSeq"?'],
    [() => session.rewind(1, { requeu: true } as never), 'did you mean "requeue"?'],
    [() => session.budget({ ustd: 1 } as never), 'did you mean "usd"?'],
    [() => session.bind({ kind: "file", pth: "p" } as never), 'did you mean "path"?'],
    [() => session.suspend({ colour: "red" } as never), "known options: reason"],
  ];
  for (const [call, hint] of calls) await assert.rejects(call(), { code: "invalid", hint });
  assert.equal((await session.head()).seq, 1);
});

test("out-of-range values are refused with the field", async () => {
  await using place = inMemory();
  const { engine } = place;
  const session = await engine.open({ objective: "o" });
  const opening: readonly object[] = [
    {},
    { objective: " " },
    { objective: 5 },
    { objective: "o".repeat(limit.objectiveCharsMax + 1) },
    { objective: "o", name: "" },
    { objective: "o", name: "n".repeat(limit.nameCharsMax + 1) },
    { objective: "o", agent: "Not A Name" },
    { objective: "o", model: "no-provider" },
    { objective: "o", priority: 10 },
    { objective: "o", labels: { Upper: "x" } },
    { objective: "o", labels: { a: "ü" } },
    { objective: "o", budget: { usd: -1 } },
    { objective: "o", budget: { steps: 1.5 } },
    { objective: "o", from: "not an id" },
  ];
  for (const options of opening) await assert.rejects(engine.open(options as never), { code: "invalid" });
  await engine.open({ objective: "o".repeat(limit.objectiveCharsMax), name: "n".repeat(limit.nameCharsMax) });
  assert.equal((await engine.sessions()).rows.length, 2);
  const calls: readonly (() => Promise<unknown>)[] = [
    () => session.state(null as never),
    () => engine.open(undefined as never),
    () => session.label(null as never),
    () => engine.search(5 as never),
    () => all(session.events({ types: "x.a" as never })),
    () => session.record("opinion", "k", 1),
    () => session.record("fact", "", 1),
    () => session.record("fact", "k".repeat(limit.keyCharsMax + 1), 1),
    () => session.record("fact", "two\nlines", 1),
    () => session.record("fact", "k", undefined),
    () => session.prioritize(-1),
    () => session.label({ a: "x".repeat(limit.labelValueCharsMax + 1) }),
    () => session.suspend({ reason: "r".repeat(limit.reasonCharsMax + 1) }),
    () => session.save("12"),
    () => session.budget({ usd: Number.NaN }),
    () => session.grant({ tool: "not a tool!", rule: "ask" }),
    () => engine.open({ objective: "o", bind: [null] as never }),
    () => engine.open({ objective: "o", bind: ["src"] as never }),
    () => session.bind(null as never),
    ...["x", null, {}, [5]].map((triggers) => () => session.sleep({ triggers: triggers as never })),
    ...[session.id, null, 5, {}, [5]].map((after) => () => engine.open({ objective: "o", after } as never)),
    () => engine.memory({ text: 5 as never }),
    () => engine.memory({ owner: 5 as never }),
    ...[{}, null, [null], ["x"], [{ running: 1, labels: null }], [{ running: 1, agent: 5 }]].map(
      (limits) => () => engine.work({ limits: limits as never }),
    ),
    ...[{}, undefined, null, "## a: x", { name: "p", tickets: [null] }, { name: "p", tickets: [{}] }].flatMap(
      (plan) => [() => runPlan(engine, plan as never), () => listTickets(engine, plan as never)],
    ),
    () => runPlan(engine, parsePlan("## a: x", { name: "p" }), { dryRun: "yes" as never }),
    ...[null, 5, { file: 5 }, { name: 5 }].map((source) => async () => parsePlan("## a: x", source as never)),
    () => engine.retain({ dryRun: "yes" as never }),
    () => engine.retain({ everything: 1 as never }),
    () => engine.sessions({ limit: 0 }),
    () => engine.sessions({ limit: limit.listMax + 1 }),
    () => engine.sessions({ status: "asleep" as never }),
    () => engine.sessions({ cursor: "nonsense" }),
  ];
  for (const call of calls) await assertRefused(session, call, "invalid", call.toString());
});

test("a priority and the name of an agent are refused in words that people know", async () => {
  await using place = inMemory();
  const { engine } = place;
  const session = await engine.open({ objective: "o" });
  const wrong = (message: string) => ({ code: "invalid", message });
  await assert.rejects(session.prioritize(11), wrong("prioritize: priority: expected at most 9, got 11"));
  await assert.rejects(
    session.prioritize(1.5),
    wrong("prioritize: priority: expected a whole number, got 1.5"),
  );
  await assert.rejects(
    engine.open({ objective: "o", priority: 10 }),
    wrong("open: priority: expected at most 9, got 10"),
  );
  await assert.rejects(engine.open({ objective: "o", agent: "NO PE" }), {
    code: "invalid",
    message: /^open: agent: .*lower-case letters/,
  });
});

test("an actor has only characters that a header may hold", async () => {
  await using place = inMemory();
  for (const actor of ["", "user:ü", "a\nb", "x".repeat(201)]) {
    const engine = new Engine({ store: place.store, world: place.world, actor });
    await assert.rejects(
      engine.open({ objective: "o" }),
      { code: "invalid", message: /expected an actor/ },
      actor,
    );
  }
});

test("openEngine accepts only known options", async () => {
  const { path, remove } = newPath();
  const wrong: readonly (readonly [object, string])[] = [
    [{ stoer: path }, "invalid"],
    [{ store: "" }, "invalid"],
    [{ store: ":memory:" }, "invalid"],
    [{ store: "a\0b" }, "invalid"],
    [{ store: "redis://x" }, "invalid"],
    [{ store: path, durability: "none" }, "invalid"],
    [{ store: path, create: false }, "not-found"],
    [{ store: `${path}/no/where.db` }, "unavailable"],
  ];
  for (const [options, code] of wrong) await assert.rejects(openEngine(options as never), { code });
  const engine = await openEngine({ store: kind().place() });
  await engine.close();
  await engine.close();
  await assert.rejects(engine.open({ objective: "o" }), { code: "unavailable" });
  remove();
});
