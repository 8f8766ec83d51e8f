/** Tools as people define them: schemas, names, effects, probes, and what is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { z } from "zod";
import { defineTool, type ProbeAnswer } from "../../src/tool/define.ts";
import { ToolOutput } from "../../src/tool/port.ts";
import { failure, key } from "./calling.ts";

const input = z.object({ city: z.string().describe("Where"), days: z.int().min(1).default(3) });
const run = () => "fine";
const call = { key, session: "ses_test", seq: 1, signal: new AbortController().signal };
const complaint = (options: object): Promise<string> =>
  failure(
    Promise.try(() => defineTool({ name: "weather", description: "Says it.", input, run, ...options })),
  );

test("a tool with a zod schema shows JSON Schema, and is unsafe unless it says otherwise", async () => {
  const tool = defineTool({
    name: "weather",
    description: "Says what the weather will be.",
    input,
    run: ({ city, days }, { seq }) => `${city}, ${days}, ${seq}`,
  });
  const { check: _, run: __, ...rest } = tool;
  assert.deepEqual(rest, {
    name: "weather",
    description: "Says what the weather will be.",
    input: {
      type: "object",
      properties: {
        city: { type: "string", description: "Where" },
        days: { type: "integer", minimum: 1, default: 3 },
      },
      required: ["city"],
    },
    effect: "unsafe",
    timeoutMs: 120_000,
  });
  const checked = await tool.check({ city: "Bern" });
  assert.deepEqual(checked, { ok: true, value: { city: "Bern", days: 3 } });
  assert.equal(await tool.run(checked.ok && checked.value, call), "Bern, 3, 1");
});

test("invalid arguments are reported, with their path", async () => {
  const tool = defineTool({ name: "weather", description: "Says it.", input, run });
  assert.deepEqual(await tool.check({ city: 3, days: 0 }), {
    ok: false,
    message:
      "invalid arguments: city: Invalid input: expected string, received number; " +
      "days: Too small: expected number to be >=1",
  });
  const many = defineTool({ name: "m", description: "M.", input: z.object({ a: z.array(z.string()) }), run });
  const told = await many.check({ a: Array.from({ length: 500 }, () => 1) });
  assert.ok(!told.ok && told.message.endsWith("; and 480 more") && told.message.length < 3_000);
});

const standard = (more: object = {}): StandardSchemaV1<{ n: number }> => ({
  "~standard": {
    version: 1,
    vendor: "acme",
    validate: (value) => {
      const { n } = value as { n: unknown };
      return typeof n === "number"
        ? { value: { n } }
        : { issues: [{ message: "no number", path: [{ key: "n" }] }] };
    },
    ...more,
  },
});
const schema = { type: "object", properties: { n: { type: "number" } } };

test("any Standard Schema will do, with JSON Schema from itself or from who defines the tool", async () => {
  const own = standard({ jsonSchema: { input: () => ({ $schema: "x", ...schema }), output: () => schema } });
  for (const options of [{ input: own }, { input: standard(), inputSchema: schema }]) {
    const tool = defineTool({ name: "double", description: "D.", run: ({ n }) => n * 2, ...options });
    assert.deepEqual(tool.input, schema);
    assert.deepEqual(await tool.check({ n: "x" }), {
      ok: false,
      message: "invalid arguments: n: no number",
    });
    assert.equal(await tool.run({ n: 2 }, call), 4);
  }
  assert.equal(
    await complaint({ input: standard() }),
    'invalid: tool "weather": input: acme schemas have no JSON Schema export',
  );
});

test("an invalid tool is refused when it is defined", async () => {
  const cases: readonly [object, RegExp][] = [
    [{ name: "get weather" }, /invalid tool name/],
    [{ name: "a".repeat(65) }, /invalid tool name/],
    [{ name: "a.b" }, /invalid tool name/],
    [{ name: undefined }, /invalid tool name/],
    [{ description: " " }, /description: missing/],
    [{ input: { type: "object" } }, /input: expected a schema/],
    [{ input: z.string() }, /input: expected an object schema/],
    [{ input: z.object({ when: z.date() }) }, /cannot be converted to JSON Schema/],
    [{ effect: "session" }, /effect: expected .* got "session"/],
    [{ timeoutMs: 0 }, /timeoutMs: expected a positive integer, got 0/],
    [{ timeoutMs: 86_400_001 }, /timeoutMs: expected/],
    [{ run: "x" }, /expected functions/],
    [{ timeout: 3 }, /unknown option "timeout"/],
  ];
  for (const [options, says] of cases) assert.match(await complaint(options), says);
  assert.equal(defineTool({ name: "a".repeat(64), description: "D.", input, run }).name.length, 64);
});

test("a probe's answer is used, and a failed or invalid one counts as unknown", async () => {
  const answers: readonly [unknown, object][] = [
    ["done", { outcome: "done" }],
    [{ done: { id: 3 } }, { outcome: "done", output: { id: 3 } }],
    ["not done", { outcome: "not-done" }],
    ["unknown", { outcome: "unknown" }],
    ["maybe", { outcome: "unknown" }],
    [undefined, { outcome: "unknown" }],
    [new Error("gone"), { outcome: "unknown" }],
  ];
  for (const [answer, expected] of answers) {
    const probe = () => {
      if (answer instanceof Error) throw answer;
      return answer as ProbeAnswer;
    };
    const tool = defineTool({ name: "pay", description: "Pays.", input, run, probe });
    assert.deepEqual(await tool.probe?.(key, { input: {}, signal: call.signal }), expected);
  }
});

test("what a tool throws, and the great deal that one gives back, reach the caller as they are", async () => {
  const thrower = defineTool({
    name: "t",
    description: "T.",
    input,
    run: () => {
      throw new Error("no such city");
    },
  });
  assert.equal(await failure(thrower.run({}, call)), "error: no such city");
  const large = defineTool({
    name: "l",
    description: "L.",
    input,
    run: () => new ToolOutput("x".repeat(1e8)),
  });
  assert.equal(((await large.run({}, call)) as ToolOutput).text.length, 1e8);
  const checker = standard({
    validate: () => {
      throw new Error("broken schema");
    },
  });
  const broken = defineTool({ name: "b", description: "B.", input: checker, inputSchema: schema, run });
  assert.deepEqual(await broken.check({}), {
    ok: false,
    message: "the arguments cannot be validated: broken schema",
  });
});
