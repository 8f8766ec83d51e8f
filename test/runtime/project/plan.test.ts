/** The plan of a project: set by people, proposed by sessions, kept in the project's log. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { realWorld } from "../../../src/runtime/world.ts";
import type { ProjectPlan } from "../../../src/runtime/project/plan.ts";
import { kind } from "../../kind.ts";
import { inFile, inMemory, workspace } from "../place.ts";
import { engineWith, scripted, use } from "../turn/scripted.ts";
import { asProjectId, projectRecords } from "./project.ts";

const short = ({ tickets }: ProjectPlan) => tickets.map(({ ticket, status }) => `${ticket} ${status}`);

test("a plan is set, extended, shortened, and is in the log alone", async () => {
  await using place = await inFile();
  const { engine } = place;
  const { project } = await engine.openProject({ objective: "Move the shop", name: "shop" });
  const tickets = [
    { id: "schema", title: "Add the column", budget: { usd: 2, steps: 4 } },
    { id: "api", title: "Serve it", text: "GET /invoices", after: ["schema"], accept: ["command: npm test"] },
  ];
  const plan = await engine.planTickets(project, { tickets });
  assert.deepEqual(short(plan), ["schema ready", "api waiting"]);
  assert.equal(plan.name, `prj-${project.slice(-10)}`);
  assert.equal((await engine.planTickets(project, { tickets })).seq, plan.seq, "the same plan is no change");
  const docs = { id: "docs", title: "Write it down", labels: { team: "web" }, done: true };
  assert.deepEqual(short(await engine.planTickets(project, { tickets: [docs] })), [
    "schema ready",
    "api waiting",
    "docs done",
  ]);
  const other = await place.again();
  const read = await other.engine.plan(project.slice(-8));
  assert.deepEqual(read.tickets[0]?.budget, { usd: 2, steps: 4 });
  assert.deepEqual(read.tickets[1]?.accept, [
    { kind: "command", name: "command", command: "npm test", timeoutMs: 600_000 },
  ]);
  assert.deepEqual(read.tickets[2]?.labels, { team: "web" });
  await other.engine.close();
  await assert.rejects(engine.planTickets(project, { remove: ["schema"] }), {
    code: "invalid",
    message: /ticket "api": after: there is no ticket "schema"/,
  });
  const left = await engine.planTickets(project, { tickets: [{ id: "one", title: "One" }], replace: true });
  assert.deepEqual(short(left), ["one ready"]);
  assert.deepEqual((await engine.verify()).problems, []);
});

test("a mistake in a plan is reported, and nothing is written", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project, head } = await engine.openProject({ objective: "Move the shop" });
  const circular = [
    { id: "a", title: "A", after: ["b"] },
    { id: "b", title: "B", after: ["a"] },
  ];
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ tickets: circular }, /circular dependency: a after b after a/],
    [{ tickets: [{ id: "a b", title: "A" }] }, /invalid ticket id "a b"/],
    [{ tickets: [{ id: "a", title: " " }] }, /ticket "a": title: missing/],
    [{ tickets: [{ id: "a", title: "A", agent: "No Name" }] }, /invalid agent name/],
    [{ tickets: [{ id: "a", title: "A", accept: ["be good"] }] }, /ticket "a": accept: expected/],
    [{ tickets: [{ id: "a" }] }, /title/],
    [{ tickets: [{ id: "a", title: "A", check: [] }] }, /check/],
    [{}, /specify at least one ticket/],
    [{ remove: ["a"] }, /the plan has no ticket "a"/],
  ];
  for (const [options, message] of wrong)
    await assert.rejects(engine.planTickets(project, options), { message }, JSON.stringify(options));
  await assert.rejects(engine.acceptTickets(project, ["a"]), {
    code: "not-found",
    message: /"a" is proposed/,
  });
  await assert.rejects(engine.markTicket(project, { ticket: "a" }), { code: "invalid" });
  await assert.rejects(engine.configureProject(project, {}), { message: /at least one setting/ });
  await assert.rejects(engine.configureProject(project, { agents: ["No Name"] }), { message: /agent name/ });
  assert.equal((await engine.project(project)).head.seq, head.seq);
  const stranger = await engine.open({ objective: "Elsewhere" });
  await engine.planTickets(project, { tickets: [{ id: "a", title: "A" }] });
  await assert.rejects(engine.markTicket(project, { ticket: "a", session: stranger.id }), {
    message: /does not belong to the project/,
  });
  await assert.rejects(engine.closeProject(project), {
    code: "refused",
    message: "project close: tickets that are not done: a",
  });
  await engine.closeProject(project, { outcome: "failed" });
  await assert.rejects(engine.planTickets(project, { tickets: [{ id: "b", title: "B" }] }), {
    message: /the project is closed and cannot change its plan/,
  });
});

/** A session of a project whose model uses the tool `plan` with each input in turn. */
async function proposing(inputs: readonly object[]) {
  const store = kind().store({ world: realWorld(), workspace });
  const lines = inputs.map((input, place) => [use("plan", input, `c${place}`)]);
  const script = scripted([...lines, "Done."]);
  const engine = engineWith(script, { store });
  const { project } = await engine.openProject({ objective: "Move the shop" });
  return { engine, store, project, script };
}

test("a session reads and extends the plan; checks that it proposes wait for a person", async () => {
  const { engine, project, script, store } = await proposing([
    { tickets: [{ id: "docs", title: "Write it down", after: ["api"] }] },
    { tickets: [{ id: "tests", title: "Test it", accept: ["command: npm test"] }] },
    {},
  ]);
  await using _ = engine;
  await engine.planTickets(project, { tickets: [{ id: "api", title: "Serve it" }] });
  const session = await engine.open({ objective: "Plan it", project });
  for await (const _event of session.ask("Extend the plan.")) void _event;
  const said = JSON.stringify(script.calls.at(-1)?.parts);
  assert.match(said, /in the plan: docs/);
  assert.match(said, /proposed, a person decides: tests/);
  const plan = await engine.plan(project);
  assert.deepEqual(short(plan), ["api ready", "docs waiting"]);
  assert.equal(plan.tickets[1]?.proposedBy, session.id);
  assert.deepEqual(
    plan.proposed.map(({ ticket, accept }) => [ticket, accept.map(({ name }) => name)]),
    [["tests", ["command"]]],
  );
  const records = await projectRecords({ store } as never, asProjectId(project));
  const proposals = records.filter(({ type }) => type.startsWith("ticket.")).slice(1);
  assert.deepEqual(
    proposals.map(({ type, actor }) => [type, actor]),
    [
      ["ticket.proposed", "tool:plan"],
      ["ticket.accepted", "tool:plan"],
      ["ticket.proposed", "tool:plan"],
    ],
  );
  const accepted = await engine.acceptTickets(project, ["tests"]);
  assert.deepEqual(short(accepted), ["api ready", "docs waiting", "tests ready"]);
  assert.equal(accepted.tickets[2]?.accept.length, 1);
  assert.deepEqual(accepted.proposed, []);
});

test("under plan: approve every ticket waits, and a person rejects it", async () => {
  const { engine, project } = await proposing([{ tickets: [{ id: "more", title: "More" }] }]);
  await using _ = engine;
  await engine.configureProject(project, { plan: "approve", reason: "too many" });
  const session = await engine.open({ objective: "Plan it", project });
  for await (const _event of session.ask("Extend the plan.")) void _event;
  assert.deepEqual(short(await engine.plan(project)), []);
  assert.deepEqual((await engine.rejectTickets(project, ["more"], { reason: "not now" })).proposed, []);
});

test("a hostile session gets no check of its ticket changed, by itself or by a fork", async () => {
  const attacks = [
    { tickets: [{ id: "api", title: "Serve it", accept: [] }] },
    { tickets: [{ id: "api", title: "Serve it", accept: ["command: true"] }] },
    { tickets: [{ id: "API", title: "Serve it" }] },
    { tickets: [{ id: "other", title: "Other", accept: ["command: true"] }] },
    {
      tickets: [
        { id: "x", title: "X" },
        { id: "api", title: "Y" },
      ],
    },
  ];
  const { engine, project, script } = await proposing([...attacks, ...attacks]);
  await using _ = engine;
  await engine.configureProject(project, { plan: "trust" });
  const accept = ["command (tests): npm test"];
  const given = [
    { id: "api", title: "Serve it", accept },
    { id: "other", title: "Other", accept },
  ];
  const before = await engine.planTickets(project, { tickets: given });
  const session = await engine.open({ objective: "Serve it", project, accept });
  await engine.markTicket(project, { ticket: "api", session: session.id });
  for await (const _event of session.ask("Go.")) void _event;
  const fork = await session.fork({ objective: "Another way" });
  script.calls.splice(0);
  for await (const _event of fork.ask("Go.")) void _event;
  const said = JSON.stringify(script.calls.at(-1)?.parts);
  assert.match(said, /the session that works on a ticket cannot change it/);
  const plan = await engine.plan(project);
  const checksOf = ({ tickets }: ProjectPlan) =>
    tickets
      .filter(({ ticket }) => ticket !== "x")
      .map(({ ticket, accept: checks, seq }) => [ticket, checks, seq]);
  assert.deepEqual(checksOf(plan), checksOf(before));
  // Nor does it do what only a person may, in its own name.
  for (const actor of ["agent:coder@1", "tool:plan", `session:${session.id}`]) {
    const own = engine.as(actor);
    await assert.rejects(own.planTickets(project, { tickets: [{ id: "api", title: "Nothing" }] }));
    await assert.rejects(own.acceptTickets(project, ["other"]));
    await assert.rejects(own.markTicket(project, { ticket: "api", outcome: "done" }));
    await assert.rejects(own.configureProject(project, { plan: "trust" }));
  }
  assert.deepEqual(checksOf(await engine.plan(project)), checksOf(before));
});

test("a session outside a project is not offered the tool", async () => {
  const { engine, project } = await proposing([]);
  await using _ = engine;
  const outside = await engine.open({ objective: "Alone" });
  const inside = await engine.open({ objective: "Together", project });
  const offers = async (id: string): Promise<boolean> =>
    (await (await engine.session(id)).tools()).some(({ name }) => name === "plan");
  assert.deepEqual([await offers(outside.id), await offers(inside.id)], [false, true]);
});

test("a project is completed when its plan is", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project } = await engine.openProject({ objective: "Move the shop" });
  await engine.planTickets(project, { tickets: [{ id: "a", title: "A" }] });
  await assert.rejects(engine.closeProject(project), { message: /tickets that are not done: a/ });
  await engine.markTicket(project, { ticket: "a", outcome: "done" });
  assert.equal((await engine.closeProject(project)).outcome, "completed");
});

test("a project has an agent of its own, and may name all that work on it", async () => {
  const { engine, project } = await proposing([]);
  await using _ = engine;
  await engine.addAgent({ name: "coder", instructions: "Write code." });
  await engine.addAgent({ name: "critic", instructions: "Find mistakes." });
  const agentOf = async (options: { readonly agent?: string }): Promise<string | null> =>
    (await (await engine.open({ objective: "Do it", project, ...options })).fold()).standing.agent?.name ??
    null;
  assert.equal(await agentOf({}), null);
  await engine.configureProject(project, { agent: "coder" });
  assert.deepEqual([await agentOf({}), await agentOf({ agent: "critic" })], ["coder", "critic"]);
  await engine.configureProject(project, { agents: ["coder@1"] });
  assert.equal(await agentOf({}), "coder");
  await assert.rejects(agentOf({ agent: "critic" }), {
    code: "refused",
    message: "open: agent: the project works with coder@1, got critic",
  });
  await engine.configureProject(project, { agent: "" });
  await assert.rejects(agentOf({}), { message: /got no agent/ });
  await engine.configureProject(project, { agents: [] });
  assert.equal(await agentOf({}), null);
});

test("a new session gets the end of the journal, the newest first, within its bound", async () => {
  const { engine, project } = await proposing([]);
  await using _ = engine;
  const empty = await engine.open({ objective: "First", project });
  for (let number = 0; number < 30; number++)
    await engine.noteInProject(project, { text: `Note ${number}. ${"word ".repeat(100)}` });
  const journalIn = async (id: string): Promise<string | undefined> => {
    for await (const { content } of (await engine.session(id)).events({ types: ["document.loaded"] })) {
      const { text } = content as { readonly text?: string };
      if (text?.startsWith("The journal of the project") === true) return text;
    }
    return undefined;
  };
  assert.equal(await journalIn(empty.id), undefined);
  const text = (await journalIn((await engine.open({ objective: "Second", project })).id)) ?? "";
  const numbers = [...text.matchAll(/Note (\d+)/g)].map(([, number]) => Number(number));
  assert.equal(numbers[0], 29);
  assert.ok(numbers.length > 5 && numbers.length < 30, `${numbers.length}`);
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => b - a),
  );
});

test("items of a project that may contradict each other are reported, and stay as they are", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { project } = await engine.openProject({ objective: "Move the shop" });
  await engine.recordInProject(project, { kind: "decision", key: "database", value: "postgres" });
  assert.deepEqual((await engine.project(project)).conflicts, []);
  await engine.recordInProject(project, { kind: "fact", key: "setup", value: "db is sqlite" });
  const { conflicts, items } = await engine.project(project);
  assert.deepEqual(
    conflicts.map(({ items: sides }) => sides.map(({ key, value }) => `${key}: ${value}`)),
    [["database: postgres", "setup: db is sqlite"]],
  );
  assert.equal(items.length, 2);
});

test("a merge reports what may contradict, and merges it all the same", async () => {
  await using place = inMemory();
  const { engine } = place;
  const ours = await engine.open({ objective: "One" });
  await ours.record("decision", "database", "postgres");
  const theirs = await ours.fork({ objective: "Two" });
  await theirs.record("fact", "db", "sqlite");
  await theirs.record("fact", "cache", "redis");
  const report = await ours.merge({ from: theirs.id, dryRun: true });
  assert.deepEqual(
    report.possible?.map(({ subject, items }) => [subject, items.map(({ key }) => key)]),
    [["database", ["database", "db"]]],
  );
  assert.equal(report.ok, true);
  const merged = await ours.merge({ from: theirs.id });
  assert.equal(merged.taken.length, 2);
  assert.equal(merged.possible?.length, 1);
});
