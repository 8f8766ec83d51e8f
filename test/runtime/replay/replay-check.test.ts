/** Replay without a position: every hash that a log says of itself is computed again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredRecord } from "../../../src/core/chain.ts";
import { kind } from "../../kind.ts";
import type { Store } from "../../../src/store/port.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { all, workspace } from "../place.ts";
import { engineWith, scripted, use } from "../turn/scripted.ts";

const lines = [[use("record", { kind: "fact", key: "a", value: 1 })], "first", "second", "third"];

/** A session with three turns, a rewind and a fork point behind it. */
async function lived(store: Store) {
  const engine = engineWith(scripted(lines), { store });
  const session = await engine.open({ objective: "o" });
  await all(session.ask("one"));
  const { seq } = await session.head();
  await all(session.ask("two"));
  await session.rewind(seq);
  await all(session.ask("three"));
  return { engine, session };
}

const newStore = () => kind().store({ world: realWorld(), workspace });

test("every state and context of a log comes out as it was recorded, across rewinds and forks", async () => {
  const { engine, session } = await lived(newStore());
  const { seq: records } = await session.head();
  const progress: number[] = [];
  const report = await session.replay({ progress: ({ done }) => progress.push(done) });
  assert.deepEqual(report, {
    ok: true,
    session: session.id,
    records,
    turns: 3,
    requests: 4,
    mismatches: [],
    left: [],
  });
  assert.equal(progress.at(-1), records);
  const fork = await session.fork();
  await all(fork.ask("four"));
  const forked = await fork.replay();
  assert.deepEqual([forked.ok, forked.turns, forked.requests], [true, 4, 5]);
  await engine.close();
});

/** A store that gives back one record otherwise than it was written. */
const lying = (store: Store, change: (record: Bodied) => Partial<Bodied>): Store =>
  new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "read") return value.bind(target) as unknown;
      return async (...given: Parameters<Store["read"]>) =>
        (await target.read(...given)).map((record) => ({ ...record, ...change(record) }));
    },
  });
type Bodied = Pick<StoredRecord, "seq" | "body" | "content">;

test("differences from the recording are listed with their position", async () => {
  const store = newStore();
  const { session } = await lived(store);
  const events = await all(session.events());
  const ended = events.find(({ type }) => type === "turn.ended")!;
  const asked = events.findLast(({ type }) => type === "model.requested")!;
  const wrong = "0".repeat(64);
  const liar = lying(store, ({ seq, body }) => {
    if (seq === ended.seq) return { body: body.replace(/"mindHash":"\w+"/, `"mindHash":"${wrong}"`) };
    return seq === asked.seq ? { body: body.replace(/"context":"\w+"/, `"context":"${wrong}"`) } : {};
  });
  const engine = engineWith(scripted(lines), { store: liar });
  const report = await (await engine.session(session.id)).replay();
  assert.equal(report.ok, false);
  assert.deepEqual(
    report.mismatches.map(({ seq, what, recorded }) => [seq, what, recorded]),
    [
      [ended.seq, "mind", wrong],
      [asked.seq, "context", wrong],
    ],
  );
  await engine.close();
});

test("a context with erased parts cannot be rebuilt, and does not count as a mismatch", async () => {
  const store = newStore();
  const { session } = await lived(store);
  const events = await all(session.events());
  const second = events.filter(({ type }) => type === "input.received")[1]!;
  const [, , after] = events.filter(({ type }) => type === "model.requested");
  const liar = lying(store, ({ seq }) => (seq === second.seq ? { content: null } : {}));
  const engine = engineWith(scripted(lines), { store: liar });
  const report = await (await engine.session(session.id)).replay();
  // The rewind that came after it took the input away again.
  assert.deepEqual([report.ok, report.turns, report.requests], [true, 3, 3]);
  assert.deepEqual(report.left, [{ seq: after!.seq, why: "erased" }]);
  await engine.close();
});

test("a bad snapshot hides nothing: states are folded from the first record", async () => {
  const store = newStore();
  const { session } = await lived(store);
  const { seq } = await session.head();
  await store.putSnapshot(session.id, { seq: seq - 1, form: 2, text: "{}" });
  assert.equal((await session.replay()).ok, true);
});

test("an option that is none is refused", async () => {
  const { session } = await lived(newStore());
  await assert.rejects(session.replay({ progess: () => {} } as never), { code: "invalid" });
});
