/** Redaction of source texts: JSON stays JSON, equals the redacted value, and each range holds the secret. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeRedactor } from "../../src/core/secret/redactor.ts";
import { redactSource } from "../../src/core/secret/source-redaction.ts";

const token = `ghp_${"a1B2c3D4e5".repeat(4)}`;
const redactor = makeRedactor();
redactor.register("DB_PASSWORD", 'corr"ect horse \\ ünï');

const values: readonly unknown[] = [
  { text: `key ${token} and more` },
  { password: "hunterword", note: "password" },
  { password: { value: "wordsonly", hint: "wordsonly" } },
  { api_key: 12_345_678, count: 12_345_678 },
  { tokens: [token, "plain"], access_token: ["rule", "abc123def"] },
  { authorization: "Bearer abc123def456", headers: { Authorization: "Basic c2VjcmV0OnBhc3M=" } },
  { nested: JSON.stringify({ inner: JSON.stringify({ password: "x9y8z7w6" }) }) },
  { said: 'the password is corr"ect horse \\ ünï, yes', [token]: 1 },
  {
    url: "postgres://ann:s3cretpass@db/x",
    key: `-----BEGIN PRIVATE KEY-----\n${"QUJD".repeat(30)}\n-----END PRIVATE KEY-----`,
  },
  [[], {}, null, true, -1.5e3, "", "é\u2028\ud83d\ude00"],
  "sk-ant-api03-abcdefghijklmnop1234 and AKIAABCDEFGHIJKLMNOP",
];

test("a value is redacted by its text, and ranges cover the removed part", () => {
  for (const value of values)
    for (const json of [
      JSON.stringify(value),
      JSON.stringify(value, null, 2),
      ascii(JSON.stringify(value)),
    ]) {
      const { text, places } = redactSource(redactor, json);
      assert.deepEqual(JSON.parse(text), redactor.json(value), json);
      assert.deepEqual(redactSource(redactor, text), { text, places: [] });
      let end = 0;
      for (const place of places) {
        assert.ok(place.start >= end && place.end > place.start && place.end <= json.length);
        ({ end } = place);
      }
    }
});

test("a range in escaped text names exactly the escaped secret", () => {
  const json = `{"a":"\\u00e9\\n${token}\\n","b":"\\"${token}\\""}`;
  const { places } = redactSource(redactor, json);
  assert.deepEqual(
    places.map(({ start, end, name }) => [json.slice(start, end), name]),
    [
      [token, "github-token"],
      [token, "github-token"],
    ],
  );
});

test("text that is not JSON is redacted as text", () => {
  const torn = `{"text":"${token}`;
  const { text, places } = redactSource(redactor, torn);
  assert.equal(text, '{"text":"[redacted: github-token]');
  assert.deepEqual([places[0]?.start, places[0]?.end], [9, torn.length]);
});

const ascii = (json: string): string =>
  json.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
