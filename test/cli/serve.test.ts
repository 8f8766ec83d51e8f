/** The server as a process: it says where it is and how to log in, runs what is due, and ends when told. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { realWorld } from "../../src/runtime/world.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { workspace } from "../runtime/place.ts";
import { until } from "../server/until.ts";
import { endOf, makeFolder, skeinIn, type Skein } from "./skein.ts";
import { modeOf } from "../file-mode.ts";

/** The first lines that it prints. */
async function linesOf(child: Skein, count: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) if (lines.push(line) === count) break;
  child.stdout.resume();
  return lines;
}

test("skein serve serves, runs due sessions, reports a taken port, and ends with Ctrl-C", async () => {
  const folder = makeFolder();
  const skein = skeinIn(folder);
  const child = skein.start(["serve", "--port", "0"]);
  const ended = endOf(child);
  const [at = "", login = ""] = await linesOf(child, 2);
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(at) ?? [];
  const token = readFileSync(`${folder}/skein.db.token`, "utf8").trim();
  assert.equal(modeOf(`${folder}/skein.db.token`, 0o600), 0o600);
  assert.equal(login.trim(), `log in:   ${url}/#token=${token}`);

  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const post = async (path: string, body: unknown): Promise<unknown> => {
    const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(answer.status, 200);
    return answer.json();
  };
  const page = await fetch(`${url}/api`);
  assert.match(await page.text(), /<title>Skein API<\/title>/);
  assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'self'/);
  const { session } = (await post("/v1/sessions", { objective: "Served", model: "offline/offline" })) as {
    readonly session: string;
  };
  await post(`/v1/sessions/${session}/input`, { input: "remember colour is blue" });
  const stream = await fetch(`${url}/v1/sessions/${session}/events?follow=true`, { headers });
  let told = "";
  for await (const chunk of stream.body ?? []) {
    told += Buffer.from(chunk).toString();
    if (told.includes("event: turn.ended")) break;
  }
  assert.match(told, /event: turn\.ended/, "the worker inside did not run it");

  const { port } = new URL(url);
  const second = await skein.run(["serve", "--port", port]);
  assert.deepEqual([second.code, second.stdout], [4, ""]);
  assert.match(
    second.stderr,
    new RegExp(`listening on 127\\.0\\.0\\.1:${port} failed: something else listens`),
  );
  assert.match(second.stderr, /hint: .*port/);

  child.kill("SIGINT");
  const { code, signal, stderr } = await ended;
  assert.deepEqual([code, signal], [130, null]);
  assert.match(stderr, /^created a new store: \.\/skein\.db\n/);
  await assert.rejects(fetch(`${url}/healthz`));
  const [known] = await skein.look("state", session);
  assert.match(JSON.stringify(known), /"colour"/);
});

test("skein up announces in the store where servers get its deltas, until it ends", async () => {
  const folder = makeFolder();
  const skein = skeinIn(folder);
  await skein.open();
  const store = await sqliteStore({ path: `${folder}/skein.db`, world: realWorld(), workspace });
  const child = skein.start(["up", "--json"]);
  const ended = endOf(child);
  await until(async () => (await store.servers()).length === 1, 20_000);
  const [row] = await store.servers();
  assert.match(row?.address ?? "", /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.equal((await fetch(`${row?.address}/v1/relay`)).status, 401);
  child.kill("SIGINT");
  assert.equal((await ended).code, 130);
  assert.deepEqual(await store.servers(), []);
  await store.close();
});

test("npm start is the server, and npm run demo the tour", () => {
  const { scripts } = JSON.parse(readFileSync(`${import.meta.dirname}/../../package.json`, "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  assert.match(scripts["start"] ?? "", /src\/cli\/main\.ts serve$/);
  assert.match(scripts["demo"] ?? "", /src\/cli\/main\.ts tour$/);
});

test("skein serve with invalid options reports them and exits", { timeout: 60_000 }, async () => {
  const skein = skeinIn(makeFolder());
  for (const words of [
    ["--origin", "evil"],
    ["--relay-address", "nowhere"],
  ]) {
    const { code, stderr } = await skein.run(["serve", "--port", "0", ...words]);
    assert.deepEqual([code, /hint: /.test(stderr)], [2, true], stderr);
  }
});
