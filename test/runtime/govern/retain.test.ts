/** Retention: what policies say is due is done, all of it and nothing else, and it is told why. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { SkeinError } from "../../../src/core/error.ts";
import type { LogId } from "../../../src/core/ids.ts";
import { limit } from "../../../src/core/limit.ts";
import { packRecordsMin, type Policy } from "../../../src/core/govern/policy.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { RetainAction, RetainReport } from "../../../src/runtime/govern/retain.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { Store } from "../../../src/store/port.ts";
import { noFile } from "../../kind.ts";
import { startOfTime } from "../made-world.ts";
import { all, inFile, inMemory, type Place } from "../place.ts";
import { writeRaw } from "../raw.ts";

const day = 86_400_000;

const told = ({ done }: RetainReport): [LogId, string, string | null, number][] =>
  done.map(({ session, do: what, policy, records }) => [session, what, policy, records]);

async function grow(session: Session, records: number): Promise<void> {
  await session.append(Array.from({ length: records }, (_, n) => ({ type: "x.note", body: { n } })));
}

/** Every log there is, record by record. */
async function everything(store: Store): Promise<string> {
  const logs: unknown[] = [];
  for (const log of (await store.logs(null, limit.listMax)).rows) {
    logs.push(await store.head(log));
    logs.push(await store.read(log, { fromSeq: 1, toSeq: Infinity, limit: 1_000, contents: true }));
  }
  return JSON.stringify(logs);
}

const hashOf = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

test("a session idles, expires, is archived and deleted, each when its time has come", async () => {
  await using place = await inFile();
  const { engine, world } = place;
  await engine.setPolicy("stale", { do: "expire", after: "10d", match: { labels: { env: "test" } } });
  await engine.setPolicy("shelf", { do: "archive", after: "20d", match: { labels: { env: "test" } } });
  await engine.setPolicy("trash", { do: "delete", after: "30d", match: { labels: { env: "test" } } });
  const session = await engine.open({ objective: "A test", labels: { env: "test" } });
  const other = await engine.open({ objective: "Real work" });
  const steps: unknown[] = [];
  for (let passed = 0; passed <= 70; passed += 5) {
    for (const one of told(await engine.retain())) steps.push([passed, ...one]);
    world.pass(5 * day);
  }
  assert.deepEqual(steps, [
    [10, session.id, "expire", "stale", 0],
    [20, session.id, "pack", "default", 1],
    [30, session.id, "archive", "shelf", 1],
    [60, session.id, "delete", "trash", 3],
  ]);
  assert.deepEqual(
    (await engine.sessions()).rows.map(({ session: id, status }) => [id, status]),
    [[other.id, "open"]],
  );
  await assert.rejects(engine.session(session.id), { code: "not-found" });
  assert.equal((await engine.verify()).ok, true);
});

test("an expiry names its policy and reason; a session's own setting is one", async () => {
  await using place = inMemory();
  const { engine, world } = place;
  const own = await engine.open({ objective: "Short", expiresAfterIdleMs: 60_000 });
  const fork = await own.fork();
  await engine.setPolicy("stale", { do: "expire", after: "2d", match: { agent: "payroll" } });
  const paid = await engine.open({ objective: "Pay", agent: "payroll" });
  const asleep = await engine.open({ objective: "Later", agent: "payroll" });
  await asleep.sleep();
  world.pass(3 * day);
  const report = await engine.retain();
  assert.deepEqual(
    new Map(told(report).map(([id, ...rest]) => [id, rest])),
    new Map([
      [own.id, ["expire", null, 0]],
      [paid.id, ["expire", "stale", 0]],
    ]),
  );
  const closed = async (session: Session): Promise<unknown> =>
    (await all(session.events({ types: ["session.closed"] }))).map(({ body, content }) => [body, content]);
  assert.deepEqual(await closed(own), [
    [{ outcome: "expired" }, { reason: "idle for 3d, and it was opened to expire after 60s" }],
  ]);
  assert.deepEqual(await closed(paid), [
    [{ outcome: "expired" }, { reason: 'policy "stale": idle for 3d, and 2d are enough' }],
  ]);
  assert.deepEqual([(await fork.state()).status, (await asleep.state()).status], ["open", "sleeping"]);
  assert.deepEqual((await engine.retain()).done, []);
});

test("an archived session is packed, read-only, listed, searched, and restored by reopening it", async () => {
  await using place = await inFile();
  const { engine, store, world } = place;
  await engine.setPolicy("shelf", { do: "archive", after: "1d" }, { everything: true });
  const byHand = await engine.open({ objective: "By hand" });
  const byPolicy = await engine.open({ objective: "By policy" });
  for (const session of [byHand, byPolicy]) {
    await session.append("the walrus was paid");
    await grow(session, 5);
    await session.close();
  }
  const before = await all(byPolicy.events());
  await byHand.archive({ reason: "year's end" });
  assert.equal(await store.packedTo(byHand.id), 8);
  world.pass(2 * day);
  await engine.retain({ everything: true });
  for (const session of [byHand, byPolicy]) {
    const { seq } = await session.head();
    assert.deepEqual([seq, await store.packedTo(session.id)], [9, 8]);
    assert.equal((await session.state()).status, "archived");
    await assert.rejects(session.append("more"), { code: "refused" });
    await assert.rejects(session.rename("x"), { code: "refused" });
  }
  assert.deepEqual((await all(byPolicy.events())).slice(0, 8), before);
  const archived = await engine.sessions({ status: "archived" });
  assert.deepEqual(new Set(archived.rows.map((row) => row.session)), new Set([byHand.id, byPolicy.id]));
  const hits = (await engine.search("walrus")).map(({ session, seq }) => [session, seq]);
  assert.deepEqual(
    new Set(hits.map(String)),
    new Set(
      [
        [byHand.id, 2],
        [byPolicy.id, 2],
      ].map(String),
    ),
  );
  const fork = await byPolicy.fork({ atSeq: 4 });
  await fork.append("onward");
  await byPolicy.reopen();
  await byPolicy.append("and goes on");
  assert.deepEqual([(await byPolicy.state()).status, (await byPolicy.head()).seq], ["open", 11]);
  assert.deepEqual(
    [(await engine.verify()).ok, (await engine.retain({ everything: true })).done],
    [true, []],
  );
});

test("an archived session that was not packed is packed by the next run", async () => {
  await using place = inMemory();
  const { engine, store } = place;
  const session = await engine.open({ objective: "o" });
  await session.close();
  const broken = new Engine({
    ...place,
    store: { ...store, pack: () => Promise.reject(new SkeinError("unavailable", "the process died")) },
  });
  await assert.rejects((await broken.session(session.id)).archive(), { code: "unavailable" });
  assert.deepEqual([(await session.state()).status, await store.packedTo(session.id)], ["archived", 0]);
  assert.deepEqual(told(await engine.retain()), [[session.id, "pack", null, 2]]);
  assert.equal(await store.packedTo(session.id), 2);
});

test("old records and those before a compaction are packed, of living sessions too", async () => {
  await using place = await inFile();
  const { engine, store, world } = place;
  const aged = await engine.open({ objective: "Old and young" });
  await grow(aged, 99);
  const compacted = await engine.open({ objective: "Compacted" });
  const short = await engine.open({ objective: "Short" });
  const closed = await engine.open({ objective: "Over" });
  await closed.close();
  await grow(short, packRecordsMin - 1);
  world.pass(8 * day);
  await grow(aged, 100);
  await short.append("a little more");
  await grow(compacted, 100);
  const body = { fromSeq: 2, toSeq: 80, strategy: "summarize", tokensBefore: 9, tokensAfter: 1 };
  await writeRaw(place, compacted.id, [{ type: "transcript.compacted", body, content: { summary: "s" } }]);
  const dry = await engine.retain({ dryRun: true });
  assert.deepEqual(await Promise.all([aged, compacted].map(({ id }) => store.packedTo(id))), [0, 0]);
  const report = await engine.retain();
  const why = ({ session, policy, because, records }: RetainAction): unknown[] => [
    session,
    policy,
    because,
    records,
  ];
  const expected = new Map<LogId, unknown>([
    [aged.id, ["default", "it is older than 7d", 100]],
    [compacted.id, ["default", "it lies before the compaction up to 80", 80]],
    // It has 64 old ones with its first; what is over is packed however short it is.
    [short.id, ["default", "it is older than 7d", 64]],
    [closed.id, ["default", "it is older than 7d", 1]],
  ]);
  for (const { done } of [dry, report])
    assert.deepEqual(new Map(done.map(why).map(([id, ...rest]) => [id as LogId, rest])), expected);
  assert.ok(dry.done.every(({ bytesBefore, bytesAfter }) => bytesBefore > 0 && bytesAfter === null));
  const packed = report.done.find(({ session }) => session === aged.id);
  assert.ok(packed !== undefined && Number(packed.bytesAfter) < packed.bytesBefore, JSON.stringify(packed));
  assert.deepEqual(
    await Promise.all([aged, compacted, short, closed].map(({ id }) => store.packedTo(id))),
    [100, 80, 64, 1],
  );
  assert.deepEqual([(await engine.retain()).done, (await engine.verify()).ok], [[], true]);
});

test("too little to be worth it is not packed, and the workspace's own log is", async () => {
  await using place = inMemory();
  const { engine, store, world } = place;
  const session = await engine.open({ objective: "o" });
  await grow(session, packRecordsMin - 1);
  for (let n = 0; n < packRecordsMin + 1; n++)
    await engine.setPolicy("default", { do: "pack", after: `${n + 1}h` });
  world.pass(30 * day);
  assert.deepEqual(told(await engine.retain()), [[store.workspace, "pack", "default", packRecordsMin]]);
  await session.append("one more");
  world.pass(30 * day);
  assert.deepEqual(told(await engine.retain()), [[session.id, "pack", "default", packRecordsMin]]);
});

test("a hold stops everything but packing, and is reported", async () => {
  await using place = inMemory();
  const { engine, world } = place;
  const gone = { labels: { gone: "yes" } };
  await engine.setPolicy("trash", { do: "delete", after: "1d", match: gone });
  await engine.setPolicy("stale", { do: "expire", after: "1d", match: gone });
  const open = await engine.open({ objective: "Open", ...gone });
  const over = await engine.open({ objective: "Over", ...gone });
  await over.close();
  for (const session of [open, over]) {
    await session.hold("audit");
  }
  world.pass(10 * day);
  const report = await engine.retain();
  assert.deepEqual(told(report), [[over.id, "pack", "default", 2]]);
  assert.deepEqual(
    new Set(report.kept.map((one) => JSON.stringify(one))),
    new Set(
      [
        { session: over.id, do: "delete", policy: "trash", why: 'it is under legal hold "audit"' },
        { session: open.id, do: "expire", policy: "stale", why: 'it is under legal hold "audit"' },
      ].map((one) => JSON.stringify(one)),
    ),
  );
  await assert.rejects(engine.delete(over.id), { code: "refused" });
  await over.lift("audit");
  await open.lift("audit");
  world.pass(10 * day);
  assert.deepEqual(
    new Set((await engine.retain()).done.map(({ session, do: what }) => `${session} ${what}`)),
    new Set([`${over.id} delete`, `${open.id} expire`]),
  );
});

test("sessions that run or have open work are skipped", async () => {
  await using place = inMemory();
  const { engine, world } = place;
  await engine.setPolicy("trash", { do: "delete", after: "1d", match: { status: ["open", "closed"] } });
  const leased = await engine.open({ objective: "Leased" });
  await leased.lease({ holder: "somebody", leaseMs: 3_600_000 });
  const sender = await engine.open({ objective: "Sender" });
  const asking = await engine.open({ objective: "Asking" });
  const running = await engine.open({ objective: "Running" });
  await grow(running, 2 * packRecordsMin);
  await running.append("go");
  const drive = await running.drive({ holder: "a loop" });
  await drive.begin();
  const sent = { message: "m1", to: leased.id, number: 1 };
  const content = { blocks: [] };
  await writeRaw(place, sender.id, [{ type: "message.sent", body: { ...sent, away: true }, content }]);
  const deadlineMs = startOfTime + 90 * day;
  await writeRaw(place, asking.id, [{ type: "message.sent", body: { ...sent, deadlineMs }, content }]);
  const why = async (): Promise<unknown> => {
    const { done, kept } = await engine.retain();
    assert.deepEqual(done, []);
    return new Map(kept.map((one) => [one.session, one.why]));
  };
  // The clock has not moved on for the lease, but the policy is for what is written to no more at once.
  await engine.setPolicy("trash", { do: "delete", after: "0d", match: { status: ["open", "closed"] } });
  assert.deepEqual(
    await why(),
    new Map([
      [leased.id, "it is run by somebody"],
      [sender.id, "1 of its messages are not delivered yet"],
      [asking.id, "it waits for the reply to a request"],
    ]),
  );
  assert.equal((await running.fold()).standing.status, "running");
  world.pass(91 * day);
  const done = (await engine.retain()).done.map(({ session }) => session);
  assert.deepEqual(new Set(done), new Set([leased.id, asking.id]));
});

test("the write-ahead log does not count as growth of the store", async () => {
  await using place = await inFile();
  const { engine, world } = place;
  for (let n = 0; n < 40; n++) await engine.open({ objective: `number ${n}` });
  await engine.setPolicy("old", { do: "expire", after: "1d", match: { status: ["open"] } });
  world.pass(2 * day);
  const { done, bytesBefore, bytesAfter } = await engine.retain({ everything: true });
  assert.equal(done.length, 40);
  const grown = Number(bytesAfter) - Number(bytesBefore);
  assert.ok(Number(bytesBefore) > 0 && grown < 100_000, `${bytesBefore} to ${bytesAfter} bytes`);
});

test("deleting leaves the shared part of living forks, and frees the rest", { skip: noFile() }, async () => {
  await using place = await inFile();
  const { engine, store, world } = place;
  const parent = await engine.open({ objective: "Parent", labels: { env: "test" } });
  for (let n = 0; n < 300; n++) await parent.append(`${n} ${"lorem ipsum ".repeat(500)}`);
  const fork = await parent.fork({ atSeq: 10, objective: "Fork" });
  const shared = await all(fork.events());
  await parent.close();
  await engine.setPolicy("trash", { do: "delete", after: "1d", match: { labels: { env: "test" } } });
  world.pass(2 * day);
  const report = await engine.retain();
  assert.deepEqual(told(report), [[parent.id, "delete", "trash", 302]]);
  assert.equal(report.swept, true);
  const [before, after] = [Number(report.bytesBefore), Number(report.bytesAfter)];
  assert.ok(report.done[0]!.bytesBefore > 1_500_000, `${report.done[0]!.bytesBefore}`);
  assert.ok(after < before / 4, `${before} to ${after} bytes`);
  assert.deepEqual(await all(fork.events()), shared);
  assert.equal((await engine.verify()).ok, true);
  const witness = await store.read(store.workspace, { fromSeq: 1, toSeq: 99, limit: 99, contents: true });
  const [deleted] = witness.filter(({ type }) => type === "session.deleted");
  const reason = 'policy "trash": idle for 2d, and 1d are enough';
  assert.deepEqual(JSON.parse(deleted!.content!), { reason });
});

test("a dry run reports the actions of the run, and changes nothing", { skip: noFile() }, async () => {
  await using place = await inFile();
  const { engine, store, world, path } = place;
  const match = { labels: { env: "test" } };
  await engine.setPolicy("stale", { do: "expire", after: "5d", match });
  await engine.setPolicy("shelf", { do: "archive", after: "5d", match });
  await engine.setPolicy("trash", { do: "delete", after: "15d", match });
  for (let n = 0; n < 18; n++) {
    const session = await engine.open({ objective: `${n}`, labels: n % 2 === 0 ? match.labels : {} });
    await grow(session, 1 + n * 8);
    if (n % 3 === 0) await session.close();
    if (n % 5 === 0) await session.hold("h");
    world.pass(2 * day);
  }
  const before = [await everything(store), hashOf(path), existsSync(`${path}-wal`) && hashOf(`${path}-wal`)];
  const dry = await engine.retain({ dryRun: true });
  const after = [await everything(store), hashOf(path), existsSync(`${path}-wal`) && hashOf(`${path}-wal`)];
  assert.deepEqual(after, before);
  const real = await engine.retain();
  const plain = ({ session, do: what, policy, because, besides, records }: RetainAction): unknown => ({
    session,
    what,
    policy,
    because,
    besides,
    records: what === "archive" ? "all" : records,
  });
  assert.deepEqual(dry.done.map(plain), real.done.map(plain));
  assert.deepEqual(dry.kept, real.kept);
  assert.ok(
    new Set(dry.done.map((one) => one.do)).size === 4 && dry.kept.length > 0,
    JSON.stringify(told(dry)),
  );
  assert.deepEqual([dry.dryRun, real.dryRun, dry.sessions, real.sessions], [true, false, 18, 18]);
});

test("a policy that is for everything asks first, when it is set and when it is followed", async () => {
  await using place = inMemory();
  const { engine, world } = place;
  const session = await engine.open({ objective: "o" });
  const wide: Policy = { do: "expire", after: "1d" };
  const refusal = { code: "refused", message: 'policy "all" would in time expire every session' };
  await assert.rejects(engine.setPolicy("all", wide), refusal);
  assert.deepEqual(
    (await engine.policies()).map(({ name }) => name),
    ["default"],
  );
  await engine.setPolicy("all", wide, { everything: true });
  world.pass(2 * day);
  await assert.rejects(engine.retain(), refusal);
  assert.equal((await session.state()).status, "open");
  assert.deepEqual(told(await engine.retain({ dryRun: true })), [[session.id, "expire", "all", 0]]);
  assert.deepEqual(told(await engine.retain({ everything: true })), [[session.id, "expire", "all", 0]]);
});

/** Ten sessions, all of which are to be deleted. */
async function doomed({ engine, world }: Place): Promise<void> {
  await engine.setPolicy("trash", { do: "delete", after: "1d", match: { labels: { env: "test" } } });
  for (let n = 0; n < 10; n++) {
    const session = await engine.open({ objective: `${n}`, labels: { env: "test" } });
    await session.close();
  }
  world.pass(2 * day);
}

test("it stops after the current session, and continues when it is run again", async () => {
  await using place = await inFile();
  const { engine, store } = place;
  await doomed(place);
  const stop = new AbortController();
  const progress = ({ sessions }: { readonly sessions: number }): void => {
    if (sessions === 4) stop.abort();
  };
  const first = await engine.retain({ signal: stop.signal, progress });
  assert.deepEqual([first.done.length, first.stopped, first.swept], [4, true, false]);
  const second = await engine.retain();
  assert.deepEqual([second.done.length, second.stopped, second.swept], [6, false, true]);
  assert.deepEqual((await store.stats()).unscrubbed, false);
});

test("two at once are as good as one", async () => {
  await using place = await inFile();
  await doomed(place);
  await using other = await place.again();
  other.world.pass(2 * day);
  const reports = await Promise.all([place.engine.retain(), other.engine.retain()]);
  const done = reports.flatMap((report) => report.done.map(({ session }) => session));
  assert.deepEqual([done.length, new Set(done).size], [10, 10]);
  assert.deepEqual((await place.engine.sessions()).rows, []);
  assert.equal((await place.engine.verify()).ok, true);
});

test("a session in use is skipped", async () => {
  await using place = inMemory();
  const { engine, store, world } = place;
  await engine.setPolicy("stale", { do: "expire", after: "1d", match: { labels: { env: "test" } } });
  await engine.setPolicy("trash", { do: "delete", after: "1d", match: { labels: { env: "test" } } });
  const open = await engine.open({ objective: "Open", labels: { env: "test" } });
  const over = await engine.open({ objective: "Over", labels: { env: "test" } });
  await over.close();
  world.pass(2 * day);
  // Between the look at the index and the change, both are written to.
  const list: Store["list"] = async (filter, page) => {
    const found = await store.list(filter, page);
    await open.append("I am here");
    await over.rename("Not yet");
    return found;
  };
  const report = await new Engine({ ...place, store: { ...store, list } }).retain();
  assert.deepEqual([report.done, report.sessions], [[], 2]);
  assert.deepEqual([(await open.state()).status, (await over.state()).status], ["open", "closed"]);
});

test("a damaged session, or one that cannot be written, keeps no other from having its turn", async () => {
  await using place = await inFile();
  const { engine, store } = place;
  await doomed(place);
  const [first, second, third] = (await engine.sessions()).rows.map(({ session }) => session);
  await writeRaw(place, third!, [{ type: "session.beamed", body: {} }]);
  place.world.pass(2 * day);
  const read: Store["read"] = async (session, range) => {
    if (session === first) throw new SkeinError("corrupt", "record 1 is missing");
    return store.read(session, range);
  };
  const append: Store["append"] = async (parts) => {
    if (parts.some(({ session }) => session === second)) throw new SkeinError("refused", "it is a copy");
    return store.append(parts);
  };
  const report = await new Engine({ ...place, store: { ...store, read, append } }).retain();
  const why = new Map(report.kept.map((one) => [one.session, one.why]));
  const expected: [typeof first, string][] = [
    [first, "record 1 is missing"],
    [second, "it is a copy"],
    [third, "a newer version of Skein wrote it"],
  ];
  assert.deepEqual(why, new Map(expected));
  assert.deepEqual(report.done.filter((one) => one.do === "delete").length, 7);
});
