/** Amendments: what the model is shown, what the log keeps, and that nothing is allowed by them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compactionPromptLine } from "../../../src/core/compaction/plan.ts";
import type { ModelCall } from "../../../src/model/port.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { engineWith, scripted, use, type Scripted } from "../turn/scripted.ts";
import { all } from "../place.ts";

/** What the model was sent last, as text. */
const sent = (script: Scripted, place = -1): string => JSON.stringify(script.calls.at(place)?.parts);

/** Each request equals what is rebuilt from the log. */
async function assertRebuilt(session: Session): Promise<void> {
  for (const { type, seq } of await all(session.events()))
    if (type === "model.requested")
      assert.equal((await session.context({ atSeq: seq })).matches, true, `${seq}`);
}

const isPrompt = ({ parts }: ModelCall): boolean =>
  JSON.stringify(parts.at(-1)).includes(compactionPromptLine);

const systems = (script: Scripted, place = -1): string[] =>
  (script.calls.at(place)?.parts ?? []).flatMap((part) => (part.part === "system" ? [part.text] : []));

test("the new texts stand where they were amended, and after a boundary alone", async () => {
  const script = scripted([(call) => (isPrompt(call) ? "It went on." : "Yes.")]);
  await using engine = engineWith(script);
  const session = await engine.open({
    objective: "November run",
    instructions: "Be brief.",
    constraints: ["never pay twice"],
  });
  await session.ask("Begin.").result;
  const first = script.calls.at(-1)?.parts ?? [];
  await session.amend({
    objective: "December run",
    instructions: "Show each rate.",
    constraints: ["never pay before the 1st"],
    because: "the month has changed",
  });
  await session.ask("Go on.").result;
  const second = script.calls.at(-1)?.parts ?? [];
  assert.deepEqual(second.slice(0, first.length), first, "a context only grows at the end");
  assert.match(
    sent(script),
    /From here on this holds.*because the month has changed.*Show each rate.*December run.*never pay before/,
  );
  for (let turn = 1; turn <= 6; turn++) await session.ask(`Turn ${turn}: ${"and so on ".repeat(60)}`).result;
  assert.equal((await session.compress({ strategy: "summarize" })).compacted, true);
  await session.ask("And now?").result;
  const third = systems(script).join("\n");
  assert.match(
    third,
    /Show each rate\.\nObjective of this session:\nDecember run\nConstraints:\n- never pay before/,
  );
  assert.doesNotMatch(sent(script), /November run|Be brief|never pay twice|From here on this holds/);
  await assertRebuilt(session);
  const { objective } = await session.state();
  assert.equal(objective, "December run");
  const amended = (await all(session.events())).find(({ type }) => type === "session.amended");
  assert.deepEqual(amended?.body, { has: ["objective", "instructions", "constraints"] });
});

test("before its first request a session begins with the amendment; a rewind keeps it", async () => {
  const script = scripted(["Yes.", "Yes.", "Yes."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "One" });
  await session.amend({ objective: "Two", because: "a typo" });
  await session.ask("Begin.").result;
  assert.match(systems(script).join(), /Objective of this session:\nTwo/);
  assert.doesNotMatch(sent(script), /One|From here on/);
  const { seq } = await session.head();
  await session.amend({ constraints: ["a"], because: "b" });
  await session.amend({ constraints: ["", " "], because: "c" });
  await session.ask("Go on.").result;
  assert.match(sent(script), /Constraints:\\n- a.*Constraints: none from here on/);
  await session.rewind(seq);
  await session.ask("Once more.").result;
  assert.match(systems(script).join(), /Objective of this session:\nTwo/);
  assert.doesNotMatch(sent(script), /Constraints/);
  await assertRebuilt(session);
});

test("settings of the model change with the next request, and null takes them back", async () => {
  const script = scripted(["Yes.", "Yes.", "Yes."]);
  await using engine = engineWith(script);
  await engine.addAgent({ name: "calm", instructions: "Answer.", temperature: 0.5 });
  const session = await engine.open({ objective: "Settings", agent: "calm" });
  const settings = async (): Promise<unknown> => {
    await session.ask("Go.").result;
    const [part] = script.calls.at(-1)?.parts ?? [];
    const { temperature, reasoning } = part?.part === "settings" ? part.settings : {};
    return { temperature, reasoning, most: script.calls.at(-1)?.outputTokensMax };
  };
  assert.deepEqual(await settings(), { temperature: 0.5, reasoning: undefined, most: 4_000 });
  await session.amend({ temperature: 0, reasoning: "high", outputTokensMax: 500, because: "an audit" });
  assert.deepEqual(await settings(), { temperature: 0, reasoning: "high", most: 500 });
  await session.amend({ temperature: null, outputTokensMax: null, because: "over" });
  assert.deepEqual(await settings(), { temperature: 0.5, reasoning: "high", most: 4_000 });
  await assertRebuilt(session);
});

test("another agent brings its instructions, and nothing that allows more", async () => {
  const script = scripted(["Yes.", [use("record", { kind: "fact", key: "a", value: 1 })], "Yes."]);
  await using engine = engineWith(script);
  await engine.addAgent({
    name: "strict",
    instructions: "Be strict.",
    tools: ["re*", "scratch"],
    permissions: [{ tool: "record", rule: "deny", reason: "not here" }],
  });
  await engine.addAgent({
    name: "free",
    instructions: "Be free.",
    tools: ["record", "remember", "fork"],
    permissions: [{ tool: "*", rule: "allow" }],
    onUnknown: "tell",
    memory: { sessions: "user" },
    budget: { usd: 1_000 },
    bind: [{ kind: "shell" }],
  });
  const session = await engine.open({ objective: "Agents", agent: "strict" });
  await session.grant({ name: "unsafe", tool: "*", effect: "unsafe", rule: "ask" });
  await session.ask("Begin.").result;
  await session.amend({ agent: "free", because: "the other one is better at it" });
  await session.ask("Record it.").result;
  assert.match(sent(script), /You are now the agent free\. Its instructions, in place .*Be free\./);
  assert.deepEqual(await session.items(), [], "what the agent before denied stays denied");
  const { bindings, permissions, budget, agent } = await session.state();
  assert.deepEqual(agent, { name: "free", version: 1 });
  assert.deepEqual([bindings, budget.limits], [[], {}]);
  assert.deepEqual(
    permissions.map(({ name, tool, rule }) => `${name}: ${rule} ${tool}`),
    ["before-1: deny record", "before-2: ask *", "unsafe: ask *"],
  );
  const amended = (await all(session.events())).find(({ type }) => type === "session.amended");
  const { definition = {} } = (amended?.content ?? {}) as { definition?: Record<string, unknown> };
  assert.deepEqual(definition["tools"], ["record", "remember"]);
  assert.equal(definition["onUnknown"], "ask");
  assert.deepEqual(definition["memory"], { sessions: "none" });
  await assertRebuilt(session);
});

test("a fork from before the amendment may do no more than its parent may now", async () => {
  const script = scripted(["Yes.", [use("record", { kind: "fact", key: "a", value: 1 })], "Yes."]);
  await using engine = engineWith(script);
  await engine.addAgent({ name: "free", instructions: "Be free." });
  await engine.addAgent({
    name: "strict",
    instructions: "Be strict.",
    permissions: [{ tool: "record", rule: "deny" }],
  });
  const session = await engine.open({ objective: "Agents", agent: "free" });
  await session.ask("Begin.").result;
  const { seq } = await session.head();
  await session.amend({ agent: "strict", because: "it recorded too much" });
  const fork = await session.fork({ atSeq: seq });
  await fork.ask("Record it.").result;
  assert.deepEqual(await fork.items(), []);
  assert.match(systems(script).join(), /Be free/);
});

test("a fork takes agent, model, instructions and settings", async () => {
  const script = scripted(["Yes.", "Yes."]);
  await using engine = engineWith(script);
  await engine.addAgent({ name: "one", instructions: "Be one." });
  await engine.addAgent({ name: "two", instructions: "Be two." });
  await engine.addAgent({ name: "two", instructions: "Be two, better." });
  const session = await engine.open({ objective: "Forks", agent: "one", instructions: "Own." });
  await session.ask("Begin.").result;
  const first = script.calls.at(-1)?.parts ?? [];
  const fork = await session.fork({ agent: "two@1", instructions: "", reasoning: "low" });
  await fork.ask("Go on.").result;
  assert.match(sent(script), /You are now the agent two\..*Be two\..*Instructions of this session: none/);
  assert.deepEqual(script.calls.at(-1)?.parts.slice(1, first.length), first.slice(1));
  assert.deepEqual((await session.state()).agent, { name: "one", version: 1 });
  const other = await session.fork({ model: "test/other" });
  assert.equal((await other.state()).model, "test/other");
  await assertRebuilt(fork);
});

test("bad amendments are refused with a way out, and write nothing", async () => {
  await using engine = engineWith(scripted([]));
  const session = await engine.open({ objective: "Bad" });
  const { seq } = await session.head();
  await assert.rejects(session.amend({ because: "nothing" }), {
    code: "invalid",
    message: "amend: specify at least one change, such as objective or instructions",
  });
  await assert.rejects(session.amend({ objective: "a" } as never), { code: "invalid", message: /because/ });
  await assert.rejects(session.amend({ agent: "nobody", because: "b" }), {
    code: "not-found",
    message: 'amend: agent: there is no agent "nobody"',
  });
  await assert.rejects(session.amend({ temperature: 3, because: "b" }), { code: "invalid" });
  await assert.rejects(session.fork({ agent: "no one" }), { code: "invalid" });
  await session.close();
  await assert.rejects(session.amend({ objective: "a", because: "b" }), {
    code: "refused",
    message: /closed/,
  });
  assert.equal((await session.head()).seq, seq + 1);
});

test("the next session of the work begins with what was amended", async () => {
  await using engine = engineWith(scripted([]));
  const session = await engine.open({ objective: "One", instructions: "Old.", constraints: ["old"] });
  await session.amend({ objective: "Two", instructions: "New.", constraints: ["new"], because: "b" });
  const next = await session.clear();
  const [opened] = await all(next.events({ toSeq: 1 }));
  assert.deepEqual(opened?.content, { objective: "Two", instructions: "New.", constraints: ["new"] });
});
