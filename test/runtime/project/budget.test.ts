/** The budget of a project bounds the sum of its sessions; a session that hits it stops, and continues. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { realWorld } from "../../../src/runtime/world.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { kind } from "../../kind.ts";
import { inFile, workspace } from "../place.ts";
import { engineWith, scripted, say, use, type Line } from "../turn/scripted.ts";
import { asProjectId, projectRecords } from "./project.ts";

/** 100 tokens in and 10 out, at 1,000 and 5,000 nano-dollars a token. */
const callNanoUsd = 150_000;

async function projectOf(
  lines: readonly Line[],
  budget: { readonly usd?: number; readonly tokens?: number },
) {
  const store = kind().store({ world: realWorld(), workspace });
  const script = scripted(lines, { outputTokensMax: 200 });
  const engine = engineWith(script, { store });
  const { project } = await engine.openProject({ objective: "Move the shop" });
  if (Object.keys(budget).length > 0) await engine.setProjectBudget(project, budget);
  return { engine, store, project, script };
}

/** Runs a turn, to its end or to a suspension. */
const turn = async (engine: Engine, id: string, text: string): Promise<string> => {
  const result = await (await engine.session(id)).ask(text).result.catch((error: unknown) => error);
  void result;
  return (await (await engine.session(id)).state()).status;
};

const usedBy = async (engine: Engine, ids: readonly string[]): Promise<number> => {
  let sum = 0;
  for (const id of ids) sum += (await (await engine.session(id)).fold()).standing.used.nanoUsd;
  return sum;
};

test("a session that hits the project's budget stops and says so; raising it resumes it", async () => {
  const { engine, project, script } = await projectOf(["Done."], { usd: 0.002 });
  await using _ = engine;
  const first = await engine.open({ objective: "One", project });
  const second = await engine.open({ objective: "Two", project });
  let turns = 0;
  while ((await turn(engine, turns % 2 === 0 ? first.id : second.id, "Go.")) === "open") turns += 1;
  const stopped = turns % 2 === 0 ? first : second;
  const used = await usedBy(engine, [first.id, second.id]);
  assert.ok(used <= 2_000_000, `${used}`);
  assert.equal(script.calls.length, turns, "the call that was not covered was not made");
  const events = [];
  for await (const event of stopped.events({ types: ["session.suspended"] })) events.push(event);
  assert.match(JSON.stringify(events.at(-1)?.content), /cost budget of the project does not cover the call/);
  assert.equal(((events.at(-1)?.body ?? {}) as { readonly project?: string }).project, project);
  const raised = await engine.setProjectBudget(project, { usd: 1, reason: "go on" });
  assert.deepEqual(raised.resumed, [stopped.id]);
  await stopped.run();
  assert.equal((await stopped.state()).status, "open");
  assert.equal(script.calls.length, turns + 1);
});

test("sessions at once never use more together than the project has", async () => {
  const { engine, project } = await projectOf([[use("scratch", { key: "k", value: 1 })]], { usd: 0.004 });
  await using _ = engine;
  const ids = [];
  for (let number = 0; number < 4; number++)
    ids.push((await engine.open({ objective: `Number ${number}`, project })).id);
  const ended = await Promise.all(ids.map((id) => turn(engine, id, "Go on until you are stopped.")));
  assert.deepEqual(new Set(ended), new Set(["suspended"]));
  const used = await usedBy(engine, ids);
  assert.ok(used <= 4_000_000, `${used} of 4,000,000`);
  assert.ok(used >= 4_000_000 - 2 * 4 * callNanoUsd, `${used}: nearly all of it was used`);
  const { allotted } = await engine.projectBudget(project);
  assert.ok(allotted.nanoUsd >= used && allotted.nanoUsd <= 4_000_000);
});

test("money of a project is the sum of its sessions; a fork's prefix counts once", async () => {
  await using file = await inFile();
  await using engine = engineWith(scripted(["Done."]), { store: file.store });
  const { project } = await engine.openProject({ objective: "Move the shop" });
  await engine.setProjectBudget(project, { usd: 1 });
  const first = await engine.open({ objective: "One", project });
  await turn(engine, first.id, "Go.");
  const fork = await first.fork({ objective: "Another way" });
  await turn(engine, fork.id, "Go.");
  const next = await first.rollover();
  await turn(engine, next.id, "Go.");
  const rows = await engine.cost({ project });
  const cost = rows.reduce((sum, row) => sum + row.nanoUsd + row.unconfirmedNanoUsd, 0);
  const used = await usedBy(engine, [first.id, fork.id, next.id]);
  assert.equal(cost, used);
  assert.equal(used, 3 * callNanoUsd);
  // What was drawn and not used is free again.
  const last = await engine.open({ objective: "Last", project });
  await engine.setProjectBudget(project, { usd: (used + 400_000) / 1e9 });
  await turn(engine, last.id, "Go.");
  assert.equal((await last.state()).status, "open");
});

test("what sessions used before counts with the first budget", async () => {
  const { engine, project } = await projectOf(["Done."], {});
  await using _ = engine;
  const first = await engine.open({ objective: "One", project });
  await turn(engine, first.id, "Go.");
  const before = await engine.projectBudget(project);
  assert.deepEqual([before.limits, before.allotted.nanoUsd], [null, 0]);
  const { allotted } = await engine.setProjectBudget(project, { usd: callNanoUsd / 1e9 });
  assert.equal(allotted.nanoUsd, callNanoUsd);
  assert.equal(await turn(engine, first.id, "More."), "suspended");
  assert.equal(await turn(engine, (await engine.open({ objective: "Two", project })).id, "Go."), "suspended");
});

test("tokens are bounded too; a session's own budget holds besides", async () => {
  const { engine, project, script } = await projectOf([() => [say("Done.")]], { tokens: 3_000 });
  await using _ = engine;
  const first = await engine.open({ objective: "One", project, budget: { steps: 1 } });
  assert.equal(await turn(engine, first.id, "Go."), "open");
  assert.equal(await turn(engine, first.id, "More."), "suspended");
  const second = await engine.open({ objective: "Two", project });
  let status = "open";
  for (let times = 0; times < 40 && status === "open"; times++) status = await turn(engine, second.id, "Go.");
  assert.equal(status, "suspended");
  assert.ok(script.calls.length < 40);
});

test("each draw is one append of both logs, and a session outside has none", async () => {
  const { engine, store, project } = await projectOf(["Done."], { usd: 1 });
  await using _ = engine;
  const session = await engine.open({ objective: "One", project });
  await turn(engine, session.id, "Go.");
  const drawn = [];
  for await (const event of session.events({ types: ["budget.drawn", "model.requested"] })) drawn.push(event);
  assert.deepEqual(
    drawn.map(({ type }) => type),
    ["budget.drawn", "model.requested"],
  );
  assert.equal(drawn[0]?.at, drawn[1]?.at);
  const records = await projectRecords({ store } as never, asProjectId(project));
  const given = records.filter(({ type }) => type === "project.allotted");
  assert.equal(given.length, 1);
  const { amounts } = (drawn[0]?.body ?? {}) as { readonly amounts?: object };
  assert.deepEqual((JSON.parse(given[0]?.body ?? "{}") as { readonly amounts?: object }).amounts, amounts);
  assert.deepEqual((await engine.verify()).problems, []);
});

test("a wrong budget is refused by name", async () => {
  const { engine, project } = await projectOf(["Done."], {});
  await using _ = engine;
  for (const wrong of [{ usd: -1 }, { usd: 1e-12 }, { tokens: 1.5 }, { steps: 3 }, { usd: Number.NaN }])
    await assert.rejects(engine.setProjectBudget(project, wrong), { code: "invalid" }, JSON.stringify(wrong));
  await assert.rejects(engine.as("agent:coder@1").setProjectBudget(project, { usd: 1 }), {
    code: "refused",
    message: /cannot set the budget of a project/,
  });
  await engine.closeProject(project);
  await assert.rejects(engine.setProjectBudget(project, { usd: 1 }), { message: /is closed/ });
});
