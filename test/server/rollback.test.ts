/**
 * A store that falls back to an earlier copy of itself while a server runs on it: the feed and webhooks tell
 * everything that is new, and the stream of a session that lost events ends.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { connect } from "../../src/client/connect.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { isLeader, takeLeaderLease } from "../../src/runtime/workspace/leader-lease.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { openWebhooksOut } from "../../src/server/outbound/webhooks-out.ts";
import { fallible, type Fallible } from "../runtime/fallible.ts";
import { frames, served, type Frame, type Served } from "./served.ts";
import { until } from "./until.ts";
import { internalsOf } from "../../src/runtime/engine/internals.ts";

const world = realWorld();
const stream = { accept: "text/event-stream" };

/** Keeps what a stream tells until the test ends. */
function listen(place: Served, path: string, headers: Readonly<Record<string, string>> = {}) {
  const heard: Frame[] = [];
  const over = (async () => {
    const answer = await place.fetch(path, { headers: { ...stream, ...headers } });
    for await (const frame of frames(answer)) heard.push(frame);
  })();
  over.catch(() => undefined);
  return { heard, over };
}

const eventOf = ({ data = "{}" }: Frame) =>
  JSON.parse(data) as { session: string; seq: number; hash: string };
const keyOf = ({ session, seq, hash }: { session: string; seq: number; hash: string }) =>
  `${session}@${seq}.${hash.slice(0, 16)}`;

/** Every record that a store holds now, as `keyOf` names it. */
async function recordsOf({ store }: Fallible): Promise<string[]> {
  const keys: string[] = [];
  for (let position: string | null = null; ;) {
    const page: Awaited<ReturnType<typeof store.feed>> = await store.feed(position, 500);
    if (page.records.length === 0) return keys;
    keys.push(...page.records.map(keyOf));
    ({ position } = page);
  }
}

/** Something that is lost, and then as many events as hide behind the positions that were given out. */
async function loseTail(place: Fallible): Promise<{ readonly lost: string; readonly whole: string }> {
  const before = new Engine({ store: place.store, world });
  const [lost, whole] = [await before.open({ objective: "Lost" }), await before.open({ objective: "Whole" })];
  await place.save();
  for (let count = 0; count < 30; count++) await lost.append(`lost ${count}`);
  return { lost: lost.id, whole: whole.id };
}

test("after a rollback the feed reports it and sends every new event, also of whole sessions", async () => {
  await using place = await fallible(world);
  await using server = await served({ store: place.store });
  const { lost, whole } = await loseTail(place);
  const feed = listen(server, "/v1/feed?after=");
  await until(async () => feed.heard.filter(({ event }) => event === "input.received").length >= 30);
  await place.fallBack();
  const other = await new Engine({ store: place.store, world }).session(whole);
  for (let count = 0; count < 20; count++) await other.append(`new ${count}`);
  await until(async () => {
    const told = new Set(
      feed.heard
        .filter(({ id }) => id !== null && id !== "")
        .map((one) => (one.event === "rollback" ? "" : keyOf(eventOf(one)))),
    );
    return (await recordsOf(place)).every((key) => told.has(key));
  });
  assert.equal(feed.heard.filter(({ event }) => event === "rollback").length, 1);
  // A reader that was away over the rollback goes on from the last common position, too.
  const away = feed.heard.findLast((one) => one.event === "input.received" && eventOf(one).session === lost);
  const again = listen(server, "/v1/feed?follow=false", { "last-event-id": away?.id ?? "" });
  await again.over;
  assert.equal(again.heard[0]?.event, "rollback");
  const keys = again.heard
    .filter(({ event }) => event !== "rollback" && event !== "end")
    .map((one) => keyOf(eventOf(one)));
  assert.deepEqual(new Set(keys), new Set(await recordsOf(place)));
});

test("after a rollback a webhook gets every new event, each with a separate delivery id", async () => {
  await using place = await fallible(world);
  const got: string[] = [];
  const target = createServer((request, response) => {
    got.push(String(request.headers["skein-delivery"]));
    request.resume().once("end", () => response.end());
  }).listen(0, "127.0.0.1");
  await once(target, "listening");
  process.env["ROLLBACK_SECRET"] = "a long secret of the test";
  const engine = new Engine({ store: place.store, world });
  const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`;
  await engine.setHook("ops", url, { events: ["input.received"], secret: "ROLLBACK_SECRET" });
  const out = await openWebhooksOut(engine, { outbound: { allowPrivate: true }, trouble: () => undefined });
  try {
    const { whole } = await loseTail(place);
    await until(async () => got.length >= 30);
    await place.fallBack();
    const other = await new Engine({ store: place.store, world }).session(whole);
    const hashes: string[] = [];
    for (let count = 0; count < 20; count++) {
      const { seq } = await other.append(`new ${count}`);
      const [record] = await place.store.read(other.id, {
        fromSeq: seq,
        toSeq: seq,
        limit: 1,
        contents: false,
      });
      hashes.push(keyOf(record ?? assert.fail()));
    }
    await until(async () => hashes.every((key) => got.includes(key)));
  } finally {
    await out.stop();
    target.close();
    target.closeAllConnections();
  }
});

test("the stream of a session that lost events ends with the error that following it gives", async () => {
  await using place = await fallible(world);
  await using server = await served({ store: place.store });
  const { lost, whole } = await loseTail(place);
  const streams = [lost, whole].map((session) => listen(server, `/v1/sessions/${session}/events?after=0`));
  const [first, second] = streams;
  assert.ok(first !== undefined && second !== undefined);
  await until(async () => first.heard.length >= 31 && second.heard.length >= 1);
  await place.fallBack();
  await first.over;
  const last = first.heard.at(-1);
  assert.equal(last?.event, "problem");
  const problem = JSON.parse(last.data ?? "{}") as { readonly code: string; readonly detail: string };
  assert.equal(problem.code, "corrupt");
  assert.match(problem.detail, new RegExp(`^${lost} was rolled back: the store lost its records`));
  // What lost nothing goes on.
  await (await new Engine({ store: place.store, world }).session(whole)).append("new");
  await until(async () => second.heard.length >= 2);
  assert.equal(second.heard.at(-1)?.event, "input.received");
});

test("a stream does not splice two histories, however much was written since", async () => {
  await using place = await fallible(world);
  await using server = await served({ store: place.store });
  const { lost } = await loseTail(place);
  const before = listen(server, `/v1/sessions/${lost}/events?follow=false`);
  await before.over;
  const id = before.heard.findLast(({ event }) => event === "input.received")?.id ?? "";
  assert.match(id, /^31\.[0-9a-f]{16}$/);
  await place.fallBack();
  const other = await new Engine({ store: place.store, world }).session(lost);
  for (let count = 0; count < 40; count++) await other.append(`instead ${count}`);
  const path = `/v1/sessions/${lost}/events`;
  for (const answer of [
    await server.fetch(path, { headers: { ...stream, "last-event-id": id } }),
    await server.fetch(`${path}?after=${id}`, { headers: stream }),
    await server.fetch(`${path}?after=${id}`),
  ]) {
    assert.equal(answer.status, 500);
    assert.match(await answer.text(), /was rolled back: event 31 is lost or different/);
  }
  // An id of 0.4 names no hash: nobody can tell.
  const old = listen(server, `${path}?follow=false`, { "last-event-id": "31" });
  await old.over;
  assert.match(old.heard[0]?.id ?? "", /^32\./);
});

test("a client gets a rollback while it follows", async () => {
  await using place = await fallible(world);
  await using server = await served({ store: place.store });
  const { whole } = await loseTail(place);
  const client = await connect(server.server.url, { token: server.token });
  const over = new AbortController();
  const seen: string[] = [];
  const following = (async () => {
    for await (const told of client.follow({ after: "", signal: over.signal })) {
      if ("rollback" in told) seen.push("rollback");
      else if ("event" in told) seen.push(keyOf(told.event));
    }
  })();
  await until(async () => seen.length >= 30);
  await place.fallBack();
  await (await new Engine({ store: place.store, world }).session(whole)).append("new");
  await until(
    async () => (await recordsOf(place)).every((key) => seen.includes(key)) && seen.includes("rollback"),
  );
  over.abort();
  await following;
});

test("a lease of the lost history is not taken for one of the same number", async () => {
  await using place = await fallible(world);
  const depsOf = () => internalsOf(new Engine({ store: place.store, world }));
  const one = depsOf();
  // Something has to be in the workspace's log.
  const hook = { events: ["*"], secret: "ROLLBACK_SECRET" };
  await new Engine({ store: place.store, world }).setHook("ops", "http://192.0.2.1/", hook);
  await place.save();
  const before = await takeLeaderLease(one, { name: "hooks" });
  await place.fallBack();
  const two = depsOf();
  const after = await takeLeaderLease(two, { name: "hooks" });
  assert.ok(before !== null && after !== null);
  assert.equal(before.taken.seq, after.taken.seq);
  assert.equal(await isLeader(one, before.taken), false);
  await before.release();
  assert.equal(await isLeader(two, after.taken), true, "and is not given back by its number");
  await after.release();
});
