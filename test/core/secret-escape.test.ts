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

test("a letter that is not escaped is part of the word, which is no token then", () => {
  const redactor = makeRedactor();
  for (const before of ["t", "n", "x", "_"]) {
    const text = `see abc${before}${token}`;
    assert.equal(redactor.text(text), text);
  }
});
