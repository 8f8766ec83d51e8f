/** Tokens in JSON that stands inside a text: an escaped tab or line end before one is no letter of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeRedactor } from "../../src/core/secret/redactor.ts";

const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

test("a token behind an escaped tab or line end in JSON inside a text is redacted", () => {
  const redactor = makeRedactor();
  for (const before of ["\t", "\n", "\r", "\b", "\f"]) {
    const text = `The server said ${JSON.stringify({ line: `user${before}${token}${before}end` })}.`;
    const told = redactor.text(text);
    assert.ok(!told.includes(token), `behind ${JSON.stringify(before)}: ${told}`);
    assert.match(told, /\[redacted: [\w-]+\]/);
  }
});

test("an unescaped letter is part of the word, which is then not a token", () => {
  const redactor = makeRedactor();
  for (const before of ["t", "n", "x", "_"]) {
    const text = `see abc${before}glpat-${"a1B2".repeat(6)}`;
    assert.equal(redactor.text(text), text);
  }
});

test("a token that a name joins with a hyphen or an underscore is a secret all the same", () => {
  const redactor = makeRedactor();
  const tail = "a1B2".repeat(9);
  for (const [joined, left] of [
    [`b-ghp_${tail}`, "b-"],
    [`b_ghp_${tail}`, "b_"],
    [`xghp_${tail}`, "x"],
    [`key-AKIA${"A1B2".repeat(4)}`, "key-"],
    [`my_npm_${tail}`, "my_"],
    [`x-sk_live_${tail}`, "x-"],
  ] as const) {
    const clean = redactor.text(`branch ${joined} is here`);
    assert.match(clean, new RegExp(`^branch ${left}\\[redacted: [a-z-]+\\] is here$`));
  }
});

test("however often a secret is escaped, a value and its JSON text lose the same", () => {
  const redactor = makeRedactor();
  redactor.register("DB", 'p/ss w0rd"é+x\\?');
  let text = 'p/ss w0rd"é+x\\?';
  for (let times = 0; times < 7; times++) {
    const value = { text };
    const clean = redactor.json(value);
    assert.equal(clean.text === "[redacted: DB]", times <= 3, `${times} times`);
    assert.equal(redactor.jsonText(JSON.stringify(value)), JSON.stringify(clean), `${times} times`);
    text = JSON.stringify(text).slice(1, -1);
  }
});
