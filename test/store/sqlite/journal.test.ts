/** A rollback journal beside a store: refused, because SQLite would replay it; and never written by Skein. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, watch, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { realWorld } from "../../../src/runtime/world.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import { newPath, workspace } from "../../runtime/place.ts";
import { freshSeed, makeRandom } from "../../crash/random.ts";

const world = realWorld();

/** A hot journal that replaces a database by all pages of another one. */
function forgeJournal(pages: Buffer): Buffer {
  const pageBytes = pages.readUInt16BE(16);
  const nonce = 4_711;
  const header = Buffer.alloc(512);
  header.write("d9d505f920a163d7", "hex");
  const count = pages.length / pageBytes;
  for (const [place, value] of [count, nonce, count, 512, pageBytes].entries())
    header.writeUInt32BE(value, 8 + 4 * place);
  const records = Array.from({ length: count }, (_, place) => {
    const page = pages.subarray(place * pageBytes, (place + 1) * pageBytes);
    const [number, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    number.writeUInt32BE(place + 1);
    let total = nonce;
    for (let at = pageBytes - 200; at > 0; at -= 200) total += page[at] ?? 0;
    sum.writeUInt32BE(total);
    return Buffer.concat([number, page, sum]);
  });
  return Buffer.concat([header, ...records]);
}

async function makeStore(path: string, name: string): Promise<void> {
  await (await sqliteStore({ path, world, workspace })).close();
  using database = new DatabaseSync(path);
  database.prepare("INSERT INTO meta (key, value) VALUES ('whose', ?)").run(name);
}

function ownerOf(path: string): unknown {
  using database = new DatabaseSync(path);
  return database.prepare("SELECT value FROM meta WHERE key = 'whose'").get()?.["value"];
}

test("a journal beside the store is refused before SQLite replays it", async () => {
  const { path, remove } = newPath();
  const forged = `${path}.forged`;
  await makeStore(path, "mine");
  await makeStore(forged, "forged");
  const journal = forgeJournal(readFileSync(forged));
  writeFileSync(`${path}-journal`, journal);
  const link = `${path}.link`;
  symlinkSync(path, link);
  for (const given of [path, link]) {
    await assert.rejects(sqliteStore({ path: given, world, workspace }), {
      code: "corrupt",
      message: /a rollback journal lies beside the store: .*-journal$/,
      hint: /never writes one/,
    });
  }
  rmSync(`${path}-journal`);
  assert.equal(ownerOf(path), "mine");
  await (await sqliteStore({ path, world, workspace })).close();
  // The journal is one that SQLite takes: a connection without the check loses the store to it.
  writeFileSync(`${path}-journal`, journal);
  assert.equal(ownerOf(path), "forged");
  remove();
});

test("an empty journal is none, as SQLite has it", async () => {
  const { path, remove } = newPath();
  await makeStore(path, "mine");
  writeFileSync(`${path}-journal`, "");
  await (await sqliteStore({ path, world, workspace })).close();
  assert.equal(ownerOf(path), "mine");
  remove();
});

test("no journal is there at any moment while a store is created", async () => {
  const { path, remove } = newPath();
  const seen = new Set<string | null>();
  const watcher = watch(dirname(path), (_, name) => seen.add(name));
  await makeStore(path, "mine");
  await setTimeout(200);
  watcher.close();
  assert.ok([...seen].some((name) => name?.endsWith("-wal")));
  assert.ok(![...seen].some((name) => name?.endsWith("-journal")), [...seen].join(" "));
  remove();
});

test("creating a store leaves no journal behind, however it is killed", { timeout: 120_000 }, async () => {
  const random = makeRandom(freshSeed());
  for (let round = 0; round < 3; round++) {
    const { path, remove } = newPath();
    const folder = dirname(path);
    const runner = join(import.meta.dirname, "create-runner.ts");
    const child = spawn(process.execPath, ["--conditions=skein-source", runner, folder]);
    await once(child.stdout, "data");
    await setTimeout(random.below(60));
    child.kill("SIGKILL");
    await once(child, "exit");
    const names = readdirSync(folder);
    assert.deepEqual(
      names.filter((name) => name.endsWith("-journal")),
      [],
    );
    for (const name of names.filter((one) => /^\d+\.db$/.test(one)))
      await (await sqliteStore({ path: join(folder, name), world, workspace })).close();
    remove();
  }
});

test("a copy in SQLite's default mode becomes WAL without a journal", async () => {
  const { path, remove } = newPath();
  await makeStore(path, "mine");
  const copy = `${path}.copy`;
  {
    using database = new DatabaseSync(path);
    database.exec(`VACUUM INTO '${copy}'`);
  }
  assert.equal(readFileSync(copy)[18], 1);
  await (await sqliteStore({ path: copy, world, workspace })).close();
  assert.equal(readFileSync(copy)[18], 2);
  assert.equal(existsSync(`${copy}-journal`), false);
  remove();
});
