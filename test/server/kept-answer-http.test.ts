/** Kept responses over HTTP. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelError } from "../../src/model/port.ts";
import type { Line } from "../runtime/turn/scripted.ts";
import { fine, served } from "./served.ts";

test("over HTTP a request that failed runs again under its key, without a restart", async () => {
  let fails = true;
  const lines: Line[] = [() => (fails ? new ModelError("overloaded", "busy") : "In short: all of it.")];
  await using place = await served({ lines });
  const session = await place.engine.open({ objective: "Asked", model: "test/scripted" });
  fails = false;
  for (const text of ["One", "Two"]) {
    await session.input(text.repeat(1_000));
    await session.run();
  }
  const given = { id: session.id, params: { strategy: "summarize" }, headers: { "idempotency-key": "k" } };
  fails = true;
  const first = await place.call("session.compress", given);
  assert.equal(first.status, 503, JSON.stringify(first.body));
  fails = false;
  fine(await place.call("session.compress", given));
});
