/** The faulty store: harmless when told to pass, and each fault does what its name says. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { makeSessionId, makeWorkspaceId } from "../../src/core/ids.ts";
import { conformance, draftOf } from "../../src/store/conformance/conformance.ts";
import type { Fault, FaultyCall, FaultyStore, Faults } from "./faulty.ts";
import { faultyStore } from "./faulty.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Part, Store, StoreWorld } from "../../src/store/port.ts";

const random = new Uint8Array(10);
const workspace = makeWorkspaceId({ nowMs: 1, random });
const session = makeSessionId({ nowMs: 1, random });
const timers = {
  sleep: (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms)),
  defer: (work: () => void) => void setImmediate(work),
};
const digest: StoreWorld["digest"] = (prefix, text) =>
  createHash("sha256").update(prefix, "hex").update(text).digest("hex");

for (const fault of ["pass", "delay"] as const) {
  conformance({
    name: `faulty, told to ${fault}`,
    open: async (given) => {
      const inner = memoryStore({ world: { ...given, ...timers }, workspace });
      const delay = async (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
      return { store: faultyStore(inner, { plan: () => fault, delay }), done: async () => undefined };
    },
  });
}

const part = (more: Partial<Part> = {}): Part => ({
  session,
  expect: "unchecked",
  drafts: [draftOf({ key: "k" }, digest)],
  index: { status: "open", agent: null, name: null, objective: null, priority: 5, labels: {} },
  ...more,
});

/** A store with one record, whose next append meets the fault. */
async function meeting(
  fault: Fault,
  more: Partial<Faults> = {},
): Promise<{ inner: Store; store: FaultyStore; headSeq: () => Promise<number | undefined> }> {
  const inner = memoryStore({ world: { ...timers, digest, now: () => 1 }, workspace });
  await inner.append([part({ drafts: [draftOf({}, digest)], lease: { holder: "one", leaseMs: 5_000 } })]);
  const plan = ({ op, count }: FaultyCall): Fault => (op === "append" && count === 1 ? fault : "pass");
  const store = faultyStore(inner, { plan, ...more });
  return { inner, store, headSeq: async () => (await inner.head(session))?.seq };
}

test("a lost response: written, but the outcome is unknown", async () => {
  const { store, headSeq } = await meeting("lose-answer");
  assert.equal((await store.append([part()])).kind, "unknown");
  assert.equal(await headSeq(), 2);
  const again = await store.append([part()]);
  assert.equal(again.kind === "duplicate" && again.seq, 2);
});

test("a lost answer also hides a refusal", async () => {
  const { store, headSeq } = await meeting("lose-answer");
  assert.equal((await store.append([part({ expect: "absent" })])).kind, "unknown");
  assert.equal(await headSeq(), 1);
});

test("a lost request: not written, but the outcome is unknown", async () => {
  const { store, headSeq } = await meeting("lose-request");
  assert.equal((await store.append([part()])).kind, "unknown");
  assert.equal(await headSeq(), 1);
  assert.equal((await store.append([part()])).kind, "ok");
});

test("a late append is written when the delay ends, after others that came later", async () => {
  const delay = Promise.withResolvers<void>();
  const { store, headSeq } = await meeting("late", { delay: () => delay.promise });
  assert.equal((await store.append([part()])).kind, "unknown");
  assert.equal(await headSeq(), 1);
  const other = part({ drafts: [draftOf({ type: "x.other" }, digest)] });
  assert.equal((await store.append([other])).kind, "ok");
  delay.resolve();
  const [late] = await store.settled();
  assert.equal(late?.status === "fulfilled" && late.value.kind, "ok");
  const records = await store.read(session, { fromSeq: 1, toSeq: 9, limit: 9, contents: true });
  assert.deepEqual(
    records.map((record) => record.type),
    ["x.test", "x.other", "x.test"],
  );
});

test("a late append may still be refused", async () => {
  const delay = Promise.withResolvers<void>();
  const { store } = await meeting("late", { delay: () => delay.promise });
  await store.append([part({ expect: { seq: 1 } })]);
  await store.append([part({ drafts: [draftOf({}, digest)] })]);
  delay.resolve();
  const [late] = await store.settled();
  const conflict = { kind: "conflict", session, headSeq: 2 };
  assert.deepEqual(late, { status: "fulfilled", value: conflict });
});

test("a delayed append waits until it is released", async () => {
  const delay = Promise.withResolvers<void>();
  const { store, headSeq } = await meeting("delay", { delay: () => delay.promise });
  const answer = store.append([part()]);
  await timers.sleep(1);
  assert.equal(await headSeq(), 1);
  delay.resolve();
  assert.equal((await answer).kind, "ok");
});

const { key } = draftOf({ key: "k" }, digest);
for (const outcome of [
  { kind: "conflict", session, headSeq: 1 },
  { kind: "fenced", session, epoch: 1 },
  { kind: "duplicate", session, key, seq: 1 },
] as const) {
  test(`a made-up ${outcome.kind} writes nothing`, async () => {
    const { store, headSeq } = await meeting(outcome.kind);
    assert.deepEqual(await store.append([part()]), outcome);
    assert.equal(await headSeq(), 1);
    assert.equal((await store.append([part()])).kind, "ok");
  });
}

test("an unavailable store rejects and writes nothing", async () => {
  const { store, headSeq } = await meeting("unavailable");
  await assert.rejects(store.append([part()]), { code: "unavailable" });
  assert.equal(await headSeq(), 1);
});

test("reads are counted one operation at a time, can be slow, and can fail", async () => {
  const { inner } = await meeting("pass");
  const calls: string[] = [];
  const plan = ({ op, count }: FaultyCall): Fault => {
    calls.push(`${op} ${count}`);
    if (op === "stats") return "late";
    return op === "head" && count === 2 ? "unavailable" : "delay";
  };
  const store = faultyStore(inner, { plan, delay: async (call) => void calls.push(`waited for ${call.op}`) });
  assert.equal((await store.head(session))?.seq, 1);
  await assert.rejects(store.head(session), { code: "unavailable" });
  assert.equal(await store.seqAt(session, 0), 1);
  await assert.rejects(store.stats(), /"late" for stats; that is for appends only/);
  assert.deepEqual(calls, ["head 1", "waited for head", "head 2", "seqAt 1", "waited for seqAt", "stats 1"]);
});
