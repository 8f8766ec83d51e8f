/** Which entries of memory a person is asked to settle. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { reviewEntries, type ReviewedEntry } from "../../src/core/memory/review.ts";

let last = 0;
const entry = (key: string, value: unknown, more: Partial<ReviewedEntry> = {}): ReviewedEntry => ({
  scope: "workspace",
  owner: null,
  kind: "fact",
  key,
  value,
  seq: ++last,
  ...more,
});
const agent = (owner: string) => ({ scope: "agent", owner }) as const;
const found = (...entries: readonly ReviewedEntry[]) => reviewEntries(entries).map(({ finding }) => finding);

suite("contradictions", () => {
  test("one subject with two values, also under other keys and in a sentence", () => {
    const pairs: readonly (readonly [ReviewedEntry, ReviewedEntry])[] = [
      [entry("db", "sqlite"), entry("database", "postgres")],
      [entry("note-7", "The db is SQLite"), entry("database", "Postgres")],
      [entry("storage", "db = sqlite"), entry("x-1", "database: postgres", { kind: "decision" })],
      [entry("base-rate", 4), entry("baseRate", 4.1)],
      [entry("deploy", "use blue-green"), entry("deploy", "do not use blue-green", { kind: "constraint" })],
      [entry("vendor", "Good Corp", agent("web")), entry("vendor", "Evil Corp")],
    ];
    for (const pair of pairs) assert.deepEqual(found(...pair), ["contradiction"], JSON.stringify(pair));
  });

  test("not: other subjects, a refinement, other readers, a rejected idea, a task", () => {
    const pairs: readonly (readonly [ReviewedEntry, ReviewedEntry])[] = [
      [entry("db", "sqlite"), entry("cache", "redis")],
      [entry("db", "SQLite"), entry("database", "SQLite with WAL")],
      [entry("tone", "brief", agent("web")), entry("tone", "warm and long", agent("shop"))],
      [entry("db", "sqlite"), entry("database", "postgres", { status: "rejected" })],
      [entry("db", "sqlite"), entry("database", "postgres", { kind: "task" })],
      [entry("note-1", "Call the owner"), entry("note-2", "Paint the wall")],
    ];
    for (const pair of pairs) assert.deepEqual(found(...pair), [], JSON.stringify(pair));
  });
});

test("the same for the same readers is a duplicate, and no contradiction", () => {
  assert.deepEqual(found(entry("db", "SQLite"), entry("database", "sqlite")), ["duplicate"]);
  const text = "Every price is named with the tax of its country";
  assert.deepEqual(found(entry("a-law", text), entry("prices", text)), ["duplicate"]);
  assert.deepEqual(found(entry("db", "sqlite", agent("web")), entry("database", "sqlite")), []);
});

test("the findings do not depend on the order of the entries, and name entries that there are", () => {
  const word = fc.constantFrom("db", "database", "vendor", "base-rate", "tone", "note-1");
  const value = fc.constantFrom<unknown>(
    "sqlite",
    "postgres",
    "the db is sqlite",
    4,
    4.1,
    { a: 1 },
    "not brief",
  );
  const readers = fc.constantFrom({}, agent("web"), agent("shop"));
  const one = fc.record({ word, value, readers });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 12 }), fc.nat(), (list, turn) => {
      const all = list.map(({ word: key, value: said, readers: of }, place) =>
        entry(key, said, { ...of, seq: place + 1 }),
      );
      const at = all.length === 0 ? 0 : turn % all.length;
      const turned = [...all.slice(at), ...all.slice(0, at)];
      const findings = reviewEntries(all);
      assert.deepEqual(reviewEntries(turned.toReversed()), findings);
      for (const { entries } of findings) {
        assert.ok(entries.length >= 2);
        assert.equal(new Set(entries).size, entries.length);
        assert.ok(entries.every((seq) => seq >= 1 && seq <= all.length));
        assert.deepEqual(
          entries,
          entries.toSorted((a, b) => b - a),
        );
      }
    }),
  );
});

test("20,000 entries on one subject, and hostile values, cost little", () => {
  const hostile = [" is ".repeat(500), "=".repeat(2_000), "\u001b[2J<img>", "a: ".repeat(700), ""];
  const many = Array.from({ length: 20_000 }, (_, place) =>
    entry(place % 2 === 0 ? "db" : `key-${place}`, hostile[place % 5] ?? place, { seq: place + 1 }),
  );
  const from = performance.now();
  const findings = reviewEntries(many);
  const ms = performance.now() - from;
  assert.ok(findings.every(({ entries }) => entries.length <= 50));
  assert.ok(ms < 15_000, `${ms} ms`);
});
