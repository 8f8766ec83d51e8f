/** Lost answers: whatever moment a late commit comes at, nothing is written twice and nothing is made up. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SkeinError } from "../../../src/core/error.ts";
import { makeSessionId, type LogId, type SessionId } from "../../../src/core/ids.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { awaitOutcome, keyedParts } from "../../../src/runtime/log/lost-answer.ts";
import { seal } from "../../../src/runtime/log/seal.ts";
import { faultyStore, type Fault, type FaultyCall } from "../../store/faulty.ts";
import type { Draft, Expect, Part, Store } from "../../../src/store/port.ts";
import { cases } from "../../kind.ts";
import { inMemory, type Place } from "../place.ts";

const soon = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const late = fc.integer({ min: 1, max: 9 }).map((calls): Fault => `late:${calls}`);
const lostOne = fc.oneof(late, late, fc.constantFrom<Fault>("lose-answer", "lose-request"));
const plan = fc.record({
  /** What becomes of the appends: the answer to the first is always lost. */
  appends: fc.tuple(
    lostOne,
    fc.array(fc.oneof(lostOne, fc.constant<Fault>("unavailable")), { maxLength: 6 }),
  ),
  /** Reads that fail, and a rival that writes, each before the call of this number. */
  fails: fc.array(fc.integer({ min: 2, max: 12 }), { maxLength: 3 }),
  rival: fc.option(fc.integer({ min: 2, max: 12 })),
});
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

/** A store that does so, and what is really there in the end. */
function disturbed(
  inner: Store,
  { appends: [first, rest], fails, rival }: Plan,
  compete: () => Promise<unknown>,
) {
  const faults: readonly Fault[] = [first, ...rest];
  let [appends, calls] = [0, 0];
  const decide = ({ op }: FaultyCall): Fault => {
    if (op === "append") return faults[appends++] ?? "pass";
    return fails.includes(calls) ? "unavailable" : "pass";
  };
  const faulty = faultyStore(inner, { plan: decide });
  return new Proxy(faulty, {
    get(target, name): unknown {
      const member: unknown = Reflect.get(target, name);
      if (!["append", "read", "keyed"].includes(String(name))) return member;
      return async (...given: readonly unknown[]): Promise<unknown> => {
        calls += 1;
        if (calls === rival) await compete();
        return (member as (...args: readonly unknown[]) => unknown)(...given);
      };
    },
  });
}

interface Way {
  readonly expects: (head: { readonly seq: number; readonly hash: string }) => Expect;
  /** How many sessions it is about. */
  readonly logs: 1 | 2;
}

const ways: Readonly<Record<string, Way>> = {
  "{ seq }": { expects: ({ seq }) => ({ seq }), logs: 1 },
  "{ seq, hash }": { expects: (head) => ({ seq: head.seq, hash: head.hash }), logs: 1 },
  absent: { expects: () => "absent", logs: 1 },
  exists: { expects: () => "exists", logs: 1 },
  unchecked: { expects: () => "unchecked", logs: 1 },
  "{ seq } of two logs": { expects: ({ seq }) => ({ seq }), logs: 2 },
  "unchecked of two logs": { expects: () => "unchecked", logs: 2 },
};

const shapes = {
  "with content": { event: { type: "x.mine", body: {}, content: { text: "mine" } }, key: null },
  "without content": { event: { type: "x.mine", body: { a: 1 } }, key: null },
  "with a key": { event: { type: "x.mine", body: { a: 1 } }, key: "ab".repeat(16) },
} as const;

const isOwn =
  (draft: Draft) => (record: { readonly key: string | null; readonly contentHash: string | null }) =>
    draft.content === null ? record.key === draft.key : record.contentHash === draft.content.hash;

async function placesOf(store: Store, session: LogId, draft: Draft | undefined): Promise<number[]> {
  if (draft === undefined) return [];
  const range = { fromSeq: 1, toSeq: Infinity, limit: 1_000, contents: false };
  return (await store.read(session, range)).filter(isOwn(draft)).map(({ seq }) => seq);
}

async function partsOf(place: Place, { expects, logs }: Way, shape: keyof typeof shapes): Promise<Part[]> {
  const { event, key } = shapes[shape];
  const parts: Part[] = [];
  for (let log = 0; log < logs; log++) {
    const session = await place.engine.open({ objective: "o" });
    const expect = expects(await session.head());
    const isFirst = expect === "absent";
    const id = isFirst
      ? makeSessionId({ nowMs: place.world.now(), random: place.world.random(10) })
      : session.id;
    const { drafts } = seal(place.world, [event, { type: "x.second", body: {} }], { actor: "system", key });
    const index = {
      status: "open",
      agent: null,
      name: null,
      objective: "o",
      priority: 5,
      labels: {},
    } as const;
    parts.push({ session: id, expect, drafts, ...(isFirst ? { index } : {}) });
  }
  return parts;
}

/** Somebody else appends to the first log. */
const rivalOf = (place: Place, session: LogId) => {
  const { drafts } = seal(place.world, [{ type: "x.rival", body: {} }], { actor: "system", key: null });
  return () => place.store.append([{ session, expect: "exists", drafts }]);
};

for (const [name, way] of Object.entries(ways)) {
  test(`an append that expects ${name} is written once, or not, and it is known which`, async () => {
    const ends = new Map<string, number>();
    const shape = fc.constantFrom(...(Object.keys(shapes) as (keyof typeof shapes)[]));
    await fc.assert(
      fc.asyncProperty(plan, shape, async (planned, how) => {
        await using place = inMemory();
        const parts = keyedParts(place.world, await partsOf(place, way, how));
        const store = disturbed(place.store, planned, rivalOf(place, parts[0]?.session as SessionId));
        const world = { ...place.world, sleep: soon };
        const end = await awaitOutcome({ store, world }, parts, await store.append(parts)).then(
          (outcome) => outcome,
          ({ code }: SkeinError) => ({ kind: `rejected: ${code}` }) as const,
        );
        await store.settled();
        ends.set(end.kind, (ends.get(end.kind) ?? 0) + 1);
        const found = await Promise.all(
          parts.map(({ session, drafts }) => placesOf(place.store, session, drafts[0])),
        );
        const counts = new Set(found.map((seqs) => seqs.length));
        assert.equal(counts.size, 1, "all parts or none");
        if (end.kind === "ok") {
          assert.deepEqual(
            found,
            end.parts.map(({ firstSeq }) => [firstSeq]),
          );
        } else if (end.kind === "rejected: unknown") {
          assert.ok((found[0]?.length ?? 0) <= 1);
        } else {
          assert.deepEqual(found[0], [], `written after ${end.kind}`);
          assert.ok(["conflict", "fenced", "duplicate"].includes(end.kind), end.kind);
        }
      }),
      cases(150),
    );
    assert.ok((ends.get("ok") ?? 0) > 50, JSON.stringify([...ends]));
  });
}

/** Changes that write to several logs, and how often each was made. */
const changes: Readonly<
  Record<
    string,
    { run(engine: Engine, ids: readonly SessionId[]): Promise<unknown>; types: readonly string[] }
  >
> = {
  "a message": {
    run: async (engine, [from, to]) => (await engine.session(from ?? "")).send(to ?? "", "mine"),
    types: ["message.sent", "message.received"],
  },
  "a clear": {
    run: async (engine, [id]) => (await engine.session(id ?? "")).clear(),
    types: ["session.closed"],
  },
  "a deletion": { run: (engine, [id]) => engine.delete(id ?? ""), types: ["session.deleted"] },
  "a memory": {
    run: (engine) => engine.remember({ scope: "workspace", kind: "fact", key: "mine", value: 1 }),
    types: ["memory.promoted"],
  },
};

for (const [name, { run, types }] of Object.entries(changes)) {
  test(`${name} is made once or not at all, whatever becomes of the answers`, async () => {
    let made = 0;
    await fc.assert(
      fc.asyncProperty(plan, async (planned) => {
        await using place = inMemory();
        const ids: SessionId[] = [];
        for (const objective of ["one", "two"]) ids.push((await place.engine.open({ objective })).id);
        const store = disturbed(place.store, planned, async () => undefined);
        const engine = new Engine({ store, world: { ...place.world, sleep: soon } });
        const end = await run(engine, ids).then(
          () => "ok",
          ({ code }: SkeinError) => code,
        );
        await store.settled();
        const { records } = await place.store.feed(null, 1_000);
        const counts = types.map((type) => records.filter((record) => record.type === type).length);
        made += Number(end === "ok");
        if (end === "ok")
          assert.deepEqual(
            counts,
            types.map(() => 1),
          );
        else {
          assert.ok(["unknown", "unavailable", "not-found", "conflict"].includes(end), end);
          assert.ok(
            counts.every((count) => count === counts[0] && count <= 1),
            `${end}: ${String(counts)}`,
          );
        }
      }),
      cases(60),
    );
    assert.ok(made > 15, `${made} were made`);
  });
}
