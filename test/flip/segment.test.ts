/**
 * Nothing changed in what is packed: single bits are flipped in segments and in all that lies beside them,
 * one to a store, and verify must report each, where it is, and nothing of other segments. The seed is
 * printed; SKEIN_FLIP_SEED repeats a run, and SKEIN_SEGMENT_FLIPS makes it longer.
 */
import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import type { StoredRecord } from "../../src/core/chain.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { VerifyReport } from "../../src/runtime/govern/verify.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { madeWorld } from "../runtime/made-world.ts";
import { newPath, workspace } from "../runtime/place.ts";
import { writeRaw } from "../runtime/raw.ts";
import { flipBit, type Cell } from "./bit.ts";
import { numbersFrom } from "./chance.ts";
import { freshSeed } from "../crash/random.ts";

const flipsWanted = Number(process.env["SKEIN_SEGMENT_FLIPS"] ?? 60);
const clean = newPath();
const damaged = newPath();

interface Place {
  readonly id: number;
  readonly session: string;
  readonly fromSeq: number;
  readonly toSeq: number;
}

let segments: readonly Place[] = [];
let whole: readonly StoredRecord[] = [];
let cells: readonly (readonly [cell: Cell, weight: number])[] = [];

const opens = (path: string) => sqliteStore({ path, world: madeWorld(), workspace, durability: "process" });

/** What a log may hold that segments treat in different ways. */
const records = (round: number) => [
  {
    type: "model.responded",
    body: {
      model: "m/m",
      finish: "stop",
      usage: { inputTokens: round, outputTokens: 2 },
      costNanoUsd: round,
      ms: 1,
    },
    content: { blocks: [{ type: "text", text: `answer ${round} ${"so it goes ".repeat(300)}` }] },
    turn: 1,
    cause: 1,
  },
  {
    type: "tool.requested",
    body: { call: `c${round}`, tool: "t", effect: "read", model: "m/m" },
    content: { input: { round } },
  },
  { type: "tool.settled", body: { call: `c${round}`, status: "ok", ms: 3 }, content: { output: `${round}` } },
  { type: "x.note", body: { round }, key: `${round}`.padStart(32, "a") },
];

const rowsOf = <T>(raw: DatabaseSync, sql: string): T[] => raw.prepare(sql).all() as unknown as T[];

before(async () => {
  const world = madeWorld();
  const store = await opens(clean.path);
  const engine = new Engine({ store, world });
  for (let count = 0; count < 2; count++) {
    const session = await engine.open({ objective: `objective ${count}` });
    for (let round = 0; round < 100; round++) {
      world.pass(1_000);
      await writeRaw({ store, world }, session.id, records(round));
    }
    const fork = await session.fork({ atSeq: 60 });
    await writeRaw({ store, world }, fork.id, records(1_000));
    for (const { id } of [session, fork]) await store.pack(id, Number.MAX_SAFE_INTEGER);
  }
  assert.deepEqual((await engine.verify()).problems, []);
  await engine.close();
  const raw = new DatabaseSync(clean.path);
  raw.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  segments = rowsOf<Place>(
    raw,
    `SELECT s.id, l.session, s.from_seq AS fromSeq, s.to_seq AS toSeq
     FROM segments s JOIN logs l ON l.id = s.log ORDER BY s.id`,
  );
  cells = cellsOf(raw);
  raw.close();
  whole = await readEverything(clean.path);
});
after(() => [clean, damaged].forEach(({ remove }) => remove()));

async function readEverything(path: string): Promise<readonly StoredRecord[]> {
  const store = await opens(path);
  const all: StoredRecord[] = [];
  for (let position: string | null = null; ;) {
    const page = await store.feed(position, 1_000);
    if (page.records.length === 0) break;
    all.push(...page.records);
    ({ position } = page);
  }
  await store.close();
  return all;
}

function cellsOf(raw: DatabaseSync): (readonly [Cell, number])[] {
  const all: [Cell, number][] = [];
  const add = (table: string, key: string, columns: Readonly<Record<string, number>>): void => {
    const names = key.split(", ");
    const rows = rowsOf<Record<string, string | number>>(raw, `SELECT ${key} FROM ${table} LIMIT 60`);
    for (const row of rows) {
      const where = names.map((name) => `${name} = ${JSON.stringify(row[name]).replaceAll('"', "'")}`);
      for (const [column, weight] of Object.entries(columns)) {
        all.push([{ table, column, where: where.join(" AND ") }, weight / rows.length]);
      }
    }
  };
  const numbers = { log: 2, from_seq: 2, to_seq: 2, from_at: 1, to_at: 1, content_bytes: 1 };
  add("segments", "id", { heads: 20, contents: 20, ...numbers });
  add("packed_places", "position", { position: 2, log: 2, seq: 2, count: 2 });
  add("packed_keys", "log, key, seq", { log: 1, key: 2, seq: 1 });
  const costs = { model: 1, input_tokens: 1, output_tokens: 1, nano_usd: 4 };
  add("packed_costs", "log, seq", { log: 1, seq: 1, at: 1, ...costs });
  const calls = { call: 1, type: 1, tool: 1, effect: 1, status: 1, ms: 1 };
  add("packed_calls", "log, call, seq", { log: 1, seq: 1, at: 1, ...calls });
  return all;
}

async function verifyAfter(harm: (raw: DatabaseSync) => boolean): Promise<VerifyReport | null> {
  copyFileSync(clean.path, damaged.path);
  const raw = new DatabaseSync(damaged.path);
  raw.exec("PRAGMA synchronous=OFF");
  const done = harm(raw);
  raw.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  raw.close();
  if (!done) return null;
  const engine = new Engine({ store: await opens(damaged.path), world: madeWorld() });
  try {
    return await engine.verify();
  } finally {
    await engine.close();
  }
}

test(`verify reports every flipped bit in packed segments, ${flipsWanted} times`, async (context) => {
  const seed = Number(process.env["SKEIN_FLIP_SEED"] ?? freshSeed());
  context.diagnostic(`seed ${seed}`);
  const next = numbersFrom(seed);
  const total = cells.reduce((sum, [, weight]) => sum + weight, 0);
  const counts = new Map<string, number>();
  assert.ok(segments.length > 5, `${segments.length} segments`);
  for (let flips = 0; flips < flipsWanted;) {
    let left = (next(1_000_000) / 1_000_000) * total;
    const [cell] = cells.find(([, weight]) => (left -= weight) < 0) ?? cells[0]!;
    const report = await verifyAfter((raw) => flipBit(raw, cell, next));
    if (report === null) continue;
    flips++;
    const what = `seed ${seed}: ${cell.table}.${cell.column} where ${cell.where}`;
    const packed = cell.column === "heads" || cell.column === "contents";
    counts.set(`${cell.table}.${cell.column}`, (counts.get(`${cell.table}.${cell.column}`) ?? 0) + 1);
    // A frame has a few bits that mean nothing.
    if (report.ok && packed) assert.deepEqual(await readEverything(damaged.path), whole, what);
    else assert.equal(report.ok, false, what);
    if (packed && !report.ok) assertWhere(report, cell, what);
  }
  context.diagnostic(JSON.stringify(Object.fromEntries(counts)));
});

/** In the segment that was hit, or right behind it; a fork says so too of what it shares. */
function assertWhere({ problems }: VerifyReport, { where }: Cell, what: string): void {
  const hit = segments.find(({ id }) => where === `id = ${id}`);
  assert.ok(hit);
  const own = problems.filter(({ problem }) => !problem.startsWith("the store itself"));
  assert.ok(
    own.some(({ session, seq }) => session === hit.session && seq >= hit.fromSeq && seq <= hit.toSeq + 1),
    what,
  );
  const strange = own.filter(({ seq }) => seq < hit.fromSeq || seq > hit.toSeq + 1);
  assert.deepEqual(strange, [], what);
}

test("damaged records are not packed", async () => {
  const { path, remove } = newPath();
  try {
    const world = madeWorld();
    const store = await opens(path);
    const engine = new Engine({ store, world });
    const session = await engine.open({ objective: "whole" });
    for (let round = 0; round < 10; round++) await writeRaw({ store, world }, session.id, records(round));
    const raw = new DatabaseSync(path);
    raw.exec(`UPDATE records SET body = replace(body, '"ms":3', '"ms":4') WHERE seq = 20`);
    raw.close();
    await assert.rejects(store.pack(session.id, Number.MAX_SAFE_INTEGER), {
      code: "corrupt",
      message: /@20 cannot be packed: /,
    });
    assert.equal(await store.packedTo(session.id), 0);
    await engine.close();
  } finally {
    remove();
  }
});
