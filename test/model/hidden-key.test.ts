/** Keys in what providers say: whole, cut, and those of others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hideKeys } from "../../src/model/hidden-key.ts";

test("a key is hidden anywhere, also where a text was cut within it", () => {
  const keys = ["sk-one-secret", "sk-one-secret-longer", "short"];
  assert.equal(hideKeys("no sk-one-secret-longer, no sk-one-secret", keys), "no [key], no [key]");
  assert.equal(hideKeys("what came back: sk-one-sec…", keys), "what came back: [key]…");
  assert.equal(hideKeys("a short word stays", keys), "a short word stays");
});

test("values whose names say they are keys are hidden, of any provider", () => {
  const cases = [
    ["Authorization: Bearer abc.def-123", "Authorization: Bearer [key]"],
    ['{"x-api-key":"abcdef12"}', '{"x-api-key":"[key]"}'],
    ["GET /v1?key=AIza_12345&alt=sse", "GET /v1?key=[key]&alt=sse"],
    ["api_key=abcdef12 is wrong", "api_key=[key] is wrong"],
    ["the API key is missing", "the API key is missing"],
  ] as const;
  for (const [text, told] of cases) assert.equal(hideKeys(text, []), told);
});

test("no text around a key keeps it from being hidden", () => {
  const key = fc.stringMatching(/^[A-Za-z0-9_-]{8,40}$/);
  fc.assert(
    fc.property(fc.string(), key, fc.string(), (before, secret, after) => {
      assert.ok(!hideKeys(`${before}${secret}${after}`, [secret]).includes(secret));
    }),
  );
});
