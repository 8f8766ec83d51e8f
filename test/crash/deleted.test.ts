/** A session that another process deletes while this one is at it: gone, and not damaged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openEngine, type Engine, type Session } from "../../src/index.ts";
import { makeWorkspaceId } from "../../src/core/ids.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { openOnce } from "../../src/adapter/open-once.ts";
import { kind } from "../kind.ts";

/** An engine whose session is deleted by somebody else just before the next read of its records. */
async function doomed(): Promise<{ engine: Engine; session: Session; doom: () => void }> {
  const world = realWorld();
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: new Uint8Array(10) });
  const store = kind().store({ world, workspace });
  const other = await openEngine({ store });
  const { id } = await other.open({ objective: "be deleted" });
  let isDoomed = false;
  const read: typeof store.read = async (session, range) => {
    if (isDoomed && session === id) {
      isDoomed = false;
      await other.delete(id);
    }
    return store.read(session, range);
  };
  const engine = await openEngine({ store: { ...store, read } });
  const session = await engine.session(id);
  return { engine, session, doom: () => void (isDoomed = true) };
}

test("a session deleted while its state is read is not found", async () => {
  const { session, doom } = await doomed();
  doom();
  await assert.rejects(session.append("too late"), { code: "not-found" });
});

test("deleting a session during a verification is not reported as damage", async () => {
  const { engine, doom } = await doomed();
  doom();
  const { ok, problems } = await engine.verify();
  assert.deepEqual([ok, problems], [true, []]);
});

test("a session deleted while it is verified itself is not found", async () => {
  const { session, doom } = await doomed();
  doom();
  await assert.rejects(session.verify(), { code: "not-found" });
});

test("an id that another process opens and deletes meanwhile is not given again", async (t) => {
  const world = realWorld();
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: new Uint8Array(10) });
  const { open, remove } = kind().lasting();
  t.after(remove);
  const [own, others] = [await open({ world, workspace }), await open({ world, workspace })];
  await using other = await openEngine({ store: others });
  await other.open({ objective: "the store is not empty" });
  const givenOf = (key: string) => ({ objective: "open once", key });
  let doomed: string | null = null;
  let id = "";
  const append: typeof own.append = async (parts) => {
    const key = doomed;
    doomed = null;
    if (key !== null) {
      ({ id } = await other.open(givenOf(key)));
      await other.delete(id);
    }
    return own.append(parts);
  };
  await using engine = await openEngine({ store: { ...own, append } });
  doomed = "a key of both";
  await assert.rejects(engine.open(givenOf("a key of both")), { code: "conflict" });
  await assert.rejects(engine.session(id), { code: "not-found" });
  await assert.rejects(engine.open(givenOf("a key of both")), {
    code: "conflict",
    detail: "deleted-session",
  });
  const before = id;
  const opened = await openOnce("a key of an adapter", (key) => {
    doomed = key === "a key of an adapter" ? key : null;
    return engine.open(givenOf(key));
  });
  assert.notEqual(id, before);
  assert.notEqual(opened.id, id);
  assert.equal((await engine.session(opened.id)).id, opened.id);
});
