/**
 * Every call that walks a whole store ends, whatever single bit of its table of logs is flipped: in an id,
 * which may then be no valid text, and in what a log knows of its lineage, which may then be a circle.
 */
import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { SkeinError } from "../../src/core/error.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { madeWorld } from "../runtime/made-world.ts";
import { newPath, workspace } from "../runtime/place.ts";

const clean = newPath();
const damaged = newPath();
const logs: { id: number; bytes: number }[] = [];

const opens = (path: string) => sqliteStore({ path, world: madeWorld(), workspace, durability: "process" });

before(async () => {
  const engine = new Engine({ store: await opens(clean.path), world: madeWorld() });
  const first = await engine.open({ objective: "first" });
  await first.append("said before the fork");
  const fork = await first.fork({ atSeq: 2 });
  await fork.append("said in the fork");
  await (await fork.fork({ atSeq: 3 })).append("said in the fork of the fork");
  await engine.close();
  const raw = new DatabaseSync(clean.path);
  raw.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const rows = raw.prepare("SELECT id, length(CAST(session AS BLOB)) AS bytes FROM logs ORDER BY id").all();
  logs.push(...(rows as unknown as typeof logs));
  raw.close();
  assert.ok(logs.length >= 3);
});
after(() => [clean, damaged].forEach(({ remove }) => remove()));

/** The store with one change made to its table of logs. False when SQLite refuses the change. */
function harm(change: (raw: DatabaseSync) => void): boolean {
  copyFileSync(clean.path, damaged.path);
  const raw = new DatabaseSync(damaged.path);
  try {
    raw.exec("PRAGMA synchronous=OFF");
    change(raw);
    raw.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    return true;
  } catch {
    return false;
  } finally {
    raw.close();
  }
}

async function verifies(): Promise<boolean> {
  const engine = new Engine({ store: await opens(damaged.path), world: madeWorld() });
  try {
    return (await engine.verify()).ok;
  } finally {
    await engine.close();
  }
}

/** Everything else that goes through all logs; it may refuse the damage, and it ends. */
async function walksEverything(): Promise<void> {
  const engine = new Engine({ store: await opens(damaged.path), world: madeWorld() });
  const may = async (work: Promise<unknown>): Promise<void> => {
    await work.catch((error: unknown) => assert.ok(error instanceof SkeinError, String(error)));
  };
  try {
    const { rows } = await engine.sessions({ limit: 100 });
    await may(engine.rebuild());
    await may(engine.scan());
    await may(engine.retain({ dryRun: true }));
    for (const { session } of rows) await may(engine.session(session).then((one) => one.lineage()));
  } finally {
    await engine.close();
  }
}

test("verify ends and reports an id of which any bit is flipped", async () => {
  let flips = 0;
  for (const { id, bytes } of logs) {
    for (let bit = 7; bit < bytes * 8; bit += 8) {
      for (const mask of [1 << 7, 1 << (bit % 7)]) {
        const byte = bit >> 3;
        const flipped = harm((raw) => {
          const row = raw.prepare("SELECT CAST(session AS BLOB) AS bytes FROM logs WHERE id = ?").get(id);
          const text = row?.["bytes"] as Uint8Array;
          const other = text.with(byte, (text[byte] ?? 0) ^ mask);
          raw.prepare("UPDATE logs SET session = CAST(? AS TEXT) WHERE id = ?").run(other, id);
        });
        if (!flipped) continue;
        flips += 1;
        assert.equal(await verifies(), false, `log ${id}, byte ${byte}, mask ${mask}`);
      }
    }
  }
  assert.ok(flips > 150, `${flips} flips`);
});

test("with one in eight of those ids, and any lineage, every walk over the store ends", async () => {
  for (const { id, bytes } of logs) {
    for (let byte = 0; byte < bytes; byte += 8) {
      harm((raw) => {
        const row = raw.prepare("SELECT CAST(session AS BLOB) AS bytes FROM logs WHERE id = ?").get(id);
        const text = row?.["bytes"] as Uint8Array;
        const other = text.with(byte, (text[byte] ?? 0) ^ 128);
        raw.prepare("UPDATE logs SET session = CAST(? AS TEXT) WHERE id = ?").run(other, id);
      });
      await walksEverything();
    }
    for (const column of ["parent", "base", "fork_seq", "depth"]) {
      for (const value of [0, 1, 2, 3, 4, 5, -1, 2 ** 40]) {
        if (!harm((raw) => raw.exec(`UPDATE logs SET ${column} = ${value} WHERE id = ${id}`))) continue;
        await verifies();
        await walksEverything();
      }
    }
  }
});
