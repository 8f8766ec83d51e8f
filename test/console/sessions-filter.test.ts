/** Which sessions are listed, and in which order. */
import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { statuses } from "../../src/core/session/lifecycle.ts";
import {
  askedOf,
  comparing,
  filterOf,
  isAsking,
  isFiltered,
  labelsOf,
  labelsText,
  matches,
  needsAll,
  sortParams,
  sorts,
  turned,
} from "../../src/console/view/sessions/filter.ts";
import { standingOf } from "../../src/console/view/sessions/standing.ts";
import { rowOf } from "./session-row.ts";

const filter = (query: string) => filterOf(new URLSearchParams(query));

test("the URL selects the listed sessions, and unknown filters are ignored", () => {
  assert.deepEqual(
    filter("q=rates&status=open,running,elsewhere&agent=clerk&label=team%3Dblue&sort=cost&dir=asc"),
    {
      text: "rates",
      statuses: ["open", "running"],
      agent: "clerk",
      labels: { team: "blue" },
      asks: false,
      sort: "cost",
      falls: false,
    },
  );
  assert.equal(isFiltered(filter("sort=cost&status=nothing&label=half")), false);
  assert.equal(isFiltered(filter("waits=person")), true);
});

test("the server applies the filters it supports; approvals request suspended sessions", () => {
  assert.deepEqual(askedOf(filter("")), {});
  assert.deepEqual(askedOf(filter("q=a&status=open&agent=b&label=c%3Dd")), {
    text: "a",
    status: ["open"],
    agent: "b",
    labels: { c: "d" },
  });
  assert.deepEqual(askedOf(filter("waits=person&status=open")), { status: ["suspended"] });
});

test("only the last active first needs no more than a page", () => {
  assert.deepEqual(
    ["", "dir=desc", "dir=asc", "sort=cost", "sort=nothing"].map((query) => needsAll(filter(query))),
    [false, false, true, true, false],
  );
});

test("a column is sorted its usual way first, then the other way round", () => {
  assert.deepEqual(turned(filter(""), "cost"), { sort: "cost", dir: null });
  assert.deepEqual(turned(filter("sort=cost"), "cost"), { sort: "cost", dir: "asc" });
  assert.deepEqual(turned(filter("sort=cost&dir=asc"), "cost"), { sort: "cost", dir: null });
  assert.deepEqual(turned(filter("sort=cost"), "priority"), { sort: "priority", dir: null });
});

test("the order in the URL comes back as that order", () => {
  for (const sort of sorts)
    for (const falls of [true, false]) {
      const said = new URLSearchParams();
      for (const [name, value] of Object.entries(sortParams(sort, falls)))
        if (value !== null) said.set(name, value);
      const { sort: again, falls: alsoFalls } = filterOf(said);
      assert.deepEqual([again, alsoFalls], [sort, falls]);
    }
});

test("labels are read as they are written", () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
  fc.assert(
    fc.property(fc.dictionary(word, word), (labels) => {
      assert.deepEqual(labelsOf(labelsText(labels)), { ...labels });
    }),
  );
  assert.deepEqual(labelsOf("team=blue, half, =x, empty="), { team: "blue" });
});

test("a row is compared with the filter as in the store", () => {
  const row = rowOf({ name: "Payroll Run", objective: "Find the RATES", agent: "clerk", labels: { a: "b" } });
  const fits = (query: string): boolean => matches(row, filter(query));
  assert.deepEqual(
    ["q=payroll", "q=rates", "q=elsewhere", "status=open", "status=closed", "agent=clerk", "agent=x"].map(
      fits,
    ),
    [true, true, false, true, false, true, false],
  );
  assert.deepEqual(["label=a%3Db", "label=a%3Dc", "waits=person"].map(fits), [true, false, false]);
});

test("a session needs attention while only a person can unblock it", () => {
  const asks = (status: (typeof statuses)[number], waitingFor: string | null): boolean =>
    isAsking(rowOf({ status, waitingFor }));
  assert.deepEqual(
    [
      asks("suspended", "approval"),
      asks("suspended", "answer"),
      asks("suspended", "budget"),
      asks("suspended", "error"),
      asks("suspended", "deadline passed"),
      asks("suspended", "rollback"),
      asks("suspended", "person"),
      asks("open", "approval"),
    ],
    [true, true, true, true, true, true, false, false],
  );
});

test("every order is total: rows come out the same however they came in", () => {
  const some = fc.uniqueArray(
    fc.record({
      session: fc.stringMatching(/^ses_[0-9a-z]{26}$/),
      activeAt: fc.nat(5),
      openedAt: fc.nat(5),
      priority: fc.nat(9),
      nanoUsd: fc.nat(3),
      name: fc.constantFrom("a", "B", "c", null),
      status: fc.constantFrom(...statuses),
    }),
    { maxLength: 20, selector: ({ session }) => session },
  );
  fc.assert(
    fc.property(some, fc.constantFrom(...sorts), (parts, sort) => {
      const rows = parts.map((part) => rowOf(part));
      const up = comparing({ ...filter(""), sort, falls: false });
      const once = rows.toSorted(up);
      assert.deepEqual(rows.toReversed().toSorted(up), once);
    }),
  );
  const [cheap, dear] = [rowOf({ nanoUsd: 1 }), rowOf({ nanoUsd: 2 })];
  assert.ok(comparing(filter("sort=cost"))(dear, cheap) < 0);
  assert.ok(comparing(filter("sort=cost&dir=asc"))(dear, cheap) > 0);
});

test("a session's status is words, the most urgent first", () => {
  const words = (part: Parameters<typeof rowOf>[0]) => standingOf(rowOf(part))?.text ?? null;
  assert.deepEqual(
    [
      words({ runBy: "vm:1/4026", waitingFor: "approval" }),
      words({ status: "suspended", waitingFor: "approval" }),
      words({ waitingFor: "a slot (2 of 2)" }),
      words({ waitingFor: "toString" }),
      words({ runnable: true }),
      words({ waitingFor: "input", full: true }),
      words({}),
    ],
    [
      "Running on vm:1",
      "Waiting for approval",
      "Waiting for a slot (2 of 2)",
      "Waiting for toString",
      "Queued",
      "Inbox full",
      null,
    ],
  );
  assert.deepEqual(standingOf(rowOf({ waitingFor: "time until 2026-01-02T03:04:05.000Z" })), {
    text: "Sleeping until",
    tone: "plain",
    at: 1_767_323_045_000,
  });
});
