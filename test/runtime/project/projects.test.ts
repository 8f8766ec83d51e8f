/** Projects: opened, listed, changed and closed; sessions join them and start with what they know. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { asProjectId, projectRecords } from "./project.ts";
import { inMemory } from "../place.ts";

test("a project is opened, listed, noted in, closed, archived and opened again", async () => {
  await using place = inMemory();
  const { engine } = place;
  const opened = await engine.openProject({ objective: "Move the shop", name: "shop" });
  const other = await engine.openProject({ objective: "Write the report" });
  const { project } = opened;
  assert.deepEqual([opened.status, opened.sessions, opened.items, opened.head.seq], ["open", 0, 0, 1]);
  await engine.noteInProject(project, { text: "Begun." });
  const names = (await engine.projects()).map((one) => one.name ?? one.objective);
  assert.deepEqual(new Set(names), new Set(["Write the report", "shop"]));
  const closed = await engine.closeProject(project.slice(-8), { outcome: "failed", reason: "no budget" });
  assert.deepEqual([closed.status, closed.outcome], ["closed", "failed"]);
  assert.deepEqual(
    (await engine.projects({ status: "open" })).map((one) => one.project),
    [other.project],
  );
  for (const refusedCall of [
    () => engine.noteInProject(project, { text: "More." }),
    () => engine.recordInProject(project, { kind: "fact", key: "k", value: 1 }),
    () => engine.closeProject(project),
    () => engine.open({ objective: "Late", project }),
  ])
    await assert.rejects(refusedCall(), { code: "refused", hint: /skein project reopen/ });
  assert.equal((await engine.archiveProject(project)).status, "archived");
  assert.equal((await engine.reopenProject(project)).status, "open");
  await assert.rejects(engine.archiveProject(project), { code: "refused", message: /cannot be archived/ });
  await assert.rejects(engine.reopenProject(project), { code: "refused" });
  const view = await engine.project(project);
  assert.deepEqual(
    view.journal.map(({ text }) => text),
    ["Begun."],
  );
});

test("an item is recorded, replaced, retracted, and shown with its value", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project } = await engine.openProject({ objective: "Move the shop" });
  await engine.recordInProject(project, {
    kind: "decision",
    key: "provider",
    value: "acme",
    because: "cheap",
  });
  await engine.recordInProject(project, { kind: "decision", key: "provider", value: "globex" });
  await engine.recordInProject(project, { kind: "task", key: "adapter", value: "Write it" });
  await engine.recordInProject(project, { kind: "fact", key: "old", value: 1 });
  const left = await engine.retractInProject(project, { kind: "fact", key: "old" });
  assert.equal(left.items, 2);
  const { items } = await engine.project(project);
  assert.deepEqual(
    items.map(({ kind, key, status, value, because }) => [kind, key, status, value, because]),
    [
      ["decision", "provider", null, "globex", null],
      ["task", "adapter", "open", "Write it", null],
    ],
  );
  await assert.rejects(engine.retractInProject(project, { kind: "fact", key: "old" }), { code: "not-found" });
  const status = { kind: "fact", key: "x", value: 1, status: "open" } as const;
  await assert.rejects(engine.recordInProject(project, status), { code: "invalid" });
});

test("a session of a project starts with its objective, instructions, constraints and items", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project } = await engine.openProject({
    objective: "Move the shop",
    instructions: "Every change has a test.",
    constraints: ["never store card numbers"],
  });
  const decision = { kind: "decision", key: "provider", value: "acme", because: "the cheapest" };
  await engine.recordInProject(project, decision);
  const options = {
    objective: "Write the adapter",
    constraints: ["use TypeScript"],
    instructions: "Be brief.",
  };
  const session = await engine.open({ ...options, project: project.slice(-6) });
  const { parts } = await session.context();
  const text = JSON.stringify(parts);
  for (const said of ["part of a project: Move the shop", "Every change has a test.", "Be brief."])
    assert.ok(text.includes(said), said);
  assert.match(text, /never store card numbers.*use TypeScript/);
  assert.match(text, /decision provider: acme \(the project's, because the cheapest\)/);
  const bare = await engine.open({ objective: "Alone", project, memory: false });
  assert.doesNotMatch(JSON.stringify((await bare.context()).parts), /acme/);
});

test("forks, successors and cleared sessions stay in the project; each is in it once", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project } = await engine.openProject({ objective: "Move the shop" });
  const session = await engine.open({ objective: "Write the adapter", project });
  const fork = await session.fork({ objective: "Otherwise" });
  const next = await engine.open({ from: session.id });
  const cleared = await session.clear();
  const outside = await engine.open({ objective: "Alone" });
  const { sessions } = await engine.project(project);
  assert.deepEqual(sessions, [session.id, fork.id, next.id, cleared.id]);
  for (const one of [session, fork, next, cleared])
    assert.equal((await one.fold()).standing.project, project);
  assert.equal((await outside.fold()).standing.project, null);
  assert.deepEqual(
    (await projectRecords(place, project)).map(({ type }) => type),
    ["project.opened", ...sessions.map(() => "project.joined")],
  );
  assert.equal((await engine.verify()).ok, true);
});

test("changes of several engines at once are all written, each once", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project } = await engine.openProject({ objective: "Move the shop" });
  const others = [engine, engine.as("user:prn_00000000000000000000000001"), engine];
  await Promise.all(
    others.flatMap((one, place_) =>
      [0, 1, 2, 3].map((count) =>
        one.recordInProject(project, { kind: "fact", key: `k${place_}-${count}`, value: count }),
      ),
    ),
  );
  await Promise.all([0, 1, 2].map((count) => engine.open({ objective: `Work ${count}`, project })));
  const { items, sessions } = await engine.project(project);
  assert.deepEqual([items.length, sessions.length], [12, 3]);
});

test("a wrong id, an unknown project and a wrong option are refused by name", async () => {
  await using place = inMemory();
  const { engine } = place;
  const session = await engine.open({ objective: "Alone" });
  await assert.rejects(engine.project("prj_!"), { code: "invalid", message: /expected a project id/ });
  await assert.rejects(engine.project("zzz"), { code: "not-found", hint: /project list/ });
  const missing = asProjectId("prj_01m7t7467rvdf88s14p053eshs");
  await assert.rejects(engine.open({ objective: "x", project: missing }), { code: "not-found" });
  await assert.rejects(engine.openProject({ objective: " " }), { code: "invalid", message: /objective/ });
  await assert.rejects(engine.openProject({ objective: "x", nam: "y" } as never), { code: "invalid" });
  const { project } = await engine.openProject({ objective: "One" });
  await assert.rejects(engine.session(project), { code: "invalid", hint: /skein project show/ });
  await assert.rejects(engine.cost({ project, session: session.id }), { code: "invalid" });
});

test("the head of a project's log is listed, and accepted, like those of sessions", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project } = await engine.openProject({ objective: "Move the shop" });
  await engine.open({ objective: "Write the adapter", project });
  await engine.anchor();
  const { ok, heads } = await engine.verify();
  assert.deepEqual([ok, heads.logs], [true, 2]);
  assert.deepEqual((await engine.acceptAnchor({ reason: "restored" })).logs, []);
});

test("a closed project takes no new work; what runs goes on with its successors", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project } = await engine.openProject({ objective: "Move the shop" });
  const session = await engine.open({ objective: "Write the adapter", project });
  const over = await engine.open({ objective: "Done before", project });
  await over.close();
  await engine.closeProject(project);
  const refusal = { code: "refused", message: /the project is closed/, hint: /skein project reopen/ };
  await assert.rejects(session.fork({ objective: "Otherwise" }), refusal);
  await assert.rejects(engine.open({ from: over.id }), refusal);
  await session.append("goes on");
  const next = await session.rollover();
  const cleared = await next.clear();
  const { sessions, status } = await engine.project(project);
  assert.deepEqual([status, sessions], ["closed", [session.id, over.id, next.id, cleared.id]]);
  await engine.reopenProject(project);
  const fork = await cleared.fork({ objective: "Otherwise" });
  assert.equal((await engine.project(project)).sessions.at(-1), fork.id);
  assert.equal((await engine.verifyProject(project)).ok, true);
});

test("an item that no session could be shown is refused with its size", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project } = await engine.openProject({ objective: "Move the shop" });
  const item = { kind: "fact", key: "dump" } as const;
  await assert.rejects(engine.recordInProject(project, { ...item, value: "word ".repeat(20_000) }), {
    code: "invalid",
    message: /fact "dump": value: expected at most 2,000 tokens, got about \d/,
    hint: /record a summary/,
  });
  const fits = "word ".repeat(1_000);
  await engine.recordInProject(project, { ...item, value: fits });
  const session = await engine.open({ objective: "Read it", project });
  assert.ok(JSON.stringify((await session.context()).parts).includes(fits.trim()));
});
