/** Moving a whole store: every session lives in one place at a time, whoever dies on the way. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredRecord } from "../../../src/core/chain.ts";
import { SkeinError } from "../../../src/core/error.ts";
import type { SessionId } from "../../../src/core/ids.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { Store } from "../../../src/store/port.ts";
import { noPostgres } from "../../postgres/place.ts";
import { madeWorld } from "../made-world.ts";
import { all } from "../place.ts";
import { lifeOf, livedIn, mortal, statusIn, type Home } from "../two-stores.ts";
import { fileAndPostgres, twoInFiles, twoInMemory } from "../two-stores.ts";
import { shownPlace } from "../../../src/runtime/read/move-target.ts";

const recordsIn = async ({ engine }: Home, id: SessionId): Promise<StoredRecord[]> =>
  all((await engine.session(id)).records());

const idsIn = async ({ engine }: Home): Promise<SessionId[]> =>
  (await engine.sessions({ limit: 500 })).rows.map(({ session }) => session).toSorted();

/** A store with something of everything. */
async function furnished(home: Home): Promise<{ sessions: readonly Session[]; deleted: SessionId }> {
  const { engine, store } = home;
  await engine.addAgent({ name: "payroll", instructions: "Count." });
  await engine.addAgent({ name: "payroll", instructions: "Count twice." });
  await engine.remember({ scope: "workspace", kind: "fact", key: "currency", value: "EUR" });
  await engine.remember({ scope: "user", kind: "fact", key: "tone", value: "dry", because: "said so" });
  await engine.remember({ scope: "agent", owner: "payroll", kind: "fact", key: "gone", value: 1 });
  await engine.forget({ scope: "agent", owner: "payroll", kind: "fact", key: "gone", erase: true });
  await engine.setPolicy("old", { do: "archive", after: "30d", match: { labels: { team: "none" } } });
  await engine.trigger("monthly", { kind: "cron", cron: "0 9 1 * *" }, { open: { objective: "Run it" } });
  const { root, fork } = await livedIn(home);
  const parent = await engine.open({ objective: "a parent that goes" });
  await parent.append("shared with the fork");
  const orphan = await parent.fork({ objective: "its parent is gone" });
  await engine.delete(parent.id);
  const child = await fork.fork();
  await child.append("a fork of a fork");
  const closed = await engine.open({ objective: "over", agent: "payroll" });
  await closed.close();
  await closed.archive();
  await store.pack(closed.id, 100);
  const sleeping = await engine.open({ objective: "sleeps" });
  await sleeping.trigger("at", { kind: "at", at: home.world.now() + 3_600_000 });
  await sleeping.sleep();
  const long = await engine.open({ objective: "more than a page" });
  for (const text of ["one", "two"]) {
    await long.append(Array.from({ length: 700 }, (_, place) => ({ type: "x.note", body: { place, text } })));
  }
  const erased = await engine.open({ objective: "partly erased" });
  await erased.append("nobody may know this");
  await erased.erase({ ranges: [[2, 2]], reason: "asked for" });
  const sessions = [root, fork, orphan, child, closed, sleeping, long, erased];
  return { sessions, deleted: parent.id };
}

/** All that a workspace knows, but for when and where it was written. */
async function knownIn({ engine }: Home): Promise<unknown> {
  const bare = ({ seq: _, at: __, fired: ___, ...rest }: Record<string, unknown>) => rest;
  const agents = await Promise.all([1, 2].map((version) => engine.agent("payroll", { version })));
  return {
    agents: agents.map((agent) => bare({ ...agent })),
    memory: (await engine.memory()).map((entry) => bare({ ...entry, owner: entry.owner && "somebody" })),
    policies: (await engine.policies()).map((entry) => bare({ ...entry })),
    triggers: (await engine.triggers()).map((one) => bare({ ...one })),
  };
}

const dueIn = async ({ store }: Home, id: SessionId): Promise<unknown> =>
  (await store.list({}, { limit: 500 })).rows.find(({ session }) => session === id)?.status;

for (const [name, make, skip] of [
  ["memory", twoInMemory, false],
  ["files", twoInFiles, false],
  ["a file and PostgreSQL", fileAndPostgres, await noPostgres()],
] as const) {
  test(`in ${name}: a whole store moves with all it knows, and comes home again`, { skip }, async () => {
    await using homes = await make();
    const { a, b } = homes;
    const { sessions, deleted } = await furnished(a);
    const known = await knownIn(a);
    const ids = await idsIn(a);
    const before = new Map<SessionId, StoredRecord[]>();
    const statuses = new Map<SessionId, unknown>();
    for (const id of ids) before.set(id, await recordsIn(a, id));
    for (const id of ids) statuses.set(id, await statusIn(a, id));
    const report = await a.engine.migrate({ to: b.store });
    const { moved, left, carried, stopped } = report;
    assert.deepEqual({ moved, left, stopped }, { moved: sessions.length, left: [], stopped: false });
    assert.deepEqual(carried, { agents: 2, memory: 4, policies: 1, templates: 1, deleted: 1 });
    assert.deepEqual(await idsIn(b), ids);
    assert.deepEqual(await knownIn(b), known);
    assert.deepEqual(await a.engine.triggers(), []);
    for (const [id, records] of before) {
      const there = await recordsIn(b, id);
      assert.deepEqual(there.slice(0, records.length), records);
      const types = there.slice(records.length).map(({ type }) => type);
      assert.deepEqual(types, ["session.moved", "session.arrived"]);
      assert.deepEqual([await statusIn(a, id), await statusIn(b, id)], ["moved", statuses.get(id)]);
      assert.equal(await dueIn(b, id), statuses.get(id));
    }
    assert.deepEqual((await b.engine.verify()).problems, []);
    assert.equal((await b.engine.search("of a fork")).length > 0, true);
    assert.deepEqual((await a.engine.verify()).problems, []);
    await assert.rejects(b.engine.session(deleted), { code: "not-found" });
    const again = await a.engine.migrate({ to: b.store });
    assert.deepEqual([again.moved, again.before, again.records], [0, sessions.length, 0]);

    await b.engine.addAgent({ name: "payroll", instructions: "Count three times." });
    await b.engine.forget({ scope: "workspace", kind: "fact", key: "currency" });
    await (await b.engine.session(sessions[0]!.id)).append("learned there");
    const back = await b.engine.migrate({ to: a.store });
    assert.deepEqual([back.moved, back.left], [sessions.length, []]);
    assert.deepEqual(back.carried, { agents: 1, memory: 1, policies: 0, templates: 1, deleted: 0 });
    assert.deepEqual(await idsIn(a), ids);
    assert.equal((await a.engine.agent("payroll")).version, 3);
    assert.deepEqual(
      (await a.engine.memory()).map(({ key }) => key),
      ["tone"],
    );
    assert.deepEqual(
      (await a.engine.triggers()).map((one) => one.name),
      ["monthly"],
    );
    assert.deepEqual(await b.engine.triggers(), []);
    for (const id of ids)
      assert.deepEqual([await statusIn(a, id), await statusIn(b, id)], [statuses.get(id), "moved"]);
    assert.equal((await a.engine.verify()).ok, true);
    const third = await a.engine.migrate({ to: b.store });
    assert.deepEqual(third.carried, { agents: 0, memory: 0, policies: 0, templates: 1, deleted: 0 });
  });
}

const isLive = (status: string | null): boolean => status !== null && status !== "moved" && status !== "copy";

/** Kills the move at that many calls of the stores, does it again, and says whether it was ever killed. */
async function killed(steps: number, when: "before" | "after"): Promise<boolean> {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { engine } = a;
  await engine.addAgent({ name: "payroll", instructions: "Count." });
  await engine.trigger("daily", { kind: "cron", cron: "0 9 * * *" }, { open: { objective: "Run it" } });
  const root = await engine.open({ objective: "root" });
  await root.append("x".repeat(70_000));
  const fork = await root.fork({ objective: "fork" });
  const other = await engine.open({ objective: "another" });
  const ids = [root.id, fork.id, other.id];
  const before = await Promise.all(ids.map((id) => recordsIn(a, id)));
  const life = lifeOf(steps);
  const dying = new Engine({ store: mortal(a.store, life, when), world: madeWorld("mortal") });
  await dying.migrate({ to: mortal(b.store, life, when) }).catch((error: unknown) => {
    assert.ok(life.dead, String(error));
  });
  const where = `${when} step ${steps}`;
  for (const id of ids) {
    const live = [await statusIn(a, id), await statusIn(b, id)].filter(isLive);
    assert.ok(live.length <= 1, `two live sessions: ${where}`);
  }
  const set = [...(await a.engine.triggers()), ...(await b.engine.triggers())];
  assert.ok(set.length <= 1, `two templates: ${where}`);
  const report = await engine.migrate({ to: b.store });
  assert.deepEqual([report.moved + report.before, report.left], [3, []], where);
  for (const [place, id] of ids.entries()) {
    assert.deepEqual([await statusIn(a, id), await statusIn(b, id)], ["moved", "open"], where);
    const records = await recordsIn(b, id);
    const count = before[place]!.length;
    assert.deepEqual(records.slice(0, count), before[place], where);
    const types = records.slice(count).map(({ type }) => type);
    assert.deepEqual(types, ["session.moved", "session.arrived"], where);
  }
  assert.deepEqual(
    (await b.engine.triggers()).map(({ name }) => name),
    ["daily"],
    where,
  );
  assert.deepEqual(
    (await b.engine.agents()).map(({ version }) => version),
    [1],
    where,
  );
  assert.equal((await b.engine.verify()).ok, true, where);
  return life.dead;
}

test("a whole move that dies at any step, on either side, is finished by doing it again", async () => {
  let steps = 1;
  // Where each step takes a way to a server and back, some of them will do.
  const stride = process.env["SKEIN_TEST_STORE"] === "postgres" ? 7 : 1;
  while (await killed(steps, steps % 2 === 0 ? "before" : "after")) steps += stride;
  assert.ok(steps > 50 && steps < 500, `${steps} steps were seen`);
});

test("a session that is run is named and left, or waited for; its forks go", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root, fork } = await livedIn(a);
  const lease = await root.lease({ holder: "somebody" });
  const dry = await a.engine.migrate({ to: b.store, dryRun: true });
  assert.deepEqual(dry.left, [{ session: root.id, why: "the session is running on somebody" }]);
  const report = await a.engine.migrate({ to: b.store });
  assert.deepEqual(
    report.left.map(({ session }) => session),
    [root.id],
  );
  assert.match(report.left[0]!.why, /running on somebody/);
  assert.deepEqual([await statusIn(a, root.id), await statusIn(b, root.id)], ["open", null]);
  assert.deepEqual([await statusIn(a, fork.id), await statusIn(b, fork.id)], ["moved", "open"]);
  setTimeout(() => void lease.release(), 20);
  a.world.pass(1);
  const waiting = a.engine.migrate({ to: b.store, waitMs: 60_000 });
  const { moved, before, left } = await waiting;
  assert.deepEqual({ moved, before, left }, { moved: 1, before: 1, left: [] });
  assert.equal((await b.engine.verify()).ok, true);
});

test("a dry run lists the sessions that would move, and changes nothing", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { sessions } = await furnished(a);
  const ends = [await a.store.feedEnd(), await b.store.feedEnd()];
  const { moved, left, dryRun, workspace } = await a.engine.migrate({ to: b.store, dryRun: true });
  const expected = { moved: sessions.length, left: [], dryRun: true, workspace: b.store.workspace };
  assert.deepEqual({ moved, left, dryRun, workspace }, expected);
  assert.deepEqual([await a.store.feedEnd(), await b.store.feedEnd()], ends);
  assert.deepEqual(await idsIn(b), []);
});

test("two whole moves at once are one", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  await furnished(a);
  const ids = await idsIn(a);
  const other = new Engine({ store: a.store, world: madeWorld("other") });
  await Promise.all([a.engine.migrate({ to: b.store }), other.migrate({ to: b.store })]);
  await a.engine.migrate({ to: b.store });
  for (const id of ids) {
    const types = (await recordsIn(b, id)).map(({ type }) => type);
    assert.equal(types.filter((type) => type === "session.arrived").length, 1);
    assert.equal(await statusIn(a, id), "moved");
  }
  assert.equal((await b.engine.agents())[0]?.version, 2);
  assert.equal((await b.engine.triggers()).length, 1);
  assert.equal((await b.engine.verify()).ok, true);
});

test("a stopped move resumes where it was, and nothing is sent twice", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  for (let count = 0; count < 160; count++) await a.engine.open({ objective: `number ${count}` });
  const stop = new AbortController();
  const progress = ({ sessions }: { sessions: number }): void => {
    if (sessions > 0) stop.abort();
  };
  const first = await a.engine.migrate({ to: b.store, signal: stop.signal, progress });
  assert.ok(first.stopped && first.moved > 0 && first.moved < 160, `${first.moved} were moved`);
  const second = await a.engine.migrate({ to: b.store });
  const { moved, before, left, stopped } = second;
  assert.deepEqual(
    { moved, before, left, stopped },
    { moved: 160 - first.moved, before: first.moved, left: [], stopped: false },
  );
  assert.equal(first.records + second.records, 320);
  assert.equal(first.verified + second.verified, 320);
});

test("writes acknowledged during a whole move are never lost", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const sessions = [];
  for (let count = 0; count < 20; count++)
    sessions.push(await a.engine.open({ objective: `number ${count}` }));
  const kept = new Map<SessionId, number>();
  const writing = sessions.map(async (session) => {
    for (let place = 0; place < 30; place++) {
      const written = await session.append(`beside ${place}`).then(
        () => true,
        (error: { code?: unknown }) => assert.equal(error.code, "refused") === undefined && false,
      );
      if (written) kept.set(session.id, (kept.get(session.id) ?? 0) + 1);
    }
  });
  await Promise.all([...writing, a.engine.migrate({ to: b.store })]);
  const { left } = await a.engine.migrate({ to: b.store });
  assert.deepEqual(left, []);
  for (const { id } of sessions) {
    const said = (await recordsIn(b, id)).filter(({ content }) => content?.includes("beside"));
    assert.equal(said.length, kept.get(id) ?? 0);
  }
});

test("a record that is another one there is never seen there", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root, fork } = await livedIn(a);
  const lying: Store = {
    ...b.store,
    async read(session, range) {
      const page = await b.store.read(session, range);
      if (session !== root.id || range.received !== true) return page;
      return page.map((record) => (record.seq === 6 ? { ...record, hash: "0".repeat(64) } : record));
    },
  };
  const { left, moved } = await a.engine.migrate({ to: lying });
  assert.deepEqual(
    left.map(({ session }) => session),
    [root.id],
  );
  assert.match(left[0]!.why, /record 6 of .* differs in the destination/);
  assert.equal(moved, 1);
  assert.deepEqual([await statusIn(b, root.id), await statusIn(b, fork.id)], [null, "open"]);
  assert.deepEqual((await a.engine.migrate({ to: b.store })).left, []);
});

test("one session that cannot be finished there keeps no other from it", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const sessions = [];
  for (const objective of ["one", "two", "three"]) sessions.push(await a.engine.open({ objective }));
  const [{ id: stubborn }, ...others] = sessions as [Session, ...Session[]];
  const picky: Store = {
    ...b.store,
    async finish(list) {
      if (list.some(({ session }) => session === stubborn)) throw new SkeinError("refused", "not that one");
      await b.store.finish(list);
    },
  };
  const { left, moved } = await a.engine.migrate({ to: picky });
  assert.deepEqual({ left, moved }, { left: [{ session: stubborn, why: "not that one" }], moved: 2 });
  for (const { id } of others) assert.equal(await statusIn(b, id), "open");
  assert.deepEqual([await statusIn(a, stubborn), await statusIn(b, stubborn)], ["moved", null]);
  assert.deepEqual((await a.engine.migrate({ to: b.store })).left, []);
});

test("where no session can arrive, few are fenced off, and later all go", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  for (let count = 0; count < 400; count++) await a.engine.open({ objective: `number ${count}` });
  const full: Store = {
    ...b.store,
    async append(parts) {
      if (parts[0]?.session === b.store.workspace) return b.store.append(parts);
      throw new SkeinError("refused", "the tenant has used up its quota");
    },
  };
  await assert.rejects(a.engine.migrate({ to: full }), {
    code: "refused",
    message: "the destination store accepts no session: the tenant has used up its quota",
    hint: /sessions are read-only here; fix the cause, then run the same command again/,
  });
  const { rows } = await a.engine.sessions({ status: "moved", limit: 500 });
  assert.ok(rows.length > 0 && rows.length <= 128, `${rows.length} are fenced off`);
  const { moved, left } = await a.engine.migrate({ to: b.store });
  assert.deepEqual({ moved, left }, { moved: 400, left: [] });
  await b.engine.delete(rows[0]!.session);
  const again = await a.engine.migrate({ to: b.store });
  assert.deepEqual([again.moved, again.before, again.left], [0, 400, []]);
});

test("agents of one name in both stores keep their sessions, and get the next numbers", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  await a.engine.addAgent({ name: "payroll", instructions: "here" });
  await b.engine.addAgent({ name: "payroll", instructions: "there" });
  const session = await a.engine.open({ objective: "count", agent: "payroll" });
  await a.engine.migrate({ to: b.store });
  const texts = [1, 2].map(
    async (version) => (await b.engine.agent("payroll", { version })).definition.instructions,
  );
  assert.deepEqual(await Promise.all(texts), ["there", "here"]);
  const state = await (await b.engine.session(session.id)).fold();
  assert.equal(state.standing.agent?.version, 1);
  await b.engine.migrate({ to: a.store });
  const home = [1, 2].map(
    async (version) => (await a.engine.agent("payroll", { version })).definition.instructions,
  );
  assert.deepEqual(await Promise.all(home), ["here", "there"]);
});

test("a webhook of a template is called by the same token after the move", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { token = "" } = await a.engine.trigger("push", { kind: "webhook" }, { open: { objective: "Look" } });
  await a.engine.migrate({ to: b.store });
  await assert.rejects(a.engine.webhook(token), { code: "not-found" });
  const { session } = await b.engine.webhook(token, { body: "now" });
  assert.equal(await statusIn(b, session), "open");
  await assert.rejects(b.engine.webhook(`${token}x`), { code: "not-found" });
});

test("a copy moves as a copy, and sessions that live elsewhere stay", async () => {
  await using homes = twoInMemory();
  await using others = twoInMemory();
  const { a, b } = homes;
  const c = others.a;
  const { root, fork } = await livedIn(a);
  await b.engine.import(a.engine.export(fork.id));
  const elsewhere = await b.engine.open({ objective: "elsewhere" });
  await elsewhere.migrate({ to: a.store });
  const own = await b.engine.open({ objective: "own" });
  const { moved, copied, elsewhere: gone, left } = await b.engine.migrate({ to: c.store });
  assert.deepEqual({ moved, copied, gone, left }, { moved: 1, copied: 1, gone: 1, left: [] });
  assert.deepEqual([await statusIn(c, fork.id), await statusIn(c, own.id)], ["copy", "open"]);
  assert.deepEqual([await statusIn(a, root.id), await statusIn(a, fork.id)], ["open", "open"]);
});

test("the log never says the password of a store", async () => {
  const shown = "postgres://skein@db.example:5432/skein?tenant=acme";
  assert.equal(shownPlace("postgres://skein:se%3Acret@db.example:5432/skein?tenant=acme"), shown);
  assert.equal(shownPlace("./a:b@c.db"), "./a:b@c.db");
  assert.equal(shownPlace("postgres://:::"), "an address that cannot be read");
});

test("a whole move to the same store, or to nowhere, is refused", async () => {
  await using homes = twoInMemory();
  const { a } = homes;
  await assert.rejects(a.engine.migrate({ to: a.store }), { code: "refused" });
  await assert.rejects(a.engine.migrate({ to: "memory:" }), { code: "invalid" });
  await assert.rejects(a.engine.migrate({ to: "./x.db" }), { code: "refused" });
  await assert.rejects(a.engine.migrate({ to: a.store, all: true } as never), { code: "invalid" });
});
