/** A key whose session was deleted and swept opens no second session of the same id, whatever the call. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { internalsOf } from "../../../src/runtime/engine/internals.ts";
import { answered, said, sourceOf } from "../transfer/foreign-source.ts";
import { inFile } from "../place.ts";
import { engineWith, scripted, say } from "../turn/scripted.ts";

const keyed = (engine: Engine, key: string): Engine => internalsOf(engine).forRequest({ key });

/** Each call that opens a session, with a key. */
const calls: Readonly<Record<string, (engine: Engine, key: string) => Promise<string>>> = {
  open: async (engine, key) => (await keyed(engine, key).open({ objective: "x" })).id,
  fork: async (engine, key) => {
    const parent = await engine.open({ objective: "x", key: "parent" });
    return (await (await keyed(engine, key).session(parent.id)).fork()).id;
  },
  clear: async (engine, key) => {
    const before = await engine.open({ objective: "x" });
    return (await (await keyed(engine, key).session(before.id)).clear()).id;
  },
  fire: async (engine, key) => {
    await engine.trigger("t", { kind: "webhook" }, { open: { objective: "x" } });
    return (await keyed(engine, key).fire("t")).id;
  },
};

for (const [name, call] of Object.entries(calls)) {
  test(`${name} with the key of a deleted session is refused, at each engine on the store`, async () => {
    await using place = await inFile();
    await using other = await place.again();
    const id = await call(place.engine, "k");
    await place.engine.delete(id);
    await place.store.sweep();
    for (const engine of [place.engine, other.engine]) {
      await assert.rejects(call(engine, "k"), { code: "conflict", detail: "deleted-session" });
      assert.equal(await place.store.head(id as never), undefined);
    }
    assert.notEqual(await call(other.engine, "another"), id);
  });
}

test("a replay with the key of a deleted one is refused", async () => {
  const engine = engineWith(scripted([[say("Done.")]]));
  const session = await engine.open({ objective: "x" });
  await session.ask("Go.").result;
  const replay = async () =>
    (await keyed(engine, "k").session(session.id)).replay({ from: 2, model: "test/scripted" });
  const { fork } = await replay();
  await assert.rejects(replay(), { code: "conflict", detail: undefined });
  await engine.delete(fork);
  await assert.rejects(replay(), { code: "conflict", detail: "deleted-session" });
  await engine.close();
});

test("a conversation whose session was deleted is imported again into a new one", async () => {
  await using place = await inFile();
  const { engine } = place;
  const entries = [said("u1", "Which rate?"), answered("a1", "4.1")];
  const ids = new Set<string>();
  for (let round = 0; round < 3; round++) {
    const report = await engine.importTranscript(sourceOf({ entries }));
    assert.deepEqual([report.status, report.added], ["new", 2]);
    assert.equal((await engine.importTranscript(sourceOf({ entries }))).session, report.session);
    ids.add(report.session);
    await engine.delete(report.session);
  }
  assert.equal(ids.size, 3);
});
