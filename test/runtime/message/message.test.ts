/** Messages within a store: both logs in one append, replies, deadlines, contracts, full inboxes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../../src/core/error.ts";
import { limit } from "../../../src/core/limit.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { Store } from "../../../src/store/port.ts";
import { all, inFile, inMemory, type Place } from "../place.ts";

const saying = (code: string, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof SkeinError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(`${error.message}; ${error.hint ?? ""}`, text);
  return true;
};

const typesOf = async (session: Session): Promise<string[]> =>
  (await all(session.events())).map(({ type }) => type);

/** What a session was told, in order: the texts of each input. */
async function told(session: Session): Promise<string[][]> {
  const events = await all(session.events({ types: ["input.received", "message.received"] }));
  return events.map(({ content }) =>
    (content as { blocks: { text: string }[] }).blocks.map(({ text }) => text),
  );
}

async function pair(place: Place): Promise<{ a: Session; b: Session }> {
  return {
    a: await place.engine.open({ objective: "A" }),
    b: await place.engine.open({ objective: "B" }),
  };
}

test("a message is in both logs, a value goes as its JSON, and a key sends only once", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  const first = await a.send(b.id, "hello", { key: "once" });
  assert.deepEqual({ ...first, message: "" }, { message: "", to: b.id, seq: 2, delivered: true });
  assert.deepEqual(await a.send(b.id, "hello again", { key: "once" }), first);
  await a.send(b.id.slice(-8), { rate: 4.1 }, { topic: "rates" });
  assert.deepEqual(await told(b), [["hello"], ['{"rate":4.1}']]);
  assert.deepEqual((await b.fold()).standing.received.get(a.id), 2);
  await assert.rejects(a.send(b.id, undefined), saying("invalid", /undefined/));
  await assert.rejects(a.send(b.id, "x", { topik: "t" } as never), saying("invalid", /did you mean "topic"/));
  await a.append("x", { key: "another" });
  await assert.rejects(a.send(b.id, "x", { key: "another" }), saying("conflict", /another change/));
});

test("an empty message is not sent, neither from a session nor from a person", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  for (const text of ["", " \n"]) {
    await assert.rejects(a.send(b.id, text), saying("invalid", /send: message: expected a text/));
    await assert.rejects(place.engine.send(b.id, text), saying("invalid", /send: message: expected a text/));
  }
  assert.deepEqual([await typesOf(a), await typesOf(b)], [["session.opened"], ["session.opened"]]);
});

test("two senders with one key at once send one message", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  const sent = await Promise.all(Array.from({ length: 8 }, () => a.send(b.id, "once", { key: "k" })));
  assert.deepEqual(new Set(sent.map(({ message }) => message)).size, 1);
  assert.deepEqual(await told(b), [["once"]]);
});

test("sending to one that is missing, over or elsewhere is refused, and nothing is written", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  const gone = "ses_00000000000000000000000000";
  await assert.rejects(a.send(gone, "x"), saying("not-found", /there is no session/));
  await assert.rejects(a.send(a.id, "x"), saying("invalid", /the session is the sender itself/));
  await assert.rejects(a.send(null, "x"), saying("invalid", /send: to: missing/));
  await b.close();
  await assert.rejects(a.send(b.id, "x"), saying("refused", /closed and cannot receive a message; .*reopen/));
  await b.archive();
  await assert.rejects(a.send(b.id, "x"), saying("refused", /archived and cannot receive/));
  await assert.rejects(place.engine.send(b.id, "x"), saying("refused", /archived/));
  await assert.rejects(
    a.send(b.id, "x", { at: "./other.db" }),
    saying("unavailable", /access to other stores is disabled/),
  );
  assert.deepEqual(await typesOf(a), ["session.opened"]);
});

test("a request gets one reply, by its id alone, and the requester learns which request", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  const { message } = await a.send(b.id, "Which rate?", { withinMs: 60_000 });
  const until = new Date(place.world.now() + 60_000).toISOString();
  const note = `[request ${message}: reply with the send tool, replyTo ${message}, until ${until}]`;
  assert.deepEqual(await told(b), [["Which rate?", note]]);
  const state = await b.state();
  assert.deepEqual(state.asked, [{ message, from: a.id, seq: 2, deadlineMs: place.world.now() + 60_000 }]);
  assert.deepEqual(
    (await a.state()).requests.map(({ to }) => to),
    [b.id],
  );
  const { rows } = await place.engine.sessions();
  const waiting = new Map(rows.map(({ session, outbox }) => [session as string, outbox]));
  assert.deepEqual([waiting.get(a.id), waiting.get(b.id)], [undefined, undefined]);
  await assert.rejects(
    b.send(null, "x", { replyTo: "msg_none" }),
    saying("not-found", /no request "msg_none"/),
  );
  const c = await place.engine.open({ objective: "C" });
  await assert.rejects(b.send(c.id, "x", { replyTo: message }), saying("invalid", /came from/));
  await b.send(null, 4.1, { replyTo: message });
  assert.deepEqual(await told(a), [["4.1", `[this is the reply to ${message}]`]]);
  await assert.rejects(b.send(null, "x", { replyTo: message }), saying("not-found", /has a reply already/));
  assert.deepEqual([(await a.state()).requests, (await b.state()).asked], [[], []]);
  assert.deepEqual(
    (await place.engine.sessions()).rows.map(({ outbox }) => outbox ?? 0),
    [0, 0, 0],
  );
});

test("a request without a reply times out with a note, and a late reply is refused", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  const { message } = await a.send(b.id, "Which rate?", { withinMs: 1_000 });
  assert.deepEqual((await place.engine.deliver()).overdue, 0);
  await a.sleep();
  place.world.pass(1_001);
  await assert.rejects(b.send(null, "x", { replyTo: message }), saying("refused", /passed at 20\d\d-/));
  const report = await place.engine.deliver();
  assert.deepEqual(report, { sessions: 1, delivered: 0, refused: 0, overdue: 1, waiting: [] });
  const [[text = ""] = []] = await told(a);
  assert.match(text, new RegExp(`^Your request ${message} to ${b.id} had no reply by .*timed out\\.$`));
  assert.equal((await a.state()).status, "open");
  assert.deepEqual((await place.engine.deliver()).sessions, 0);
});

test("a reply after the deadline by an earlier clock is refused too", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  const { message } = await a.send(b.id, "Which rate?", { withinMs: 1_000 });
  place.world.pass(1_001);
  await place.engine.deliver();
  place.world.pass(-1_000);
  await assert.rejects(
    b.send(null, "x", { replyTo: message }),
    saying("refused", /does not wait for a reply/),
  );
});

test("deadlines that cannot be are refused", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  for (const more of [{ withinMs: 0 }, { withinMs: -1 }, { withinMs: 1.5 }, { deadlineMs: 5 }]) {
    await assert.rejects(a.send(b.id, "x", more), saying("invalid", /reply|deadline|withinMs: expected/));
  }
  await assert.rejects(a.send(b.id, "x", { withinMs: 1, deadlineMs: 1 }), saying("invalid", /not both/));
});

const rates = { type: "object", properties: { rate: { type: "number" } }, required: ["rate"] };

test("messages of sessions and people are validated against the contract of their topic", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  await b.contract("rates", rates);
  const wrong = /violates the contract for "rates": rate: expected number, got string/;
  await assert.rejects(a.send(b.id, { rate: "4" }, { topic: "rates" }), saying("refused", wrong));
  await assert.rejects(a.send(b.id, "4", { topic: "rates" }), saying("refused", /expected object/));
  await assert.rejects(a.send(b.id, "four", { topic: "rates" }), saying("refused", /got string/));
  await assert.rejects(place.engine.send(b.id, "four", { topic: "rates" }), saying("refused", /contract/));
  assert.deepEqual(await typesOf(b), ["session.opened", "contract.declared"]);
  await a.send(b.id, '{"rate":4,"more":1}', { topic: "rates" });
  await a.send(b.id, "anything", { topic: "other" });
  await a.send(b.id, "anything");
  await place.engine.send(b.id, { rate: 5 }, { topic: "rates", key: "k" });
  assert.equal((await place.engine.send(b.id, { rate: 5 }, { topic: "rates", key: "k" })).duplicate, true);
  const [last] = await all(b.events({ reverse: true, limit: 1 }));
  assert.deepEqual((last!.body as { topic?: string }).topic, "rates");
  await b.contract("rates", true);
  await a.send(b.id, "four", { topic: "rates" });
  assert.deepEqual(await b.contracts(), [{ topic: "rates", schema: true, seq: 7 }]);
  assert.deepEqual((await b.state()).contracts, ["rates"]);
});

test("a contract that is declared while a message is on its way counts", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  let isFirst = true;
  const store: Store = {
    ...place.store,
    async append(parts) {
      if (isFirst) {
        isFirst = false;
        await b.contract("rates", rates);
      }
      return place.store.append(parts);
    },
  };
  const slow = new Engine({ store, world: place.world });
  const sending = (await slow.session(a.id)).send(b.id, "four", { topic: "rates" });
  await assert.rejects(sending, saying("refused", /violates the contract/));
  assert.deepEqual([await typesOf(a), await told(b)], [["session.opened"], []]);
});

test("a message on which a pattern would be tried for ever is refused in a moment", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  const long = `${"a".repeat(60)}!`;
  for (const pattern of ["^([a-z]?a)*$", "^(.*a){20}$", "a*a*a*a*a*a*a*a*b"]) {
    await b.contract("name", { type: "string", pattern });
    const text = pattern.startsWith("a") ? long.repeat(200) : long;
    await assert.rejects(a.send(b.id, text, { topic: "name" }), saying("refused", /more than 100 ms/));
    await assert.rejects(place.engine.send(b.id, text, { topic: "name" }), saying("refused", /100 ms/));
  }
  await b.contract("name", { type: "string", pattern: "^([a-z]?a)*$" });
  await a.send(b.id, "aaa", { topic: "name" });
  assert.deepEqual(await told(b), [["aaa"]]);
});

test("a text fits a contract for texts, also when it looks like a number", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  await b.contract("name", { type: "string", pattern: "^[0-9a-z]+$" });
  await a.send(b.id, "42", { topic: "name" });
  await assert.rejects(a.send(b.id, "4 2", { topic: "name" }), saying("refused", /pattern/));
  await assert.rejects(
    a.send(b.id, "x".repeat(20_000), { topic: "name" }),
    saying("refused", /patterns allows 16384/),
  );
});

test("no message fits a contract that was erased", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  const { seq } = await b.contract("rates", rates);
  await b.erase({ ranges: [[seq, seq]] });
  await assert.rejects(a.send(b.id, { rate: 4 }, { topic: "rates" }), saying("refused", /was erased/));
  assert.deepEqual(await b.contracts(), [{ topic: "rates", schema: undefined, seq }]);
});

const need = { type: "object", required: ["a"] };
const texts = { type: "object", additionalProperties: { type: "string" } };
const tree = {
  type: "object",
  properties: { inner: { $ref: "#" }, rate: { type: "number" } },
  required: ["rate"],
};
const only = { type: "object", properties: { a: true }, additionalProperties: false };
const violations: readonly (readonly [schema: unknown, fits: unknown, breaks: unknown, why: RegExp])[] = [
  [need, { a: null }, { b: 1 }, / a: required property is missing/],
  [{ type: "array", items: need }, [{ a: 1 }], [{ a: 1 }, {}], / 1\.a: required property/],
  [{ anyOf: [need, { type: "number" }] }, 4, {}, /does not match any subschemas/],
  [
    { type: "object", properties: { a: { type: "number", default: 1 } }, required: ["a"] },
    { a: 2 },
    {},
    / a: required property/,
  ],
  [texts, { a: "x" }, { a: 1 }, / a: expected string, got number/],
  [
    { allOf: [only, { type: "object", properties: { b: true } }] },
    { a: 1 },
    { a: 1, b: 1 },
    / b: not allowed/,
  ],
  [{ anyOf: [{ type: "number" }, need], oneOf: [{ type: "number" }] }, 4, { a: 1 }, /exactly one subschema/],
  [{ type: "number", enum: [1, "a"] }, 1, '"a"', /expected number, got string/],
  [{ type: "number", enum: [1, 8], minimum: 5 }, 8, 1, /1 is less than 5/],
  [
    { ...texts, patternProperties: { "^n": { type: "number" } } },
    { n: 1, b: "" },
    { b: 1 },
    / b: expected string/,
  ],
  [
    { type: "object", propertyNames: { type: "string", maxLength: 1 } },
    { a: 1 },
    { ab: 1 },
    / ab: String is too long/,
  ],
  [{ type: "array", prefixItems: [{ type: "number" }], items: false }, [1], [1, 2], / 1: not allowed/],
  [
    { type: "array", uniqueItems: true },
    [{ a: 1 }, [["a", 1]]],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    /Duplicate items/,
  ],
  [{ type: "array", contains: { type: "null" }, maxContains: 1 }, [null], [null, null], /2 items/],
  [{ type: "number", multipleOf: 0.1 }, 0.3, 0.35, /multiple of 0\.1/],
  [{ type: "string", format: "date", maxLength: 10 }, "2026-11-15", "2026-11-35", /format "date"/],
  [{ type: "string", maxLength: 1 }, "\u{1f600}", "ab", /too long \(2 > 1\)/],
  [tree, { rate: 1, inner: { rate: 2 } }, { rate: 1, inner: {} }, / inner\.rate: required property/],
  [{ const: null }, null, 0, /does not match null/],
];

test("a contract holds all that it says, also of properties that it only requires", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  for (const [schema, fits, breaks, why] of violations) {
    await b.contract("t", schema);
    await a.send(b.id, fits, { topic: "t" });
    await assert.rejects(
      a.send(b.id, breaks, { topic: "t" }),
      saying("refused", why),
      JSON.stringify(schema),
    );
  }
});

test("nested alternatives do not block the sender", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  const next = (level: number) => ({ $ref: `#/$defs/${level + 1}` });
  const $defs: Record<string, unknown> = { 40: { type: "number" } };
  for (let level = 0; level < 40; level++) $defs[level] = { anyOf: [next(level), next(level)] };
  await b.contract("t", { $ref: "#/$defs/0", $defs });
  // A fast machine gets to more errors than fit on the stack within the time.
  const why = /more than 100 ms|validation failed: Maximum call stack/;
  await assert.rejects(a.send(b.id, "x", { topic: "t" }), saying("refused", why));
});

test("hostile schemas and messages are refused in a moment", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  await b.contract("t", { type: "array", uniqueItems: true });
  const many = `[${Array.from({ length: 60_000 }, (_, number) => `[${number}]`).join()}]`;
  await assert.rejects(a.send(b.id, many, { topic: "t" }), saying("refused", /more than 100 ms|too long/));
  await b.contract("t", {
    $id: "http://[",
    title: "x",
    type: "object",
    properties: { $id: { type: "number" } },
  });
  await a.send(b.id, { $id: 1 }, { topic: "t" });
  await assert.rejects(
    a.send(b.id, { $id: "x" }, { topic: "t" }),
    saying("refused", /\$id: expected number/),
  );
  await b.contract("t", { type: "array", items: { allOf: [{ type: "number" }, { type: "string" }] } });
  const wrong = JSON.stringify(Array.from({ length: 30_000 }, () => null));
  await assert.rejects(a.send(b.id, wrong, { topic: "t" }), saying("refused", /and \d+ more|validation/));
  for (const keyword of ["__absolute_ref__", "__absolute_uri__", "$recursiveRef", "$anchor", "id"])
    await assert.rejects(b.contract("t", { [keyword]: "#" }), saying("invalid", /not allowed/));
});

test("a contract that is not a schema, or accepts nothing, is refused with the reason", async () => {
  await using place = inMemory();
  const { b } = await pair(place);
  const cases: readonly (readonly [unknown, RegExp])[] = [
    ["x", /expected a schema/],
    [null, /expected a schema/],
    [[], /expected a schema/],
    [{ type: "nonsense" }, /contract: type: /],
    [{ typo: "object" }, /typo: not allowed/],
    [{ properties: { a: { type: "number" } } }, /contract: properties: requires "type"/],
    [{ type: "object", properties: { a: { minimum: 1 } } }, /properties\.a\.minimum: requires "type"/],
    [{ $ref: "https://example.org/schema" }, /\$ref/],
    [{ const: { a: 1 } }, /const: expected string or number/],
    [{ type: "string", pattern: "(" }, /regular expression/],
    [{ type: "string", pattern: "^(a+)+$" }, /exponential time/],
    [{ type: "string", pattern: "^(a|aa)*$" }, /exponential time/],
    [{ type: "string", pattern: "(a)\\1" }, /back reference/],
    [{ not: { type: "string" } }, /contract: not: not allowed/],
    [{ not: {} }, /contract: not: not allowed/],
    [{ type: "object", not: {} }, /contract: not: not allowed/],
    [{ type: "object", dependencies: { a: ["b"] } }, /dependencies: not allowed/],
    [{ type: "object", dependentRequired: { a: ["b"] } }, /dependentRequired: not allowed/],
    [{ type: "object", properties: { a: { type: "string", if: true } } }, /properties\.a\.if: not allowed/],
    [{ type: "object", required: "a" }, /required: expected array, got string/],
    [{ type: "number", exclusiveMinimum: true }, /exclusiveMinimum: expected number, got boolean/],
    [{ type: "string", format: "postcode" }, /format: .*"date-time","date"/],
    [{ format: "date" }, /format: requires "type"/],
    [{ $ref: "#/$defs/none" }, /\$ref: expected .*got "#\/\$defs\/none"/],
    [{ $ref: "#" }, /refers to itself/],
    [{ $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }] } } }, /refers to itself/],
    [{ $ref: "#/$defs/a", type: "object", $defs: { a: true } }, /type: .*next to \$ref/],
    [{ type: "array", minContains: 2 }, /minContains: requires "contains"/],
    [{ type: "string", title: "x".repeat(limit.contractBytesMax) }, /the limit is 32768/],
  ];
  for (const [schema, text] of cases) {
    await assert.rejects(
      b.contract("t", schema),
      saying("invalid", text),
      JSON.stringify(schema)?.slice(0, 80),
    );
  }
  await assert.rejects(b.contract("", true), saying("invalid", /topic: invalid name/));
  await assert.rejects(b.contract("a\nb", true), saying("invalid", /topic: invalid name/));
  const patterns = ["^ses_[0-9a-z]{26}$", "^(\\d{4}-\\d{2}-\\d{2})$", "^[^@]+@[^@]+$", "^(ab)+$"];
  for (const pattern of patterns) await b.contract("t", { type: "string", pattern });
});

for (const [name, make] of [
  ["memory", inMemory],
  ["a file", inFile],
] as const) {
  test(`a full inbox refuses sessions, takes what people say, and is seen in lists, in ${name}`, async () => {
    await using place = await make();
    const { a, b } = await pair(place);
    const full = async () =>
      (await place.engine.sessions()).rows.filter((row) => row.full === true).map(({ session }) => session);
    const inputs = Array.from(
      { length: limit.inboxMax - 1 },
      () => ({ type: "input.received", text: "x" }) as const,
    );
    await b.append(inputs);
    assert.deepEqual(
      [await full(), (await b.state()).inbox],
      [[], { count: limit.inboxMax - 1, full: false }],
    );
    await a.send(b.id, "the last one");
    await assert.rejects(a.send(b.id, "x"), saying("refused", /is full \(1,000 messages\); run the session/));
    assert.deepEqual(
      [await full(), (await b.state()).inbox],
      [[b.id], { count: limit.inboxMax, full: true }],
    );
    await place.engine.send(b.id, "I am a person");
    assert.deepEqual((await b.state()).inbox, { count: limit.inboxMax + 1, full: true });
    await place.engine.rebuild();
    assert.deepEqual(await full(), [b.id]);
    await using drive = await b.drive();
    await drive.begin();
    assert.deepEqual(await full(), []);
    await a.send(b.id, "there is room again");
  });
}

test("five senders to one another at once: each pair in order, none lost, none twice", async () => {
  await using place = inMemory();
  const { engine } = place;
  const sessions = await Promise.all(Array.from({ length: 5 }, () => engine.open({ objective: "x" })));
  const jobs = sessions.flatMap((from) =>
    sessions
      .filter((to) => to !== from)
      .map(async (to) => {
        for (let number = 1; number <= 5; number++) await from.send(to.id, `${from.id} ${number}`);
      }),
  );
  await Promise.all(jobs);
  for (const to of sessions) {
    const texts = (await told(to)).map(([text = ""]) => text);
    for (const from of sessions) {
      if (from === to) continue;
      const own = texts.filter((text) => text.startsWith(from.id));
      assert.deepEqual(
        own,
        Array.from({ length: 5 }, (_, place) => `${from.id} ${place + 1}`),
      );
    }
    assert.equal(texts.length, 20);
  }
});

test("messages that are not awaited keep the order of the calls, and each is decided once", async () => {
  await using place = inMemory();
  let appends = 0;
  const store: Store = {
    ...place.store,
    append(parts) {
      appends++;
      return place.store.append(parts);
    },
  };
  await using engine = new Engine({ store, world: place.world });
  const { a, b } = await pair({ ...place, engine });
  const numbers = Array.from({ length: 150 }, (_, number) => number);
  const own = (number: number) => [{}, { topic: "t" }, { key: `k${number}` }][number % 3];
  appends = 0;
  await Promise.all(
    numbers.flatMap((number) => [
      a.send(b.id, `${number}`, own(number)),
      b.send(a.id, `${number}`, own(number)),
      ...(number % 50 === 0 ? [a.append("between"), b.rename(`b${number}`)] : []),
    ]),
  );
  assert.equal(appends, 2 * 150 + 2 * 3);
  const texts = numbers.map(String);
  for (const session of [a, b]) {
    const heard = (await told(session)).map(([text]) => text).filter((text) => text !== "between");
    assert.deepEqual(heard, texts);
  }
});

test("two engines that send for one pair at once both succeed, with separate numbers", async () => {
  await using place = inMemory();
  const { a, b } = await pair(place);
  const other = await new Engine({ store: place.store, world: place.world }).session(a.id);
  await Promise.all([a, other].flatMap((from) => Array.from({ length: 30 }, () => from.send(b.id, "x"))));
  assert.equal((await told(b)).length, 60);
});
