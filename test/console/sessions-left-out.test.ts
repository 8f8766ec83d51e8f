/** What the list was asked for in vain is said. */
import { test } from "node:test";
import assert from "node:assert/strict";
import { fieldsOf, lastUsed, openingOf } from "../../src/console/view/opening.ts";
import { labelTrouble, leftOut } from "../../src/console/view/sessions/filter-warnings.ts";

const said = (query: string): readonly string[] => leftOut(new URLSearchParams(query));

test("unknown filters in a URL are named, with the known ones", () => {
  assert.deepEqual(said(""), []);
  assert.deepEqual(said("q=a&status=open,closed&label=a%3Db,+c%3Dd&sort=cost&waits=person&agent=x"), []);
  assert.match(said("status=open,foo").join(), /^status: expected one of open, running, /);
  assert.match(said("label=team").join(), /expected label=value, got “team”/);
  assert.match(said("sort=size").join(), /^sort: expected one of active, .*got “size”/);
  assert.match(said("waits=rain").join(), /“rain”/);
});

test("incomplete labels are named", () => {
  assert.deepEqual(["", " , ", "a=b", "a=b, c=d,"].map(labelTrouble), [null, null, null, null]);
  for (const text of ["team", "team=", "=blue", "a=b, team"])
    assert.match(labelTrouble(text) ?? "", /^labels: expected label=value/);
});

test("labels of a new session that are none are not left out in silence", () => {
  const fields = { ...fieldsOf(lastUsed(null)), objective: "x" };
  assert.throws(() => openingOf({ ...fields, labels: "a=b, team" }), /expected label=value, got “team”/);
});
