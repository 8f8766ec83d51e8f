/** The one writer against a store that fails: a change is written exactly once, or there is a clear error. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SkeinError } from "../../../src/core/error.ts";
import { limit } from "../../../src/core/limit.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { Part, Store } from "../../../src/store/port.ts";
import { faultyStore, type Fault, type FaultyCall } from "../../store/faulty.ts";
import type { StoredRecord } from "../../../src/core/chain.ts";
import { makeSessionId } from "../../../src/core/ids.ts";
import { makeStateReader } from "../../../src/runtime/read/state-reader.ts";
import { makeWriter, type ChangeOptions, type WriterOptions } from "../../../src/runtime/log/writer.ts";
import { inMemory, type Place } from "../place.ts";

/** An engine on a store whose appends meet these faults, one after another; then all goes well again. */
function onFaulty(place: Place, faults: readonly Fault[]) {
  let appends = 0;
  let calm = false;
  const plan = ({ op }: FaultyCall): Fault =>
    op === "append" && !calm ? (faults[appends++] ?? "pass") : "pass";
  const late = Promise.withResolvers<void>();
  const store = faultyStore(place.store, { plan, delay: () => late.promise });
  const soon = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  const engine = new Engine({ store, world: { ...place.world, sleep: soon } });
  const settle = async (): Promise<void> => {
    calm = true;
    late.resolve();
    await store.settled();
  };
  return { engine, settle, appends: () => appends };
}

const recordsOf = (place: Place, session: Session): Promise<readonly StoredRecord[]> =>
  place.store.read(session.id, { fromSeq: 1, toSeq: Infinity, limit: 1_000, contents: true });

const isMine = ({ content, body }: StoredRecord): boolean => `${content ?? ""}${body}`.includes("mine");

/**
 * Changes of every shape: with content and without, with a key, of several records, with a state to recall.
 */
const changes: Readonly<Record<string, (session: Session) => Promise<{ readonly seq: number }>>> = {
  "an input": (session) => session.append("mine"),
  "an input with a key": (session) => session.append("mine", { key: "k" }),
  "a change without content": (session) => session.label({ mine: "yes" }),
  "several records": (session) =>
    session.append([{ type: "x.mine", body: "mine" }, { type: "x.b" }, { type: "x.c" }]),
  "a rewind": (session) => session.rewind(1, { reason: "mine" }),
  "an item": (session) => session.record("fact", "mine", 1),
};
const written: Readonly<Record<string, number>> = { "several records": 3 };

/** Faults after which the writer tries again by itself. `fenced` and `unavailable` end the change at once. */
const fault = fc.constantFrom<Fault>(
  "pass",
  "lose-answer",
  "lose-request",
  "late",
  "conflict",
  "fenced",
  "unavailable",
);

for (const [name, change] of Object.entries(changes)) {
  test(`${name} is written exactly once or refused clearly, whatever the store does`, async () => {
    const ends = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { minLength: 1, maxLength: 12 }), async (faults) => {
        await using place = inMemory();
        const before = await place.engine.open({ objective: "o" });
        const { engine, settle } = onFaulty(place, faults);
        const session = await engine.session(before.id);
        const end = await change(session).then(
          ({ seq }) => ({ code: "ok", seq }),
          ({ code }: SkeinError) => ({ code, seq: 0 }),
        );
        await settle();
        const records = await recordsOf(place, before);
        const mine = records.filter(isMine);
        ends.set(end.code, (ends.get(end.code) ?? 0) + 1);
        if (end.code === "ok") {
          assert.deepEqual(
            mine.map(({ seq }) => seq),
            [end.seq],
          );
          assert.equal(records.length, 1 + (written[name] ?? 1));
        } else {
          assert.ok(["unknown", "fenced", "unavailable"].includes(end.code), end.code);
          // A refusal that is made up does not stop what is still on its way, as a real one would.
          const refusals = faults.includes("fenced") || faults.includes("conflict");
          const mayStand = end.code === "unknown" || (refusals && faults.includes("late"));
          assert.ok(mine.length <= Number(mayStand), `${mine.length} after ${end.code}`);
        }
        assert.equal((await before.verify()).ok, true);
        // What this process believes is what is there.
        assert.equal((await session.append("and on")).seq, records.length + 1);
      }),
      { numRuns: 60 },
    );
    assert.ok((ends.get("ok") ?? 0) > 5, JSON.stringify([...ends]));
  });
}

for (const kind of ["lose-answer", "lose-request", "late"] as const) {
  test(`opening and forking survive ${kind}`, async () => {
    await using place = inMemory();
    const { engine, settle } = onFaulty(place, [kind]);
    const session = await engine.open({ objective: "o" });
    await settle();
    assert.deepEqual(
      (await recordsOf(place, session)).map(({ type }) => type),
      ["session.opened"],
    );
    const second = onFaulty(place, [kind]);
    const fork = await (await second.engine.session(session.id)).fork();
    await second.settle();
    assert.deepEqual(
      (await recordsOf(place, fork)).map(({ type }) => type),
      ["session.opened", "session.forked"],
    );
    assert.equal((await place.engine.sessions()).rows.length, 2);
  });
}

test("a store that never answers ends in an unknown, after so many tries", async () => {
  await using place = inMemory();
  const before = await place.engine.open({ objective: "o" });
  const { engine, appends } = onFaulty(place, Array<Fault>(50).fill("lose-request"));
  const session = await engine.session(before.id);
  await assert.rejects(session.append("mine"), {
    code: "unknown",
    message: /did not respond; the write to ses_\w+ may or may not have happened/,
    hint: /read the log/,
  });
  assert.equal(appends(), 1 + limit.unknownRetriesMax);
  assert.equal((await recordsOf(place, before)).length, 1);
});

test("an answer that was lost is looked for before anything is sent again", async () => {
  await using place = inMemory();
  const before = await place.engine.open({ objective: "o" });
  const { engine, appends } = onFaulty(place, ["lose-answer"]);
  const { seq, duplicate } = await (await engine.session(before.id)).append("mine");
  assert.deepEqual([seq, duplicate, appends()], [2, false, 1]);
});

test("a first try that lands just before the second is found, not written again", async () => {
  await using place = inMemory();
  const before = await place.engine.open({ objective: "o" });
  const { store, world } = place;
  const onItsWay: (readonly Part[])[] = [];
  const append: Store["append"] = async (parts) => {
    const first = onItsWay.pop();
    if (first !== undefined) await store.append(first);
    else onItsWay.push(parts);
    return first === undefined ? { kind: "unknown", cause: new Error("lost") } : store.append(parts);
  };
  for (const change of [changes["an input"]!, changes["a change without content"]!, changes["an item"]!]) {
    const engine = new Engine({ store: { ...store, append }, world });
    const { seq } = await change(await engine.session(before.id));
    const { seq: headSeq } = await before.head();
    assert.equal(seq, headSeq);
  }
  assert.equal((await recordsOf(place, before)).length, 4);
});

test("a thousand conflicts are retried before the append fails", async () => {
  await using place = inMemory();
  const before = await place.engine.open({ objective: "o" });
  const storm = onFaulty(place, Array<Fault>(limit.conflictRetriesMax - 1).fill("conflict"));
  assert.equal((await (await storm.engine.session(before.id)).append("mine")).seq, 2);
  const endless = onFaulty(place, Array<Fault>(limit.conflictRetriesMax).fill("conflict"));
  const session = await endless.engine.session(before.id);
  await assert.rejects(session.append("mine"), {
    code: "conflict",
    message: /changes too often/,
    hint: /later/,
  });
  assert.equal((await recordsOf(place, before)).length, 2);
});

test("a change is decided again on the new state, not written over it", async () => {
  await using place = inMemory();
  const mine = await place.engine.open({ objective: "o" });
  await mine.record("fact", "k", 1);
  const other = await new Engine({ store: place.store, world: place.world }).session(mine.id);
  await other.retract("fact", "k");
  // This engine still believes that the fact is there; the log does not.
  await assert.rejects(mine.retract("fact", "k"), { code: "not-found" });
  await other.close();
  await assert.rejects(mine.append("late"), { code: "refused", hint: /reopen/ });
  await other.reopen();
  assert.equal((await mine.append("again")).seq, 6);
});

test("many writers of one session in one process and in several all get in, once each", async () => {
  await using place = inMemory();
  const one = await place.engine.open({ objective: "o" });
  const engines = [
    place.engine,
    ...Array.from({ length: 3 }, () => new Engine({ store: place.store, world: place.world })),
  ];
  const handles = await Promise.all(engines.map((engine) => engine.session(one.id)));
  const answers = await Promise.all(
    Array.from({ length: 120 }, (_, place) => handles[place % handles.length]!.append(`mine ${place}`)),
  );
  const seqs = answers.map(({ seq }) => seq);
  assert.deepEqual(
    seqs.toSorted((a, b) => a - b),
    Array.from({ length: 120 }, (_, place) => place + 2),
  );
  const records = await recordsOf(place, one);
  for (const [number, { seq }] of answers.entries()) {
    assert.match(records[seq - 1]?.content ?? "", new RegExp(`"mine ${number}"`));
  }
  // Within one engine, in the order in which they were asked.
  for (const start of [0, 1, 2, 3]) {
    const own = seqs.filter((_, number) => number % 4 === start);
    assert.deepEqual(
      own,
      own.toSorted((a, b) => a - b),
    );
  }
});

test("an append that expects a missing head is refused, and never decided again", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  assert.equal((await session.append("a", { expect: { seq: 1 } })).seq, 2);
  const refused = { code: "conflict", message: /is at 2, not at 1/, hint: /read the new events/ };
  await assert.rejects(session.append("b", { expect: { seq: 1 } }), refused);
  await assert.rejects(session.append("b", { expect: { seq: 9 } }), { code: "conflict" });
  assert.equal((await recordsOf(place, session)).length, 2);
});

/** A writer alone, without an engine. */
const writerOn = ({ store, world }: Place, more: Partial<WriterOptions> = {}) =>
  makeWriter(store, world, makeStateReader(store), { tenant: "default", ...more });
const bySystem: ChangeOptions = { actor: "system" };
const opening = (place: Place) =>
  ({ command: { do: "open", workspace: place.store.workspace, objective: "o" } }) as const;

test("a session begins once, and a refused beginning writes nothing", async () => {
  await using place = inMemory();
  const writer = writerOn(place);
  const [id, other] = [1, 2].map((nowMs) => makeSessionId({ nowMs, random: new Uint8Array(10) }));
  assert.ok(id !== undefined && other !== undefined);
  await writer.begin(id, opening(place), bySystem);
  await assert.rejects(writer.begin(id, opening(place), bySystem), {
    code: "conflict",
    message: `${id} exists already`,
  });
  const from = await writer.current(id);
  await assert.rejects(writer.begin(other, { ...opening(place), from }, bySystem), {
    code: "conflict",
    message: "open: the session exists already",
  });
  assert.equal(await place.store.head(other), undefined);
});

test("a change under a lease that another holder has taken is fenced", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const writer = writerOn(place);
  const lease = (holder: string) => ({ ...bySystem, lease: { holder, leaseMs: 60_000 } });
  const label = (value: string) => ({ do: "label", set: { k: value }, remove: [] }) as const;
  const first = await writer.change(session.id, label("one"), lease("one"));
  const second = await writer.change(session.id, label("two"), lease("two"));
  await assert.rejects(writer.change(session.id, label("late"), { ...bySystem, epoch: first.firstSeq }), {
    code: "fenced",
  });
  await writer.change(session.id, label("now"), { ...bySystem, epoch: second.firstSeq });
  assert.equal((await session.state()).labels["k"], "now");
});

test("a rewind that ends a turn first gives the state of its target", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await session.record("fact", "gone", 1);
  await session.input("Go");
  const drive = await session.drive({ leaseMs: 60_000 });
  await drive.begin();
  await drive.lease.release();
  await session.suspend({ reason: "to look at it" });
  await session.rewind(1);
  const types = (await recordsOf(place, session)).map(({ type }) => type);
  assert.deepEqual(types.slice(-2), ["turn.ended", "session.rewound"]);
  assert.equal((await session.fold()).mind.items.size, 0);
  assert.equal((await session.verify()).ok, true);
});

test("records for the workspace are written in the append of the change", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const headOf = async (): Promise<number> => (await place.store.head(place.store.workspace))?.seq ?? 0;
  const before = await headOf();
  let after = 0;
  const always = async () => ({
    headSeq: await headOf(),
    events: [{ type: "x.beside", v: 1, body: {} }] as const,
    after: async () => void after++,
  });
  const writer = writerOn(place, { always });
  await writer.change(session.id, { do: "label", set: { k: "v" }, remove: [] }, bySystem);
  assert.deepEqual([await headOf(), after], [before + 1, 1]);
});

test("a writer that only writes leaves snapshots, as a reader does", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  for (let count = 0; count < 600; count++) await session.append("x".repeat(500));
  const snapshot = await place.store.snapshot(session.id, Infinity);
  assert.ok((snapshot?.seq ?? 0) > 256, String(snapshot?.seq));
});
