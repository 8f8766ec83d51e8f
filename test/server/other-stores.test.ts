/** The server opens another store for nobody who asks it, unless whoever runs it has allowed it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeWorkspaceId } from "../../src/core/ids.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { served } from "./served.ts";

const world = realWorld();
const newStore = (): Store =>
  memoryStore({ world, workspace: makeWorkspaceId({ nowMs: world.now(), random: world.random(10) }) });
const home = "/stores/home.db";
const away = "/stores/away.db";

/** Two stores, each known to the other by its place; the one at home has a server. */
async function twoStores(options: { readonly otherStores?: boolean } = {}) {
  const stores = new Map<string, Store>([home, away].map((place) => [place, newStore()]));
  const opened: string[] = [];
  const openStore = async (place: string): Promise<Store> => {
    opened.push(place);
    return { ...(stores.get(place) as Store), close: async () => undefined };
  };
  const place = await served({ store: stores.get(home) as Store, openStore, ...options });
  const there = new Engine({ store: stores.get(away) as Store, world, openStore, place: away });
  const [from, to] = [
    await place.engine.open({ objective: "Here" }),
    await there.open({ objective: "There" }),
  ];
  const close = async (): Promise<void> => {
    await place[Symbol.asyncDispose]();
    await there.close();
  };
  return { place, from, to, opened, [Symbol.asyncDispose]: close };
}

const detailOf = ({ status, body }: { readonly status: number; readonly body: unknown }) => {
  const { detail, hint = "" } = body as { readonly detail: string; readonly hint?: string };
  return { status, detail, isHinted: hint.includes("--other-stores") };
};
const refusal = "access to other stores is disabled on this server";

test("no token makes the server open another store", async () => {
  await using both = await twoStores();
  const { place, from, to, opened } = both;
  const before = [await from.head(), await to.head()];
  const answers = [
    await place.call("session.send", { id: from.id, params: { to: to.id, message: "Hello", at: away } }),
    await place.call("session.migrate", { id: from.id, params: { to: away } }),
    await place.call("engine.migrate", { params: { to: away } }),
    await place.call("engine.migrate", { params: { to: away, dryRun: true } }),
  ];
  const told = { status: 403, detail: refusal, isHinted: true };
  assert.deepEqual(
    answers.map(detailOf),
    answers.map(() => told),
  );
  assert.deepEqual([await from.head(), await to.head()], before);
  assert.deepEqual(opened, []);
});

test("a reply does not make it open one either", async () => {
  await using both = await twoStores();
  const { place, from, to, opened } = both;
  const { message } = await to.send(from.id, "How much?", { at: home, withinMs: 3_600_000 });
  opened.length = 0;
  const before = await from.head();
  const params = { to: null, message: "Four.", replyTo: message };
  assert.deepEqual(detailOf(await place.call("session.send", { id: from.id, params })), {
    status: 409,
    detail: refusal,
    isHinted: true,
  });
  assert.deepEqual([await from.head(), opened], [before, []]);
});

test("where it is allowed, messages and sessions go there", async () => {
  await using both = await twoStores({ otherStores: true });
  const { place, from, to } = both;
  const params = { to: to.id, message: "Hello", at: away };
  const sent = await place.call("session.send", { id: from.id, params });
  assert.deepEqual([sent.status, (sent.body as { readonly delivered: boolean }).delivered], [200, true]);
  const moved = await place.call("session.migrate", { id: from.id, params: { to: away } });
  assert.equal(moved.status, 200, JSON.stringify(moved.body));
});
