/** What comes from a log is shown, and does nothing else to a terminal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ago } from "../../src/cli/format/moment.ts";
import { makeScreen, type Surface } from "../../src/cli/command/screen.ts";
import { table } from "../../src/cli/format/table.ts";
import {
  bytes,
  columnsOf,
  count,
  cut,
  jsonText,
  manyLines,
  oneLine,
  plural,
} from "../../src/cli/format/text.ts";

/** What a terminal acts upon: controls of both sets, and what turns the direction of text. */
const acts = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

test("no text gets a control character to a terminal", () => {
  assert.equal(oneLine("a\u001b[31mred\u0007\n\tb"), String.raw`a\u001b[31mred\u0007 b`);
  assert.equal(oneLine("\u009b2J \u202eabc"), String.raw`\u009b2J \u202eabc`);
  assert.deepEqual(manyLines("one\r\ntwo\u0000\n"), ["one", String.raw`two\u0000`, ""]);
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      assert.doesNotMatch(oneLine(text), acts);
      for (const line of manyLines(text)) assert.doesNotMatch(line, acts);
      assert.doesNotMatch(jsonText({ text }), acts);
      assert.deepEqual(JSON.parse(jsonText({ text })), { text });
    }),
  );
});

test("text is cut by the columns it takes, not by its characters", () => {
  assert.equal(columnsOf("abc"), 3);
  assert.equal(columnsOf("支払い"), 6);
  assert.equal(columnsOf("e\u0301"), 1);
  assert.equal(cut("abcdef", 6), "abcdef");
  assert.equal(cut("abcdefg", 6), "abcde…");
  assert.equal(cut("支払い", 5), "支払…");
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 40 }), (text, columns) => {
      assert.ok(columnsOf(cut(text, columns)) <= Math.max(columns, 1));
    }),
  );
});

test("a table fits the terminal, and is whole elsewhere", () => {
  const columns = [{ title: "ID" }, { title: "N", align: "right" as const }, { title: "TEXT" }];
  const rows = [
    ["a", "1", "short"],
    ["bcd", "22", "long ".repeat(20).trim()],
  ];
  const heading = (text: string) => text;
  const narrow = table(columns, rows, { width: 40, heading });
  assert.deepEqual(narrow.slice(0, 2), ["ID    N  TEXT", "a     1  short"]);
  assert.ok(columnsOf(narrow[2]!) <= 40 && narrow[2]!.endsWith("…"));
  assert.ok(table(columns, rows, { width: null, heading })[2]!.endsWith("long long"));
});

test("colors are for terminals, and never in JSON", async () => {
  let printed = "";
  const surface: Surface = {
    out: (text) => void (printed += text),
    bytes: async () => undefined,
    error: () => undefined,
    columns: 80,
    color: true,
    watched: true,
  };
  const people = makeScreen(surface, false);
  assert.equal(people.red("x"), "\u001b[31mx\u001b[39m");
  assert.equal(makeScreen({ ...surface, color: false }, false).red("x"), "x");
  const programs = makeScreen(surface, true);
  await programs.answer({ a: "\u009b" }, () => ["for people"]);
  assert.equal(printed, '{"a":"\\u009b"}\n');
  assert.equal(programs.red("x"), "x");
});

test("figures are easy to read", () => {
  assert.deepEqual([count(1_234_567), count(999)], ["1,234,567", "999"]);
  assert.deepEqual([plural(1, "record"), plural(2, "record")], ["1 record", "2 records"]);
  assert.deepEqual([bytes(1_000), bytes(1_536), bytes(3 * 2 ** 30)], ["1,000 bytes", "1.5 KiB", "3.0 GiB"]);
  const agos = [0, 59_000, 61_000, 3_600_000, 86_400_000 * 3].map((ms) => ago(1e12, 1e12 + ms));
  assert.deepEqual(agos, ["now", "59 s ago", "1 m ago", "1 h ago", "3 d ago"]);
});
