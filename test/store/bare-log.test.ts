/** An engine on a driver that is no more than a log: it does its work, and says clearly what it cannot do. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openEngine, type Engine } from "../../src/index.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { conformance } from "../../src/store/conformance/conformance.ts";
import { registerStore } from "../../src/store/registry.ts";
import { workspace } from "../runtime/place.ts";
import { bareLog, newBareLogs, type BareLogs } from "./bare-log.ts";

conformance({
  name: "bare log",
  capabilities: [],
  skip: {
    "a fork is accepted at the maximum depth and refused beyond":
      "this driver walks the lineage with every read",
  },
  open: async (world) => {
    const logs = newBareLogs(workspace);
    const start = async () => bareLog(logs, world);
    return { store: await start(), reopen: start, done: async () => undefined };
  },
});

const opens = (logs: BareLogs, holder = "one"): Promise<Engine> =>
  openEngine({ store: bareLog(logs, realWorld()), holder, models: { model: "offline/offline" }, env: {} });

const idsOf = async (engine: Engine): Promise<readonly string[]> =>
  (await engine.sessions()).rows.map(({ session }) => session).toSorted();

test("an engine on a bare log opens, appends, runs a turn, forks, rewinds and verifies", async () => {
  const logs = newBareLogs(workspace);
  let ids: readonly string[];
  {
    await using engine = await opens(logs);
    const session = await engine.open({ objective: "count the stars", labels: { kind: "test" } });
    await session.append([{ type: "x.seen", body: { stars: 3 } }]);
    const result = await session.ask("hello").result;
    assert.equal(result.status, "open");
    assert.ok(logs.feed.some(({ type }) => type === "model.responded"));
    const fork = await session.fork({ objective: "count again" });
    await fork.rewind(2);
    await fork.rename("the fork");
    ids = [session.id, fork.id].toSorted();
    assert.deepEqual(await idsOf(engine), ids);
    assert.deepEqual((await engine.verify()).problems, []);
    assert.ok((await engine.search("stars")).length > 0);
  }
  // Everything derived is made again from the logs.
  await using again = await opens(logs, "two");
  assert.deepEqual(await idsOf(again), ids);
  const { rows } = await again.sessions({ labels: { kind: "test" } });
  assert.ok(rows.length > 0);
  assert.ok((await again.search("stars")).length > 0);
  assert.deepEqual((await again.verify()).problems, []);
});

test("without a schedule a second holder is refused", async () => {
  const logs = newBareLogs(workspace);
  await using first = await opens(logs, "one");
  const session = await first.open({ objective: "alone" });
  await using second = await opens(logs, "two");
  const held = await session.lease({ holder: "one", leaseMs: 60_000 });
  const same = await second.session(session.id);
  await assert.rejects(same.lease({ holder: "two" }), { code: "conflict", message: /running on one/ });
  await held.release();
  // The process that was there first goes on; what it wrote itself is no reason to refuse.
  await (await session.lease({ holder: "one" })).release();
  await assert.rejects(same.lease({ holder: "two" }), {
    code: "refused",
    message: /another process.*ScheduleStore/,
  });
  await using third = await opens(logs, "three");
  await (await (await third.session(session.id)).lease({ holder: "three" })).release();
});

test("without blobs, receiving and maintenance what needs them is refused by name", async () => {
  await using engine = await opens(newBareLogs(workspace));
  const session = await engine.open({ objective: "small" });
  await assert.rejects(engine.putBlob(new Uint8Array(100_000)), { code: "refused", message: /BlobStore/ });
  const large = [{ type: "x.large", content: { text: "a".repeat(70_000) } }] as const;
  await assert.rejects(session.append(large), { code: "refused", message: /64 KiB.*BlobStore/ });
  await session.append([{ type: "x.small", content: { text: "a".repeat(60_000) } }]);
  await assert.rejects(session.erase({ ranges: [[1, 2]] }), { code: "refused", message: /Maintenance/ });
  await assert.rejects(engine.delete(session.id), { code: "refused", message: /Maintenance/ });
  await using other = await openEngine({ store: "memory:" });
  const bundle = other.export((await other.open({ objective: "elsewhere" })).id);
  await assert.rejects(engine.import(bundle), { code: "refused", message: /ReceiveStore/ });
});

test("a registered driver may be a bare log", async () => {
  const logs = newBareLogs(workspace);
  registerStore("bare", () => ({ open: async ({ world }) => bareLog(logs, world) }));
  await using engine = await openEngine({ store: "bare://here" });
  const { id } = await engine.open({ objective: "by its scheme" });
  assert.deepEqual(await idsOf(engine), [id]);
});
