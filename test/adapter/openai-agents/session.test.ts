/** `SkeinSession`: the same as the SDK's own memory session, and what a memory session cannot do. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import {
  Agent,
  MemorySession,
  Runner,
  setTracingDisabled,
  tool,
  Usage,
  type AgentInputItem,
  type Model,
  type ModelResponse,
} from "@openai/agents";
import fc from "fast-check";
import { z } from "zod";
import { SkeinSession } from "../../../src/adapter/openai-agents/openai-agents.ts";
import { openEngine, type Engine } from "../../../src/index.ts";

const inMemory = (): Promise<Engine> => openEngine({ store: "memory:" });

function makePath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-openai-agents-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "skein.db");
}

const user = (content: string): AgentInputItem => ({ type: "message", role: "user", content });
const call = (callId: string, args: string): Extract<AgentInputItem, { type: "function_call" }> => ({
  type: "function_call",
  callId,
  name: "add",
  status: "completed",
  arguments: args,
});

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.constantFrom(
    "\0",
    "\uDC00",
    "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
    "<script>",
    "x".repeat(9_999),
  ),
);
const anyItem: fc.Arbitrary<AgentInputItem> = fc.oneof(
  anyText.map(user),
  fc.tuple(fc.constantFrom("c1", "c2"), anyText).map(([id, args]) => call(id, args)),
  fc.tuple(anyText, fc.uint8Array({ maxLength: 5 })).map(([text, data]): AgentInputItem => ({
    type: "function_call_result",
    callId: "c1",
    name: "add",
    status: "completed",
    output: { type: "image", image: { data: new Uint8Array(data), mediaType: text } },
    providerData: { $bytes: "AA==", $object: { $bytes: text }, password: text },
  })),
);
const items = fc.array(anyItem, { maxLength: 4 });
const operation = fc.constantFrom("o1", "o2", "o3", " ");

type Step =
  | readonly ["add" | "compare", AgentInputItem[]]
  | readonly ["pop" | "clear" | "reopen"]
  | readonly ["get", number]
  | readonly ["mutate", string, string]
  | readonly ["append", string, AgentInputItem[]]
  | readonly ["suffix", string, number, boolean, AgentInputItem[]];

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(fc.constant("add" as const), items),
  fc.constantFrom<Step>(["pop"], ["pop"], ["clear"], ["reopen"]),
  fc.tuple(fc.constant("get" as const), fc.integer({ min: -2, max: 9 })),
  fc.tuple(fc.constant("mutate" as const), fc.constantFrom("c1", "c2", "c3"), anyText),
  fc.tuple(fc.constant("append" as const), operation, items),
  fc.tuple(fc.constant("suffix" as const), operation, fc.nat({ max: 3 }), fc.boolean(), items),
);

/** The result of a call, or that it failed. */
async function resultOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    (value) => ({ value }),
    () => "failed",
  );
}

async function take(
  session: MemorySession | SkeinSession,
  step: Step,
  now: AgentInputItem[],
): Promise<unknown> {
  if (step[0] === "add") return session.addItems(step[1]);
  if (step[0] === "pop") return session.popItem();
  if (step[0] === "clear") return session.clearSession();
  if (step[0] === "get") return session.getItems(step[1]);
  if (step[0] === "mutate") {
    const [, callId, args] = step;
    const replacement = call(callId, args);
    return session.applyHistoryMutations({
      mutations: [{ type: "replace_function_call", callId, replacement }],
    });
  }
  if (step[0] === "append") {
    const [, operationId, added] = step;
    return session.applyHistoryTransaction({
      operationId,
      transaction: { type: "append_items", items: added },
    });
  }
  if (step[0] !== "suffix") return undefined;
  const [, operationId, count, isRight, replacement] = step;
  const suffix = now.slice(Math.max(now.length - count, 0));
  const expectedSuffix = isRight ? suffix : [...suffix, user("not there")];
  return session.applyHistoryTransaction({
    operationId,
    transaction: { type: "replace_suffix", expectedSuffix, replacement },
  });
}

test("random operations return the same as the SDK's memory session", async () => {
  await using engine = await inMemory();
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 14 }), async (steps) => {
      const sessionId = `round ${round++}`;
      const memory = new MemorySession({ sessionId });
      let own = new SkeinSession(engine, { sessionId });
      for (const step of steps) {
        if (step[0] === "reopen") own = new SkeinSession(engine, { sessionId });
        const now = await memory.getItems();
        const results = [];
        for (const session of [memory, own]) results.push(await resultOf(take(session, step, now)));
        assert.deepEqual(results[1], results[0], JSON.stringify(step));
        assert.deepEqual(await own.getItems(), await memory.getItems(), JSON.stringify(step));
      }
      assert.deepEqual(await new SkeinSession(engine, { sessionId }).getItems(), await memory.getItems());
    }),
    { numRuns: 60 },
  );
});

test("items are copies, huge ones and thousands at once come back equal, no JSON is refused", async () => {
  await using engine = await inMemory();
  const session = new SkeinSession(engine, { sessionId: "a" });
  const first = { type: "message" as const, role: "user" as const, content: "a" };
  await session.addItems([first]);
  first.content = "changed";
  const [read] = await session.getItems();
  if (read?.type === "message") read.role = "assistant";
  assert.deepEqual(await session.getItems(), [user("a")]);
  const many = Array.from({ length: 2_500 }, (_, n) => user(String(n)));
  await session.addItems(many);
  await session.addItems([user("é\0".repeat(700_000))]);
  assert.equal((await session.getItems()).length, 2_502);
  assert.deepEqual(await session.popItem(), user("é\0".repeat(700_000)));
  assert.deepEqual(await session.popItem(), many.at(-1));
  assert.deepEqual(await session.getItems(3), many.slice(-4, -1));
  await assert.rejects(session.addItems([{ ...user("b"), providerData: { at: new Date(0) } }]), {
    code: "invalid",
  });
  assert.equal((await session.getItems()).length, 2_500);
});

test("two engines on one session: no item is lost, popped twice or half seen", async (t) => {
  const store = makePath(t);
  await using one = await openEngine({ store });
  await using other = await openEngine({ store });
  const sessions = [one, other].map((engine) => new SkeinSession(engine, { sessionId: "same" }));
  await Promise.all(
    sessions.flatMap((session, who) =>
      Array.from({ length: 6 }, (_, n) => session.addItems([user(`${who} ${n} a`), user(`${who} ${n} b`)])),
    ),
  );
  const [all = [], same] = await Promise.all(sessions.map((session) => session.getItems()));
  assert.deepEqual(all, same);
  assert.equal(all.length, 24);
  for (const [place, item] of all.entries()) {
    const next = all[place + 1];
    if (JSON.stringify(item).includes(' a"'))
      assert.equal(JSON.stringify(next), JSON.stringify(item).replace(' a"', ' b"'));
  }
  const pops = sessions.flatMap((session) => Array.from({ length: 5 }, () => session.popItem()));
  const popped = (await Promise.all(pops)).map((item) => JSON.stringify(item));
  assert.equal(new Set(popped).size, 10);
  assert.deepEqual(await sessions[0]?.getItems(), all.slice(0, 14));
  const transaction = { type: "append_items" as const, items: [user("once")] };
  await Promise.all(
    sessions.map((session) => session.applyHistoryTransaction({ operationId: "o", transaction })),
  );
  assert.deepEqual(await sessions[1]?.getItems(), [...all.slice(0, 14), user("once")]);
});

test("clearing erases the contents, erased items are left out, a deleted session begins anew", async () => {
  await using engine = await inMemory();
  const session = new SkeinSession(engine, { sessionId: "a" });
  await session.addItems([user("a private matter")]);
  await session.popItem();
  await session.addItems([user("another private matter")]);
  await session.clearSession();
  await session.clearSession();
  const [row] = (await engine.sessions({ labels: { adapter: "openai" } })).rows;
  const log = await engine.session(row?.session ?? "");
  const text = JSON.stringify(await Array.fromAsync(log.events()));
  assert.ok(!text.includes("private"), text);
  await session.addItems([user("1"), user("2"), user("3")]);
  const records = await Array.fromAsync(log.events({ types: ["x.openai.items"] }), ({ seq }) => seq);
  const second = records.at(-2) ?? 0;
  await log.erase({ ranges: [[second, second]] });
  const again = new SkeinSession(engine, { sessionId: "a" });
  assert.deepEqual(await again.getItems(), [user("1"), user("3")]);
  assert.deepEqual(await again.popItem(), user("3"));
  assert.deepEqual(await again.popItem(), user("1"));
  assert.equal(await again.popItem(), undefined);
  await engine.delete(log.id, { reason: "gone" });
  assert.deepEqual(await session.getItems(), []);
  await session.addItems([user("new")]);
  assert.deepEqual(await again.getItems(), [user("new")]);
});

test("a registered secret is refused; with redact it is redacted", async () => {
  await using engine = await openEngine({ store: "memory:", secrets: { DB: "correct-horse-battery" } });
  const session = new SkeinSession(engine, { sessionId: "a" });
  await assert.rejects(session.addItems([user("it is correct-horse-battery")]), { code: "invalid" });
  assert.deepEqual(await session.getItems(), []);
  const redacted = new SkeinSession(engine, { sessionId: "b", redact: true });
  await redacted.addItems([user("it is correct-horse-battery")]);
  assert.ok(!JSON.stringify(await redacted.getItems()).includes("correct-horse"));
});

/** A model that answers what it is told to. */
function scriptedModel(outputs: readonly ModelResponse["output"][]): Model & { readonly inputs: unknown[] } {
  const inputs: unknown[] = [];
  return {
    inputs,
    async getResponse({ input }) {
      inputs.push(structuredClone(input));
      const output = outputs[inputs.length - 1];
      if (output === undefined) throw new Error("the script is over");
      return { usage: new Usage(), output };
    },
    // oxlint-disable-next-line require-yield
    async *getStreamedResponse() {
      throw new Error("not streamed here");
    },
  };
}

const says = (text: string): ModelResponse["output"] => [
  { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] },
];

test("an agent with a tool that needs approval runs on it, as on the memory session", async () => {
  setTracingDisabled(true);
  await using engine = await inMemory();
  const script = [[call("c1", '{"a":1}')], says("It is 2."), says("You asked for 1 + 1.")];
  const add = tool({
    name: "add",
    description: "Adds one.",
    parameters: z.object({ a: z.number() }),
    needsApproval: true,
    execute: ({ a }) => String(a + 1),
  });
  const ran = [];
  for (const session of [new MemorySession(), new SkeinSession(engine, { sessionId: "a" })]) {
    const model = scriptedModel(script);
    const agent = new Agent({ name: "Adder", tools: [add], model });
    const runner = new Runner({ tracingDisabled: true });
    const asked = await runner.run(agent, "What is 1 + 1?", { session });
    for (const interruption of asked.interruptions) asked.state.approve(interruption);
    const first = await runner.run(agent, asked.state, { session });
    const second = await runner.run(agent, "What did I ask?", { session });
    ran.push([first.finalOutput, second.finalOutput, await session.getItems(), model.inputs]);
  }
  assert.deepEqual(ran[1], ran[0]);
  assert.equal(ran[1]?.[0], "It is 2.");
});
