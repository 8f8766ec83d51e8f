/**
 * Nothing changed: single bits are flipped in everything that a store keeps of its logs, many to a store, and
 * one verify must report every record that was hit. The seed is printed; SKEIN_FLIP_SEED repeats a run.
 */
import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { after, before, test, type TestContext } from "node:test";
import { sessionCatalog, type SessionEventType } from "../../src/core/catalog.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { VerifyReport } from "../../src/runtime/govern/verify.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { samples } from "../core/samples.ts";
import { madeWorld } from "../runtime/made-world.ts";
import { newPath, workspace } from "../runtime/place.ts";
import { writeRaw } from "../runtime/raw.ts";
import { flipBit } from "./bit.ts";
import { numbersFrom } from "./chance.ts";
import { freshSeed } from "../crash/random.ts";
import { sliced } from "../slice.ts";

const flipsWanted = sliced(3_000, 10_000);
const flipsEachStore = 400;
const numbers = ["log", "seq", "at", "type", "v", "actor", "turn", "cause", "content_bytes"];
const columns = [...numbers, "key", "content_hash", "hash", "salt", "body", "body", "content", "content"];

interface Row {
  readonly position: number;
  readonly session: string;
  readonly seq: number;
  readonly type: number;
  readonly actor: number;
}

const clean = newPath();
const damaged = newPath();
let rows: readonly Row[] = [];
let lastSeqs: ReadonlyMap<string, number> = new Map();

const opens = (path: string) => sqliteStore({ path, world: madeWorld(), workspace, durability: "process" });

/** Nothing of these logs was erased, so they say nothing else. */
const nothingErased = { ...samples["content.erased"], body: { ranges: [], records: 0, bytes: 0 } };

/** A fork of a session whose agent is not known is refused: the one that these logs pin is whole. */
const pinned = { content: { definition: { name: "payroll", instructions: "Be exact." } } };
const { agent: _, version: __, digest: ___, ...amendedBody } = samples["session.amended"].body;

/** Everything that a log may hold, and fills its header. */
const everything = (round: number) => [
  ...(Object.keys(sessionCatalog) as SessionEventType[])
    .filter((type) => !/^session\.(opened|forked|rewound)$/.test(type))
    .map((type) => ({
      type,
      ...(type === "content.erased" ? nothingErased : samples[type]),
      ...(type === "session.amended" ? { body: amendedBody } : {}),
      ...(type === "agent.pinned" ? pinned : {}),
      turn: round + 1,
      cause: 1,
    })),
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => ({
    type: "x.note",
    body: { round, number },
    content: `grüße 😀 ${round}`,
    key: `${round}${number}`.padStart(32, "a"),
  })),
];

before(async () => {
  const world = madeWorld();
  const store = await opens(clean.path);
  const engine = new Engine({ store, world });
  for (let count = 0; count < 4; count++) {
    const session = await engine.open({ objective: `objective ${count}`, labels: { team: "web" } });
    await session.append("a blob of its own ".repeat(5_000));
    for (let round = 0; round < 6; round++) {
      world.pass(1_000);
      await writeRaw({ store, world }, session.id, everything(round));
    }
    const fork = await session.fork({ atSeq: 100 + count });
    const own = Array.from({ length: 40 }, (_, number) => ({
      type: "x.own",
      body: { number },
      key: String(number).padStart(32, "b"),
    }));
    await writeRaw({ store, world }, fork.id, own);
  }
  const report = await engine.verify();
  assert.deepEqual([report.ok, report.problems], [true, []]);
  await engine.close();
  const raw = new DatabaseSync(clean.path);
  raw.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const all = raw.prepare(
    `SELECT position, l.session, seq, type, actor
     FROM records r JOIN logs l ON l.id = r.log ORDER BY position`,
  );
  rows = all.all() as unknown as Row[];
  lastSeqs = new Map(rows.map(({ session, seq }) => [session, seq]));
  raw.close();
});
after(() => [clean, damaged].forEach(({ remove }) => remove()));

/** Verifies a copy of the store to which `harm` was done. */
async function verifyAfter(harm: (raw: DatabaseSync) => void): Promise<VerifyReport> {
  copyFileSync(clean.path, damaged.path);
  const raw = new DatabaseSync(damaged.path);
  raw.exec("PRAGMA synchronous=OFF; BEGIN");
  harm(raw);
  raw.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  raw.close();
  const store = await opens(damaged.path);
  const engine = new Engine({ store, world: madeWorld() });
  try {
    return await engine.verify();
  } finally {
    await engine.close();
  }
}

const placesOf = ({ problems }: VerifyReport): ReadonlySet<string> =>
  new Set(problems.map(({ session, seq }) => `${session} ${seq}`));

function chance(context: TestContext): { readonly seed: number; readonly next: (below: number) => number } {
  const seed = Number(process.env["SKEIN_FLIP_SEED"] ?? freshSeed());
  context.diagnostic(`seed ${seed}`);
  return { seed, next: numbersFrom(seed) };
}

test(`verify reports every record of which a bit was flipped, ${flipsWanted} times`, async (context) => {
  const { seed, next } = chance(context);
  const counts = new Map<string, number>();
  for (let flips = 0; flips < flipsWanted;) {
    const hit = new Map<Row, string>();
    const near = new Set<string>();
    const report = await verifyAfter((raw) => {
      const most = Math.min(flipsEachStore, flipsWanted - flips);
      for (let tries = 0; hit.size < most && tries < 4_000; tries++) {
        const row = rows[next(rows.length)]!;
        const column = columns[next(columns.length)]!;
        // Never side by side: each must be reported for its own sake, not for what befell its neighbour.
        if ([-1, 0, 1].some((step) => near.has(`${row.session} ${row.seq + step}`))) continue;
        const cell = { table: "records", column, where: `position = ${row.position}` };
        if (!flipBit(raw, cell, next)) continue;
        hit.set(row, column);
        near.add(`${row.session} ${row.seq}`);
      }
    });
    const places = placesOf(report);
    const strays = report.problems.filter(({ problem }) => problem.startsWith("the store itself")).length;
    for (const [{ session, seq }, column] of hit) {
      // A last record that was moved elsewhere leaves no gap; the store knows that something has no place.
      const moved = strays > 0 && ["log", "seq"].includes(column) && lastSeqs.get(session) === seq;
      const told = places.has(`${session} ${seq}`) || moved;
      assert.ok(told, `seed ${seed}: a bit of ${column} in ${session} at ${seq}`);
      counts.set(column, (counts.get(column) ?? 0) + 1);
    }
    assert.equal(report.ok, false);
    flips += hit.size;
  }
  context.diagnostic(JSON.stringify(Object.fromEntries(counts)));
  for (const column of columns)
    assert.ok((counts.get(column) ?? 0) > flipsWanted / 125, `${column} was hardly ever hit`);
});

test("a bit flipped in the name of a type or actor is reported for every record of it", async (context) => {
  const { seed, next } = chance(context);
  const ids = [...new Set(rows.flatMap(({ type, actor }) => [type, actor]))];
  let flips = 0;
  for (let tries = 0; tries < 12; tries++) {
    const id = ids[next(ids.length)]!;
    const report = await verifyAfter((raw) => {
      if (flipBit(raw, { table: "names", column: "name", where: `id = ${id}` }, next)) flips++;
    });
    const places = placesOf(report);
    const missed = rows.filter(({ type, actor }) => type === id || actor === id);
    for (const { session, seq } of missed)
      assert.ok(places.has(`${session} ${seq}`), `seed ${seed}: name ${id}`);
  }
  assert.ok(flips > 6, `${flips} flips`);
});

test("a flipped bit in a blob, or in the lineage of a log, is reported", async (context) => {
  const { seed, next } = chance(context);
  const cells = [
    { table: "blob_chunks", column: "bytes", where: "number = 0" },
    { table: "logs", column: "session", where: "id = 1" },
    { table: "logs", column: "session", where: "id = 2" },
    { table: "logs", column: "fork_seq", where: "parent IS NOT NULL AND id = 2" },
    { table: "logs", column: "base", where: "parent IS NOT NULL AND id = 2" },
  ];
  for (let round = 0; round < 3; round++) {
    for (const cell of cells) {
      let flipped = false;
      const report = await verifyAfter((raw) => void (flipped = flipBit(raw, cell, next)));
      if (flipped) assert.equal(report.ok, false, `seed ${seed}: ${cell.table}.${cell.column}`);
    }
  }
});
