/**
 * Packers are killed at random moments, two at a time on one file, while others append and read: nothing is
 * lost, nothing is there twice, and nobody reads anything else than what was written.
 */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { StoredRecord } from "../../src/core/chain.ts";
import { makeSessionId, type SessionId } from "../../src/core/ids.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { draftOf } from "../../src/store/conformance/conformance.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import type { Store } from "../../src/store/port.ts";
import { digest } from "../core/digest.ts";
import { newPath, workspace } from "../runtime/place.ts";
import { freshSeed, makeRandom } from "./random.ts";

const kills = Number(process.env["SKEIN_PACK_KILLS"] ?? 8);

const idOf = (count: number): SessionId =>
  makeSessionId({ nowMs: count, random: Uint8Array.from({ length: 10 }, () => 7) });
const sessions = [1, 2, 3].map(idOf);

async function startPacker(path: string): Promise<ChildProcess> {
  const file = fileURLToPath(new URL("./packer.ts", import.meta.url));
  const child = spawn(process.execPath, [file, path], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout ?? child, "data")) as [Buffer];
  assert.equal(String(line), "ready\n");
  return child;
}

const drafts = (from: number, count: number) =>
  Array.from({ length: count }, (_, place) => {
    const number = from + place;
    const content = `said ${number} ${`${number} so it goes `.repeat((number * 37) % 300)}`;
    const key = number % 3 === 0 ? { key: `${number}` } : {};
    return draftOf({ body: { number }, ...(number % 2 === 0 ? { content } : {}), ...key }, digest);
  });

async function readWhole(store: Store, session: SessionId): Promise<readonly StoredRecord[]> {
  const all: StoredRecord[] = [];
  for (;;) {
    const range = { fromSeq: all.length + 1, toSeq: Number.MAX_SAFE_INTEGER, limit: 1_000, contents: true };
    const page = await store.read(session, range);
    if (page.length === 0) return all;
    all.push(...page);
  }
}

async function feedWhole(store: Store): Promise<readonly StoredRecord[]> {
  const all: StoredRecord[] = [];
  for (let position: string | null = null; ;) {
    const page = await store.feed(position, 700);
    if (page.records.length === 0) return all;
    all.push(...page.records);
    ({ position } = page);
  }
}

const nameOf = ({ session, seq, hash }: StoredRecord): string => `${session} ${seq} ${hash}`;

test(`packers are killed ${kills} times, and no record is lost, changed or there twice`, async (context) => {
  const { path, remove } = newPath();
  const store = await sqliteStore({ path, world: realWorld(), workspace, durability: "process" });
  const index = {
    status: "open",
    agent: null,
    name: null,
    objective: null,
    priority: 5,
    labels: {},
  } as const;
  const hashes = new Map<SessionId, string[]>();
  for (const session of sessions) {
    const outcome = await store.append([{ session, expect: "absent", drafts: drafts(1, 50), index }]);
    assert.ok(outcome.kind === "ok");
    hashes.set(session, [...(outcome.parts[0]?.hashes ?? [])]);
  }
  const random = makeRandom(freshSeed());
  const packers = await Promise.all([startPacker(path), startPacker(path)]);
  try {
    for (let killed = 0; killed < kills;) {
      for (const session of sessions) {
        const known = hashes.get(session) ?? [];
        const part = { session, expect: { seq: known.length }, drafts: drafts(known.length + 1, 40) };
        const outcome = await store.append([part]);
        assert.ok(outcome.kind === "ok", JSON.stringify(outcome));
        known.push(...(outcome.parts[0]?.hashes ?? []));
        const read = await readWhole(store, session);
        assert.deepEqual(
          read.map(({ hash }) => hash),
          known,
        );
      }
      await sleep(random.below(40));
      const place = killed++ % 2;
      assert.equal(packers[place]?.exitCode, null, "a packer ended by itself");
      packers[place]?.kill("SIGKILL");
      packers[place] = await startPacker(path);
    }
    const fed = (await feedWhole(store)).map(nameOf);
    const written = [...hashes].flatMap(([session, known]) =>
      known.map((hash, place) => `${session} ${place + 1} ${hash}`),
    );
    assert.deepEqual(fed.toSorted(), written.toSorted());
  } finally {
    for (const packer of packers) packer.kill("SIGKILL");
  }
  for (const packer of packers) if (packer.signalCode === null) await once(packer, "exit");
  assert.deepEqual(await store.check(), []);
  const { segments, records } = await store.stats();
  context.diagnostic(`${records} records, ${segments} segments`);
  assert.ok(segments > 0);
  for (const session of sessions) {
    const key = draftOf({ key: "6" }, digest).key ?? "";
    assert.equal(await store.keyed(session, key), 6);
  }
  await store.close();
  remove();
});
