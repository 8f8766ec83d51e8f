/** Every operation is called once for real, and answers what the table says. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { operationIds, operationOf, type OperationId } from "../../src/call/operations.ts";
import { use, type Line } from "../runtime/turn/scripted.ts";
import { saveApproval } from "./saved-approval.ts";
import { claudeText, makeTranscriptHome, transcriptId } from "./transcript-home.ts";
import { fine, frames, served, type Given } from "./served.ts";

const agent = { name: "fixer", instructions: "Fix it." };
const plan = { name: "plan", tickets: [{ id: "a", title: "A", text: "", after: [], line: 1 }] };

/** What a part of the calls works with. */
interface Caller {
  readonly place: Awaited<ReturnType<typeof served>>;
  readonly called: Set<OperationId>;
  readonly folder: string;
  call(id: OperationId, given?: Given): Promise<unknown>;
  on(session: string, name: string, params?: Given["params"], more?: Given): Promise<unknown>;
  open(objective: string): Promise<string>;
}

function makeCaller(place: Caller["place"], folder: string): Caller {
  const called = new Set<OperationId>();
  async function call(id: OperationId, given: Given = {}): Promise<unknown> {
    called.add(id);
    const operation = operationOf(id);
    const answered = await place.call(id, given);
    const body = fine(answered);
    assert.equal(answered.status, operation.gives === "nothing" ? 204 : 200, id);
    if (operation.gives !== "json") return body;
    const checked = operation.answer.safeParse(body);
    assert.ok(checked.success, `${id}: ${checked.error?.message}\n${JSON.stringify(body)}`);
    return body;
  }
  return {
    place,
    called,
    folder,
    call,
    on: (session, name, params = {}, more = {}) =>
      call(`session.${name}` as OperationId, { id: session, params, ...more }),
    open: async (objective) =>
      ((await call("engine.open", { params: { objective } })) as { session: string }).session,
  };
}

/** Proposes two tickets when it is asked to. */
const proposing: Line = ({ parts }) => {
  const tickets = ["one", "two"].map((id) => ({ id, title: `Do ${id}` }));
  const last = parts.at(-1);
  const isAsked =
    last?.part === "message" && last.role === "user" && JSON.stringify(last).includes("Propose.");
  return isAsked ? [use("plan", { tickets })] : "Done.";
};

test("every operation does its work over HTTP, and its answer is as the table says", async () => {
  using home = makeTranscriptHome();
  await using place = await served({
    otherStores: true,
    transcripts: home.transcripts,
    lines: [[use("order", {})], proposing],
  });
  const folder = mkdtempSync(join(tmpdir(), "skein-test-"));
  const caller = makeCaller(place, folder);
  try {
    await settling(caller);
    const { id, fork } = await knowing(caller);
    await reading(caller, id);
    await turning(caller, id);
    const next = await living(caller, id);
    await sharing(caller);
    await importing(caller);
    await moving(caller, fork, next);
    await projects(caller);
    assert.deepEqual([...caller.called].toSorted(), operationIds.toSorted());
    assert.deepEqual(place.troubles, []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** An external call, and its outcome. */
async function settling({ on, open, place }: Caller): Promise<void> {
  const id = await open("Shop");
  const options = { external: true, description: "Orders.", input: { type: "object" } };
  await on(id, "bind", { kind: "tool", name: "order", options });
  const session = await place.engine.session(id);
  await session.ask("Order a pen.").result;
  const [waiting] = (await session.state()).calls;
  await on(id, "settle", { call: waiting?.call, output: { number: 7 } });
}

/** Sessions and what they know. */
async function knowing({ call, on, open, folder }: Caller): Promise<{ id: string; fork: string }> {
  const id = await open("Fix login");
  await on(id, "append", { records: "hello" });
  await on(id, "append", { records: [{ type: "x.note", body: { a: 1 } }] });
  await on(id, "input", { input: [{ type: "text", text: "more" }], mode: "queue" });
  await on(id, "record", { kind: "fact", key: "k", value: { any: 1 }, because: "b" });
  await on(id, "record", { kind: "task", key: "t", value: "x", status: "open" });
  await on(id, "pin", { kind: "task", key: "t" });
  await on(id, "unpin", { kind: "task", key: "t" });
  await on(id, "retract", { kind: "task", key: "t" });
  await on(id, "promote", { kind: "fact", key: "k", scope: "workspace" });
  await on(id, "scratch", { key: "s", value: [1] });
  await on(id, "save", { name: "here" });
  assert.deepEqual(await on(id, "load", { place: "here" }), { session: id, seq: 10 });
  await on(id, "amend", { objective: "Another", because: "it changed" });
  await on(id, "score", { name: "good", value: 0.5 });
  const { session: fork } = (await on(id, "fork", { objective: "What if?" })) as { session: string };
  await on(fork, "record", { kind: "fact", key: "other", value: 2 });
  await on(id, "merge", { from: fork, dryRun: true });
  await on(id, "merge", { from: fork });
  await on(id, "rewind", { place: "here" });
  await on(id, "rename", { name: "login" });
  await on(id, "label", { set: { team: "web" } });
  await on(id, "prioritize", { priority: 3 });
  await on(id, "bind", { kind: "directory", path: folder, name: "work" });
  await on(id, "onChange", { source: "work", react: "mark" });
  await on(id, "onChange", { source: "work", react: "ignore" });
  writeFileSync(join(folder, "rates.md"), "20 %");
  const given = { objective: "Stale", files: [join(folder, "rates.md")] };
  const { session: stale } = (await call("engine.open", { params: given })) as { session: string };
  writeFileSync(join(folder, "rates.md"), "25 %");
  await on(stale, "reload");
  await on(id, "grant", { tool: "shell", rule: "deny" });
  await on(id, "budget", { limits: { usd: 5, steps: 100 } });
  await on(id, "unbind", { name: "work" });
  await on(id, "contract", { topic: "orders", schema: { type: "object" } });
  assert.equal(((await on(id, "contracts")) as unknown[]).length, 1);
  await on(id, "send", { to: fork, message: { a: 1 } });
  await call("engine.send", { params: { to: id, message: { a: 1 }, topic: "orders" } });
  await on(id, "hold", { name: "legal", reason: "kept" });
  await on(id, "lift", { name: "legal" });
  return { id, fork };
}

async function reading({ call, on }: Caller, id: string): Promise<void> {
  for (const name of [
    "state",
    "fold",
    "deps",
    "items",
    "head",
    "events",
    "verify",
    "lineage",
    "context",
    "tools",
  ])
    await on(id, name);
  await on(id, "diff", { from: 2 });
  await on(id, "replay");
  assert.match((await on(id, "records")) as string, /^\{"session":"ses_/);
  await call("engine.session", { id: id.slice(-8) });
  await call("engine.sessions", { params: { labels: { team: "web" }, status: ["open"], limit: 10 } });
  await call("engine.lineage", { params: { session: id } });
  await call("engine.feed", { params: { limit: 5 } });
  await call("engine.search", { params: { text: "hello" } });
  await call("engine.affected", { params: { path: "/nowhere" } });
  await call("engine.cost", { params: { by: "model" } }).catch(ifNoViews);
  await call("engine.query", { params: { sql: "SELECT session FROM sessions" } }).catch(ifNoViews);
  await call("engine.verify");
  const { seq, hash } = (await call("engine.anchor")) as { seq: number; hash: string };
  await call("engine.verify", { params: { anchor: { seq, hash } } });
  await call("engine.acceptAnchor", { params: { reason: "restored" } });
  await call("engine.scan", { params: { session: id } });
  await call("engine.workers");
  await call("engine.stats");
  await call("engine.rebuild");
  await call("engine.deliver");
}

async function turning({ on, called, place }: Caller, id: string): Promise<void> {
  await on(id, "run");
  await on(id, "exportTranscript", { format: "codex" });
  for (const name of ["ask", "watch"] as const) {
    called.add(`session.${name}`);
    const body = JSON.stringify(name === "ask" ? { input: "And now?" } : {});
    const headers = { "content-type": "application/json" };
    const response = await place.fetch(`/v1/sessions/${id}/${name}`, { method: "POST", headers, body });
    const heard = [];
    for await (const frame of frames(response)) heard.push(frame.event);
    assert.equal(heard.at(-1), "ran");
    if (name === "ask") assert.ok(heard.includes("delta") && heard.includes("model.responded"));
  }
  await on(id, "compress", { strategy: "prune" });
  await on(id, "stages");
  const longer = "Tell me about this and that. ".repeat(80);
  for (let turn = 0; turn < 3; turn++) {
    await on(id, "input", { input: longer });
    await on(id, "run");
  }
  await on(id, "compress", { strategy: "summarize" });
  await on(id, "uncompress");
  await on(id, "handoff", { write: false });
  await on(id, "migrate", { model: "acme/other" });
}

/** Gives the session that comes after. */
async function living({ on, open, place }: Caller, id: string): Promise<string> {
  await on(id, "suspend", { reason: "lunch" });
  await on(id, "activate");
  await on(id, "trigger", { name: "later", spec: { kind: "at", at: Date.now() + 1e9 } });
  await on(id, "triggers");
  await on(id, "sleep", { triggers: ["later"] });
  await on(id, "fire", { name: "later", text: "now" });
  await on(id, "untrigger", { name: "later" });
  const asks = await open("Runs a tool");
  await place.engine.session(asks).then((session) => session.append("x"));
  await on(asks, "interrupt").catch((error: Error) => assert.match(error.message, /^4/));
  await on(asks, "answer", { allow: true }).catch((error: Error) => assert.match(error.message, /^409/));
  await on(asks, "cancel", { tree: true });
  await on(asks, "reopen");
  await on(asks, "setChecks", { checks: ["person: Is it right?"] });
  await on(asks, "check", { pass: "person", because: "seen" });
  await on(asks, "explore", { alternatives: ["Do this", "Do that"], budget: { steps: 3 } });
  await on(asks, "close", { outcome: "completed" });
  await on(asks, "archive");
  const { session: next } = (await on(id, "clear", { handoff: true })) as { session: string };
  await on(next, "erase", { ranges: [[1, 1]], dryRun: true });
  await on(next, "split", { objective: "Another task" });
  const { session: last } = (await on(next, "rollover", { because: "full" })) as { session: string };
  return last;
}

/** A project and what it knows. */
async function projects({ call, place }: Caller): Promise<void> {
  const given = { objective: "Move the shop", constraints: ["no downtime"] };
  const { project } = (await call("engine.openProject", { params: given })) as { project: string };
  await call("engine.projects", { params: { status: "open" } });
  const item = { kind: "decision", key: "provider" };
  await call("engine.recordInProject", { params: { project, ...item, value: "acme", because: "b" } });
  await call("engine.noteInProject", { params: { project, text: "Begun." } });
  await call("engine.project", { params: { project: project.slice(-8) } });
  await call("engine.retractInProject", { params: { project, ...item } });
  await call("engine.projectLineage", { params: { project } });
  await call("engine.verifyProject", { params: { project } });
  await call("engine.open", { params: { objective: "Write the adapter", project } });
  await call("engine.exportProject", { params: { project } });
  await call("engine.holdProject", { params: { project, name: "case" } });
  await call("engine.liftProject", { params: { project, name: "case" } });
  await call("engine.eraseProject", { params: { project, match: "Begun", dryRun: true } });
  await call("engine.setProjectBudget", { params: { project, usd: 5, tokens: 1_000_000, reason: "b" } });
  await call("engine.projectBudget", { params: { project } });
  await call("engine.configureProject", { params: { project, plan: "approve", agents: [] } });
  const ticket = { id: "api", title: "Serve it", accept: ["command: npm test"], budget: { usd: 1 } };
  await call("engine.planTickets", { params: { project, tickets: [ticket], reason: "first" } });
  const { id: session } = await place.engine.open({ objective: "Plan it", project });
  await call("engine.markTicket", { params: { project, ticket: "api", session } });
  await call("engine.markTicket", { params: { project, ticket: "api", session, outcome: "done" } });
  await (await place.engine.session(session)).ask("Propose.").result;
  await call("engine.acceptTickets", { params: { project, tickets: ["one"] } });
  await call("engine.rejectTickets", { params: { project, tickets: ["two"], reason: "no" } });
  const { tickets } = (await call("engine.plan", { params: { project } })) as { tickets: unknown[] };
  assert.equal(tickets.length, 2);
  await call("engine.closeProject", { params: { project, outcome: "cancelled" } });
  await call("engine.archiveProject", { params: { project } });
  await call("engine.reopenProject", { params: { project, reason: "more" } });
}

/** What the workspace knows. */
async function sharing({ call, place }: Caller): Promise<void> {
  await call("engine.addAgent", { params: agent });
  await call("engine.agents");
  await call("engine.agent", { params: { name: "fixer", version: 1 } });
  await call("engine.remember", { params: { scope: "workspace", kind: "fact", key: "m", value: 1 } });
  await call("engine.memory", { params: { scope: "workspace" } });
  await call("engine.memoryCarriers", { params: { scope: "workspace", kind: "fact", key: "m" } });
  await call("engine.forget", { params: { scope: "workspace", kind: "fact", key: "m" } });
  const doubtful = { scope: "workspace", kind: "fact", value: 1, propose: true } as const;
  await call("engine.remember", { params: { ...doubtful, key: "n" } });
  await call("engine.remember", { params: { ...doubtful, key: "o" } });
  const { proposals } = await place.engine.pendingMemory();
  await call("engine.reviewMemory");
  await call("engine.consolidateMemory", { params: { apply: true } });
  await call("engine.pendingMemory", { params: { limit: 10 } });
  await call("engine.approveMemory", { params: { proposal: proposals[0]?.seq ?? 0, because: "checked" } });
  await call("engine.rejectMemory", { params: { proposal: proposals[1]?.seq ?? 0 } });
  const policy = { do: "archive", after: "900d", match: { agent: "fixer" } };
  await call("engine.setPolicy", { params: { name: "old", policy } });
  await call("engine.policies");
  await saveApproval(place);
  await call("engine.approvals");
  await call("engine.revokeApproval", { params: { name: "approval-1" } });
  await call("engine.removePolicy", { params: { name: "old" } });
  await call("engine.retain", { params: { dryRun: true } });
  const template = {
    name: "daily",
    spec: { kind: "cron", cron: "0 9 * * *" },
    open: { objective: "Daily" },
  };
  await call("engine.trigger", { params: template });
  await call("engine.triggers");
  await call("engine.fire", { params: { name: "daily" } });
  await call("engine.untrigger", { params: { name: "daily" } });
  await call("engine.tickets", { params: { plan } });
  await call("engine.runTickets", { params: { plan, dryRun: true } });
  const { id: tokenId } = (await call("engine.addToken", { params: { scopes: ["read"] } })) as {
    id: string;
  };
  await call("engine.tokens", { params: { all: true } });
  await call("engine.revokeToken", { params: { token: tokenId } });
  const hook = {
    name: "told",
    url: "https://hooks.example/skein",
    events: ["session.closed"],
    secret: "HOOK",
  };
  await call("engine.setHook", { params: hook });
  await call("engine.hooks");
  await call("engine.removeHook", { params: { name: "told" } });
  const { hash } = (await call("engine.putBlob", { bytes: Buffer.from("an image") })) as { hash: string };
  assert.equal(await call("engine.blob", { params: { hash } }), "an image");
}

/** Sessions of other tools. */
async function importing({ call }: Caller): Promise<void> {
  const { sessions } = (await call("engine.findTranscripts")) as { sessions: { key: string }[] };
  const key = sessions[0]?.key ?? "";
  await call("engine.previewTranscript", { params: { key } });
  await call("engine.importTranscripts", { params: { keys: [key] } });
  const text = claudeText(transcriptId(5), "/home/ann/x", "Which rate?");
  await call("engine.uploadTranscript", { bytes: Buffer.from(text) });
}

/** Away and back. */
async function moving({ call, called, place, folder }: Caller, fork: string, next: string): Promise<void> {
  called.add("engine.export");
  const bundle = await place.fetch(`/v1/sessions/${fork}/export`, { method: "POST" });
  assert.equal(bundle.headers.get("content-type"), "application/octet-stream");
  await call("engine.import", { bytes: new Uint8Array(await bundle.arrayBuffer()) });
  await call("engine.migrate", { params: { to: join(folder, "other.db"), dryRun: true } }).catch(ifNoStore);
  await call("engine.delete", { id: next, params: { reason: "done" } });
}

/** A store in memory has no views; an engine of a test opens no other store. Both are told as such. */
const ifNoViews = (error: Error): void => assert.match(error.message, /^(400|409|503): /);
const ifNoStore = (error: Error): void => assert.match(error.message, /^409: /);
