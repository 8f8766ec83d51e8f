/** External calls: the session waits without a lease, and the outcome comes by the call's id, once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import type { SkeinError } from "../../../src/core/error.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { sessionToolNames } from "../../../src/core/tool/external-options.ts";
import { sessionTools } from "../../../src/tool/session.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { makeToolSource } from "../../../src/tool/source.ts";
import { madeWorld } from "../made-world.ts";
import { all, engineOn, inFile, workspace } from "../place.ts";
import { kind } from "../../kind.ts";
import { engineWith, scripted, use } from "./scripted.ts";

const order = defineTool({
  name: "order",
  description: "Orders an article.",
  input: z.strictObject({ article: z.string() }),
  timeoutMs: 60_000,
});
const bind = [{ kind: "tool", name: "order" }] as const;
const lines = [[use("order", { article: "pen" })], "Done."] as const;

async function waiting(session: Session): Promise<string> {
  const result = await session.ask("Order a pen.").result;
  assert.deepEqual([result.status, result.by], ["suspended", "tool"]);
  const [call] = (await session.state()).calls;
  assert.ok(call?.deadlineMs !== undefined);
  return call.call;
}

const settledOf = async (session: Session) =>
  (await all(session.events({ types: ["tool.settled"] }))).map(({ body, content, actor }) => ({
    ...(body as { status: string; late?: boolean; untrusted?: boolean }),
    output: (content as { output?: unknown } | undefined)?.output,
    actor,
  }));

test("a session waits for an external call without a lease, and continues with its result", async () => {
  const script = scripted(lines);
  await using engine = engineWith(script, { tools: [order] });
  const session = await engine.open({ objective: "Shop", bind });
  const call = await waiting(session);
  const state = await session.state();
  assert.equal(state.lease, null);
  assert.equal(state.why?.reason, "an external call waits for its result");
  const result = await session.settle(call, { output: { number: 7 } });
  assert.deepEqual([result.duplicate, result.late], [false, false]);
  assert.equal((await session.state()).status, "running");
  assert.equal((await session.run()).status, "open");
  assert.equal(script.calls.length, 2);
  const [settled] = await settledOf(session);
  assert.deepEqual([settled?.status, settled?.output, settled?.untrusted], ["ok", { number: 7 }, true]);
  assert.doesNotMatch(settled?.actor ?? "", /^tool:/);
});

test("the same outcome again changes nothing, and another one is refused", async () => {
  await using engine = engineWith(scripted(lines), { tools: [order] });
  const session = await engine.open({ objective: "Shop", bind });
  const call = await waiting(session);
  const first = await session.settle(call, { output: "ordered" });
  const again = await session.settle(call, { output: "ordered" });
  assert.deepEqual([again.duplicate, again.seq], [true, first.seq]);
  await assert.rejects(session.settle(call, { output: "other" }), /already has another outcome: ok/);
  await assert.rejects(session.settle("order-1-999999"), /there is no external call/);
  await session.run();
  await assert.rejects(session.settle(call, { status: "error" }), { code: "conflict" });
  assert.equal((await settledOf(session)).length, 1);
});

test("two processes settle one call at the same time, and one outcome is recorded", async () => {
  await using place = await inFile();
  const script = scripted(lines);
  const tools = async () => makeToolSource({ world: place.world, tools: [order] });
  const models = async () => script.models;
  const engine = engineOn({ store: await place.open(), world: place.world, models, tools });
  const session = await engine.open({ objective: "Shop", bind });
  const call = await waiting(session);
  const other = engineOn({ store: await place.open(), world: madeWorld("other") });
  const twin = await other.session(session.id);
  const ended = await Promise.allSettled([
    session.settle(call, { output: "left" }),
    twin.settle(call, { output: "right" }),
  ]);
  assert.equal(ended.filter(({ status }) => status === "fulfilled").length, 1);
  for (const one of ended)
    if (one.status === "rejected") assert.equal((one.reason as SkeinError).code, "conflict");
  assert.equal((await session.run()).status, "open");
  assert.equal((await settledOf(session)).length, 1);
  await engine.close();
  await other.close();
});

test("after the deadline the outcome is unknown, and a later result is stored as evidence", async () => {
  const world = madeWorld();
  const store = kind().store({ world, workspace });
  const script = scripted(lines);
  const tools = async () => makeToolSource({ world, tools: [order] });
  await using engine = engineOn({ store, world, models: async () => script.models, tools });
  const session = await engine.open({ objective: "Shop", bind });
  const call = await waiting(session);
  assert.equal((await session.run()).by, "tool");
  world.pass(60_001);
  const ran = await session.run();
  assert.deepEqual([ran.status, ran.by], ["suspended", "unknown"]);
  const late = await session.settle(call, { output: "ordered" });
  assert.deepEqual([late.late, late.duplicate], [true, false]);
  assert.equal((await session.settle(call, { output: "ordered" })).duplicate, true);
  const [unknown, evidence] = await settledOf(session);
  assert.deepEqual([unknown?.status, unknown?.untrusted], ["unknown", undefined]);
  assert.deepEqual([evidence?.status, evidence?.late, evidence?.untrusted], ["ok", true, true]);
  await session.answer({ allow: true, text: "It was ordered." });
  assert.equal((await session.run()).status, "open");
});

test("an interrupt settles an external call as unknown, a rewind and a fork as skipped", async () => {
  await using engine = engineWith(scripted([lines[0]]), { tools: [order] });
  const begin = async () => {
    const session = await engine.open({ objective: "Shop", bind });
    return { session, call: await waiting(session) };
  };
  const interrupted = await begin();
  await interrupted.session.interrupt();
  await interrupted.session.activate().catch(() => undefined);
  await interrupted.session.run();
  assert.equal((await settledOf(interrupted.session))[0]?.status, "unknown");
  assert.equal((await interrupted.session.settle(interrupted.call, { output: "x" })).late, true);

  const cancelled = await begin();
  await cancelled.session.cancel();
  assert.equal((await settledOf(cancelled.session))[0]?.status, "unknown");

  const rewound = await begin();
  await rewound.session.rewind(1);
  assert.deepEqual(
    (await settledOf(rewound.session)).map(({ status }) => status),
    ["skipped"],
  );
  assert.equal((await rewound.session.settle(rewound.call, { output: "x" })).late, true);

  const parent = await begin();
  const fork = await parent.session.fork();
  assert.deepEqual((await fork.state()).calls, []);
  assert.deepEqual(
    (await settledOf(fork)).map(({ status }) => status),
    ["skipped"],
  );
  assert.equal((await parent.session.settle(parent.call, { output: "x" })).late, false);
});

test("calls beside an external one run, and the session waits for the rest", async () => {
  const runs: string[] = [];
  const note = defineTool({
    name: "note",
    description: "Notes.",
    effect: "read",
    input: z.strictObject({ text: z.string() }),
    run: ({ text }) => `noted ${runs.push(text)}`,
  });
  const asked = [
    use("order", { article: "a" }, "c"),
    use("note", { text: "n" }),
    use("order", { article: "b" }, "c"),
  ];
  await using engine = engineWith(scripted([asked, "Done."]), { tools: [order, note] });
  const session = await engine.open({ objective: "Shop", bind: [...bind, { kind: "tool", name: "note" }] });
  await waiting(session);
  assert.deepEqual(runs, ["n"]);
  const open = (await session.state()).calls.map(({ call }) => call);
  assert.equal(new Set(open).size, 2);
  await session.settle(open[0] ?? "", { output: "first" });
  assert.equal((await session.state()).status, "suspended");
  await session.settle(open[1] ?? "", { status: "error", output: "sold out" });
  assert.equal((await session.run()).status, "open");
});

test("an external tool has no functions, and a rule that asks holds for it", async () => {
  const options = { name: "x", description: "x", input: z.strictObject({}) };
  assert.throws(
    () => defineTool({ ...options, probe: () => "done" }),
    /probe: not allowed in a tool without run/,
  );
  await using engine = engineWith(scripted(lines), { tools: [order] });
  const grant = [{ tool: "order", rule: "ask" }] as const;
  const session = await engine.open({ objective: "Shop", bind, grant });
  const result = await session.ask("Order a pen.").result;
  assert.equal(result.by, "approval");
  const [call] = (await session.state()).calls;
  await assert.rejects(session.settle(call?.call ?? "", { output: "x" }), /waits for approval/);
  await session.answer({ allow: true });
  assert.equal((await session.run()).by, "tool");
  await session.settle(call?.call ?? "", { output: "x" });
  assert.equal((await session.run()).status, "open");
});

test("a binding describes an external tool, and its arguments are checked", async () => {
  const input = { type: "object", properties: { article: { type: "string" } }, required: ["article"] };
  const options = { external: true, description: "Orders an article.", input };
  const script = scripted([[use("order", {})], [use("order", { article: "pen" })], "Done."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Shop", bind: [{ kind: "tool", name: "order", options }] });
  const call = await waiting(session);
  assert.match(String((await settledOf(session))[0]?.output), /invalid arguments/);
  await session.settle(call, { output: "ordered" });
  assert.equal((await session.run()).status, "open");
});

test("an outcome with its keys in another order is the same outcome", async () => {
  await using engine = engineWith(scripted(lines), { tools: [order] });
  const session = await engine.open({ objective: "Shop", bind });
  const call = await waiting(session);
  await session.settle(call, { output: { x: 1, y: { a: 1, b: 2 } } });
  assert.equal((await session.settle(call, { output: { y: { b: 2, a: 1 }, x: 1 } })).duplicate, true);
});

const external = { external: true, description: "Orders.", input: { type: "object" } };
const bindOf = (options: object, name = "order") => [{ kind: "tool", name, options }] as const;

test("a wrong description of an external tool is refused when it is bound", async () => {
  await using engine = engineWith(scripted(lines));
  const session = await engine.open({ objective: "Shop" });
  const table: [object, string | undefined, RegExp][] = [
    [{ ...external, timeoutMs: 0 }, undefined, /options: timeoutMs: expected an integer/],
    [{ ...external, timeoutMs: 91 * 86_400_000 }, undefined, /options: timeoutMs/],
    [{ ...external, input: { type: "string" } }, undefined, /options: input: expected a JSON Schema/],
    [{ ...external, input: [] }, undefined, /options: input/],
    [{ ...external, external: "yes" }, undefined, /options: external: expected true/],
    [{ external: true, input: external.input }, undefined, /options: description: missing/],
    [external, "record", /name: expected a tool name that is free/],
    [external, "a b", /name: expected a tool name/],
  ];
  for (const [options, name, message] of table) {
    await assert.rejects(session.bind(bindOf(options, name)[0]), { code: "invalid", message });
    await assert.rejects(engine.open({ objective: "Shop", bind: bindOf(options, name) }), { message });
  }
  await session.bind(bindOf(external)[0]);
  assert.deepEqual([...sessionToolNames].toSorted(), sessionTools.map(({ name }) => name).toSorted());
});

test("a pattern that takes exponential time ends the check of the arguments, not the process", async () => {
  const input = { type: "object", properties: { article: { type: "string", pattern: "^(a+)+$" } } };
  const script = scripted([[use("order", { article: `${"a".repeat(40)}!` })], "Done."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Shop", bind: bindOf({ ...external, input }) });
  const startedMs = performance.now();
  await session.ask("Order.").result;
  assert.ok(performance.now() - startedMs < 5_000);
  const [settled] = await settledOf(session);
  assert.equal(settled?.status, "error");
  assert.match(JSON.stringify(settled?.output), /took longer than 100 ms/);
});
