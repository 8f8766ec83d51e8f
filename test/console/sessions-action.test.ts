/** What can be done with which sessions from their rows. */
import { test } from "node:test";
import assert from "node:assert/strict";
import { statuses } from "../../src/core/session/lifecycle.ts";
import {
  actionOf,
  actions,
  doable,
  each,
  eitherOf,
  isEntitled,
} from "../../src/console/view/sessions/action.ts";
import {
  clearSelected,
  pickRange,
  selected,
  toggleAll,
} from "../../src/console/view/sessions/row-selection.ts";
import { askFirst, fieldsOf, lastUsed, openingOf } from "../../src/console/view/opening.ts";
import { rowOf } from "./session-row.ts";

test("each action is offered where the lifecycle allows it", () => {
  const offered = Object.fromEntries(
    statuses.map((status) => [
      status,
      actions.flatMap((action) => (doable(action, [rowOf({ status })]).length > 0 ? [action.name] : [])),
    ]),
  );
  assert.deepEqual(offered, {
    open: ["suspend", "close", "prioritize", "fork", "delete"],
    running: ["suspend", "interrupt", "prioritize", "fork"],
    suspended: ["activate", "interrupt", "close", "prioritize", "fork", "delete"],
    sleeping: ["suspend", "activate", "close", "prioritize", "fork", "delete"],
    closed: ["reopen", "archive", "prioritize", "fork", "delete"],
    archived: ["reopen", "fork", "delete"],
    moved: ["fork", "delete"],
  });
});

test("a copy is forked and deleted only", () => {
  const copy = rowOf({ copy: true });
  assert.deepEqual(
    actions.flatMap((action) => (doable(action, [copy]).length > 0 ? [action.name] : [])),
    ["fork", "delete"],
  );
});

test("one that waits for an approval is not activated: the call is answered", () => {
  const [asked, failed] = (["approval", "error"] as const).map((waitingFor) =>
    rowOf({ status: "suspended", waitingFor }),
  );
  assert.ok(asked !== undefined && failed !== undefined);
  assert.deepEqual(doable(actionOf("activate"), [asked, failed]), [failed]);
});

test("a toggle key suspends as long as any selected session can be suspended", () => {
  const [open, still] = [rowOf({ status: "open" }), rowOf({ status: "suspended" })];
  assert.equal(eitherOf("suspend", "activate", [open, still]).name, "suspend");
  assert.equal(eitherOf("suspend", "activate", [still]).name, "activate");
  assert.equal(eitherOf("suspend", "activate", [rowOf({ status: "closed" })]).name, "suspend");
});

test("read-only users are offered nothing, admins everything", () => {
  const named = (scopes: readonly ("read" | "write" | "operate" | "admin")[]): string[] =>
    actions.flatMap((action) => (isEntitled(action, { scopes: [...scopes] }) ? [action.name] : []));
  assert.deepEqual(named(["read"]), []);
  assert.equal(named(["read", "write"]).includes("delete"), false);
  assert.equal(named(["admin"]).length, actions.length);
});

test("one failure does not stop the other sessions, and only a few run at once", async () => {
  let [now, most] = [0, 0];
  const progress: number[] = [];
  const failed = await each(
    Array.from({ length: 20 }, (_, n) => n),
    async (n) => {
      now += 1;
      most = Math.max(most, now);
      await Promise.resolve();
      now -= 1;
      if (n % 7 === 0) throw new Error(`no ${n}`);
    },
    { atOnce: 3, progress: (done) => progress.push(done) },
  );
  assert.deepEqual(
    failed.map(({ of }) => of).toSorted((a, b) => a - b),
    [0, 7, 14],
  );
  assert.deepEqual([most, progress.at(-1), progress.length], [3, 20, 20]);
});

test("a new session is requested with the typed fields only", () => {
  const fields = fieldsOf(lastUsed('{"agent":"clerk","model":7}'));
  assert.deepEqual(openingOf({ ...fields, objective: " Look into it " }), {
    objective: "Look into it",
    grant: [askFirst],
    agent: "clerk",
  });
  assert.deepEqual(
    openingOf({
      ...fields,
      objective: "x",
      agent: "",
      model: "offline/offline",
      name: "N",
      labels: "team=blue",
      priority: "0",
      usd: "0.5",
      steps: "12",
    }),
    {
      objective: "x",
      grant: [askFirst],
      model: "offline/offline",
      name: "N",
      labels: { team: "blue" },
      priority: 0,
      budget: { usd: 0.5, steps: 12 },
    },
  );
});

test("whatever a browser has stored, the fields are texts", () => {
  for (const kept of [null, "", "nonsense", "null", "[]", '"text"', '{"agent":null}'])
    assert.deepEqual(lastUsed(kept), { agent: "", model: "" });
});

test("a range is selected from the last picked row, and deselected the same way", () => {
  const order = ["a", "b", "c", "d"];
  clearSelected();
  pickRange(order, null, "b");
  pickRange(order, "b", "d");
  assert.deepEqual([...selected.get()], ["b", "c", "d"]);
  pickRange(order, "d", "c");
  assert.deepEqual([...selected.get()], ["b"]);
  pickRange(order, "gone", "a");
  assert.deepEqual([...selected.get()], ["b", "a"]);
  toggleAll(order);
  assert.deepEqual([...selected.get()].toSorted(), order);
  toggleAll(order);
  assert.deepEqual([...selected.get()], []);
});
