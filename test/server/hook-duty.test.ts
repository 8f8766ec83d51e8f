/** Of several servers of one store one tells the hooks, and when it is gone, another. */
// Process of its own: it sets a variable of the environment.
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { isLeader, takeLeaderLease } from "../../src/runtime/workspace/leader-lease.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { listHooks, noteDelivered } from "../../src/runtime/workspace/webhooks.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { openWebhooksOut, type WebhooksOutOptions } from "../../src/server/outbound/webhooks-out.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { newPath } from "../path.ts";
import { inFile, inMemory, workspace } from "../runtime/place.ts";
import { until } from "./until.ts";
import { internalsOf } from "../../src/runtime/engine/internals.ts";

/** Somebody who is told, and keeps what by its delivery. */
async function receiver() {
  const got: string[] = [];
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      got.push(String(request.headers["skein-delivery"]).replace(/\.[0-9a-f]{16}$/, ""));
      response.writeHead(204).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    got,
    url: `http://127.0.0.1:${port}/told`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const secretName = "HOOK_SECRET";
process.env[secretName] = "a long secret of the test";
const near: WebhooksOutOptions = {
  outbound: { allowPrivate: true },
  trouble: () => undefined,
  againMs: 5,
  noteMs: 0,
};
const hook = { events: ["input.received"], secret: secretName };

const open = async (path: string): Promise<Engine> => {
  const world = realWorld();
  return new Engine({ store: await sqliteStore({ path, world, workspace, durability: "process" }), world });
};

test("two servers on one file send each event once, and when one stops the other continues", async () => {
  const { path, remove } = newPath();
  {
    await using place = await receiver();
    await using one = await open(path);
    await using two = await open(path);
    const outs = await Promise.all([openWebhooksOut(one, near), openWebhooksOut(two, near)]);
    await one.setHook("ops", place.url, hook);
    const session = await two.open({ objective: "Told" });
    const count = 30;
    const append = async (from: number, to: number): Promise<void> => {
      for (let number = from; number <= to; number++) await session.append(`${number}`);
    };
    await append(1, count);
    await until(async () => place.got.length >= count, 20_000);
    const { lease } = (await internalsOf(one).store.head(workspace)) ?? { lease: null };
    assert.match(lease?.holder ?? "", /^hooks-/);
    // Whoever has it gives it back; the other one has been told nothing twice.
    await outs[0]?.stop();
    await append(count + 1, 2 * count);
    await until(async () => place.got.length >= 2 * count, 20_000);
    await outs[1]?.stop();
    assert.deepEqual(
      place.got,
      Array.from({ length: 2 * count }, (_, number) => `${session.id}@${number + 2}`),
    );
    const range = { fromSeq: 1, toSeq: 10_000, limit: 10_000, contents: false };
    const types = ["lease.taken", "lease.released"];
    const taken = await internalsOf(one).store.read(workspace, { ...range, types });
    assert.ok(taken.length <= 4, "nobody takes it again and again");
    assert.deepEqual((await one.verify()).problems, []);
    assert.deepEqual(await internalsOf(one).store.leased(), []);
  }
  remove();
});

test("when the sending server is killed the other continues, with the same delivery ids", async () => {
  const { path, remove } = newPath();
  {
    await using place = await receiver();
    await using engine = await open(path);
    const session = await engine.open({ objective: "Told" });
    await engine.setHook("ops", place.url, hook);
    const child = fork(join(import.meta.dirname, "hooks-runner.ts"), [path]);
    await once(child, "message");
    await session.append("1");
    await until(async () => place.got.length >= 1, 20_000);
    const out = await openWebhooksOut(engine, near);
    for (let number = 2; number <= 20; number++) await session.append(`${number}`);
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    for (let number = 21; number <= 30; number++) await session.append(`${number}`);
    await until(async () => place.got.includes(`${session.id}@31`), 20_000);
    await out.stop();
    // Some may have been told and not written down; each is known by its delivery.
    assert.deepEqual(
      [...new Set(place.got)],
      Array.from({ length: 30 }, (_, number) => `${session.id}@${number + 2}`),
    );
  }
  remove();
});

test("one process holds the lease until it releases it or it expires", async () => {
  await using file = await inFile();
  const other = await file.again();
  const [here, there] = [internalsOf(file.engine), internalsOf(other.engine)];
  const given = { name: "hooks", leaseMs: 15_000 };
  assert.equal(await takeLeaderLease(here, given), null, "of a workspace without a record there is none");
  await file.engine.setHook("ops", "https://example.com/", hook);
  const first = await takeLeaderLease(here, given);
  assert.ok(first !== null && (await isLeader(there, first.taken)));
  assert.equal(await takeLeaderLease(there, given), null);
  assert.equal(await takeLeaderLease(here, given), null, "nor another engine of the same process");
  await first.release();
  await first.release();
  assert.equal(first.lost.aborted, true);
  assert.equal((await file.store.head(workspace))?.lease, null);
  const second = await takeLeaderLease(there, given);
  assert.ok(second !== null);
  // The clocks of both go on, and nobody hears of it.
  for (const { world } of [file, other]) world.pass(15_000);
  const third = await takeLeaderLease(here, given);
  assert.ok(third !== null && third.taken.seq > second.taken.seq);
  assert.equal(await isLeader(there, second.taken), false);
  const [entry] = await listHooks(here);
  assert.ok(entry !== undefined);
  const headSeq = (await file.store.head(workspace))?.seq;
  await noteDelivered(there, entry, { to: "somewhere", count: 1, taken: second.taken });
  assert.equal((await file.store.head(workspace))?.seq, headSeq, "who lost it writes nothing");
  await second.release();
  assert.equal(await isLeader(here, third.taken), true, "and gives nothing back");
  await third.release();
});

test("of several that take it at once one gets it", async () => {
  await using place = inMemory();
  await place.engine.setHook("ops", "https://example.com/", hook);
  const context = internalsOf(place.engine);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => takeLeaderLease(context, { name: "hooks" })),
  );
  const taken = answers.filter((one) => one !== null);
  assert.equal(taken.length, 1);
  await taken[0]?.release();
});
