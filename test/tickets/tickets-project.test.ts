/** The plan of a project is run as one from a file; it is extended meanwhile, and marked as it goes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openEngine, SkeinError } from "../../src/index.ts";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import { listTickets, runPlan, type TicketRow } from "../../src/tickets/tickets.ts";
import { all } from "../runtime/place.ts";
import { scripted, use, type Line } from "../runtime/turn/scripted.ts";
import { kind } from "../kind.ts";
import { newRepository } from "./ticket-place.ts";

const short = (rows: readonly TicketRow[]) => rows.map(({ ticket, status }) => `${ticket} ${status}`);

async function projectOf(...lines: readonly Line[]) {
  const script = scripted(lines);
  const engine = await openEngine({ store: kind().place(), models: script.models });
  const { project } = await engine.openProject({ objective: "Move the shop" });
  return { engine, project, script };
}

const statuses = async (engine: Engine, project: string) =>
  (await engine.plan(project)).tickets.map(({ ticket, status, attempt }) => `${ticket} ${status} ${attempt}`);

test("a project's plan runs in order, by its sessions, and says how each ticket ended", async () => {
  using repository = newRepository();
  const { engine, project } = await projectOf("Done.");
  await using _ = engine;
  await engine.planTickets(project, {
    tickets: [
      { id: "api", title: "Serve it", after: ["schema"] },
      { id: "schema", title: "Add the column" },
    ],
  });
  const rows = await runPlan(engine, project, { directory: repository.top, worktrees: true });
  assert.deepEqual(short(rows), ["api done", "schema done"]);
  assert.deepEqual(await statuses(engine, project), ["api done 1", "schema done 1"]);
  const { sessions } = await engine.project(project);
  assert.deepEqual(new Set(sessions), new Set(rows.map(({ session }) => session)));
  assert.deepEqual(short(await listTickets(engine, project)), short(rows));
  const { seq } = await engine.plan(project);
  assert.deepEqual(short(await runPlan(engine, project, { directory: repository.top })), short(rows));
  assert.equal((await engine.plan(project)).seq, seq, "a second run has nothing to say");
});

test("what a session adds to the plan runs in the same run; what it proposes with checks waits", async () => {
  using repository = newRepository();
  const tickets = [
    { id: "more", title: "More", after: ["first"] },
    { id: "checked", title: "Checked", accept: ["file: readme.txt"] },
  ];
  const { engine, project } = await projectOf([use("plan", { tickets })], "Done.");
  await using _ = engine;
  await engine.planTickets(project, { tickets: [{ id: "first", title: "Begin" }] });
  const options = { directory: repository.top, worktrees: true };
  assert.deepEqual(short(await runPlan(engine, project, options)), ["first done", "more done"]);
  await engine.acceptTickets(project, ["checked"]);
  assert.deepEqual(short(await runPlan(engine, project, options)), [
    "first done",
    "more done",
    "checked done",
  ]);
  const row = (await engine.plan(project)).tickets[2];
  const ran = (await engine.session(row?.session ?? "")).events({ types: ["check.ran"] });
  assert.deepEqual(
    (await all(ran)).map(({ body }) => (body as { readonly status: string }).status),
    ["passed"],
  );
});

test("a check that never ends fails the ticket with its time limit, and the project says why", async () => {
  using repository = newRepository();
  const { engine, project } = await projectOf("Done.");
  await using _ = engine;
  await engine.planTickets(project, {
    tickets: [
      { id: "slow", title: "Wait", accept: ["command (within 1s): sleep 600"] },
      { id: "next", title: "Next", after: ["slow"] },
    ],
  });
  const options = { directory: repository.top, bind: [{ kind: "shell" }], tries: 1 } as const;
  const rows = await runPlan(engine, project, options);
  assert.deepEqual(short(rows), ["slow failed", "next skipped"]);
  const [slow] = (await engine.plan(project)).tickets;
  assert.equal(slow?.status, "failed");
  assert.match(slow?.why ?? "", /not accepted after 1 try: command/);
});

test("a project closed while its sessions run: they end and are marked, no other starts", async () => {
  using repository = newRepository();
  let close = async (): Promise<unknown> => undefined;
  const { engine, project } = await projectOf(async () => {
    await close();
    return "Done.";
  });
  await using _ = engine;
  close = () => engine.closeProject(project, { outcome: "cancelled" }).catch(() => null);
  await engine.planTickets(project, {
    tickets: [
      { id: "one", title: "One" },
      { id: "two", title: "Two", after: ["one"] },
    ],
  });
  const rows = await runPlan(engine, project, { directory: repository.top });
  assert.deepEqual(short(rows), ["one done", "two failed"]);
  assert.match(rows[1]?.why ?? "", /the project is closed and cannot take another session/);
  assert.deepEqual(await statuses(engine, project), ["one done 1", "two ready 0"]);
  await engine.reopenProject(project);
  close = async () => undefined;
  assert.deepEqual(short(await runPlan(engine, project, { directory: repository.top })), [
    "one done",
    "two done",
  ]);
});

test("what a run that died has not said is said by the next", async () => {
  using repository = newRepository();
  const { engine, project } = await projectOf("Done.");
  await using _ = engine;
  await engine.planTickets(project, { tickets: [{ id: "one", title: "One" }] });
  // As for a run that dies before it marks anything: the sessions are all that is left of it.
  const notes: string[] = [];
  engine.markTicket = () => Promise.reject(new SkeinError("refused", "not now"));
  const options = { directory: repository.top, note: (text: string) => notes.push(text) };
  assert.deepEqual(short(await runPlan(engine, project, options)), ["one done"]);
  assert.deepEqual(notes, ["the project is not told of its tickets: not now"]);
  assert.deepEqual(await statuses(engine, project), ["one ready 0"]);
  delete (engine as { markTicket?: unknown }).markTicket;
  await runPlan(engine, project, options);
  assert.deepEqual(await statuses(engine, project), ["one done 1"]);
});

test("a ticket leaves its commits in its handoff, and in the journal that the next reads", async () => {
  using repository = newRepository();
  const { engine, project, script } = await projectOf(
    [use("write_file", { path: "a.txt", text: "ok\n" })],
    "Done.",
  );
  await using _ = engine;
  await engine.planTickets(project, {
    tickets: [
      { id: "one", title: "Make a" },
      { id: "two", title: "Go on", after: ["one"] },
    ],
  });
  await engine.noteInProject(project, { text: "The sandbox account works." });
  const rows = await runPlan(engine, project, { directory: repository.top, worktrees: true });
  assert.deepEqual(short(rows), ["one done", "two done"]);
  const name = `skein/prj-${project.slice(-10)}/one`;
  const handoff = (await (await engine.session(rows[0]?.session ?? "")).handoff()).text;
  for (const part of [name, "ticket one: Make a", "a.txt | 1 +"]) assert.ok(handoff.includes(part), part);
  const { journal } = await engine.project(project);
  assert.deepEqual(
    journal.map(({ text, session }) => [text?.split("\n")[0], session]),
    [
      ["The sandbox account works.", null],
      ["Ticket one: done", rows[0]?.session],
      ["Ticket two: done", rows[1]?.session],
    ],
  );
  assert.match(journal[1]?.text ?? "", /branch skein.*\n\w+ ticket one: Make a\n1 file changed, 1 insertion/);
  const sent = JSON.stringify(script.calls.at(-1)?.parts);
  assert.match(sent, /The journal of the project, the newest entry first/);
  assert.ok(
    sent.indexOf("Ticket one: done") < sent.indexOf("The sandbox account works."),
    "the newest first",
  );
});
