/** What is done with a project whole: search, lists, lineage, verification, holds, erasure, retention. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { all, inMemory } from "../place.ts";
import { projectRecords } from "./project.ts";

/** A project with a session, its fork and its successor, and a session of none. */
async function family(engine: Engine) {
  const { project } = await engine.openProject({ objective: "Move the shop" });
  const first = await engine.open({ objective: "Write the adapter", project });
  await first.append("the needle lies here");
  const fork = await first.fork({ objective: "Otherwise" });
  const next = await first.rollover();
  const outside = await engine.open({ objective: "Alone" });
  await outside.append("a needle elsewhere");
  return { project, first, fork, next, outside };
}

test("lists and search are those of the project alone, with its own log", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project, first, fork, next, outside } = await family(engine);
  const { rows } = await engine.sessions({ project: project.slice(-8) });
  assert.deepEqual(new Set(rows.map(({ session }) => session)), new Set([first.id, fork.id, next.id]));
  const closed = await engine.sessions({ project, status: "closed" });
  assert.deepEqual(
    closed.rows.map(({ session }) => session),
    [first.id],
  );
  await engine.noteInProject(project, { text: "A needle in the journal." });
  const hits = await engine.search("needle", { project });
  // The successor has it from the handoff.
  assert.deepEqual(new Set(hits.map(({ session }) => session)), new Set([project, first.id, next.id]));
  const everywhere = await engine.search("needle");
  assert.ok(everywhere.some(({ session }) => session === outside.id));
  await assert.rejects(engine.search("needle", { project: "zzz" }), { code: "not-found" });
  await assert.rejects(engine.sessions({ project: "prj_!" }), { code: "invalid" });
});

test("the lineage has every session of the project once, and where each comes from", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project, first, fork, next } = await family(engine);
  const { nodes, left } = await engine.projectLineage(project);
  assert.deepEqual(
    new Set(nodes.map(({ session, relation, parent }) => `${session} ${relation} ${parent?.session}`)),
    new Set([
      `${first.id} null undefined`,
      `${fork.id} fork ${first.id}`,
      `${next.id} successor ${first.id}`,
    ]),
  );
  assert.equal(left, 0);
  const alone = await engine.open({ objective: "Another line", project });
  await engine.delete(alone.id);
  const gone = (await engine.projectLineage(project)).nodes.at(-1);
  assert.deepEqual([gone?.session, gone?.status], [alone.id, "absent"]);
});

test("verification covers the project's log and its sessions, and names what is absent", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project, fork } = await family(engine);
  const report = await engine.verifyProject(project);
  assert.deepEqual([report.ok, report.sessions, report.absent], [true, 3, []]);
  await engine.delete(fork.id);
  const after = await engine.verifyProject(project);
  assert.deepEqual([after.ok, after.sessions, after.absent], [true, 2, [fork.id]]);
});

test("a hold on a project protects its log and every session of it, also later ones", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project, first, outside } = await family(engine);
  await engine.holdProject(project, "case", { reason: "asked for by the court" });
  const later = await engine.open({ objective: "Later", project });
  const refusal = { code: "refused", message: /under legal hold "case"/, hint: /skein project lift prj_/ };
  await assert.rejects(engine.delete(later.id), refusal);
  await assert.rejects(first.erase({ match: "needle" }), refusal);
  await assert.rejects(engine.eraseProject(project), refusal);
  await assert.rejects(engine.eraseProject(project, { sessions: true, dryRun: true }), refusal);
  await engine.setPolicy("trash", { do: "delete", after: "1d", match: { labels: { a: "b" } } });
  await later.label({ a: "b" });
  await later.close();
  place.world.pass(3 * 86_400_000);
  const kept = (await engine.retain()).kept.map(({ session, why }) => [session, why]);
  assert.deepEqual(kept, [[later.id, 'its project is under legal hold "case"']]);
  assert.deepEqual((await engine.project(project)).holds, ["case"]);
  await engine.delete(outside.id);
  await engine.liftProject(project, "case");
  await assert.rejects(engine.liftProject(project, "case"), { code: "not-found" });
  await engine.delete(later.id);
});

test("erasing a project keeps its chain, its counts and its sessions", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project, first } = await family(engine);
  await engine.recordInProject(project, { kind: "fact", key: "k", value: "secret" });
  await engine.noteInProject(project, { text: "jane@example.com called" });
  const plan = await engine.eraseProject(project, { match: "jane@example.com", dryRun: true });
  assert.deepEqual([plan.dryRun, plan.records], [true, 1]);
  assert.equal((await engine.project(project)).journal[0]?.text, "jane@example.com called");
  const done = await engine.eraseProject(project, { match: "jane@example.com", reason: "asked for" });
  assert.equal(done.records, 1);
  assert.equal((await engine.project(project)).journal[0]?.text, null);
  const rest = await engine.eraseProject(project);
  assert.equal(rest.records, 2);
  const view = await engine.project(project);
  assert.deepEqual([view.objective, view.items[0]?.erased, view.sessions.length], [null, true, 3]);
  assert.equal((await engine.verifyProject(project)).ok, true);
  assert.deepEqual(
    (await projectRecords(place, project)).filter(({ type }) => type === "content.erased").length,
    2,
  );
  // What its sessions said is theirs.
  const said = (await all(first.events())).filter(({ type }) => type === "input.received");
  assert.ok(said.every(({ content }) => content !== undefined));
  await assert.rejects(engine.eraseProject(project, { ranges: [[1, 99]] }), { code: "not-found" });
  await assert.rejects(engine.eraseProject(project, { ranges: [[3, 2]] }), { code: "invalid" });
  await assert.rejects(engine.eraseProject(project, { match: " " }), { code: "invalid" });
});

test("with its sessions a text is erased wherever it is; a held session refuses all", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project, first, fork } = await family(engine);
  await engine.noteInProject(project, { text: "the needle again" });
  await fork.hold("case");
  const how = { match: "needle", sessions: true } as const;
  await assert.rejects(engine.eraseProject(project, how), { code: "refused", message: /"case"/ });
  assert.equal((await engine.project(project)).journal[0]?.text, "the needle again");
  await fork.lift("case");
  const report = await engine.eraseProject(project, how);
  assert.equal(report.records, 1);
  assert.ok(report.sessions.some(({ session, records }) => session === first.id && records > 0));
  assert.deepEqual(
    (await engine.search("needle", { project })).map(({ session }) => session),
    [],
  );
  assert.equal((await engine.verify()).ok, true);
});

test("retention of a project touches its sessions alone, and packs its log", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project, first, outside } = await family(engine);
  for (let n = 0; n < 70; n++) await engine.noteInProject(project, { text: `Note ${n}` });
  await outside.close();
  place.world.pass(40 * 86_400_000);
  const report = await engine.retain({ project });
  const touched = new Set(report.done.map(({ session }) => session));
  assert.ok(touched.has(first.id) && touched.has(project) && !touched.has(outside.id));
  assert.equal((await engine.project(project)).journal.length, 70);
  assert.equal((await engine.verifyProject(project)).ok, true);
});
