/** The tests' own PostgreSQL: as durable as in earnest, killed and started again, and gone afterwards. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { findBinaries, PostgresMissing } from "./binaries.ts";
import { makeRole } from "./database.ts";
import { noPostgres, serverUrl } from "./place.ts";
import { processesOf } from "./process.ts";
import { startPostgres } from "./server.ts";

const skip = await noPostgres();
const goneMsMax = 10_000;

suite("a server of the tests", { skip, concurrency: 2 }, () => {
  test("after a kill and restart, acknowledged writes are there", async () => {
    await using server = await startPostgres({ inMemory: true, settings: { work_mem: "7MB" } });
    const settings = "fsync synchronous_commit full_page_writes server_encoding work_mem".split(" ");
    const shown = await ask(
      server.url,
      `select ${settings.map((name) => `current_setting('${name}')`).join(", ")}`,
    );
    assert.deepEqual(shown, [["on", "on", "on", "UTF8", "7MB"]]);

    const url = await server.newDatabase();
    await ask(url, "create table kept as select 42 as answer");
    const open = postgres(url, { max: 1, onclose: () => undefined });
    const lost = assert.rejects(open.unsafe("begin; insert into kept values (43); select pg_sleep(60)"));
    while ((await ask(url, "select 1 from pg_stat_activity where wait_event = 'PgSleep'")).length === 0);
    const killed = processesOf(`-D ${server.dataDir}`);
    await server.kill();
    await lost;
    assert.ok(killed.length > 5, "the backends count as processes of the server");
    await until(() => !processesOf("").some((pid) => killed.includes(pid)));

    await server.restart({ work_mem: "8MB" });
    assert.deepEqual(await ask(url, "select answer, current_setting('work_mem') from kept"), [[42, "8MB"]]);
    assert.ok(!killed.includes(server.pid));
    await open.end({ timeout: 0 });
    await server.stop();
    assert.deepEqual([existsSync(dirname(server.dataDir)), processesOf(server.dataDir)], [false, []]);
  });

  test("goes, with its directory, when the process that started it is killed", async () => {
    const started = join(import.meta.dirname, "server.ts");
    const program = `
      const { startPostgres } = await import(${JSON.stringify(started)});
      const { dataDir, pid } = await startPostgres({ inMemory: true });
      console.log(JSON.stringify({ dataDir, pid }));
      setInterval(() => undefined, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const { dataDir, pid } = JSON.parse(line.toString()) as { dataDir: string; pid: number };
    assert.ok(processesOf(`-D ${dataDir}`).includes(pid));
    assert.ok(existsSync(dataDir));
    child.kill("SIGKILL");
    await once(child, "exit");
    await until(() => processesOf(dataDir).length === 0 && !existsSync(dirname(dataDir)));
  });

  test("goes also when that process is killed before the server is ready", async () => {
    const started = join(import.meta.dirname, "server.ts");
    const program = `
      const fs = (await import("node:fs")).default;
      const make = fs.mkdtempSync;
      fs.mkdtempSync = (prefix) => {
        const directory = make(prefix);
        console.log(directory);
        return directory;
      };
      (await import("node:module")).syncBuiltinESMExports();
      await (await import(${JSON.stringify(started)})).startPostgres({ inMemory: true });`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const directory = line.toString().trim();
    await until(() => processesOf(`-D ${join(directory, "data")}`).length > 0);
    child.kill("SIGKILL");
    await until(() => processesOf(directory).length === 0 && !existsSync(directory));
  });
});

test("a role with a password must give it, and another role need not", { skip }, async () => {
  const url = await serverUrl();
  const locked = await makeRole(url, { password: "it's open" });
  const free = await makeRole(url);
  const who = "select current_user::text";
  assert.deepEqual(await ask(locked.href, who), [[locked.username]]);
  assert.deepEqual(await ask(free.href, who), [[free.username]]);
  locked.password = "wrong";
  await assert.rejects(ask(locked.href, who), { code: "28P01" });
});

test("a named folder without a server is reported in one line", async () => {
  const before = process.env["SKEIN_PG_BIN"];
  process.env["SKEIN_PG_BIN"] = "/nowhere";
  try {
    await assert.rejects(findBinaries(), (error) => {
      assert.ok(error instanceof PostgresMissing);
      assert.equal(
        error.message,
        "SKEIN_PG_BIN is /nowhere, which holds no initdb and postgres of version 15 or later",
      );
      return true;
    });
  } finally {
    if (before === undefined) delete process.env["SKEIN_PG_BIN"];
    else process.env["SKEIN_PG_BIN"] = before;
  }
});

async function ask(url: string, statement: string): Promise<unknown[][]> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    return [...(await sql.unsafe(statement).values())];
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function until(isSo: () => boolean): Promise<void> {
  for (const deadline = performance.now() + goneMsMax; !isSo(); await sleep(20))
    assert.ok(performance.now() < deadline, "it takes too long");
}
