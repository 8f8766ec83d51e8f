/** Connections that break: in the middle of a transaction, and under many who share them. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { realWorld } from "../../../src/runtime/world.ts";
import { parseAddress } from "../../../src/store/postgres/connection/address.ts";
import { openDatabase, type Database } from "../../../src/store/postgres/connection/connection.ts";
import { noPostgres, ownDatabase } from "../../postgres/place.ts";
import { startProxy, type Proxy } from "../../postgres/proxy.ts";

const skip = await noPostgres();
const world = realWorld();

/** A table of numbers, reached through a proxy. */
async function opened(t: TestContext, { now } = world): Promise<{ database: Database; proxy: Proxy }> {
  const place = await ownDatabase();
  const proxy = await startProxy({ port: Number(new URL(place.url).port) });
  const address = parseAddress(`${proxy.through(place.url)}?connections=3`);
  const database = openDatabase({ address, world: { ...world, now }, clock: "database" });
  t.after(async () => {
    await database.close();
    await proxy.close();
    await place.done();
  });
  await database.run("CREATE TABLE numbers (pair integer, half integer)");
  return { database, proxy };
}

const whyOf = (outcome: PromiseSettledResult<unknown> | undefined): string =>
  outcome?.status === "rejected" ? String(outcome.reason) : "";

test(
  "a transaction cut between two statements is begun again, and none is done outside it",
  { skip },
  async (t) => {
    const { database, proxy } = await opened(t);
    const pairs = Array.from({ length: 12 }, (_, place) => place);
    const tries = new Map<number, number>();
    const outcomes = await Promise.allSettled(
      pairs.map((pair) =>
        database.transaction(async (statement) => {
          const count = (tries.get(pair) ?? 0) + 1;
          tries.set(pair, count);
          await statement("INSERT INTO numbers VALUES ($1, 1)", [pair]);
          if (count === 1) proxy.cutAll();
          await world.sleep(count === 1 ? 20 : 0);
          await statement("INSERT INTO numbers VALUES ($1, 2)", [pair]);
        }),
      ),
    );
    const rows = await database.run<{ pair: number; half: number }>(
      "SELECT * FROM numbers ORDER BY pair, half",
    );
    // Another one's cut may hit a COMMIT, of which nobody can tell: then all of it is there, or nothing.
    const isThere = (pair: number): boolean => rows.some((row) => row.pair === pair);
    const open = pairs.filter((pair) => outcomes[pair]?.status === "rejected");
    for (const pair of open) assert.equal(whyOf(outcomes[pair]), "Lost: the response to COMMIT was lost");
    assert.deepEqual(
      rows.map(({ pair, half }) => ({ pair, half })),
      pairs
        .filter((pair) => !open.includes(pair) || isThere(pair))
        .flatMap((pair) => [1, 2].map((half) => ({ pair, half }))),
    );
    assert.ok(
      pairs.some((pair) => (tries.get(pair) ?? 0) > 1),
      "nothing was cut",
    );
  },
);

test(
  "all callers on a shared connection get an answer after it is cut",
  { skip, timeout: 30_000 },
  async (t) => {
    const { database, proxy } = await opened(t);
    const stop = proxy.cutOneEvery(40, 7);
    const asked = Array.from({ length: 20 }, async (_, place) => {
      const answers: number[] = [];
      for (let count = 0; count < 10; count++) {
        const [row] = await database.run<{ sum: number }>("SELECT $1::integer + 1 AS sum, pg_sleep(0.002)", [
          place,
        ]);
        answers.push(row?.sum ?? 0);
      }
      return answers;
    });
    const answers = await Promise.all(asked);
    stop();
    assert.deepEqual(
      answers,
      Array.from({ length: 20 }, (_, place) => Array.from({ length: 10 }, () => place + 1)),
    );
  },
);

test(
  "the wait for an outage counts from its first failure, for all callers",
  { skip, timeout: 30_000 },
  async (t) => {
    let aheadMs = 0;
    const { database, proxy } = await opened(t, { ...world, now: () => world.now() + aheadMs });
    const away = { code: "unavailable", message: /PostgreSQL cannot be reached/ };
    const isSettled = async (call: Promise<unknown>): Promise<boolean> =>
      Promise.race([
        call.then(
          () => true,
          () => true,
        ),
        world.sleep(300).then(() => false),
      ]);
    const ask = () => database.run("SELECT 1");

    aheadMs += 3_600_000; // Nobody asked for long, which is no outage.
    proxy.refuse(true);
    proxy.cutAll();
    const first = ask();
    first.catch(() => undefined);
    assert.equal(await isSettled(first), false, "the outage has just begun");
    aheadMs += 27_000;
    const second = ask();
    second.catch(() => undefined);
    assert.equal(await isSettled(second), false, "it has lasted for less than 30 seconds");
    aheadMs += 3_000;
    await assert.rejects(first, away);
    await assert.rejects(second, away);
    const before = proxy.count.ever;
    await assert.rejects(ask(), away);
    assert.ok(proxy.count.ever <= before + 1, "whoever comes later tries once");

    proxy.refuse(false);
    assert.equal((await ask()).count, 1);
    proxy.refuse(true);
    proxy.cutAll();
    const next = ask();
    assert.equal(await isSettled(next), false, "the next one is waited out again");
    proxy.refuse(false);
    assert.equal((await next).count, 1);
  },
);

test(
  "appends that wait for a connection are sent once there is one, and none is lost",
  { skip, timeout: 30_000 },
  async (t) => {
    const { database, proxy } = await opened(t);
    proxy.refuse(true);
    proxy.cutAll();
    const asked = Promise.allSettled(
      Array.from({ length: 6 }, (_, pair) => database.once("INSERT INTO numbers VALUES ($1, 1)", [pair])),
    );
    const isOver = await Promise.race([asked.then(() => true), world.sleep(300).then(() => false)]);
    assert.equal(isOver, false, "there is nothing to be said yet");
    proxy.refuse(false);
    const outcomes = await asked;
    // Two may have been sent on the connection that was cut, and nobody knows of them.
    const done = outcomes.filter(({ status }) => status === "fulfilled").length;
    assert.ok(done >= 4, outcomes.map(whyOf).join());
    const [row] = await database.run<{ count: number }>("SELECT count(*) AS count FROM numbers");
    assert.ok(row !== undefined && row.count >= done);
  },
);

test("a late answer teaches the clock while nothing better is known", { skip }, async (t) => {
  const { database } = await opened(t);
  const off = (): number => database.now() - world.now() - 60_000;
  assert.equal(database.isClockOld(), true);
  database.heardClock(world.now() + 59_000, world.now() - 2_000);
  assert.ok(Math.abs(off()) < 1_100 && !database.isClockOld());
  database.heardClock(world.now() + 60_000, world.now());
  database.heardClock(world.now() + 59_000, world.now() - 2_000);
  assert.ok(Math.abs(off()) < 100, "the better answer counts");
});
