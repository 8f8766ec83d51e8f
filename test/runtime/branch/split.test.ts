/** Split: another task that came up gets a session of its own, with what matters; the first goes on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import cases from "../../core/context/drift-cases.json" with { type: "json" };
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { makeWorkspaceId } from "../../../src/core/ids.ts";
import { kind } from "../../kind.ts";
import { madeWorld } from "../made-world.ts";
import { ask, lastText, small } from "../turn/outgrown.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

const { objective, said } = cases.drifted[3] as { objective: string; said: [string, string][] };

/** A session whose last three inputs are about something else. */
async function drifted(engine: Engine): Promise<Session> {
  const session = await engine.open({ objective, labels: { team: "data" }, budget: { steps: 30 } });
  for (const [place, [input]] of said.entries()) {
    if (place === said.length - 3) await session.record("fact", "before", 1);
    await ask(session, input);
  }
  return session;
}

function answering() {
  const answers = new Map(said);
  return small((call) => answers.get(lastText(call)) ?? "Done.", 100_000);
}

const eventsOf = async (session: Session, ...types: string[]) => Array.fromAsync(session.events({ types }));

test("where it drifted, the last inputs and what lasts go along, and both logs say so", async () => {
  const script = answering();
  await using engine = engineWith(script);
  const first = await drifted(engine);
  assert.deepEqual((await first.state()).zoneCauses, ["drift"]);
  await first.record("constraint", "tone", "be brief", { because: "asked" });
  await first.record("fact", "since", 2);
  await first.pin("fact", "before");
  const before = await first.head();
  const made = await first.split();
  const typed = said.slice(-3).map(([input]) => input);
  const state = await made.state();
  assert.equal(state.objective, typed[0]);
  assert.deepEqual([state.labels, state.budget.limits.steps], [{ team: "data" }, 30 - said.length]);
  const items = (await made.items()).map((one) => [one.kind, one.key, one.value, one.because]);
  assert.deepEqual(items, [
    ["constraint", "tone", "be brief", "asked"],
    ["fact", "before", 1, null],
    ["fact", "since", 2, null],
  ]);
  for (const { body } of await eventsOf(made, "item.recorded"))
    assert.equal((body as { origin: { session: string } }).origin.session, first.id);
  assert.deepEqual([...(await made.fold()).mind.pins.keys()], ["fact/before"]);
  const shown = JSON.stringify((await made.context()).parts);
  for (const input of typed) assert.ok(shown.includes(JSON.stringify(input).slice(1, -1)), input);
  assert.ok(!shown.includes(said[0]?.[0] ?? "-"), "the rest stays");
  // Nothing of it waits: it is not answered a second time.
  assert.equal((await made.fold()).standing.inbox.waiting.length, 0);
  const [split, ...more] = await eventsOf(first, "session.split");
  assert.deepEqual(more, []);
  assert.equal(split?.seq, before.seq + 1);
  const body = split?.body as { to: string; items: string[]; inputs: number[] };
  assert.deepEqual([body.to, body.items.length, body.inputs.length], [made.id, 3, 3]);
  const [opened] = await eventsOf(made, "session.opened");
  assert.deepEqual((opened?.body as { split?: unknown } | undefined)?.split, {
    session: first.id,
    seq: before.seq,
  });
  assert.equal((await first.state()).status, "open");
  const { nodes } = await engine.lineage(made.id);
  assert.deepEqual(
    nodes.map(({ session, relation }) => [session, relation]),
    [
      [first.id, null],
      [made.id, "split"],
    ],
  );
  await ask(made, "Go on");
  assert.equal((await engine.verify()).ok, true);
});

test("chosen items and inputs go along, and no others", async () => {
  await using engine = engineWith(answering());
  const first = await drifted(engine);
  await first.record("decision", "store", "sqlite", { because: "small" });
  await first.record("preference", "tone", "brief");
  const inputs = await eventsOf(first, "input.received");
  const made = await first.split({
    objective: "Choose a store",
    name: "store",
    items: ["decision/store"],
    inputs: [inputs[0]?.seq ?? 0],
    because: "it is another task",
  });
  assert.deepEqual(
    (await made.items()).map(({ key }) => key),
    ["store"],
  );
  const documents = await eventsOf(made, "document.loaded");
  assert.deepEqual(
    documents.map(({ content }) => (content as { text: string }).text),
    [said[0]?.[0]],
  );
  const { name, objective: goal } = await made.state();
  assert.deepEqual([name, goal], ["store", "Choose a store"]);
  const [split] = await eventsOf(first, "session.split");
  assert.deepEqual(split?.content, { objective: "Choose a store", reason: "it is another task" });
});

test("it may do no more than the first: agent, rules and budget", async () => {
  await using engine = engineWith(answering());
  await engine.addAgent({
    name: "clerk",
    instructions: "Be exact.",
    permissions: [{ tool: "x", rule: "deny" }],
  });
  const first = await engine.open({
    objective: "Work",
    agent: "clerk",
    grant: [{ tool: "shell", rule: "deny" }],
    budget: { steps: 3 },
    memory: false,
  });
  await ask(first, "One");
  await engine.addAgent({
    name: "clerk",
    instructions: "Be loose.",
    permissions: [{ tool: "x", rule: "allow" }],
  });
  const made = await first.split({ objective: "Another" });
  const { standing } = await made.fold();
  assert.deepEqual([...standing.permissions.keys()], ["shell"]);
  assert.deepEqual([standing.agent?.name, standing.agent?.version, standing.limits.steps], ["clerk", 1, 2]);
  assert.equal(standing.depth, 0);
  const [carried] = await eventsOf(made, "memory.carried");
  assert.equal(
    (carried?.body as { off?: boolean } | undefined)?.off,
    true,
    "a session without memory splits into such",
  );
});

test("initial documents go along, chosen ones only if some are", async () => {
  const { mkdtemp, writeFile, rm } = await import("node:fs/promises");
  const { tmpdir } = await import("node:os");
  const { join } = await import("node:path");
  const folder = await mkdtemp(join(tmpdir(), "skein-split-"));
  try {
    const [one, two] = [join(folder, "one.md"), join(folder, "two.md")];
    await writeFile(one, "The first text.");
    await writeFile(two, "The second text.");
    await using engine = engineWith(answering());
    const first = await engine.open({ objective: "Read", files: [one, two] });
    const pathsOf = async (session: Session) =>
      (await eventsOf(session, "document.loaded")).map(({ content }) => (content as { path: string }).path);
    assert.deepEqual((await pathsOf(await first.split({ objective: "All" }))).toSorted(), [one, two]);
    assert.deepEqual(await pathsOf(await first.split({ objective: "One", documents: [two] })), [two]);
    await assert.rejects(first.split({ objective: "None", documents: ["/x"] }), {
      code: "not-found",
      message: 'split: documents: no such document "/x"',
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("erasing an input or an item with its copies finds them where they were taken along", async () => {
  await using engine = engineWith(answering());
  const first = await engine.open({ objective: "Talk" });
  await ask(first, "My number is 0170 5550199");
  await first.record("fact", "number", "0170 5550199");
  const [input] = await eventsOf(first, "input.received");
  const made = await first.split({
    objective: "Call back",
    items: ["fact/number"],
    inputs: [input?.seq ?? 0],
  });
  await first.erase({ match: "5550199", copies: true });
  const left = JSON.stringify(await Array.fromAsync(made.events()));
  assert.ok(!left.includes("5550199"));
  assert.ok(!JSON.stringify((await made.context()).parts).includes("5550199"));
});

test("a position without an input, a missing item and no objective are refused", async () => {
  await using engine = engineWith(answering());
  const first = await engine.open({ objective: "Work" });
  const other = await engine.open({ objective: "Tell" });
  await other.send(first.id, "From elsewhere");
  const [message] = await eventsOf(first, "message.received");
  for (const seq of [1, message?.seq ?? 0, 999]) {
    await assert.rejects(first.split({ objective: "x", inputs: [seq] }), {
      code: "invalid",
      message: `split: inputs: expected positions of inputs with a text, got ${seq}`,
    });
  }
  await assert.rejects(first.split({ objective: "x", items: ["fact/none"] }), {
    code: "not-found",
    message: 'split: items: no such item "fact/none"',
  });
  await assert.rejects(first.split(), { code: "invalid", message: /^split: objective: expected the task/ });
  await assert.rejects(first.split({ objective: " " }), { code: "invalid", message: /^split: objective/ });
  assert.equal((await engine.sessions()).rows.length, 2, "nothing was opened");
});

test("one append for both logs; a closed session splits too", async () => {
  const world = madeWorld("split");
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const store = kind().store({ world, workspace });
  let appends = 0;
  const counted = new Proxy(store, {
    get: (target, name) => {
      if (name !== "append") return Reflect.get(target, name) as unknown;
      return (...given: Parameters<typeof target.append>) => {
        appends += 1;
        return target.append(...given);
      };
    },
  });
  await using engine = engineWith(scripted(["Done."]), { store: counted, world });
  const first = await engine.open({ objective: "Work" });
  await first.close();
  const before = appends;
  const made = await first.split({ objective: "Another" });
  assert.equal(appends - before, 1);
  assert.equal((await made.state()).status, "open");
});
