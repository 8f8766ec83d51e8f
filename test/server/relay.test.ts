/** What a model says just now is heard at every server of a store, wherever the session is run. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeAuthorizer } from "../../src/server/auth/authorize.ts";
import { serve, type ServeOptions, type RunningServer } from "../../src/server/http/server.ts";
import { listenRelay } from "../../src/server/stream/relay-listen.ts";
import { proofHeader, proofOf } from "../../src/server/stream/relay-proof.ts";
import { oneTenant } from "../../src/server/http/tenants.ts";
import type { Store } from "../../src/store/port.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { newPath } from "../path.ts";
import { noPostgres, postgresDriver } from "../postgres/place.ts";
import { workspace } from "../runtime/place.ts";
import { seqOf } from "./reader.ts";
import { frames, type Frame } from "./served.ts";
import { slowModel, type SlowModel } from "./slow-model.ts";
import { until } from "./until.ts";
import { internalsOf } from "../../src/runtime/engine/internals.ts";

const words = ["Once ", "upon ", "a time."];

interface One extends AsyncDisposable {
  readonly engine: Engine;
  readonly store: Store;
  readonly server: RunningServer;
  readonly token: string;
  /** What a stream gives, as it comes. */
  listen(path: string): Listening;
}

interface Listening extends Disposable {
  readonly heard: Frame[];
  readonly texts: () => string;
  /** Resolves when it holds of what was heard. */
  until(holds: (heard: readonly Frame[]) => boolean): Promise<void>;
}

/** An engine as one process would have it; `holder` is who it is to the others. */
async function engineOf(
  open: () => Promise<Store>,
  holder: string,
  { models }: Pick<SlowModel, "models">,
): Promise<Engine> {
  const world = { ...realWorld(), self: holder };
  const tools = async () => makeToolSource({ world, tools: [] });
  return new Engine({ store: await open(), world, holder, models: async () => models, tools });
}

async function oneOf(
  open: () => Promise<Store>,
  holder: string,
  model: Pick<SlowModel, "models">,
  more: Partial<ServeOptions> = {},
): Promise<One> {
  const engine = await engineOf(open, holder, model);
  const { store, world } = internalsOf(engine);
  const { token } = await engine.addToken({ scopes: ["admin"] });
  const server = await serve({
    world,
    version: "0.0.0",
    engines: [engine],
    authorizer: (bound) => makeAuthorizer({ ...bound, world, tenants: oneTenant(engine) }),
    ...more,
  });
  return {
    engine,
    store,
    server,
    token,
    listen: (path) => listen(`${server.url}${path}`, token),
    async [Symbol.asyncDispose]() {
      await server.stop();
      await engine.close();
    },
  };
}

function listen(url: string, token: string): Listening {
  const over = new AbortController();
  const heard: Frame[] = [];
  const headers = { accept: "text/event-stream", authorization: `Bearer ${token}` };
  const reading = async (): Promise<void> => {
    for await (const frame of frames(await fetch(url, { headers, signal: over.signal }))) heard.push(frame);
  };
  reading().catch(() => undefined);
  const texts = (): string =>
    heard
      .flatMap(({ event, data = "" }) => (event === "delta" ? [JSON.parse(data) as LiveText] : []))
      .map(({ delta }) => delta.text)
      .join("");
  return {
    heard,
    texts,
    until: (holds) => until(async () => holds(heard), 20_000),
    [Symbol.dispose]: () => over.abort(),
  };
}

interface LiveText {
  readonly delta: { readonly text: string };
}

const isThere = (type: string) => (heard: readonly Frame[]) => heard.some(({ event }) => event === type);
/** What a reader has in order: events by type, deltas by what they say. */
const shown = (heard: readonly Frame[]): string[] =>
  heard.flatMap(({ event, data = "" }) =>
    event === "delta"
      ? [(JSON.parse(data) as LiveText).delta.text]
      : event === "model.requested" || event === "model.responded"
        ? [event]
        : [],
  );

async function heardElsewhere(open: () => Promise<Store>): Promise<void> {
  const model = slowModel(words);
  await using runs = await oneOf(open, "runs", model);
  await using reads = await oneOf(open, "reads", slowModel([]));
  const session = await runs.engine.open({ objective: "Tell a tale" });
  using reader = reads.listen(`/v1/sessions/${session.id}/events`);
  using everything = reads.listen("/v1/feed?follow=true");
  await reader.until(isThere("session.opened"));
  await using _ = await runs.engine.work({ concurrency: 1 });
  await session.append("Begin.");
  model.go();
  await reader.until(() => reader.texts() === "Once ");
  await everything.until(() => everything.texts() === "Once ");
  // Whoever comes in the middle, to a server that has heard nothing of it, hears it from its beginning.
  await using late = await oneOf(open, "late", slowModel([]));
  using latecomer = late.listen(`/v1/sessions/${session.id}/events`);
  await latecomer.until(() => latecomer.texts() === "Once ");
  model.go();
  await latecomer.until(() => latecomer.texts() === "Once upon ");
  model.go("all");
  for (const one of [reader, everything, latecomer]) {
    await one.until(isThere("model.responded"));
    const said = shown(one.heard);
    assert.deepEqual([said[0], said.at(-1)], ["model.requested", "model.responded"]);
    assert.ok(words.join("").startsWith(one.texts()), "nothing twice, and nothing left out in between");
  }
}

test("a reader gets deltas of a model call by another server on the same file", async () => {
  const { path, remove } = newPath();
  await heardElsewhere(() => sqliteStore({ path, world: realWorld(), workspace, durability: "process" }));
  remove();
});

test("and on the same PostgreSQL", { skip: await noPostgres() }, async () => {
  const place = await postgresDriver();
  await heardElsewhere(() => postgresStore({ url: place.url, world: realWorld(), workspace }));
  await place.done();
});

test("without an address there are finished messages, and no trouble", async () => {
  const { path, remove } = newPath();
  const open = () => sqliteStore({ path, world: realWorld(), workspace, durability: "process" as const });
  const model = slowModel(words);
  {
    await using runs = await oneOf(open, "runs", model, { host: "0.0.0.0" });
    await using reads = await oneOf(open, "reads", slowModel([]));
    const servers = async () => (await reads.store.servers()).map(({ holder }) => holder);
    await until(async () => (await servers()).length === 1);
    assert.deepEqual(await servers(), ["reads"]);
    const session = await runs.engine.open({ objective: "Tell a tale" });
    using reader = reads.listen(`/v1/sessions/${session.id}/events`);
    await using _ = await runs.engine.work({ concurrency: 1 });
    await session.append("Begin.");
    model.go("all");
    await reader.until(isThere("model.responded"));
    assert.deepEqual(shown(reader.heard), ["model.requested", "model.responded"]);
  }
  remove();
});

test("a worker without a server sends deltas to servers of its machine only", async () => {
  const { path, remove } = newPath();
  const open = () => sqliteStore({ path, world: realWorld(), workspace, durability: "process" as const });
  const model = slowModel(words);
  {
    await using reads = await oneOf(open, "reads", slowModel([]));
    const holders = async () => (await reads.store.servers()).map(({ holder }) => holder);
    {
      await using engine = await engineOf(open, "runs", model);
      await using _ = await listenRelay(engine);
      const session = await engine.open({ objective: "Tell a tale" });
      using reader = reads.listen(`/v1/sessions/${session.id}/events`);
      await using _worker = await engine.work({ concurrency: 1 });
      await session.append("Begin.");
      model.go();
      await reader.until(() => reader.texts() === "Once ");
      model.go("all");
      await reader.until(isThere("model.responded"));
      const { address = "" } = (await reads.store.servers()).find(({ holder }) => holder === "runs") ?? {};
      const status = async (asked: string, method = "GET"): Promise<number> => {
        const headers = { authorization: `Bearer ${reads.token}` };
        return (await fetch(address + asked, { method, headers })).status;
      };
      assert.equal(await status("/v1/relay"), 401);
      assert.equal(await status("/v1/relay", "POST"), 405);
      for (const other of ["/", "/healthz", "/v1/sessions"]) assert.equal(await status(other), 404, other);
    }
    assert.deepEqual(await holders(), ["reads"], "a worker that has stopped is not there any more");
  }
  remove();
});

test("deltas are sent only to servers of the store", async () => {
  const { path, remove } = newPath();
  const open = () => sqliteStore({ path, world: realWorld(), workspace, durability: "process" as const });
  {
    await using one = await oneOf(open, "one", slowModel(words));
    await until(async () => (await one.store.servers()).length === 1);
    const [row] = await one.store.servers();
    assert.ok(row !== undefined);
    const session = await one.engine.open({ objective: "Secret" });
    const other = await one.engine.open({ objective: "Other" });
    const world = realWorld();
    const asked = { tenant: "default", session: session.id };
    const nowMs = one.store.now();
    const right = proofOf(world, row.secret, asked, nowMs);
    const status = async (proof: string | null, of = session.id, method = "GET"): Promise<number> => {
      const over = new AbortController();
      const headers = proof === null ? { authorization: `Bearer ${one.token}` } : { [proofHeader]: proof };
      const url = `${row.address}/v1/relay?session=${of}`;
      const answer = await fetch(url, { method, headers, signal: over.signal });
      over.abort();
      return answer.status;
    };
    assert.equal(await status(right), 200);
    assert.equal(await status(right, session.id, "POST"), 405);
    const refused = [
      null,
      "",
      "tenant=default",
      right.replace("tenant=default", "tenant=other"),
      proofOf(world, "another secret", asked, nowMs),
      proofOf(world, row.secret, asked, nowMs - 120_000),
      proofOf(world, row.secret, { ...asked, session: other.id }, nowMs),
      proofOf(world, row.secret, { ...asked, session: null }, nowMs),
      proofOf(world, row.secret, { ...asked, tenant: "other" }, nowMs),
    ];
    for (const proof of refused) assert.equal(await status(proof), 401, String(proof));
    assert.equal(await status(right, other.id), 401);
    assert.equal(JSON.stringify(await one.engine.workers()).includes(row.secret), false);
  }
  const store = await open();
  assert.deepEqual(await store.servers(), [], "a server that has stopped is not there any more");
  await store.close();
  remove();
});

test("a reader continues without a gap when the server that runs the session is killed", async () => {
  const { path, remove } = newPath();
  const open = () => sqliteStore({ path, world: realWorld(), workspace, durability: "process" as const });
  {
    await using reads = await oneOf(open, "reads", slowModel(["All ", "over ", "again."]));
    const session = await reads.engine.open({ objective: "Tell a tale" });
    const child = fork(join(import.meta.dirname, "relay-runner.ts"), [path]);
    await once(child, "message");
    using reader = reads.listen(`/v1/sessions/${session.id}/events`);
    await reader.until(isThere("session.opened"));
    await session.append("Begin.");
    await reader.until(() => reader.texts() === "Once upon ");
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    const model = slowModel(["All ", "over ", "again."]);
    model.go("all");
    await using again = await oneOf(open, "again", model);
    await using _ = await again.engine.work({ concurrency: 1 });
    await reader.until(isThere("turn.ended"));
    const ids = reader.heard.flatMap(({ id }) => (id === undefined ? [] : [seqOf(id)]));
    assert.deepEqual(
      ids,
      ids.map((_id, place) => place + 1),
    );
    const said = shown(reader.heard);
    assert.deepEqual([said[0], said.at(-1)], ["model.requested", "model.responded"]);
    assert.ok("Once upon All over again.".startsWith(reader.texts()));
  }
  remove();
});
