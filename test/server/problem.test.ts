/** What callers are told of trouble with the store, and what only whoever runs the server is told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../src/core/error.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { problemOf, reportOnce } from "../../src/server/http/problem.ts";
import { asSkeinError } from "../../src/store/postgres/connection/errors.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { workspace } from "../runtime/place.ts";

const hint = "retry later; the server's log has the details";

function told(error: unknown) {
  const troubles: unknown[] = [];
  const { code, status, detail, hint: advice } = problemOf(error, (trouble) => troubles.push(trouble));
  return { code, status, detail, hint: advice, isTold: troubles.length === 1 && troubles[0] === error };
}

test("an HTTP error contains neither the URL of a database nor its hint", () => {
  const place = "postgres://skein@127.0.0.1:5499/skein";
  const failed = (code: string, said = "as PostgreSQL says it") =>
    told(asSkeinError(place, Object.assign(new Error(said), { code }), { isOpen: true }));
  const away = { code: "unavailable", status: 503, hint, isTold: true };
  assert.deepEqual(failed("ECONNREFUSED"), { ...away, detail: "PostgreSQL cannot be reached" });
  assert.deepEqual(failed("28P01"), { ...away, detail: "PostgreSQL refused the login" });
  assert.deepEqual(failed("3D000"), { ...away, detail: "there is no such database" });
  assert.deepEqual(failed("42501"), { ...away, detail: "the role may not do this in the database" });
  assert.deepEqual(failed("53100"), { ...away, detail: "the server's disk is full or failing" });
  assert.deepEqual(failed("XX000"), { ...away, detail: "the store is unavailable" });
});

test("nor the path of a file, also when the error is rephrased", async () => {
  const path = import.meta.dirname;
  const error: unknown = await sqliteStore({ path, world: realWorld(), workspace }).catch(
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof SkeinError);
  assert.deepEqual([error.message, error.where], [`${path} is a directory, not a store`, path]);
  const within = new SkeinError("unavailable", `the run ended: ${error.message}`, { cause: error });
  for (const one of [error, within]) {
    const { detail, isTold } = told(one);
    assert.match(detail, /… is a directory, not a store$|^the run ended is a directory, not a store$/);
    assert.equal(isTold, true);
  }
});

test("errors that do not contain the store's location are unchanged", () => {
  const error = new SkeinError("refused", "the session is closed", { hint: "fork it" });
  const expected = { code: "refused", status: 409, detail: "the session is closed", hint: "fork it" };
  assert.deepEqual(told(error), { ...expected, isTold: false });
});

test("an outage is logged once a minute, and everything else each time", () => {
  const heard: unknown[] = [];
  let nowMs = 0;
  const tell = reportOnce(
    (error) => heard.push(error instanceof Error ? error.message : error),
    () => nowMs,
  );
  const away = () => new SkeinError("unavailable", "away: here", { where: "here" });
  for (nowMs of [0, 1, 59_999, 60_000, 60_001]) tell(away());
  tell(new SkeinError("unavailable", "full: here", { where: "here" }));
  for (const _ of [1, 2]) tell(new Error("not expected"));
  assert.deepEqual(heard, ["away: here", "away: here", "full: here", "not expected", "not expected"]);
});
