/** Dependencies as the log gives them, and the tables that statements name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dependenciesOf,
  dependencyWord,
  dependencyWords,
  sourceNames,
} from "../../src/core/depend/dependency.ts";
import { tablesIn } from "../../src/core/depend/tables.ts";
import { readEvent, type SessionLogEvent } from "../../src/core/event.ts";
import { given } from "./given.ts";
import { otherSession, samples } from "./samples.ts";

const rows: readonly (readonly [sql: string, tables: string])[] = [
  ["SELECT 1", ""],
  ["select * from employees", "employees"],
  [
    'SELECT a FROM "Tax Rates" t, hr.employees AS e WHERE x IN (SELECT id FROM leave)',
    "tax rates employees leave",
  ],
  ["SELECT * FROM a JOIN public.b ON a.id = b.id LEFT JOIN [c d] USING (id)", "a b c d"],
  ["SELECT * FROM `odd`; -- FROM nothing\n/* FROM nowhere */", "odd"],
  ["SELECT 'from texts' FROM (SELECT * FROM inner_one) x, other", "inner_one"],
  ["WITH r AS (SELECT * FROM rates), s(a) AS NOT MATERIALIZED (SELECT 1) SELECT * FROM r, s", "rates"],
  ["INSERT INTO payslips SELECT * FROM runs", "payslips runs"],
  ["UPDATE only employees SET pay = 1", "employees"],
  ["EXPLAIN SELECT extract(year FROM at) FROM runs", "at runs"],
];

test("the tables of a statement", () => {
  for (const [sql, tables] of rows) assert.deepEqual(tablesIn(sql).join(" "), tables, sql);
});

const eventOf = (log: ReturnType<typeof given>): SessionLogEvent =>
  readEvent(log.records.at(-1)!, true).event as SessionLogEvent;

test("documents, uses of tools, memory and other sessions are dependencies; erased ones are not", () => {
  const { at } = given().state;
  const loaded = eventOf(
    given().and(
      "document.loaded",
      { ...samples["document.loaded"].body, kind: "file" },
      { path: "/a/b.md", text: "t" },
    ),
  );
  const [document] = dependenciesOf(loaded);
  assert.deepEqual(
    { ...document, at },
    {
      kind: "document",
      source: "/a/b.md",
      digest: samples["document.loaded"].body.digest,
      seq: 2,
      at,
      range: null,
    },
  );
  assert.deepEqual(dependenciesOf({ ...loaded, content: undefined }), []);
  const uses = [
    { kind: "file", path: "/a/c.json", digest: "1", from: 3, to: 9 },
    { kind: "query", binding: "hr", sql: "SELECT * FROM Pay", rows: 5, tables: ["pay"], digest: "2" },
    { kind: "resource", uri: "x://y", binding: "m", digest: "3" },
  ];
  const settled = eventOf(
    given().and("tool.settled", { call: "call_1", status: "ok" }, { output: "o", detail: { uses } }),
  );
  assert.deepEqual(
    dependenciesOf(settled).map(({ kind, source, range }) => [kind, source, range]),
    [
      ["file", "/a/c.json", [3, 9]],
      ["query", "SELECT * FROM Pay", null],
      ["resource", "x://y", null],
    ],
  );
  assert.deepEqual(
    dependenciesOf(settled).map((one) => sourceNames(one)),
    [["file:/a", "file:/a/c.json"], ["table:pay"], ["resource:x://y"]],
  );
  const words = dependencyWords(settled);
  assert.equal(words.length, 4);
  assert.equal(words[1], `${dependencyWord("file:/a/c.json")}${settled.session.slice(-4)}`);
  const handoff = eventOf(
    given().and(
      "document.loaded",
      { ...samples["document.loaded"].body, kind: "handoff" },
      { path: `${otherSession}@7`, text: "t" },
    ),
  );
  assert.deepEqual(
    dependenciesOf(handoff).map(({ kind, source, range }) => [kind, source, range]),
    [["session", otherSession, [1, 7]]],
  );
  const odd = eventOf(
    given().and("tool.settled", { call: "c", status: "ok" }, { output: "o", detail: { uses: [1] } }),
  );
  assert.deepEqual(dependenciesOf(odd), []);
});
