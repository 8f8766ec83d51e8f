/** An address with several hosts leads to the one that takes writes, also after a fail-over. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openEngine } from "../../../src/index.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { parseAddress } from "../../../src/store/postgres/connection/address.ts";
import { openDatabase } from "../../../src/store/postgres/connection/connection.ts";
import { startFakeServer } from "../../postgres/fake-server.ts";
import { noPostgres, ownDatabase } from "../../postgres/place.ts";
import { startProxy } from "../../postgres/proxy.ts";

const skip = await noPostgres();

const withHosts = (url: string, hosts: string): string =>
  url.replace(/@[^/]*\//, `@${hosts}/`).concat("?target_session_attrs=read-write");

test("hosts that are away, or take no writes, are passed over", { skip }, async (t) => {
  const place = await ownDatabase();
  t.after(() => place.done());
  const port = new URL(place.url).port;
  for (const told of [{ in_hot_standby: "on" }, { default_transaction_read_only: "on" }]) {
    await using standby = await startFakeServer({ kind: "postgres", version: "15.4", told });
    const hosts = `127.0.0.1:1,127.0.0.1:${standby.port},127.0.0.1:${port}`;
    await using engine = await openEngine({ store: withHosts(place.url, hosts) });
    const session = await engine.open({ objective: "On the primary" });
    await session.append("word");
    assert.equal((await session.head()).seq, 2);
    assert.deepEqual(standby.asked, [], "nothing is asked of a standby");
  }
});

test("when the host in use goes away, the next one is used", { skip }, async (t) => {
  const place = await ownDatabase();
  const port = Number(new URL(place.url).port);
  const first = await startProxy({ port });
  const second = await startProxy({ port });
  const address = parseAddress(withHosts(place.url, `127.0.0.1:${first.port},127.0.0.1:${second.port}`));
  const database = openDatabase({ address, world: realWorld(), clock: "database" });
  t.after(async () => {
    await database.close();
    await Promise.all([first.close(), second.close()]);
    await place.done();
  });
  await database.run("SELECT 1");
  assert.deepEqual([first.count.ever > 0, second.count.ever], [true, 0]);
  await first.close();
  assert.equal((await database.run("SELECT 1")).length, 1);
  assert.ok(second.count.ever > 0);
});
