/** What pretends to be a PostgreSQL is believed by a client that knows one. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { startFakeServer } from "./fake-server.ts";
import { int32 } from "./wire.ts";

test("a server of version 12 reports it, however it is queried", async () => {
  await using server = await startFakeServer({
    kind: "postgres",
    version: "12.22",
    settings: { fsync: "off" },
  });
  const sql = postgres(server.url, { max: 1, fetch_types: false });
  const several = `SELECT current_setting('server_version_num')::integer AS version,
    current_setting('fsync') AS fsync, (select count(*), 1 from x) AS connections`;
  const expected = [{ version: "120022", fsync: "off", connections: "0" }];
  for (const prepare of [true, false])
    assert.deepEqual([...(await sql.unsafe(several, [], { prepare }))], expected);
  assert.deepEqual((await sql`show server_version`.simple()).flat(), [{ server_version: "12.22" }]);
  assert.deepEqual([...(await sql`vacuum`)], []);
  await sql.end({ timeout: 1 });
  assert.deepEqual(server.asked, [several, several, "show server_version", "vacuum"]);
});

test("a server that refuses all connections does so as PostgreSQL does", async () => {
  await using server = await startFakeServer({
    kind: "refusing",
    code: "53300",
    message: "sorry, too many clients already",
  });
  const sql = postgres(server.url, { max: 1 });
  await assert.rejects(sql`select 1`, { code: "53300", message: "sorry, too many clients already" });
  await sql.end({ timeout: 1 });
});

test("nonsense is an answer, and silence is none", async () => {
  const start = Buffer.concat([int32(8), int32(196_608)]);
  const told: Record<string, string> = {};
  for (const kind of ["nonsense", "silent"] as const) {
    await using server = await startFakeServer({ kind });
    const socket = connect(server.port, "127.0.0.1").setEncoding("latin1");
    socket.write(start);
    const answer = once(socket, "data").then(String);
    const nothing = once(socket, "connect").then(() => sleep(100, "nothing"));
    told[kind] = await Promise.race([answer, nothing]);
    socket.destroy();
    answer.catch(() => undefined);
  }
  assert.deepEqual(told, {
    nonsense: "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    silent: "nothing",
  });
});
