/** What one ask costs: the reads and appends that it makes, and what a run of it gives. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OuterTool } from "../../../src/tool/port.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";
import { all, workspace } from "../place.ts";
import { engineWith, scripted, say, use } from "./scripted.ts";
import { countCalls, type StoreCall } from "./store-calls.ts";

const world = realWorld();
const appendsIn = (calls: readonly StoreCall[]) =>
  calls.flatMap(({ name, types }) => (name === "append" ? [types.join(" ")] : []));
const ofReader = ({ stack }: StoreCall): boolean => stack.some((one) => one.includes("event-reader"));

test("an ask of one step makes 4 appends, with two heads read between input and turn", async () => {
  const calls: StoreCall[] = [];
  const store = countCalls(kind().store({ world, workspace }), calls);
  await using engine = engineWith(scripted(["Hello."]), { store, world });
  await engine.addAgent({ name: "helper", instructions: "Help." });
  const session = await engine.open({ objective: "be asked", agent: "helper" });
  // The first names the model and the tools.
  await session.ask("one").result;
  calls.length = 0;
  await all(session.ask("two"));
  assert.deepEqual(appendsIn(calls), [
    "input.received",
    "lease.taken turn.started",
    "model.requested",
    "model.responded turn.ended lease.released",
  ]);
  const own = calls.filter((call) => !ofReader(call));
  const count = (name: string, from: readonly StoreCall[]) => from.filter((one) => one.name === name).length;
  const placeOf = (type: string) => own.findIndex(({ types }) => types.includes(type));
  const between = own.slice(placeOf("input.received"), placeOf("turn.started"));
  assert.equal(count("head", between), 2, "for the lease, and for what is new in memory");
  // One of the reads is of the plan; it is cached from then on.
  assert.deepEqual([count("head", own), count("read", own)], [5, 5]);
  assert.ok(count("head", calls) <= 10, `${count("head", calls)} heads with those of the reader`);
  const agents = own.filter(({ stack }) => stack.some((one) => one.startsWith("agentOf")));
  assert.equal(agents.length, 1, "the agent is resolved once");
});

test("a session with bindings opens and closes its tools under the lease", async () => {
  const calls: StoreCall[] = [];
  const store = countCalls(kind().store({ world, workspace }), calls);
  const tool: OuterTool = {
    name: "look",
    description: "looks",
    effect: "read",
    timeoutMs: 1_000,
    input: { type: "object" },
    check: async (input) => ({ ok: true, value: input }),
    run: async () => ({ output: "seen" }),
  };
  await using engine = engineWith(scripted([[use("look", {})], [say("Done.")]]), {
    store,
    world,
    tools: [tool],
  });
  const session = await engine.open({ objective: "look", bind: [{ kind: "tool", name: "look" }] });
  await session.grant({ tool: "look", rule: "allow" });
  calls.length = 0;
  await session.ask("look").result;
  const appends = appendsIn(calls);
  assert.equal(appends[1], "lease.taken");
  assert.deepEqual(appends.slice(-2), ["model.responded turn.ended", "lease.released"]);
});

test("a run starts without being iterated, and gives the position of its input and its result", async () => {
  await using engine = engineWith(scripted(["Hello."]));
  const session = await engine.open({ objective: "be asked" });
  const run = session.ask("one");
  const { seq } = await run.started;
  const ran = await run.result;
  assert.equal(ran.status, "open");
  const events = await all(session.events({ fromSeq: seq }));
  assert.equal(events[0]?.type, "input.received");
  assert.equal(events.at(-1)?.type, "lease.released");
});

test("a run that is iterated late yields the same events, without the deltas", async () => {
  await using engine = engineWith(scripted(["Hello."]));
  const session = await engine.open({ objective: "be asked" });
  const run = session.ask("one");
  const { seq } = await run.started;
  await run.result;
  const events = await all(session.events({ fromSeq: seq }));
  const updates = await all(run);
  assert.deepEqual(
    updates.map(({ type }) => type),
    events.map(({ type }) => type),
  );
});

test("a refused run rejects wherever it is awaited; an unread one raises no rejection", async () => {
  await using engine = engineWith(scripted(["Hello."]));
  const session = await engine.open({ objective: "be asked" });
  await session.close();
  session.ask("unread");
  const run = session.ask("one");
  await assert.rejects(run.next(), { code: "refused" });
  await assert.rejects(run.started, { code: "refused" });
  await assert.rejects(run.result, { code: "refused" });
});
