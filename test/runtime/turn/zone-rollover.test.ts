/** A zone rolls a session over between two steps: the run, its readers and its owner go on without a seam. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentDefinition } from "../../../src/core/workspace/agent.ts";
import { limit } from "../../../src/core/limit.ts";
import { zoneReasons } from "../../../src/core/context/zone.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { z } from "zod";
import { assertRebuilt, bound, lastText, small } from "./outgrown.ts";
import { engineWith, say, use, type Line } from "./scripted.ts";

type Zones = NonNullable<AgentDefinition["zones"]>;

/** A tool that counts its runs, and a model that calls it until there are `wanted` reports. */
function counting(wanted: number, chars = 8_000) {
  const runs: number[] = [];
  const tool = defineTool({
    name: "report",
    description: "Gives a long report.",
    input: z.object({ number: z.number() }),
    effect: "unsafe",
    run: async ({ number }) => {
      runs.push(number);
      return `Report ${number}: ${`line of report ${number}, `.repeat(chars / 20)}`;
    },
  });
  const script = small(async (call): Promise<Line> => {
    if (lastText(call).startsWith("Wait")) return "Waited.";
    if (runs.length < wanted) return [use("report", { number: runs.length + 1 })];
    // As long as a reader takes to come after it.
    await realWorld().sleep(100);
    return [say("Done.")];
  }, 200_000);
  return { runs, tool, script };
}

async function chainOf(engine: Engine, first: Session): Promise<Session[]> {
  const chain = [first];
  for (let at = first; ;) {
    let next: string | null = null;
    for await (const { body } of at.events({ types: ["session.continued"], limit: 1 }))
      next = (body as { readonly to: string }).to;
    if (next === null) return chain;
    at = await engine.session(next);
    chain.push(at);
  }
}

const opened = async (engine: Engine, zones: Zones): Promise<Session> => {
  const grant = [{ tool: "report", rule: "allow" }] as const;
  await engine.addAgent({ name: "watched", instructions: "Work.", zones });
  return engine.open({ objective: "Fetch reports", agent: "watched", bind: [bound], grant });
};

const zones: Zones = { strained: { tokens: 10_000, actions: ["tell-person", "rollover", "suspend"] } };

test("a long run rolls over between its steps, again and again, and its stream follows", async () => {
  const { runs, tool, script } = counting(14);
  await using engine = engineWith(script, { tools: [tool] });
  const first = await opened(engine, zones);
  await first.label({ team: "finance" });
  const seen: string[] = [];
  const run = first.ask("Fetch fourteen reports");
  for await (const update of run)
    if ("session" in update) seen.push(`${update.session} ${update.type}`);
    else if (update.delta.type === "text") seen.push(`delta ${update.delta.text}`);
  const ran = await run.result;
  const chain = await chainOf(engine, first);
  assert.ok(chain.length >= 3, `${chain.length} sessions`);
  assert.deepEqual(runs, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
  assert.deepEqual([ran.session, ran.status], [chain.at(-1)?.id, "open"]);
  assert.ok(seen.includes("delta Done."), "the last answer streams to the caller");
  for (const [place, session] of chain.entries()) {
    const isLast = place === chain.length - 1;
    const { standing } = await session.fold();
    assert.deepEqual([standing.status, standing.turn], [isLast ? "open" : "closed", null]);
    assert.ok(standing.used.steps >= (isLast ? 1 : limit.rolloverStepsMin));
    assert.equal(standing.labels.get("team"), "finance");
    assert.ok(seen.includes(`${session.id} session.opened`) || place === 0);
    const acted: string[] = [];
    for await (const { type, body, cause, content } of session.events()) {
      if (type !== "zone.acted") continue;
      acted.push((body as { action: string }).action);
      assert.ok(cause !== null, "it names its crossing");
      assert.match(JSON.stringify(content), /it has 1\d,\d{3} tokens/);
    }
    if (!isLast) assert.deepEqual(acted, ["tell-person", "rollover"]);
    await assertRebuilt(session);
  }
  const report = await engine.verify();
  assert.equal(report.ok, true);
  assert.ok(zoneReasons({ by: ["tokens"], tokens: 1 }).length === 1);
});

test("the append of the rollover has the decision, the handoff, both ends and the lease", async () => {
  const { tool, script } = counting(7);
  await using engine = engineWith(script, { tools: [tool] });
  const first = await opened(engine, zones);
  await first.ask("Fetch seven reports").result;
  const types: string[] = [];
  for await (const { type } of first.events()) types.push(type);
  assert.deepEqual(types.slice(types.lastIndexOf("zone.acted")), [
    "zone.acted",
    "handoff.written",
    "turn.ended",
    "session.closed",
    "session.continued",
    "lease.released",
  ]);
  const [, second] = await chainOf(engine, first);
  const texts: string[] = [];
  for await (const { content } of (second as Session).events({ types: ["input.received"] }))
    texts.push((content as { blocks: { text: string }[] }).blocks[0]?.text ?? "");
  assert.match(
    texts[0] ?? "",
    /ended in the middle of a turn \(the context is strained: it has 1\d,\d{3} tok/,
  );
});

test("a worker goes on in the successor, for the person who opened the first", async () => {
  const { runs, tool, script } = counting(9);
  await using engine = engineWith(script, { tools: [tool] });
  const alice = "user:prn_01jd0000000000000000000000";
  await opened(engine, zones);
  const hers = engine.as(alice);
  const grant = [{ tool: "report", rule: "allow" }] as const;
  const first = await hers.open({ objective: "Fetch", agent: "watched", bind: [bound], grant });
  await first.input("Fetch nine reports");
  const worker = await engine.work({ concurrency: 1 });
  const { now, sleep } = realWorld();
  for (const end = now() + 30_000; runs.length < 9 && now() < end;) await sleep(5);
  for (const end = now() + 30_000; now() < end; await sleep(5)) {
    const { standing } = await ((await chainOf(engine, first)).at(-1) as Session).fold();
    if (standing.turn === null && !standing.lease.held && standing.inbox.waiting.length === 0) break;
  }
  await worker.stop();
  const chain = await chainOf(engine, first);
  assert.ok(chain.length >= 2);
  assert.deepEqual(runs, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  for (const session of chain)
    for await (const { actor } of session.events({ types: ["session.opened"] })) assert.equal(actor, alice);
  // What was done is said by who did it.
  for await (const { actor } of first.events({ types: ["session.closed"] })) assert.notEqual(actor, alice);
  assert.equal((await engine.verify()).ok, true);
});

test("an answered turn ends first: its session waits, and the next input begins the successor", async () => {
  const script = small(() => "Answered.", 100_000);
  await using engine = engineWith(script);
  const policy: Zones = { strained: { turns: limit.rolloverStepsMin, actions: ["rollover"] } };
  await engine.addAgent({ name: "watched", instructions: "Work.", zones: policy });
  const first = await engine.open({ objective: "Talk", agent: "watched" });
  for (let turn = 1; turn <= limit.rolloverStepsMin; turn++) await first.ask(`Turn ${turn}`).result;
  const { status, next, zone } = (await first.fold()).standing;
  assert.deepEqual([status, next, zone], ["open", null, "strained"]);
  const ran = await first.ask("And now this").result;
  const [, second, ...more] = await chainOf(engine, first);
  assert.deepEqual([ran.session, more], [second?.id, []]);
  const texts: string[] = [];
  for await (const { content } of (second as Session).events({ types: ["input.received"] }))
    texts.push((content as { blocks: { text: string }[] }).blocks[0]?.text ?? "");
  assert.deepEqual(texts, ["And now this"]);
  assert.equal((await first.fold()).standing.lastTurn, limit.rolloverStepsMin, "no turn for it in the first");
});

test("a context that begins in the zone makes steps before it rolls over", async () => {
  const { runs, tool, script } = counting(12, 40);
  await using engine = engineWith(script, { tools: [tool] });
  const first = await opened(engine, { strained: { tokens: 1, actions: ["rollover"] } });
  await first.ask("Fetch twelve reports").result;
  const chain = await chainOf(engine, first);
  assert.equal(runs.length, 12);
  assert.ok(chain.length <= 1 + Math.ceil(13 / limit.rolloverStepsMin), `${chain.length} sessions`);
});

test("what refuses the rollover is recorded once, and the run goes on", async () => {
  const { runs, tool, script } = counting(9);
  await using engine = engineWith(script, { tools: [tool] });
  const first = await opened(engine, { strained: { tokens: 10_000, actions: ["rollover"] } });
  await first.erase({ ranges: [[1, 1]] });
  await first.ask("Fetch nine reports").result;
  assert.equal(runs.length, 9);
  const acted: string[] = [];
  for await (const { body, content } of first.events({ types: ["zone.acted"] }))
    acted.push(`${JSON.stringify(body)} ${JSON.stringify(content)}`);
  assert.equal(acted.length, 1);
  assert.match(acted[0] ?? "", /"outcome":"refused".*the objective was erased/);
  assert.equal((await first.fold()).standing.status, "open");
});

test("with more waiting than goes over, it waits until the queue is shorter", async () => {
  const { tool, script } = counting(6);
  await using engine = engineWith(script, { tools: [tool] });
  const first = await opened(engine, { strained: { tokens: 10_000, actions: ["rollover"] } });
  for (let count = 0; count <= limit.successionInputsMax; count++) await first.input(`Wait ${count}`);
  const signal = AbortSignal.timeout(20_000);
  await first.run({ signal });
  assert.equal(signal.aborted, false, "the loop ends");
});
