/** A session that another process deletes while this one is at it: gone, and not damaged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openEngine, type Engine, type Session } from "../../src/index.ts";
import { makeWorkspaceId } from "../../src/core/ids.ts";
import { realWorld } from "../../src/runtime/world.ts";
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
