/** Where what looks like a secret ends: how long a value is, how far a key may be from its id. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeRedactor } from "../../src/core/secret/redactor.ts";

const redactor = makeRedactor();
const isTaken = (field: string, text: string): boolean =>
  redactor.json({ [field]: text })[field] === "[redacted: password]";

test("a field's value is taken for a secret from 6 to 4096 characters without a space", () => {
  for (const [text, expected] of [
    ["horse", false],
    ["horses", true],
    ["h".repeat(4_096), true],
    ["h".repeat(4_097), false],
    ["two horses", false],
    ["changeme", false],
  ] as const)
    assert.equal(isTaken("password", text), expected, text.slice(0, 20));
});

test("the name of a field says that it is secret up to 64 characters, by its last words", () => {
  const name = (length: number): string => `${"x".repeat(length - 9)}_password`;
  assert.deepEqual([isTaken(name(64), "correct"), isTaken(name(65), "correct")], [true, false]);
  for (const field of ["dbPassword", "DB_PASSWORD", "db-password", "password"])
    assert.ok(isTaken(field, "correct"), field);
  for (const field of ["passwords", "password_hint", "dbpassword"])
    assert.ok(!isTaken(field, "correct"), field);
});

test("an AWS key is removed with its id when it ends within 160 characters behind it", () => {
  const id = "AKIAIOSFODNN7ABCDEFG";
  const key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYABCDEFGHIJ";
  const apart = (spaces: number): string => redactor.text(`${id}${" ".repeat(spaces)}${key}`);
  assert.equal(apart(120), "[redacted: aws-key]");
  assert.equal(apart(121), `[redacted: aws-key]${" ".repeat(121)}${key}`);
  assert.equal(redactor.text(`${id} ${"a".repeat(40)}`), `[redacted: aws-key] ${"a".repeat(40)}`);
});
