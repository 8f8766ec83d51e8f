/** What a stranger broke: it stays mended. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { openEngine } from "../../../src/index.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { OutcomeUnknown } from "../../../src/tool/port.ts";
import { engineWith, scripted, use } from "./scripted.ts";
import { kind } from "../../kind.ts";

const bind = [{ kind: "tool", name: "pay" }] as const;
const paying = (run: () => Promise<unknown>) =>
  defineTool({ name: "pay", description: "Pays.", input: z.object({}), run });

test("after a rewind into a call that had started, its outcome is unknown", async () => {
  const script = scripted([[use("pay", {})], "Paid.", "Let me look."]);
  await using engine = engineWith(script, { tools: [paying(async () => "paid")] });
  const session = await engine.open({ objective: "Pay", bind });
  let startedSeq = 0;
  for await (const { type, ...event } of session.ask("Pay")) {
    if (type === "tool.started") startedSeq = (event as { seq: number }).seq;
  }
  await session.rewind(startedSeq);
  const child = await session.fork({ atSeq: startedSeq });
  for (const one of [session, child]) {
    for await (const _ of one.ask("And?"));
    const results = script.calls
      .at(-1)!
      .parts.flatMap((part) =>
        part.part === "message" && part.role === "tool" ? part.content.map(({ status }) => status) : [],
      );
    assert.deepEqual(results, ["unknown"]);
  }
});

test("an answer is a plain yes or no", async () => {
  let runs = 0;
  const script = scripted([[use("pay", {})], "Done."]);
  await using engine = engineWith(script, { tools: [paying(async () => ++runs)] });
  const session = await engine.open({ objective: "Pay", bind, grant: [{ tool: "pay", rule: "ask" }] });
  for await (const _ of session.ask("Pay"));
  for (const wrong of [{ allow: "no" }, {}, { text: "go" }, { allow: true, calls: "pay-1" }]) {
    await assert.rejects(session.answer(wrong as never), { code: "invalid" });
  }
  await session.run();
  assert.deepEqual([(await session.state()).status, runs], ["suspended", 0]);
});

test("an unsafe tool without a known result leaves its outcome unknown", async () => {
  const script = scripted([[use("pay", {})], "Hm."]);
  const tool = paying(async () => Promise.reject(new OutcomeUnknown("the line went dead")));
  await using engine = engineWith(script, { tools: [tool] });
  const session = await engine.open({ objective: "Pay", bind });
  for await (const _ of session.ask("Pay"));
  const { status, why } = await session.state();
  assert.deepEqual([status, why?.by], ["suspended", "unknown"]);
});

test("an invalid result of a tool is an error that says that the tool ran", async () => {
  const tool = defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({}),
    output: z.object({ paid: z.boolean() }),
    run: async () => ({ paid: "perhaps" }),
  });
  const script = scripted([[use("pay", {})], "Hm."]);
  await using engine = engineWith(script, { tools: [tool] });
  const session = await engine.open({ objective: "Pay", bind });
  for await (const { type, ...event } of session.ask("Pay")) {
    if (type !== "tool.settled") continue;
    const { body, content } = event as unknown as { body: { status: string }; content: { output: string } };
    assert.equal(body.status, "error");
    assert.match(content.output, /^the tool ran, but its result does not match its output schema/);
  }
});

test("an input that cannot be processed is stored, and the caller gets an error", async () => {
  const script = scripted(["Fine."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Wait", bind: [{ kind: "tool", name: "absent" }] });
  const asking = async () => {
    for await (const _ of session.ask("Go"));
  };
  const isQueued = ({ hint = "" }: { hint?: string }): boolean => hint.includes("the input stays queued");
  await assert.rejects(asking(), isQueued);
  await session.unbind("absent");
  await session.run();
  assert.equal(script.calls.length, 1);
});

test("bad options of an engine, a compression and a drive are refused before anything happens", async () => {
  const open = (options: object) => openEngine({ store: kind().place(), env: {}, ...options });
  for (const wrong of [{ leaseMs: "x" }, { leaseMs: 1 }, { tools: [{ name: "x" }] }, { tools: "x" }]) {
    await assert.rejects(open(wrong), { code: "invalid" }, JSON.stringify(wrong));
  }
  for (const models of ["x", { modell: "a/b" }, { providers: { x: { ulr: "y" } } }]) {
    await using engine = await open({ models });
    const session = await engine.open({ objective: "Try" });
    const asking = async () => {
      for await (const _ of session.ask("Go"));
    };
    await assert.rejects(asking(), { code: "invalid" }, JSON.stringify(models));
    assert.equal((await session.state()).inbox.count, 0);
  }
  await using engine = engineWith(scripted(["Fine."]));
  const session = await engine.open({ objective: "Try" });
  await assert.rejects(session.compress({ strategy: "foo" as never }), { code: "invalid" });
  await session.input("Go");
  await using drive = await session.drive();
  await drive.begin();
  await drive.request({ model: "test/x" });
  await assert.rejects(drive.respond({} as never), { code: "invalid" });
  const [call] = await drive.respond({
    finish: "tool-calls",
    usage: { inputTokens: 1, outputTokens: 1 },
    costNanoUsd: 0,
    blocks: [{ type: "tool-call", call: "a", tool: "pay", input: {} }],
  });
  await assert.rejects(drive.settle(call!.call, { status: "ok" }), /was not started/);
});

test("a cleared session continues under the same agent, with the same instructions", async () => {
  const script = scripted(["Fine."]);
  await using engine = engineWith(script);
  await engine.addAgent({ name: "clerk", instructions: "You are a careful clerk." });
  const first = await engine.open({
    objective: "Count",
    agent: "clerk",
    instructions: "In pounds.",
    constraints: ["never twice"],
  });
  await engine.addAgent({ name: "clerk", instructions: "You are another clerk." });
  const next = await first.clear();
  assert.deepEqual((await next.state()).agent, { name: "clerk", version: 1 });
  for await (const _ of next.ask("Go"));
  const told = JSON.stringify(script.calls.at(-1)!.parts);
  for (const text of ["a careful clerk", "In pounds.", "never twice"]) assert.ok(told.includes(text), text);
});
