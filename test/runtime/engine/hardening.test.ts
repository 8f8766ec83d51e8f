/** What was broken once by somebody who tried: each stays mended. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openEngine } from "../../../src/index.ts";
import { newPath } from "../place.ts";

test("a rebuild skips an unreadable log, and no session leaves the list", async () => {
  const { path, remove } = newPath();
  const engine = await openEngine({ store: path });
  const broken = await engine.open({ objective: "broken" });
  await broken.record("fact", "k", 1);
  const sound = await engine.open({ objective: "sound" });
  await engine.close();
  const raw = new DatabaseSync(path);
  raw.exec("UPDATE records SET body = '{}' WHERE seq = 2");
  raw.exec("DELETE FROM snapshots");
  raw.close();
  await using again = await openEngine({ store: path });
  const report = await again.rebuild();
  assert.deepEqual([report.sessions, report.unreadable], [1, [broken.id]]);
  const listed = (await again.sessions()).rows.map(({ session }) => session);
  assert.deepEqual(new Set(listed), new Set([broken.id, sound.id]));
  remove();
});

test("followers get an error when the engine is closed", async () => {
  const { path, remove } = newPath();
  for (const store of ["memory:", path]) {
    const engine = await openEngine({ store });
    const session = await engine.open({ objective: "o" });
    const following = (async () => {
      for await (const event of session.events({ follow: true })) if (event.seq > 1) return;
    })();
    const ended = assert.rejects(following, { code: "unavailable" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await engine.close();
    await ended;
  }
  remove();
});

test("a value that changes between reads, or has toJSON or __proto__, is refused", async () => {
  await using engine = await openEngine({ store: "memory:" });
  const session = await engine.open({ objective: "o" });
  let reads = 0;
  const changing = {
    get x() {
      return reads++ === 0 ? "ok" : "\ud800";
    },
  };
  await assert.rejects(session.record("fact", "k", changing), { code: "invalid" });
  await assert.rejects(session.record("fact", "k", { toJSON: () => 1 }), { code: "invalid" });
  const labels = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
  await assert.rejects(session.label(labels), { code: "invalid" });
  assert.equal((await session.head()).seq, 1);
});

test("keys, expectations and lists of the wrong kind are refused", async () => {
  await using engine = await openEngine({ store: "memory:" });
  const session = await engine.open({ objective: "o" });
  const invalid = { code: "invalid" };
  for (const key of [{ id: 1 }, "\ud800", ""]) {
    await assert.rejects(session.append("x", { key: key as string }), invalid);
  }
  await assert.rejects(session.append("x", { expect: {} as { seq: number } }), invalid);
  await assert.rejects(session.bind({ kind: "shell", command: "ls -l" as unknown as string[] }), invalid);
  await assert.rejects(session.close({ outcome: "cancelled" as "failed" }), invalid);
  await assert.rejects(engine.session(undefined as unknown as string), invalid);
  await assert.rejects(openEngine({} as { store: string }), invalid);
  assert.equal((await session.head()).seq, 1);
});

test("an empty file is refused as a store when opened for reading", async () => {
  const { path, remove } = newPath();
  new DatabaseSync(path).close();
  await assert.rejects(openEngine({ store: path, create: false }), { code: "not-found" });
  remove();
});
