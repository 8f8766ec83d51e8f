/** Zones of a running session: their causes are kept, and the agent's policy is carried out. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { AgentDefinition } from "../../../src/core/workspace/agent.ts";
import { ask, assertRebuilt, bound, isPrompt, lastText, report, small, textsOf } from "./outgrown.ts";
import cases from "../../core/context/drift-cases.json" with { type: "json" };
import { engineWith, say, use, type Line } from "./scripted.ts";
import type { ModelCall } from "../../../src/model/port.ts";

type Zones = NonNullable<AgentDefinition["zones"]>;
const agentOf = (zones: Zones): AgentDefinition => ({ name: "watched", instructions: "Work.", zones });

async function zoneEvents(session: Session): Promise<string[]> {
  const found: string[] = [];
  for await (const { type, body, cause } of session.events({ types: ["zone.crossed", "zone.acted"] })) {
    const { zone, by = [], action, outcome } = body as Record<string, string> & { by?: string[] };
    if (type === "zone.crossed") found.push([zone, ...by].join(" "));
    else found.push([`${action}${outcome === undefined ? "" : ` ${outcome}`}`, ...by].join(" "));
    if (type === "zone.acted") assert.ok(cause !== null, "an action names its crossing");
  }
  return found;
}

/** Calls the tool once a step, and says in the end that it is done. */
const long =
  (steps: number) =>
  (call: ModelCall): Line => {
    if (isPrompt(call)) return "Reports were fetched, one after the other, and nothing is open.";
    const made = call.parts.filter((part) => part.part === "message" && part.role === "tool").length;
    return lastText(call).startsWith("Report ") && made >= steps
      ? [say("Done.")]
      : [use("report", { number: made }, `p${made}`)];
  };

test("a signal that appears later in the same zone is recorded, and announced again", async () => {
  let number = 0;
  const script = small((call) => {
    if (lastText(call).startsWith("Report ")) return "Done.";
    return [say("Again."), use("report", { number: 1 }, `p${++number}`)];
  }, 100_000);
  await using engine = engineWith(script, { tools: [report(200)] });
  await engine.addAgent(agentOf({ strained: { turns: 1, actions: ["tell-person", "tell-model"] } }));
  const session = await engine.open({ objective: "Read", agent: "watched", bind: [bound] });
  for (const turn of [1, 2, 3]) await ask(session, `Turn ${turn}`);
  const found = await zoneEvents(session);
  assert.deepEqual(found, [
    "strained turns",
    "tell-person turns",
    "tell-model turns",
    "strained turns reread",
    "tell-person turns reread",
    "tell-model turns reread",
  ]);
  const { zone, zoneCauses } = await session.state();
  assert.deepEqual([zone, zoneCauses], ["strained", ["turns", "reread"]]);
  await ask(session, "Turn 4");
  const shown = textsOf(script.calls.at(-1)?.parts ?? []).join("\n");
  assert.match(shown, /\[the context is strained \(it is 1 turn long\)\. Record what matters/);
  assert.match(shown, /\(it is 2 turns long, the same is read again and again\)/);
  await assertRebuilt(session);
});

test("compress happens in the middle of a long run, between steps, once per crossing", async () => {
  const script = small(long(12), 200_000);
  await using engine = engineWith(script, { tools: [report(8_000)] });
  await engine.addAgent(agentOf({ strained: { tokens: 10_000, actions: ["compress", "tell-model"] } }));
  const session = await engine.open({ objective: "Read", agent: "watched", bind: [bound] });
  await session.append("Fetch twelve reports");
  await session.run();
  const found = await zoneEvents(session);
  const crossed = found.filter((line) => line === "strained tokens").length;
  assert.ok(crossed >= 2, found.join("\n"));
  assert.equal(found.filter((line) => line === "compress tokens").length, crossed);
  // It was smart again: so the model was told nothing.
  assert.equal(found.filter((line) => line.startsWith("tell-model")).length, 0);
  const turns = await Array.fromAsync(session.events({ types: ["turn.started"] }));
  assert.equal(turns.length, 1);
  const open = new Set<unknown>();
  for await (const { type, body } of session.events()) {
    const { call } = body as { call?: unknown };
    if (type === "tool.requested") open.add(call);
    if (type === "tool.settled") open.delete(call);
    if (type === "zone.acted") assert.equal(open.size, 0, "no call is open");
  }
  await assertRebuilt(session);
});

test("a compaction that gains nothing is recorded, and is not tried again", async () => {
  const script = small(() => "ok", 100_000);
  await using engine = engineWith(script);
  await engine.addAgent(agentOf({ strained: { turns: 1, actions: ["compress"] } }));
  const session = await engine.open({ objective: "Read", agent: "watched" });
  for (const turn of [1, 2, 3]) await ask(session, `Turn ${turn}`);
  assert.deepEqual(await zoneEvents(session), ["strained turns", "compress nothing turns"]);
});

test("suspend ends an answered turn first, and holds until a person activates the session", async () => {
  const script = small(() => "Answered.", 100_000);
  await using engine = engineWith(script);
  await engine.addAgent(agentOf({ strained: { turns: 2, actions: ["suspend"] } }));
  const session = await engine.open({ objective: "Read", agent: "watched" });
  await ask(session, "One");
  await ask(session, "Two");
  const { status, why, turn } = await session.state();
  assert.deepEqual([status, why?.by, turn], ["suspended", "zone", null]);
  assert.match(why?.reason ?? "", /^The context is strained \(it is 2 turns long\)/);
  await session.activate();
  await ask(session, "Three");
  assert.equal((await session.state()).status, "open");
  assert.deepEqual(await zoneEvents(session), ["strained turns", "suspend turns"]);
});

test("suspend stops a long run between two steps", async () => {
  const script = small(long(12), 100_000);
  await using engine = engineWith(script, { tools: [report(2_000)] });
  await engine.addAgent(agentOf({ strained: { tokens: 3_000, actions: ["suspend"] } }));
  const session = await engine.open({ objective: "Read", agent: "watched", bind: [bound] });
  await session.append("Fetch twelve reports");
  const ran = await session.run();
  assert.deepEqual([ran.status, ran.by], ["suspended", "zone"]);
  const { turn, calls } = await session.state();
  assert.ok(turn !== null && turn.steps < 12);
  assert.deepEqual(calls, []);
  await session.activate();
  await session.run();
  assert.equal((await session.state()).status, "open");
});

test("without a policy the crossing notifies a person; an empty policy notifies no one", async () => {
  const script = small(() => "ok", 100_000);
  await using engine = engineWith(script);
  await engine.addAgent(agentOf({ strained: { turns: 1 } }));
  await engine.addAgent({ ...agentOf({ strained: { turns: 1, actions: [] } }), name: "silent" });
  for (const agent of ["watched", "silent"]) {
    const session = await engine.open({ objective: "Read", agent });
    await ask(session, "One");
    const told = agent === "silent" ? [] : ["tell-person turns"];
    assert.deepEqual(await zoneEvents(session), ["strained turns", ...told]);
  }
});

test("a policy is checked: an unknown action is refused", async () => {
  await using engine = engineWith(small(() => "ok"));
  await assert.rejects(
    engine.addAgent(agentOf({ strained: { actions: ["explode" as "suspend"] } })),
    /zones\.strained\.actions\[0\].*tell-person.*explode|actions/,
  );
});

test("drift and contradiction fire in a real session, and not before", async () => {
  const { objective, said } = cases.drifted[3]!;
  const answers = new Map(said.map(([input = "", answer = ""]) => [input, answer]));
  const script = small((call) => {
    const last = lastText(call);
    if (last.startsWith("Decide ")) {
      const [, value = ""] = last.split(" ");
      return [use("record", { kind: "decision", key: "store", value, because: "asked" }, "r1")];
    }
    const mysql = { kind: "decision", key: "store", value: "mysql", because: "it is better" };
    if (last === "Look again") return [use("record", mysql, "r2")];
    return answers.get(last) ?? "Done.";
  }, 100_000);
  await using engine = engineWith(script);
  const session = await engine.open({ objective });
  for (const [place, [input = ""]] of said.entries()) {
    await ask(session, input);
    const { zoneCauses } = await session.state();
    assert.deepEqual(zoneCauses, place === said.length - 1 ? ["drift"] : [], input);
  }
  const other = await engine.open({ objective: "Choose a store" });
  // A person decides, and decides otherwise.
  for (const input of ["Decide sqlite", "Decide postgres"]) await ask(other, input);
  assert.deepEqual((await other.state()).zoneCauses, []);
  await ask(other, "Look again");
  assert.deepEqual((await other.state()).zoneCauses, ["contradiction"]);
});
