/** Webhooks that go out: who is told of what, how often, and where nobody is called. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { limit } from "../../src/core/limit.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { isPrivate, post } from "../../src/platform/outbound.ts";
import { realWorld, type World } from "../../src/runtime/world.ts";
import {
  openWebhooksOut,
  waitingFor,
  type WebhooksOutOptions,
} from "../../src/server/outbound/webhooks-out.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { all, workspace } from "../runtime/place.ts";
import { until } from "./until.ts";
import { internalsOf } from "../../src/runtime/engine/internals.ts";

interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly delivery: string;
  readonly event: { readonly type: string; readonly session: string; readonly seq: number };
}

/** Somebody who is told; answers as `answer` says. */
async function receiver(answer: (count: number) => number = () => 200) {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      got.push({ headers: request.headers, text, ...(JSON.parse(text) as Pick<Got, "delivery" | "event">) });
      response.writeHead(answer(got.length), { location: "/elsewhere" }).end("thanks");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    got,
    url: `http://127.0.0.1:${port}/told`,
    port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const secret = "a long secret of the test";
const world = (more: Partial<World> = {}): World => ({
  ...realWorld(),
  secret: (name) => (name === "HOOK_SECRET" ? secret : undefined),
  ...more,
});

function engineOn(given = world()): Engine {
  return new Engine({ store: memoryStore({ world: given, workspace }), world: given });
}

const near: WebhooksOutOptions = {
  outbound: { allowPrivate: true },
  trouble: () => undefined,
  againMs: 5,
  noteMs: 0,
};
const closed = { events: ["session.closed"], secret: "HOOK_SECRET" };

test("a webhook gets its events, signed, without contents", async () => {
  await using place = await receiver();
  await using engine = engineOn();
  const before = await engine.open({ objective: "Before" });
  await before.close();
  await engine.setHook("ops", place.url, closed);
  const out = await openWebhooksOut(engine, near);
  const session = await engine.open({ objective: "sesame" });
  await session.close({ reason: "sesame" });
  await until(async () => place.got.length === 1);
  await out.stop();
  const [got] = place.got;
  const { seq, hash } = await session.head();
  const delivery = `${session.id}@${seq}.${hash.slice(0, 16)}`;
  assert.deepEqual(
    [got?.delivery, got?.headers["skein-delivery"], got?.headers["skein-event"], got?.event.type],
    [delivery, delivery, "session.closed", "session.closed"],
  );
  const [, t = "", v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(got?.headers["skein-signature"])) ?? [];
  assert.equal(v1, createHmac("sha256", secret).update(`${t}.${got?.text}`).digest("hex"));
  assert.equal(got?.text.includes("sesame"), false);
  const [hook] = await engine.hooks();
  assert.deepEqual([hook?.delivered, hook?.abandoned], [1, 0]);
});

test("the next server sends what the last did not, and nothing twice", async () => {
  await using place = await receiver();
  await using engine = engineOn();
  await engine.setHook("ops", place.url, { ...closed, events: ["session.*"] });
  // The second is written down when the server stops, and not before.
  const seldom = { ...near, noteMs: 60_000 };
  const first = await openWebhooksOut(engine, seldom);
  await engine.open({ objective: "One" });
  await until(async () => (await engine.hooks())[0]?.delivered === 1);
  await engine.open({ objective: "Two" });
  await until(async () => place.got.length === 2);
  await first.stop();
  await engine.open({ objective: "Three" });
  const second = await openWebhooksOut(engine, seldom);
  await until(async () => place.got.length >= 3);
  await second.stop();
  assert.equal(new Set(place.got.map(({ delivery }) => delivery)).size, 3);
  assert.equal(place.got.length, 3);
  assert.equal((await engine.hooks())[0]?.delivered, 3);
});

test("a failed delivery is retried, in order, under the same delivery id", async () => {
  // Redirects are not followed: they count as not taken.
  const answers = [500, 302, 404, 200];
  await using place = await receiver((count) => answers[count - 1] ?? 204);
  await using engine = engineOn();
  const troubles: unknown[] = [];
  await engine.setHook("ops", place.url, closed);
  const out = await openWebhooksOut(engine, { ...near, trouble: (error) => troubles.push(error) });
  const sessions = [await engine.open({ objective: "One" }), await engine.open({ objective: "Two" })];
  for (const session of sessions) await session.close();
  await until(async () => place.got.length === 5);
  await out.stop();
  const [one, two] = sessions.map(({ id }) => id);
  assert.deepEqual(
    place.got.map(({ event }) => event.session),
    [one, one, one, one, two],
  );
  assert.equal(troubles.length, 1);
});

test("webhooks list their current error and the time of the next attempt", async () => {
  let answer = 302;
  await using place = await receiver(() => answer);
  await using engine = engineOn();
  const entry = async (name: string) => {
    const { lastError, failures, nextTryAt } = (await engine.hooks()).find((one) => one.name === name)!;
    return { lastError, failures, isAgain: nextTryAt !== null };
  };
  const unknown = { lastError: null, failures: null, isAgain: false };
  await engine.setHook("away", place.url, closed);
  await engine.setHook("unsigned", place.url, { ...closed, secret: "NOT_SET" });
  assert.deepEqual(await entry("away"), unknown);
  const out = await openWebhooksOut(engine, { ...near, againMs: 3_600_000 });
  await until(async () => (await entry("away")).failures === 0);
  await (await engine.open({ objective: "One" })).close();
  await until(async () => (await entry("away")).failures === 1 && (await entry("unsigned")).failures === 1);
  assert.deepEqual(await entry("away"), {
    lastError: "the receiver responded with 302",
    failures: 1,
    isAgain: true,
  });
  const unsigned = { lastError: 'secret "NOT_SET" is not set', failures: 1, isAgain: true };
  assert.deepEqual(await entry("unsigned"), unsigned);
  await out.stop();
  assert.deepEqual(await entry("away"), unknown);
  answer = 500;
  const again = await openWebhooksOut(engine, near);
  await until(async () => ((await entry("away")).failures ?? 0) > 2);
  answer = 200;
  await until(async () => (await entry("away")).failures === 0);
  assert.deepEqual(await entry("away"), { ...unknown, failures: 0 });
  await again.stop();
});

test("any process computes a webhook's backlog from the log", async () => {
  await using place = await receiver((count) => (count === 2 ? 503 : 200));
  await using engine = engineOn();
  const context = internalsOf(engine);
  const waits = async () => {
    const [hook] = await engine.hooks();
    return waitingFor(context, hook!);
  };
  const opened = { ...closed, events: ["session.opened"] };
  await engine.setHook("ops", place.url, opened);
  assert.deepEqual(await waits(), { waiting: 0, waitingSince: null });
  // It is told of the first; the second it does not take, and nothing after it.
  const out = await openWebhooksOut(engine, { ...near, againMs: 60_000 });
  await engine.open({ objective: "One" });
  await until(async () => (await engine.hooks())[0]?.delivered === 1);
  const second = await engine.open({ objective: "Two" });
  await second.append("not wanted");
  await engine.open({ objective: "Three" });
  await until(async () => place.got.length === 2);
  const [event] = await all(second.events({ limit: 1 }));
  assert.deepEqual(await waits(), { waiting: 2, waitingSince: event?.at });
  await out.stop();
  const again = await openWebhooksOut(engine, near);
  await until(async () => (await waits()).waiting === 0);
  await again.stop();
  assert.equal((await waits()).waitingSince, null);
  assert.equal(place.got.length, 4);
});

test("an event undelivered for a day is dropped, with a record, and the next is sent", async () => {
  let aheadMs = 0;
  let status = 500;
  const later = world({ now: () => Date.now() + aheadMs });
  await using place = await receiver(() => status);
  await using engine = engineOn(later);
  await engine.setHook("ops", place.url, closed);
  const out = await openWebhooksOut(engine, near);
  const first = await engine.open({ objective: "One" });
  await first.close();
  await until(async () => place.got.length >= 2);
  aheadMs = limit.hookRetryMs;
  await until(async () => (await engine.hooks())[0]?.abandoned === 1);
  status = 200;
  const second = await engine.open({ objective: "Two" });
  await second.close();
  await until(async () => place.got.some(({ event }) => event.session === second.id));
  await out.stop();
  const { events } = await engine.feed({ limit: 100 });
  const given = events
    .filter(({ type }) => type === "hook.abandoned")
    .map(({ actor, body }) => ({ actor, body }));
  const [{ attempts }] = given.map(({ body }) => body) as [{ attempts: number }];
  const { seq } = await first.head();
  // At least two, and one more after which the day was over.
  // The clock may be set forward before the answer to the second attempt is read.
  assert.ok(attempts >= 2);
  assert.deepEqual(given, [
    { actor: "system", body: { name: "ops", setSeq: 1, log: first.id, seq, attempts } },
  ]);
});

test("hooks are for one session, for an agent's, for a label; and end when removed", async () => {
  await using place = await receiver();
  await using engine = engineOn();
  await engine.addAgent({ name: "coder", instructions: "Code." });
  const out = await openWebhooksOut(engine, near);
  const mine = await engine.open({ objective: "Mine" });
  await engine.setHook("mine", place.url, { ...closed, session: mine.id });
  await engine.setHook("coder", place.url, { ...closed, agent: "coder" });
  await engine.setHook("web", place.url, { ...closed, labels: { team: "web" } });
  await engine.setHook("all", place.url, { ...closed, events: ["*"] });
  await engine.removeHook("all");
  const sessions = [
    mine,
    await engine.open({ objective: "Coder", agent: "coder" }),
    await engine.open({ objective: "Web", labels: { team: "web" } }),
    await engine.open({ objective: "Nobody", labels: { team: "ops" } }),
  ];
  for (const session of sessions) await session.close();
  await until(async () => place.got.filter(({ event }) => event.type === "session.closed").length >= 3);
  await out.stop();
  const told = place.got
    .filter(({ text }) => !text.includes('"hook":"all"'))
    .map(({ text, event }) => `${(JSON.parse(text) as { hook: string }).hook} ${event.session}`);
  assert.deepEqual(
    new Set(told),
    new Set([`coder ${sessions[1]?.id}`, `mine ${mine.id}`, `web ${sessions[2]?.id}`]),
  );
  assert.equal(told.length, 3);
});

test("events of tokens and webhooks are sent only to webhooks that name them", async () => {
  await using place = await receiver();
  await using engine = engineOn();
  await engine.setHook("all", place.url, { ...closed, events: ["*"] });
  await engine.setHook("tokens", place.url, { ...closed, events: ["token.issued"] });
  const out = await openWebhooksOut(engine, near);
  await engine.addToken({ scopes: ["read"] });
  await engine.open({ objective: "Last" });
  await until(async () => place.got.length === 2);
  await out.stop();
  const told = place.got.map(
    ({ text, event }) => `${(JSON.parse(text) as { hook: string }).hook} ${event.type}`,
  );
  assert.deepEqual(new Set(told), new Set(["all session.opened", "tokens token.issued"]));
});

test("private addresses are not called, whatever they are spelled like or resolve to", async () => {
  await using place = await receiver();
  const outbound = { world: realWorld(), allowPrivate: false };
  const given = { body: "{}", headers: {} };
  for (const host of ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]"])
    await assert.rejects(post(outbound, `http://${host}:${place.port}/`, given), { code: "refused" }, host);
  const resolve = async () => [
    { address: "93.184.216.34", family: 4 },
    { address: "10.0.0.1", family: 4 },
  ];
  await assert.rejects(post({ ...outbound, resolve }, "http://example.com/", given), { code: "refused" });
  assert.equal(place.got.length, 0);
  const hidden = ["10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"];
  const hidden6 = ["::", "fe80::1", "fe80::1%eth0", "fd00::1", "ff02::1", "64:ff9b::a00:1", "2002:a00:1::"];
  const more = ["224.0.0.1", "255.255.255.255", "198.18.0.1", "::ffff:10.0.0.1", "::a00:1", "nonsense"];
  for (const address of [...hidden, ...hidden6, ...more]) assert.equal(isPrivate(address), true, address);
  for (const address of ["93.184.216.34", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111"])
    assert.equal(isPrivate(address), false, address);
});

test("the connection goes to the address that was looked at, and a name is looked up once", async () => {
  await using place = await receiver();
  let looks = 0;
  const resolve = async () => {
    looks += 1;
    return [{ address: "127.0.0.1", family: 4 }];
  };
  const outbound = { world: realWorld(), allowPrivate: true, resolve };
  const { status } = await post(outbound, `http://told.example:${place.port}/`, {
    body: '{"delivery":"x"}',
    headers: {},
  });
  assert.deepEqual([status, looks, place.got[0]?.headers.host], [200, 1, `told.example:${place.port}`]);
});

test("a call that takes too long is broken off", async () => {
  const server = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const hasty = {
    ...realWorld(),
    sleep: (ms: number, signal?: AbortSignal) => realWorld().sleep(ms / 200, signal),
  };
  const outbound = { world: hasty, allowPrivate: true };
  await assert.rejects(post(outbound, `http://127.0.0.1:${port}/`, { body: "{}", headers: {} }), {
    code: "unavailable",
  });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test("a hook that cannot be is refused, and what may be a secret is not repeated", async () => {
  await using engine = engineOn();
  const url = "https://example.com/";
  const refused = async (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => assert.fail("it was taken"),
      (error: unknown) => `${(error as { code: string }).code}: ${(error as Error).message}`,
    );
  assert.equal(
    await refused(engine.setHook("a", url, { ...closed, events: ["turn.endet"] })),
    'invalid: setHook: events: unknown event type "turn.endet"',
  );
  const said = [
    await refused(engine.setHook("a", "https://me:sesame@example.com/", closed)),
    await refused(engine.setHook("a", "file:///sesame", closed)),
    await refused(engine.setHook("a", url, { ...closed, secret: "whsec-sesame" })),
    await refused(engine.setHook("", url, closed)),
    await refused(engine.setHook("a", url, { ...closed, events: [] })),
  ].join("\n");
  assert.equal(said.includes("sesame"), false);
  assert.equal(await refused(engine.removeHook("a")), 'not-found: webhook "a" not found');
  assert.deepEqual(await engine.hooks(), []);
});

test("a workspace has so many hooks and no more, and one may still be set anew", async () => {
  await using engine = engineOn();
  const url = "https://example.com/";
  for (let count = 0; count < limit.hooksMax; count++) await engine.setHook(`h${count}`, url, closed);
  await assert.rejects(engine.setHook("one more", url, closed), { code: "refused" });
  const again = await engine.setHook("h0", `${url}again`, closed);
  assert.equal(again.url, `${url}again`);
  assert.equal((await engine.hooks()).length, limit.hooksMax);
  const long = url.padEnd(limit.hookUrlCharsMax, "a");
  assert.equal((await engine.setHook("h1", long, closed)).url, long);
  await assert.rejects(engine.setHook("h1", `${long}a`, closed), { code: "invalid" });
});
