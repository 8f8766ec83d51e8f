/** An Idempotency-Key is for one change of one caller: with anything else it is refused, and nothing lost. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OperationId } from "../../src/call/operations.ts";
import type { Problem } from "../../src/protocol/problem.ts";
import { all } from "../runtime/place.ts";
import { served, type Answered } from "./served.ts";

const problem = ({ status, body }: Answered): unknown[] => {
  const { code, field } = body as Problem;
  return [status, code, field];
};
const reused = [409, "conflict", "Idempotency-Key"];
type Asked = readonly [OperationId, Readonly<Record<string, unknown>>];

const fact = (key: string, value: unknown): Asked => ["session.record", { kind: "fact", key, value }];
/** One of each that takes a key, and what is not the same. */
const rows: readonly { readonly first: Asked; readonly others: readonly Asked[] }[] = [
  {
    first: fact("rate", 4),
    others: [fact("rate", 5), fact("rates", 4), ["session.input", { input: "4" }]],
  },
  {
    first: ["session.input", { input: "Hello" }],
    others: [["session.input", { input: "Bye" }], ["session.append", { records: "Bye" }], fact("rate", 4)],
  },
  {
    first: [
      "session.append",
      {
        records: [
          { type: "x.a", body: { a: 1 } },
          { type: "x.b", content: "b" },
        ],
      },
    ],
    others: [
      [
        "session.append",
        {
          records: [
            { type: "x.a", body: { a: 2 } },
            { type: "x.b", content: "b" },
          ],
        },
      ],
      [
        "session.append",
        {
          records: [
            { type: "x.a", body: { a: 1 } },
            { type: "x.b", content: "c" },
          ],
        },
      ],
      ["session.rename", { name: "other" }],
    ],
  },
];

test("a key that is reused with another body, or by another caller, is refused", async () => {
  await using place = await served();
  const { id } = await place.engine.open({ objective: "Once" });
  const { token } = await place.engine.addToken({ scopes: ["write"] });
  for (const [number, { first, others }] of rows.entries()) {
    const headers = { "idempotency-key": `k${number}` };
    const ask = ([operation, params]: Asked, more: object = {}): Promise<Answered> =>
      place.call(operation, { id, params, headers, ...more });
    const done = (await ask(first)).body as { readonly seq: number; readonly headSeq: number };
    await place.call("session.record", { id, params: { kind: "fact", key: "between", value: number } });
    const again = { ...done, headSeq: done.headSeq + 1, duplicate: true };
    assert.deepEqual((await ask(first)).body, again);
    for (const other of others) assert.deepEqual(problem(await ask(other)), reused, JSON.stringify(other));
    assert.deepEqual(problem(await ask(first, { token })), reused);
    const match = { ...headers, "if-match": `"${done.seq - 1}"` };
    for (const other of others)
      assert.deepEqual(problem(await ask(other, { headers: match })), reused, JSON.stringify(other));
    assert.deepEqual((await ask(first, { headers: match })).body, again);
    assert.deepEqual((await ask(first)).body, again);
  }
  const types = (await all((await place.engine.session(id)).events())).map(({ type }) => type);
  const between = "item.recorded";
  assert.deepEqual(types.slice(1), [between, between, "input.received", between, "x.a", "x.b", between]);
});

test("a key of another kind of change is not mistaken for this call's, while it is known", async () => {
  await using place = await served();
  const { id } = await place.engine.open({ objective: "Once" });
  const headers = { "idempotency-key": "k" };
  assert.equal((await place.call("session.rename", { id, params: { name: "first" }, headers })).status, 200);
  assert.deepEqual(
    problem(await place.call("session.input", { id, params: { input: "a" }, headers })),
    reused,
  );
});

test("a message's idempotency key covers receiver, topic and text", async () => {
  await using place = await served();
  const [from, to, other] = await Promise.all(
    ["a", "b", "c"].map((objective) => place.engine.open({ objective })),
  );
  const headers = { "idempotency-key": "k" };
  const params = { to: to!.id, message: { amount: 4 }, topic: "rates" };
  const ask = (more: object): Promise<Answered> =>
    place.call("session.send", { id: from!.id, params: { ...params, ...more }, headers });
  const first = await ask({});
  assert.equal(first.status, 200);
  assert.deepEqual((await ask({})).body, first.body);
  for (const more of [{ message: { amount: 5 } }, { to: other!.id }, { topic: "amounts" }])
    assert.deepEqual(problem(await ask(more)), reused, JSON.stringify(more));
  assert.equal((await to!.fold()).standing.inbox.waiting.length, 1);
});

test("an input with a key runs no other input", async () => {
  await using place = await served();
  const { id } = await place.engine.open({ objective: "Once", model: "test/scripted" });
  const headers = { "idempotency-key": "k" };
  await place.call("session.input", { id, params: { input: "Hello" }, headers });
  const asked = await place.call("session.ask", { id, params: { input: "Bye" }, headers });
  assert.deepEqual(problem(asked), reused);
});

test("a repeat is not refused because a secret was redacted or the content is erased", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Once" });
  const secret = { kind: "fact", key: "way", value: `the key is sk-ant-api03-${"a1B2".repeat(20)}` };
  for (const [key, params] of [
    ["k1", secret],
    ["k2", { kind: "fact", key: "rate", value: 4 }],
  ] as const) {
    const ask = (): Promise<Answered> =>
      place.call("session.record", { id: session.id, params, headers: { "idempotency-key": key } });
    const { seq } = (await ask()).body as { readonly seq: number };
    assert.equal(((await ask()).body as { readonly duplicate?: boolean }).duplicate, true);
    await session.erase({ ranges: [[seq, seq]] });
    assert.equal(((await ask()).body as { readonly duplicate?: boolean }).duplicate, true);
  }
});
