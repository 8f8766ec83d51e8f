/** A query is ended when whoever asked for it has gone. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { realWorld } from "../../src/runtime/world.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { workspace } from "../runtime/place.ts";
import { served } from "./served.ts";

test("an aborted request ends its query, an answered one does not", async () => {
  const signals: AbortSignal[] = [];
  const begun = new AbortController();
  const ended = new AbortController();
  const store = memoryStore({ world: realWorld(), workspace });
  await using place = await served({
    store: {
      ...store,
      async query(sql, { signal }) {
        if (signal !== undefined) signals.push(signal);
        if (sql === "SELECT 1") return { columns: ["1"], rows: [[signal?.aborted]] };
        begun.abort();
        if (signal?.aborted === false) await once(signal, "abort");
        ended.abort();
        throw new Error("it was ended");
      },
    },
  });
  assert.deepEqual((await place.call("engine.query", { params: { sql: "SELECT 1" } })).body, {
    columns: ["1"],
    rows: [[false]],
  });
  const leaving = new AbortController();
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ sql: "SELECT for ever" });
  const asked = place.fetch("/v1/query", { method: "POST", headers, body, signal: leaving.signal });
  asked.catch(() => undefined);
  if (!begun.signal.aborted) await once(begun.signal, "abort");
  assert.equal(signals[1]?.aborted, false);
  leaving.abort();
  await assert.rejects(asked);
  if (!ended.signal.aborted) await once(ended.signal, "abort");
  assert.equal(signals.length, 2);
});
