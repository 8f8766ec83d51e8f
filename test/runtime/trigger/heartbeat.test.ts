/** The heartbeat: checks that cost no model call, and fire when they give another result. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import fc from "fast-check";
import { openEngine, type Session } from "../../../src/index.ts";
import type { Deps } from "../../../src/runtime/deps.ts";
import { fetchChecked, isPublic } from "../../../src/runtime/trigger/address.ts";
import { everySpread } from "../../../src/runtime/trigger/staggered-timer.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";

const world = realWorld();
const until = async (holds: () => Promise<boolean>, ms = 30_000): Promise<void> => {
  for (const end = world.now() + ms; !(await holds());) {
    if (world.now() > end) throw new Error("it did not come about in time");
    await world.sleep(10);
  }
};
const model = "offline/offline";
const everyMs = 1_000;

async function folder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "skein-heartbeat-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

async function told(session: Session): Promise<string[]> {
  const texts: string[] = [];
  for await (const { content } of session.events({ types: ["input.received"] }))
    texts.push((content as { blocks: readonly { text: string }[] }).blocks.map(({ text }) => text).join(""));
  return texts;
}

test("a command, an address and a query fire when they give another result, and only then", async () => {
  await using place = await folder();
  const file = join(place.path, "state.txt");
  await writeFile(file, "one");
  // A check may be reading: the file has a rollback journal, so a writer waits for its readers.
  const database = new DatabaseSync(join(place.path, "rates.db"), { timeout: 5_000 });
  database.exec("CREATE TABLE rate (name TEXT, value REAL) STRICT; INSERT INTO rate VALUES ('de', 1)");
  let body = "first";
  let asked = 0;
  await using server = createServer((_, response) => {
    asked += 1;
    response.end(body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using engine = await openEngine({ store: kind().place() });
  const open = (objective: string) =>
    engine.open({
      objective,
      model,
      bind: [
        { kind: "shell", path: place.path, options: { hosts: [host] } },
        { kind: "database", name: "rates", path: join(place.path, "rates.db"), mode: "write" },
      ],
    });
  const [command, address, query] = [await open("Command"), await open("Address"), await open("Query")];
  await command.trigger("look", { kind: "query", everyMs, command: ["cat", "state.txt"] });
  await address.trigger("look", { kind: "query", everyMs, url: `http://${host}/` });
  await query.trigger("look", { kind: "query", everyMs, binding: "rates", sql: "SELECT * FROM rate" });
  for (const session of [command, address, query]) await session.sleep({ triggers: ["look"] });
  await using _ = await engine.work({ name: "one" });
  await using __ = await engine.work({ name: "two" });
  await until(async () => asked >= 4);
  assert.deepEqual(await Promise.all([command, address, query].map(told)), [[], [], []]);
  // At once: a check that reads between truncating and writing would see a third result.
  await writeFile(`${file}.new`, "two");
  await rename(`${file}.new`, file);
  body = "second";
  database.exec("UPDATE rate SET value = 2");
  const turns = async (session: Session) => (await session.fold()).standing.lastTurn;
  await until(async () =>
    (await Promise.all([command, address, query].map(turns))).every((one) => one === 1),
  );
  const last = asked;
  await until(async () => asked >= last + 3);
  database.close();
  assert.deepEqual(await Promise.all([command, address, query].map(told)), [
    ['Trigger "look": the command cat state.txt gives another result.\n\nexit code 0\ntwo'],
    [`Trigger "look": the http://${host}/ gives another result.\n\nstatus 200\nsecond`],
    [`Trigger "look": the query on rates gives another result.\n\n["name","value"]\n["de",2]`],
  ]);
});

test("a failing check is reported once and does not fire; an exit code is a result", async () => {
  await using place = await folder();
  const script = join(place.path, "check.sh");
  await writeFile(script, "#!/bin/sh\necho fine\n");
  await chmod(script, 0o755);
  await using engine = await openEngine({ store: kind().place() });
  const bind = [{ kind: "shell", path: place.path }] as const;
  const session = await engine.open({ objective: "Watch", model, bind });
  await session.trigger("look", { kind: "query", everyMs, command: ["./check.sh"] });
  const troubles: string[] = [];
  await rm(script);
  await using _ = await engine.work({
    onEvent: (said) => void (said.type === "trouble" && troubles.push(said.text)),
  });
  await until(async () => troubles.length > 0);
  await world.sleep(1_100);
  assert.deepEqual(troubles, [
    'trigger "look": the check fails: program ./check.sh does not exist or cannot be run',
  ]);
  assert.deepEqual(await told(session), []);
  await writeFile(script, "#!/bin/sh\necho fine\nexit 3\n");
  await chmod(script, 0o755);
  await until(async () => (await told(session)).length === 1);
  assert.match((await told(session))[0]!, /exit code 3\nfine$/);
  assert.equal(troubles.length, 1);
});

test("an invalid, failing or forbidden check is refused when it is set", async () => {
  await using place = await folder();
  await using engine = await openEngine({ store: kind().place() });
  const bind = [{ kind: "shell", path: place.path }] as const;
  const session = await engine.open({ objective: "Watch", model, bind });
  const bare = await engine.open({ objective: "Bare", model });
  const set = (spec: object, on = session) => on.trigger("x", { kind: "query", everyMs, ...spec } as never);
  const cases: readonly (readonly [() => Promise<unknown>, RegExp])[] = [
    [() => set({}), /specify one of command, url or sql/],
    [() => set({ command: ["true"], url: "http://example.com" }), /specify only one of command, url and sql/],
    [() => set({ sql: "SELECT 1" }), /sql: requires binding/],
    [() => set({ binding: "none", sql: "SELECT 1" }), /no database is bound as "none"/],
    [() => set({ command: ["true"], everyMs: 999 }), /at least 1000/],
    [() => set({ command: ["true"] }, bare), /command: requires a bound shell/],
    [() => set({ command: ["no-such-program"] }), /the check fails: program no-such-program does not exist/],
    [
      () => set({ command: ["sh", "-c", "no-such-program --now"] }),
      /fails: a program of "no-such-program --now" does not exist .* \(sh -c ended with 127\)$/,
    ],
    [() => set({ url: "ftp://example.com" }), /expected an http or https URL/],
    [() => set({ url: "http://me:secret@example.com" }), /would be kept in the log/],
    [() => set({ url: "http://127.0.0.1:9/" }), /a private address/],
    [() => set({ url: "http://[::1]/" }), /a private address/],
    [() => set({ url: "http://0x7f.1/" }), /127\.0\.0\.1, a private address/],
    [() => set({ url: "http://[::ffff:10.0.0.1]/" }), /a private address/],
  ];
  for (const [setting, message] of cases) await assert.rejects(setting(), { code: "invalid", message });
  assert.equal((await session.fold()).standing.triggers.size, 0);
});

test("a redirect follows the same rules, and a response over the limit is refused", async () => {
  await using server = createServer((request, response) => {
    if (request.url === "/there") response.end("here");
    else if (request.url === "/much") response.end(Buffer.alloc(1_048_577));
    else if (request.url === "/on") response.writeHead(302, { location: "/there" }).end();
    else if (request.url === "/round") response.writeHead(302, { location: "/round" }).end();
    else response.writeHead(302, { location: "http://localhost:1/" }).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const get = (path: string) =>
    fetchChecked(`http://${host}${path}`, new Set([host]), new AbortController().signal);
  assert.deepEqual(await get("/on"), { status: 200, body: "here" });
  await assert.rejects(get("/away"), /localhost:1 resolves to .*, a private address/);
  await assert.rejects(get("/round"), /more than 3 redirects/);
  await assert.rejects(get("/much"), /exceeds 1048576 bytes/);
});

test("private addresses of every kind are recognized", () => {
  const inside = [
    "10.1.2.3",
    "127.9.9.9",
    "169.254.169.254",
    "172.31.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "0.0.0.0",
  ];
  const six = [
    "::1",
    "::",
    "fe80::1",
    "fd00::1",
    "::ffff:192.168.0.1",
    "64:ff9b::a00:1",
    "ff02::1",
    "2002:a00:1::",
  ];
  for (const address of [...inside, ...six, "not an address"])
    assert.equal(isPublic(address), false, address);
  for (const address of ["1.1.1.1", "172.32.0.1", "2606:4700::1111"])
    assert.equal(isPublic(address), true, address);
  fc.assert(fc.property(fc.ipV4(), (address) => isPublic(address) === isPublic(`::ffff:${address}`)));
});

test("many checks are spread over their interval, and each runs once in it", async () => {
  // A clock of its own: each sleep moves it on.
  let nowMs = 1_000_000;
  const clock = {
    now: () => nowMs,
    digest: world.digest,
    async sleep(ms: number, signal?: AbortSignal) {
      await new Promise((resolve) => setImmediate(resolve));
      if (signal?.aborted !== true) nowMs += ms;
    },
  };
  const context = { world: clock, shared: {} } as unknown as Deps;
  const over = new AbortController();
  const runs = new Map<string, number[]>();
  const all = Array.from({ length: 1_000 }, (_, place) => {
    const key = `ses_${place}/x`;
    runs.set(key, []);
    const work = async (): Promise<void> => {
      runs.get(key)?.push(nowMs);
      if (nowMs > 1_000_000 + 35_000) over.abort();
    };
    return everySpread(context, { key, everyMs: 10_000, signal: over.signal }, work);
  });
  await Promise.all(all);
  const bySecond = new Map<number, number>();
  for (const times of runs.values()) {
    assert.ok(times.length >= 3 && times.length <= 5);
    for (const [place, at] of times.entries())
      if (place > 1) assert.ok(at - times[place - 1]! > 8_000 && at - times[place - 1]! < 12_000);
    for (const at of times)
      bySecond.set(Math.floor(at / 1_000), (bySecond.get(Math.floor(at / 1_000)) ?? 0) + 1);
  }
  assert.ok(Math.max(...bySecond.values()) < 200);
});
