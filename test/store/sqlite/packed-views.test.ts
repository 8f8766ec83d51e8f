/** Every view shows the same whether a record is packed or not; and only the views unpack. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import type { SessionId } from "../../../src/core/ids.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Store } from "../../../src/store/port.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import { madeWorld } from "../../runtime/made-world.ts";
import { newPath, workspace } from "../../runtime/place.ts";
import { writeRaw } from "../../runtime/raw.ts";

const { path, remove } = newPath();
let engine: Engine;
let store: Store;
const ids: SessionId[] = [];

const calls = (round: number) => [
  {
    type: "model.responded",
    body: {
      model: "m/m",
      finish: "stop",
      usage: { inputTokens: round, outputTokens: 2 },
      costNanoUsd: round * 1_000,
      ms: 1,
    },
    content: { blocks: [{ type: "text", text: `answer ${round}` }] },
    turn: 1,
    cause: 1,
  },
  {
    type: "tool.requested",
    body: { call: `c${round % 7}`, tool: "t", effect: "read", model: "m/m" },
    content: { input: { round } },
  },
  ...(round % 5 === 0
    ? []
    : [
        {
          type: "tool.settled",
          body: { call: `c${round % 7}`, status: "ok", ms: 3 },
          content: { output: `o${round}` },
        },
      ]),
  { type: "x.note", body: { round }, content: round % 3 === 0 ? undefined : [round, "grüße"] },
];

before(async () => {
  const world = madeWorld();
  store = await sqliteStore({ path, world, workspace, durability: "process" });
  engine = new Engine({ store, world });
  for (let count = 0; count < 3; count++) {
    const session = await engine.open({ objective: `objective ${count}`, agent: "a" });
    ids.push(session.id);
    for (let round = 0; round < 20; round++) {
      world.pass(86_400_000);
      await writeRaw({ store, world }, session.id, calls(round));
    }
  }
});
after(async () => {
  await engine.close();
  remove();
});

const columns = "session, seq, at, type, v, actor, turn, cause, body, content, content_bytes, erased, hash";
const kinds = columns.replaceAll(/\w+/g, "typeof($&)");
const statements = [
  `SELECT ${columns} FROM events ORDER BY session, seq`,
  `SELECT ${kinds}, count(*) FROM events GROUP BY ${kinds} ORDER BY ${kinds}`,
  "SELECT * FROM tool_calls ORDER BY session, seq",
  "SELECT * FROM costs ORDER BY session, seq",
  "SELECT sum(nano_usd), sum(input_tokens), count(*), count(nano_usd) FROM costs",
  "SELECT day, sum(nano_usd) FROM costs GROUP BY day ORDER BY day",
  "SELECT * FROM sessions ORDER BY session",
  "SELECT type, count(*), sum(content_bytes) FROM events GROUP BY type ORDER BY type",
  "SELECT e.type, c.nano_usd FROM costs c JOIN events e USING (session, seq) ORDER BY session, seq",
  "SELECT count(*) FROM events WHERE content ->> '$[1]' = 'grüße'",
  "SELECT seq, body FROM events WHERE session = (SELECT max(session) FROM sessions) AND seq = 7",
];

const ask = (sql: string) => store.query(sql, { limit: 10_000, bytesMax: 1_000_000, timeoutMs: 60_000 });
const answers = async () => {
  const found: unknown[] = [];
  for (const sql of statements) found.push(await ask(sql));
  return found;
};

test("views show the same before and after packing, whole or in part", async () => {
  const first = await answers();
  for (const toSeq of [42, Number.MAX_SAFE_INTEGER]) {
    for (const id of ids) await store.pack(id, toSeq);
    for (const [place, answer] of (await answers()).entries()) {
      assert.deepEqual(answer, first[place], statements[place] ?? "");
    }
  }
});

test("to any other program the file shows all costs and calls, and of events those not packed", async () => {
  const raw = new DatabaseSync(path, { readOnly: true });
  const count = (view: string): number =>
    Number(raw.prepare(`SELECT count(*) AS count FROM ${view}`).get()?.["count"]);
  assert.deepEqual([count("costs"), count("tool_calls"), count("sessions")], [60, 60, 3]);
  assert.equal(count("events"), ids.length);
  raw.close();
});

test("only the views unpack", async () => {
  for (const sql of [
    "SELECT unpack_field(2, 3, 'content')",
    "SELECT unpack_positions(1, 5)",
    "SELECT unpack_field(2, seq, 'content') FROM events",
    "WITH events AS (SELECT unpack_field(2, 3, 'content') AS x) SELECT x FROM events",
    "SELECT heads FROM segments",
    "SELECT nano_usd FROM packed_costs",
  ]) {
    await assert.rejects(ask(sql), { code: "invalid" }, sql);
  }
});

test("deleted records are in no view, even if packed for a fork", async () => {
  const fork = await (await engine.session(ids[0]!)).fork({ atSeq: 30 });
  await engine.delete(ids[0]!);
  const { rows } = await ask("SELECT DISTINCT session FROM events UNION SELECT session FROM costs");
  const found = rows.flat().map(String);
  assert.deepEqual(
    found.filter((id) => id.startsWith("ses_")).toSorted(),
    [...ids.slice(1), fork.id].toSorted(),
  );
});
