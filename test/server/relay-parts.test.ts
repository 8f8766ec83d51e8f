/** Parts of an answer that come over several connections, late, twice or not at all. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeSessionId, type SessionId } from "../../src/core/ids.ts";
import { limit } from "../../src/core/limit.ts";
import type { ModelDelta } from "../../src/model/port.ts";
import { makeLive, type LiveDelta, type LivePart } from "../../src/runtime/turn/live.ts";
import type { Hub } from "../../src/server/stream/hub.ts";
import { parsePart } from "../../src/server/stream/relay-connection.ts";
import { isHeldBy, isOutOfReach, makeFetching, makeParts } from "../../src/server/stream/relay-fetch.ts";
import { inMemory } from "../runtime/place.ts";
import { internalsOf } from "../../src/runtime/engine/internals.ts";

const session = makeSessionId({ nowMs: 1, random: new Uint8Array(10) });
const text = (said: string): ModelDelta => ({ type: "text", text: said });
const spelled = (deltas: readonly ModelDelta[]): string =>
  deltas.map((one) => (one.type === "tool-call" ? `[${one.tool}]` : `${one.type}:${one.text}`)).join("");
/** Neighbors as one, so that it does not matter in how many pieces they came. */
const joined = (deltas: readonly ModelDelta[]): string =>
  spelled(
    deltas.flatMap((one): ModelDelta[] =>
      one.type === "tool-call" ? [one] : one.text.split("").map((t) => ({ ...one, text: t })),
    ),
  );

const delta: fc.Arbitrary<ModelDelta> = fc.oneof(
  fc.string({ minLength: 1, maxLength: 5 }).map(text),
  fc.string({ minLength: 1, maxLength: 5 }).map((said): ModelDelta => ({ type: "reasoning", text: said })),
  fc.constant<ModelDelta>({ type: "tool-call", tool: "grep" }),
);

test("with repeated or lost deltas, a reader gets the beginning of the answer, once", () => {
  fc.assert(
    fc.property(
      fc.array(delta, { minLength: 1, maxLength: 20 }),
      fc.array(fc.record({ from: fc.nat(20), lost: fc.array(fc.nat(20), { maxLength: 3 }) }), {
        minLength: 1,
        maxLength: 3,
      }),
      (answer, connections) => {
        const [there, here] = [makeLive(), makeLive()];
        const heard: ModelDelta[] = [];
        here.subscribe(session, ({ delta: one }) => heard.push(one));
        const parts = makeParts({ live: here });
        const published: ModelDelta[] = [];
        for (const [place, one] of answer.entries()) {
          for (const { from, lost } of connections) {
            let count = 0;
            const take = (part: LivePart): void => {
              count += 1;
              const sent = parsePart(JSON.stringify(part));
              assert.ok(sent !== null);
              if (!lost.includes(count)) parts(sent);
            };
            if (from === place) there.subscribeWithBacklog(session, take);
          }
          published.push(one);
          there.publish(session, { type: "delta", requestSeq: 7, delta: one });
        }
        assert.ok(joined(published).startsWith(joined(heard)));
        const isWhole = connections.some(({ from, lost }) => from < answer.length && lost.length === 0);
        if (isWhole) assert.equal(joined(heard), joined(published));
      },
    ),
  );
});

test("a finished answer is not replayed from its beginning, nor one that is too long", () => {
  const live = makeLive();
  const said = (requestSeq: number, words: string): LiveDelta => ({
    type: "delta",
    requestSeq,
    delta: text(words),
  });
  const soFar = (): LivePart[] => {
    const parts: LivePart[] = [];
    live.subscribeWithBacklog(null, (part) => parts.push(part))();
    return parts;
  };
  live.publish(session, said(3, "Hel"));
  live.publish(session, said(3, "lo"));
  assert.deepEqual(soFar(), [{ session, requestSeq: 3, after: 0, deltas: [text("Hello")] }]);
  live.end(session, 2);
  assert.equal(soFar().length, 1);
  live.publish(session, said(9, "Next"));
  assert.deepEqual(soFar(), [{ session, requestSeq: 9, after: 0, deltas: [text("Next")] }]);
  live.end(session, 9);
  assert.deepEqual(soFar(), []);
  live.publish(session, said(11, "x".repeat(limit.liveAnswerCharsMax)));
  assert.equal(soFar().length, 1);
  live.publish(session, said(11, "y"));
  assert.deepEqual(soFar(), []);
});

test("data from another server that is not part of an answer is ignored", () => {
  const fine = { session, requestSeq: 1, after: 0, deltas: [text("a")] };
  assert.deepEqual(parsePart(JSON.stringify(fine)), fine);
  const wrong: unknown[] = [
    null,
    1,
    { ...fine, session: "ses_../x" },
    { ...fine, requestSeq: -1 },
    { ...fine, after: 0.5 },
    { ...fine, deltas: "a" },
    { ...fine, deltas: [{ type: "text" }] },
    { ...fine, deltas: [{ type: "tool-call", tool: 1 }] },
    { ...fine, deltas: [null] },
  ];
  for (const one of wrong) assert.equal(parsePart(JSON.stringify(one)), null, JSON.stringify(one));
  assert.equal(parsePart("{"), null);
});

test("a lease is of the process whose worker has it, by number or by name", () => {
  const process = "host:12/4026";
  for (const holder of [process, `${process}+2`, `builder@${process}`])
    assert.equal(isHeldBy(holder, process), true, holder);
  for (const holder of ["host:123/4026", "host:1/4026", "", "builder@host:2/4026"])
    assert.equal(isHeldBy(holder, process), false, holder);
});

test("an authority that names another machine is rejected here", () => {
  const own = "here:12/4026";
  const near = ["http://127.0.0.1:7717", "http://localhost:7717", "http://[::1]:7717"];
  for (const address of near) {
    assert.equal(isOutOfReach({ holder: "there:12/4026", address }, own), true, address);
    // Of this machine, or of one that nobody knows.
    for (const holder of ["here:13/4026", "here:13/4027", "here:13", "test"])
      assert.equal(isOutOfReach({ holder, address }, own), false, `${holder} ${address}`);
  }
  // A machine of the same name.
  const booted = "here:12/4026/0123456789abcdef";
  const address = "http://127.0.0.1:7717";
  assert.equal(isOutOfReach({ holder: "here:12/4026/fedcba9876543210", address }, booted), true);
  assert.equal(isOutOfReach({ holder: "here:13/4027/0123456789abcdef", address }, booted), false);
  assert.equal(isOutOfReach({ holder: "here:13/4026", address }, booted), false);
  for (const address of ["http://10.0.0.5:7717", "https://skein.example.com", "nowhere"])
    assert.equal(isOutOfReach({ holder: "there:12/4026", address }, own), false, address);
});

test("the number of relayed sessions is bounded; those without readers are dropped", async () => {
  await using place = inMemory();
  const listening = new Set<string>();
  const hub: Hub = {
    listen(log) {
      listening.add(log);
      return () => void listening.delete(log);
    },
    watch: () => () => undefined,
    step: () => assert.fail(),
    anew: () => undefined,
    onHeartbeat: () => () => undefined,
    stop: () => undefined,
  };
  const { live } = internalsOf(place.engine);
  const fetching = makeFetching(place.engine, hub);
  const idOf = (number: number): SessionId =>
    makeSessionId({ nowMs: 1, random: Uint8Array.from([number >> 8, number & 255, 0, 0, 0, 0, 0, 0, 0, 0]) });
  const stops = Array.from({ length: limit.relaysMax + 1 }, (_, number) =>
    live.subscribe(idOf(number), () => undefined),
  );
  assert.equal(listening.size, limit.relaysMax);
  assert.equal(listening.has(idOf(limit.relaysMax)), false);
  for (const stop of stops) stop();
  assert.equal(listening.size, 0);
  const again = live.subscribe(idOf(limit.relaysMax), () => undefined);
  assert.deepEqual([...listening], [idOf(limit.relaysMax)]);
  fetching.stop();
  again();
  assert.equal(listening.size, 0);
});
