/** A connection that breaks after login: the outcome of what was sent is unknown, whatever the code. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import postgres from "postgres";
import { openEngine } from "../../../src/index.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { parseAddress } from "../../../src/store/postgres/connection/address.ts";
import { openDatabase } from "../../../src/store/postgres/connection/connection.ts";
import { isServerAnswer, ConnectionLost } from "../../../src/store/postgres/connection/errors.ts";
import { watchSockets } from "../../postgres/broken-socket.ts";
import { noPostgres, ownDatabase } from "../../postgres/place.ts";

const skip = await noPostgres();
const codes = ["EHOSTUNREACH", "ENETUNREACH", "ECONNREFUSED", "EPIPE", "ENETDOWN", "ERR_SSL_BAD_RECORD"];

async function ownPlace(t: TestContext) {
  const place = await ownDatabase();
  const direct = postgres(place.url, { max: 1, onnotice: () => undefined });
  t.after(async () => {
    await direct.end({ timeout: 1 });
    await place.done();
  });
  const count = async (table: string): Promise<number> => {
    const [row] = await direct.unsafe(`SELECT count(*)::integer AS count FROM ${table}`);
    return Number(row?.["count"]);
  };
  return { url: place.url, direct, count };
}

test("a statement and a COMMIT whose connection broke are lost, and done once", { skip }, async (t) => {
  const { url, direct, count } = await ownPlace(t);
  await direct`CREATE TABLE numbers (n integer)`;
  using sockets = watchSockets();
  const address = parseAddress(`${url}?connections=1`);
  const database = openDatabase({ address, world: realWorld(), clock: "database" });
  t.after(() => database.close());
  let rows = 0;
  for (const code of codes) {
    const grown = async (): Promise<boolean> => (await count("numbers")) > rows;
    await database.run("SELECT 1");
    const brokenStatement = sockets.breakAfter("INSERT INTO numbers", code, grown);
    await assert.rejects(database.once("INSERT INTO numbers VALUES (1)"), ConnectionLost, code);
    await brokenStatement;
    rows += 1;
    const brokenCommit = sockets.breakAfter("COMMIT", code, grown);
    const work = database.transaction((statement) => statement("INSERT INTO numbers VALUES (2)"));
    await assert.rejects(work, { name: "Lost", message: "the response to COMMIT was lost" }, code);
    await brokenCommit;
    rows += 1;
    assert.equal(await count("numbers"), rows, code);
  }
});

test("an append that was committed is written once, whatever error lost its answer", { skip }, async (t) => {
  const { url, count } = await ownPlace(t);
  using sockets = watchSockets();
  await using engine = await openEngine({ store: `${url}?connections=1` });
  const session = await engine.open({ objective: "appends" });
  let inputs = 0;
  const input = async (code: string, sent: string): Promise<void> => {
    const before = await count("skein.events");
    const broken = sockets.breakAfter(sent, code, async () => (await count("skein.events")) > before);
    inputs += 1;
    await session.input(`input ${inputs}`);
    await broken;
    let found = 0;
    for await (const { type } of session.events()) if (type === "input.received") found += 1;
    assert.equal(found, inputs, code);
  };
  for (const code of codes) {
    // Its head is known then, and the next append is one statement; after that it is judged in a transaction.
    await session.input(`input ${(inputs += 1)}`);
    await input(code, `input ${inputs + 1}`);
    await input(code, "COMMIT");
  }
});

test("only an error that leaves the connection usable is the server's answer", () => {
  const said = (fields: object): Error =>
    Object.assign(new Error("said"), { name: "PostgresError", ...fields });
  assert.equal(isServerAnswer(said({ severity: "ERROR", code: "40001" })), true);
  assert.equal(isServerAnswer(said({ severity: "FATAL", code: "XX000" })), false);
  assert.equal(isServerAnswer(said({ severity_local: "PANIC", code: "XX000" })), false);
  assert.equal(isServerAnswer(said({ severity: "ERROR", code: "53300" })), false, "of a pooler");
  assert.equal(isServerAnswer(Object.assign(new Error("read"), { code: "40001" })), false);
});
