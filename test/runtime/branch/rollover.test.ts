/** Rollover: what goes over to the next session, and what arrives there that was sent to an earlier one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeWorkspaceId } from "../../../src/core/ids.ts";
import type { Engine, Session } from "../../../src/index.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";
import { madeWorld, type MadeWorld } from "../made-world.ts";
import { makeDeps } from "../../../src/runtime/engine/make-deps.ts";
import { takeDrive } from "../../../src/runtime/turn/drive.ts";
import { rolloverRun } from "../../../src/runtime/turn/rollover-run.ts";
import { engineWith, scripted, use } from "../turn/scripted.ts";

function made(lines: Parameters<typeof scripted>[0] = ["Done."]): { world: MadeWorld; engine: Engine } {
  const { sleep } = realWorld();
  const short = (ms: number, signal?: AbortSignal) => sleep(Math.min(ms, 3), signal);
  const world = { ...madeWorld("rollover"), sleep: short };
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  return { world, engine: engineWith(scripted(lines), { store: kind().store({ world, workspace }), world }) };
}

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  const world = realWorld();
  for (const end = world.now() + 30_000; !(await holds());) {
    if (world.now() > end) throw new Error("it did not come about in time");
    await world.sleep(3);
  }
};

const textsOf = async (session: Session): Promise<string[]> => {
  const texts: string[] = [];
  for await (const { content } of session.events({ types: ["input.received", "message.received"] }))
    texts.push((content as { blocks: { text: string }[] }).blocks[0]?.text ?? "");
  return texts;
};

const part = (list: readonly { what: string; names: readonly string[] }[] = [], what: string) =>
  list.filter((one) => one.what === what).flatMap(({ names }) => names);

test("what others expect of a session is expected of the next one", async () => {
  const { engine: opened } = made(["Noted.", "Done."]);
  await using engine = opened;
  const first = await engine.open({
    objective: "Watch the rates",
    name: "rates",
    labels: { team: "finance" },
    priority: 2,
    budget: { steps: 10 },
    grant: [{ tool: "shell", rule: "deny" }],
    wake: [{ kind: "every", everyMs: 3_600_000, name: "hour" }],
  });
  await first.input("Begin");
  await first.run();
  await first.record("decision", "provider", "acme", { because: "the cheapest" });
  await first.record("fact", "port", 8080);
  await first.pin("decision", "provider");
  await first.hold("audit", { reason: "the auditors" });
  await first.contract("rates", { type: "object" });
  await first.input("Waits", { key: "waits" });
  const before = await first.head();
  const next = await first.rollover({ because: "the context is full" });
  const state = await next.state();
  assert.deepEqual(
    [state.name, state.priority, state.labels, state.budget.limits.steps],
    ["rates", 2, { team: "finance" }, 9],
  );
  assert.deepEqual(
    (await next.triggers()).map(({ name }) => name),
    ["hour"],
  );
  const { standing, mind } = await next.fold();
  assert.deepEqual([[...standing.permissions.keys()], [...standing.holds.keys()]], [["shell"], ["audit"]]);
  assert.deepEqual(
    (await next.contracts()).map(({ topic, schema }) => [topic, schema]),
    [["rates", { type: "object" }]],
  );
  assert.deepEqual([...mind.pins.keys()], ["decision/provider"]);
  const [item] = await next.items();
  assert.deepEqual([item?.value, item?.because], ["acme", "the cheapest"]);
  assert.deepEqual(await textsOf(next), ["Waits"]);
  assert.deepEqual((await first.fold()).standing.inbox.waiting, []);
  assert.match(JSON.stringify((await next.context()).parts), /port/, "the handoff names the other items");
  const { moved, left } = next.carriedOver ?? {};
  assert.deepEqual(
    [part(moved, "input"), part(moved, "pins"), part(moved, "holds")],
    [["1"], ["decision/provider"], ["audit"]],
  );
  assert.deepEqual(left, []);
  // One append for all of it, with the handoff in it.
  const types: string[] = [];
  for await (const { type } of first.events({ fromSeq: before.seq + 1 })) types.push(type);
  assert.deepEqual(types, [
    "handoff.written",
    "trigger.removed",
    "budget.set",
    "session.closed",
    "session.continued",
  ]);
  const { standing: old } = await first.fold();
  assert.deepEqual([old.status, old.next], ["closed", next.id]);
  assert.equal((await engine.verify()).ok, true);
});

test("inputs for an old id arrive at the newest, once for each key, after any number of them", async () => {
  const { engine: opened } = made();
  await using engine = opened;
  const first = await engine.open({ objective: "Work" });
  const here = await first.input("One", { key: "one" });
  const second = await first.rollover();
  const there = await first.input("Two", { key: "two" });
  assert.equal(there.session, second.id);
  const third = await second.rollover();
  let newest = third;
  for (let count = 0; count < 5; count++) newest = await newest.rollover();
  // Each again at the address that it was sent to.
  assert.deepEqual(await first.input("One", { key: "one" }), {
    ...here,
    headSeq: (await first.head()).seq,
    duplicate: true,
  });
  const again = await first.input("Two", { key: "two" });
  assert.deepEqual([again.session, again.seq, again.duplicate], [second.id, there.seq, true]);
  const last = await first.input("Three", { key: "three" });
  assert.deepEqual([last.session, last.duplicate], [newest.id, false]);
  assert.equal((await second.input("Four")).session, newest.id);
  assert.equal((await engine.send(third.id, "Five", { key: "five" })).session, newest.id);
  assert.equal((await engine.send(third.id, "Five", { key: "five" })).duplicate, true);
  assert.deepEqual(await textsOf(newest), ["One", "Two", "Three", "Four", "Five"]);
  // Sent to the newest itself with the key of a waiting input: it is the same.
  assert.equal((await newest.input("Two", { key: "two" })).duplicate, true);
});

test("messages, requests and replies follow both ends", async () => {
  const { engine: opened } = made();
  await using engine = opened;
  const asker = await engine.open({ objective: "Ask" });
  const helper = await engine.open({ objective: "Answer" });
  const { message } = await asker.send(helper.id, "How much?", { withinMs: 60_000, topic: "price" });
  const helper2 = await helper.rollover();
  const asker2 = await asker.rollover();
  assert.deepEqual([...(await asker2.fold()).standing.requests.keys()], [message]);
  const reply = await helper2.send(null, "4.1", { replyTo: message });
  assert.deepEqual([reply.to, reply.delivered], [asker2.id, true]);
  assert.equal((await asker2.fold()).standing.requests.size, 0);
  assert.deepEqual((await textsOf(asker2)).slice(-1), ["4.1"]);
  // To an id of before, several times, in order.
  await asker2.send(helper.id, "a");
  const helper3 = await helper2.rollover();
  await asker2.send(helper.id, "b");
  await asker2.send(helper2.id, "c");
  assert.deepEqual((await textsOf(helper3)).slice(-3), ["a", "b", "c"]);
});

test("a webhook keeps its address, and a repeated delivery fires once", async () => {
  const { engine: opened } = made();
  await using engine = opened;
  const first = await engine.open({ objective: "Listen" });
  const { token = "" } = await first.trigger("hook", { kind: "webhook" });
  const call = (id: string) => engine.webhook(token, { body: id, headers: { "x-skein-delivery": id } });
  assert.deepEqual(await call("d1"), { session: first.id, duplicate: false });
  const second = await first.rollover();
  assert.equal((await call("d1")).duplicate, true);
  assert.deepEqual(await call("d2"), { session: second.id, duplicate: false });
  const third = await second.rollover();
  assert.deepEqual([(await call("d1")).duplicate, (await call("d2")).duplicate], [true, true]);
  assert.deepEqual(await call("d3"), { session: third.id, duplicate: false });
  assert.equal((await textsOf(third)).length, 3);
});

test("children report and refund to the next session, and end with it", async () => {
  const { engine: opened } = made([
    [
      use("open", { objective: "Do a part", budget: { steps: 4 }, wait: true }),
      use("open", { objective: "Another part", budget: { steps: 2 } }, "open-2"),
    ],
    "Done.",
  ]);
  await using engine = opened;
  const first = await engine.open({ objective: "Lead the work", budget: { steps: 20 } });
  await first.input("Go");
  await first.run();
  const next = await first.rollover();
  const { rows } = await engine.sessions({ text: "Do a part" });
  const child = await engine.session(rows[0]?.session ?? "");
  const spent = (await first.fold()).standing.used.steps;
  assert.deepEqual((await next.fold()).standing.limits.steps, 20 - spent - 6);
  await child.run();
  assert.equal((await child.fold()).standing.status, "closed");
  const { allotted } = (await next.fold()).standing;
  assert.equal(allotted.steps, -3, "a child of four steps used one");
  await using _worker = await engine.work({ name: "one" });
  await until(async () => (await textsOf(next)).some((text) => text.includes("waited for has ended")));
  await until(async () => !(await next.fold()).standing.lease.held);
  const done = await next.cancel({ tree: true });
  assert.ok(done.cancelled?.includes(next.id));
  const { rows: others } = await engine.sessions({ text: "Another part" });
  assert.equal(others[0]?.status, "closed");
  assert.equal((await engine.verify()).ok, true);
});

test("a rollover between two steps continues the turn in the next session", async () => {
  const { world } = made();
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const store = kind().store({ world, workspace });
  const script = scripted(["Goes on.", "Done."]);
  await using engine = engineWith(script, { store, world });
  const deps = makeDeps({ store, world });
  const first = await engine.open({ objective: "Work on", budget: { steps: 9 } });
  await first.input("Go");
  const drive = await takeDrive(deps, first.id);
  await drive.begin();
  await drive.request({ model: "test/scripted" });
  assert.equal(await rolloverRun(deps, drive, {}), null, "a model call is open");
  await drive.respond({
    finish: "tool-calls",
    usage: { inputTokens: 1, outputTokens: 1 },
    costNanoUsd: 0,
    blocks: [{ type: "tool-call", call: "c1", tool: "read", input: {} }],
    effects: { read: "read" },
  });
  assert.equal(await rolloverRun(deps, drive, {}), null, "a tool call is open");
  await drive.start("c1");
  await drive.settle("c1", { status: "ok", output: "4.1" });
  await first.input("Also this");
  const next = await rolloverRun(deps, drive, { because: "the context is full" });
  assert.equal(drive.lease.isReleased, true);
  await drive[Symbol.asyncDispose]();
  const { standing } = await first.fold();
  assert.deepEqual(
    [standing.status, standing.turn, standing.lease.held, standing.next],
    ["closed", null, false, next],
  );
  const second = await engine.session(next ?? "");
  const [goesOn, also] = await textsOf(second);
  assert.match(
    goesOn ?? "",
    new RegExp(`continues ${first.id}, which ended in the middle of a turn \\(the context is full\\)`),
  );
  assert.equal(also, "Also this");
  assert.equal((await second.fold()).standing.limits.steps, 8);
  // Whoever runs or asks the session of before runs this one.
  const ran = await first.run();
  assert.deepEqual([ran.session, ran.status], [next, "open"]);
  assert.deepEqual((await second.fold()).standing.inbox.waiting, []);
  assert.equal(script.calls.length, 1);
});

test("of two rollovers at once one opens the next, and the other learns which", async () => {
  const { engine: opened } = made();
  await using engine = opened;
  const first = await engine.open({ objective: "Work" });
  const both = await Promise.allSettled([first.rollover(), first.rollover()]);
  const [won] = both.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const [lost] = both.flatMap((one) => (one.status === "rejected" ? [one.reason as Error] : []));
  assert.match(lost?.message ?? "", new RegExp(`went on as ${won?.id}`));
  assert.equal((await engine.sessions()).rows.length, 2);
  await assert.rejects(first.rollover(), new RegExp(`went on as ${won?.id}`));
});

test("it is refused while a call is open, and says which", async () => {
  const { engine: opened } = made();
  await using engine = opened;
  const first = await engine.open({ objective: "Work" });
  await using drive = await first.drive();
  await first.input("Go");
  await drive.begin();
  await assert.rejects(first.rollover(), { code: "conflict", message: "a turn is in progress" });
  await drive.request({ model: "test/scripted" });
  await drive.respond({
    finish: "tool-calls",
    usage: { inputTokens: 1, outputTokens: 1 },
    costNanoUsd: 0,
    blocks: [{ type: "tool-call", call: "c1", tool: "deploy", input: {} }],
  });
  await first.suspend();
  await assert.rejects(first.rollover(), { code: "conflict", message: "rollover: call c1 is open" });
  assert.equal((await engine.sessions()).rows.length, 1);
});

test("reopened, a session is its own address again", async () => {
  const { engine: opened } = made();
  await using engine = opened;
  const first = await engine.open({ objective: "Work" });
  const second = await first.rollover();
  await first.reopen();
  const sent = await first.input("Here");
  assert.deepEqual([sent.session, await textsOf(first), await textsOf(second)], [undefined, ["Here"], []]);
  const other = await first.rollover();
  assert.equal((await first.input("There")).session, other.id);
  assert.equal((await second.input("Still")).session, undefined);
});

test("a session that waits for another waits for its successor", async () => {
  const { engine: opened } = made();
  await using engine = opened;
  const awaited = await engine.open({ objective: "Work" });
  const waiting = await engine.open({
    objective: "Wait",
    wake: [{ kind: "session", name: "end", sessions: [awaited.id], on: "end", all: true }],
  });
  await using _worker = await engine.work({ name: "one" });
  const second = await awaited.rollover();
  const third = await second.rollover();
  await realWorld().sleep(100);
  assert.equal((await textsOf(waiting)).length, 0);
  await third.close();
  await until(async () => (await textsOf(waiting)).length === 1);
  assert.match((await textsOf(waiting))[0] ?? "", new RegExp(third.id));
  // What it was told began a turn, which must end first.
  await until(async () => {
    const { turn, inbox, lease } = (await waiting.fold()).standing;
    return turn === null && inbox.waiting.length === 0 && !lease.held;
  });
  const after = await waiting.rollover();
  await realWorld().sleep(100);
  assert.equal((await textsOf(after)).filter((text) => text.startsWith("Trigger")).length <= 1, true);
});

test("an ask of an old id is answered by the newest, with its events", async () => {
  const { engine: opened } = made(["One.", "Two."]);
  await using engine = opened;
  const first = await engine.open({ objective: "Talk" });
  await first.ask("Hello").result;
  const second = await first.rollover();
  const seen: string[] = [];
  const run = first.ask("Again");
  for await (const update of run)
    if ("session" in update) seen.push(`${update.session === second.id} ${update.type}`);
  assert.equal((await run.result).session, second.id);
  assert.equal(seen[0], "true input.received");
  assert.ok(seen.includes("true model.responded"));
});
