/** Projects that move with their store. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileAndPostgres, twoInFiles, twoInMemory, type Home } from "../two-stores.ts";

async function shop({ engine }: Pick<Home, "engine">) {
  const { project } = await engine.openProject({ objective: "Move the shop", name: "shop" });
  const first = await engine.open({ objective: "Write the adapter", project });
  await first.append("go");
  const fork = await first.fork({ objective: "Otherwise" });
  await engine.recordInProject(project, { kind: "decision", key: "provider", value: "acme" });
  const closed = await engine.openProject({ objective: "Over" });
  await engine.closeProject(closed.project, { outcome: "failed" });
  return { project, closed: closed.project, first, fork };
}

for (const [name, make] of [
  ["memory", twoInMemory],
  ["files", twoInFiles],
  ["a file and PostgreSQL", fileAndPostgres],
] as const) {
  test(`a store moves with its projects, in ${name}`, async () => {
    await using homes = await make();
    const { a, b } = homes;
    const { project, closed, first, fork } = await shop(a);
    const before = await a.engine.project(project);
    const dry = await a.engine.migrate({ to: b.store, dryRun: true });
    assert.deepEqual([dry.projects, await b.store.head(project)], [2, undefined]);
    const report = await a.engine.migrate({ to: b.store });
    assert.deepEqual([report.projects, report.moved, report.left.length], [2, 2, 0]);
    const after = await b.engine.project(project);
    assert.deepEqual(
      [after.status, after.sessions, after.items],
      ["open", [first.id, fork.id], before.items],
    );
    const over = await b.engine.project(closed);
    assert.deepEqual([over.status, over.outcome], ["closed", "failed"]);
    assert.equal((await a.engine.project(project)).status, "moved");
    for (const refused of [
      () => a.engine.noteInProject(project, { text: "late" }),
      () => a.engine.reopenProject(project),
      () => a.engine.open({ objective: "late", project }),
      () => a.engine.holdProject(project, "late"),
      () => a.engine.eraseProject(project),
    ])
      await assert.rejects(refused(), { code: "refused", hint: /store|where it lives/ });
    await b.engine.noteInProject(project, { text: "Goes on." });
    const more = await (await b.engine.session(first.id)).fork({ objective: "There" });
    assert.equal((await b.engine.project(project)).sessions.at(-1), more.id);
    assert.deepEqual(after.cost, before.cost);
    for (const { engine } of [a, b]) assert.equal((await engine.verify()).ok, true);
    const again = await a.engine.migrate({ to: b.store });
    assert.deepEqual([again.projects, again.moved], [0, 0]);
    // And back, with what was written there.
    const back = await b.engine.migrate({ to: a.store });
    assert.equal(back.projects, 2);
    const home = await a.engine.project(project);
    assert.deepEqual([home.status, home.journal.at(-1)?.text], ["open", "Goes on."]);
    assert.deepEqual(home.sessions, [first.id, fork.id, more.id]);
    assert.equal((await a.engine.verify()).ok, true);
  });
}

test("a session that is opened after its project left joins it where both arrive", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { project, first, fork } = await shop(a);
  // As a run that stopped after the projects: the sessions are still here.
  const signal = AbortSignal.abort();
  const stopped = await a.engine.migrate({ to: b.store, signal });
  assert.equal(stopped.projects, 2);
  const next = await first.rollover();
  assert.deepEqual((await a.engine.project(project)).sessions, [first.id, fork.id]);
  await a.engine.migrate({ to: b.store });
  const { sessions } = await b.engine.project(project);
  assert.deepEqual(new Set(sessions), new Set([first.id, fork.id, next.id]));
  assert.equal(sessions.length, 3);
  const single = await b.engine.open({ objective: "Alone", project });
  await single.migrate({ to: a.store });
  assert.equal((await b.engine.project(project)).sessions.at(-1), single.id);
});

test("a move that dies after the fence is finished by the next one", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { project } = await shop(a);
  let dies = true;
  const to = {
    ...b.store,
    finish: async (list: Parameters<typeof b.store.finish>[0]) => {
      if (dies && list.some(({ session }) => session === project)) throw new Error("died");
      return b.store.finish(list);
    },
  };
  await assert.rejects(a.engine.migrate({ to }), /died/);
  assert.equal((await a.engine.project(project)).status, "moved");
  assert.equal(await b.store.head(project), undefined);
  dies = false;
  const report = await a.engine.migrate({ to });
  assert.equal(report.projects, 2);
  assert.equal((await b.engine.project(project)).status, "open");
  assert.equal((await b.engine.verify()).ok, true);
});
