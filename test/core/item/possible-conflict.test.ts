/** Possible contradictions: the same subject under another key, with another value. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { possibleConflicts, subjectOf, type StatedItem } from "../../../src/core/item/possible-conflict.ts";

const item = (key: string, value: unknown, kind = "fact", status: string | null = null): StatedItem => ({
  kind,
  key,
  status,
  value,
});

test("one subject in other words is one subject", () => {
  const same: readonly (readonly [string, string])[] = [
    ["db", "database"],
    ["paymentDb", "database for payments"],
    ["the-repo", "Repository"],
    ["auth_provider", "login vendor"],
    ["max-retries", "maximum retry".replace("retry", "retries")],
  ];
  for (const [a, b] of same) assert.equal(subjectOf(a), subjectOf(b), `${a}, ${b}`);
  for (const [a, b] of [
    ["db", "cache"],
    ["payment-db", "db"],
    ["db-version", "db"],
  ] as const)
    assert.notEqual(subjectOf(a), subjectOf(b), `${a}, ${b}`);
});

test("another value for one subject is reported, with both sides", () => {
  assert.deepEqual(
    possibleConflicts([item("note-3", "db is sqlite"), item("database", "postgres", "decision")]),
    [
      {
        subject: "database",
        items: [
          { kind: "fact", key: "note-3", value: "db is sqlite" },
          { kind: "decision", key: "database", value: "postgres" },
        ],
      },
    ],
  );
  const conflicting: readonly (readonly StatedItem[])[] = [
    [item("port", 80), item("default port", 443)],
    [item("x", "The database: SQLite."), item("y", "our db = Postgres")],
    [item("deploy", "fly.io"), item("hosting", "aws", "decision")],
  ];
  for (const items of conflicting) assert.equal(possibleConflicts(items).length, 1, JSON.stringify(items));
});

test("what agrees, is turned down, is prose, or is of another subject is not reported", () => {
  const fine: readonly (readonly StatedItem[])[] = [
    [item("db", "postgres"), item("database", "Postgres 16")],
    [item("db", "postgres"), item("database", "sqlite", "decision", "rejected")],
    [item("db", "sqlite", "task", "open"), item("database", "postgres")],
    [item("db", { engine: "sqlite" }), item("database", "postgres")],
    [item("db", "x".repeat(200)), item("database", "postgres")],
    [item("db", "sqlite"), item("cache", "redis")],
    [item("the", "a"), item("our", "b")],
    [item("a", "db is not sqlite"), item("b", "cache is not redis")],
  ];
  for (const items of fine) assert.deepEqual(possibleConflicts(items), [], JSON.stringify(items));
});

test("any items: no error, no item against itself, and the order of sides is that of the list", () => {
  const value = fc.oneof(fc.string(), fc.integer(), fc.constantFrom("db is a", "database: b", null));
  const key = fc.oneof(fc.string(), fc.constantFrom("db", "database"));
  fc.assert(
    fc.property(fc.array(fc.record({ key, value }), { maxLength: 12 }), (given) => {
      const items = given.map((one) => item(one.key, one.value));
      for (const { items: sides } of possibleConflicts(items)) {
        assert.notEqual(sides[0].key, sides[1].key);
        const at = sides.map((side) => items.findIndex((one) => one.key === side.key));
        assert.ok(at.every((place) => place >= 0));
      }
    }),
  );
});
