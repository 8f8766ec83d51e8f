/**
 * JSON that may be stored: what goes through comes back the same, what would not is refused with its place.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkJson, checkText } from "../../src/core/text/json.ts";
import { limit } from "../../src/core/limit.ts";

const nested = (depth: number): unknown =>
  depth === 0 ? 1 : depth % 2 === 0 ? [nested(depth - 1)] : { a: nested(depth - 1) };

const refused = (value: unknown, message: RegExp): void =>
  assert.throws(
    () => checkJson("it", value),
    (error: { code?: string; message?: string; hint?: string }) => {
      assert.equal(error.code, "invalid");
      assert.match(error.message ?? "", message);
      assert.ok((error.hint ?? "") !== "");
      return true;
    },
  );

test("nesting is allowed to the limit and not beyond", () => {
  checkJson("it", nested(limit.jsonDepthMax));
  refused(nested(limit.jsonDepthMax + 1), /nested deeper than 64 levels/);
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  refused(circle, /nested deeper/);
});

test("values that JSON cannot hold are refused, with their path", () => {
  refused(Number.NaN, /^it: expected JSON, got NaN/);
  refused({ a: [1, Infinity] }, /^it\.a\[1\]: expected JSON, got Infinity/);
  refused([undefined], /^it\[0\]: expected JSON, got undefined/);
  // oxlint-disable-next-line no-sparse-arrays -- a hole is what is tested
  refused([1, , 2], /^it\[1\]: expected JSON, got undefined/);
  refused({ a: { b: 1n } }, /^it\.a\.b: expected JSON, got bigint/);
  refused({ a: () => 1 }, /^it\.a: expected JSON, got function/);
  refused(Symbol("s"), /^it: expected JSON, got symbol/);
  for (const object of [new Date(), new Map(), new Set(), Buffer.from("x"), new Error("e")]) {
    refused({ a: object }, /^it\.a: expected a plain object/);
  }
});

test("half a surrogate pair and NUL are refused in values and in keys", () => {
  for (const half of ["\ud83d", "a\ude00b", "\ude00\ud83d"]) {
    refused(half, /lone surrogate/);
    refused({ a: [half] }, /^it\.a\[0\]: invalid Unicode/);
    refused({ [half]: 1 }, /^a key of it: invalid Unicode/);
  }
  refused("a\0b", /contains a NUL/);
  refused({ "\0": 1 }, /^a key of it: contains a NUL/);
  checkText("it", "\u0001 \u{1F600} \uFFFD \uFFFF");
});

test("values that would change in JSON are refused", () => {
  refused({ a: JSON.parse('{"__proto__":1}') as unknown }, /^it\.a: the key "__proto__" is not allowed/);
  refused({ a: { toJSON: () => 1 } }, /^it\.a: has a toJSON method/);
  checkJson("it", Object.assign(Object.create(null) as object, { constructor: 1 }));
});

test("fields that are undefined are left out, as JSON does", () => {
  checkJson("it", { a: undefined, b: 1 });
});

test("a long place is shortened", () => {
  const deep = { ["k".repeat(300)]: new Date() };
  assert.throws(
    () => checkJson("it", deep),
    (error: Error) => error.message.length < 200,
  );
});

const text = fc.string({ unit: "binary", maxLength: 8 });
/** Small values of every kind. Minus zero is left out: JSON has but one zero. */
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    text,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(text, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

test("whatever passes comes back from its text as it went in", () => {
  let passed = 0;
  fc.assert(
    fc.property(value, (given) => {
      try {
        checkJson("it", given);
      } catch (error) {
        // Only for what the generator may make and a store may not hold.
        assert.match(String(error), /NUL|surrogate|"__proto__"|toJSON/);
        return;
      }
      passed++;
      const bytes = Buffer.from(JSON.stringify(given));
      assert.deepEqual(JSON.parse(bytes.toString("utf8")), given);
    }),
    { numRuns: 500 },
  );
  assert.ok(passed > 250, `${passed} passed`);
});
