/**
 * The program that the kill test of rollovers kills: it sends to the first session of a chain, in each way
 * that there is, and rolls the newest over, again and again. It kills itself at the point that the order
 * names. Started again it does the same once more, with the same keys.
 */
import { Engine } from "../../src/runtime/engine/engine.ts";
import { makeDeps } from "../../src/runtime/engine/make-deps.ts";
import { rolloverSession } from "../../src/runtime/branch/succession.ts";
import { requestDeps } from "../../src/runtime/log/request-scope.ts";
import { SkeinError } from "../../src/core/error.ts";
import { isSessionId, type SessionId } from "../../src/core/ids.ts";
import { realWorld, type World } from "../../src/runtime/world.ts";
import type { Part, Store } from "../../src/store/port.ts";
import type { OuterTool } from "../../src/tool/port.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { scripted, type Scripted } from "../runtime/turn/scripted.ts";
import { openPlace } from "./store-place.ts";

export interface RolloverOrder {
  readonly path: string;
  readonly first: SessionId;
  /** Another session, which sends messages. */
  readonly peer: SessionId;
  /** Of a webhook of the first session. */
  readonly token: string;
  readonly times: number;
  /** `before rollover 2`, `after input 1`, …; null: it lives. */
  readonly dieAt: string | null;
  /** Sends nothing, and only rolls over the newest, whoever else does. */
  readonly race?: true;
}

export async function engineAt(
  path: string,
  given: {
    readonly script?: Scripted;
    readonly tools?: readonly OuterTool[];
    readonly wrap?: (store: Store) => Store;
  } = {},
): Promise<{ readonly engine: Engine; readonly store: Store; readonly world: World }> {
  const { script = scripted(["Done."]), tools = [], wrap = (store: Store) => store } = given;
  const world = realWorld();
  const store = wrap(await openPlace(path));
  const engine = new Engine({
    store,
    world,
    leaseMs: 1_000,
    models: async () => script.models,
    tools: async () => makeToolSource({ world, tools }),
  });
  return { engine, store, world };
}

/** What an append does; undefined: nothing that has a name here. */
function nameOf(parts: readonly Part[]): string | undefined {
  const types = parts.flatMap(({ drafts }) => drafts.map(({ type }) => type));
  if (types.includes("session.continued")) return "rollover";
  if (types.includes("trigger.fired")) return "webhook";
  if (types.includes("message.received")) return "message";
  return types.includes("input.received") ? "input" : undefined;
}

function dyingStore(inner: Store, dieAt: string | null): Store {
  const counts = new Map<string, number>();
  const pass = (place: string): void => {
    const count = (counts.get(place) ?? 0) + 1;
    counts.set(place, count);
    if (`${place} ${count}` === dieAt) process.kill(process.pid, "SIGKILL");
  };
  const append: Store["append"] = async (parts) => {
    const name = nameOf(parts);
    if (name !== undefined) pass(`before ${name}`);
    const outcome = await inner.append(parts);
    if (name !== undefined) pass(`after ${name}`);
    return outcome;
  };
  return new Proxy(inner, {
    get: (target, name) => (name === "append" ? append : target[name as keyof Store]),
  });
}

/** A turn may run: then it is tried again, as it is after an outcome that is not known. */
export async function patiently<Result>(world: World, work: () => Promise<Result>): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const passes =
        error instanceof SkeinError && ["conflict", "unknown", "unavailable"].includes(error.code);
      if (!passes || tries > 1_000) throw error;
      await world.sleep(20);
    }
  }
}

/** The newest of a chain, by its logs alone. */
export async function newestOf(engine: Engine, first: SessionId): Promise<readonly SessionId[]> {
  const chain = [first];
  for (;;) {
    const { next } = (await (await engine.session(chain.at(-1) ?? first)).fold()).standing;
    // The first of a chain names the newest; the others the one after them.
    const to = chain.length === 1 ? await secondOf(engine, first) : next;
    if (to === null || !isSessionId(to)) return chain;
    chain.push(to);
  }
}

async function secondOf(engine: Engine, first: SessionId): Promise<string | null> {
  const session = await engine.session(first);
  for await (const { body } of session.events({ types: ["session.continued"], limit: 1 }))
    return (body as { readonly to: string }).to;
  return null;
}

/** What another process rolled over meanwhile is found again. */
async function race(engine: Engine, world: World, { first, times }: RolloverOrder): Promise<void> {
  for (let done = 0; done < times;) {
    const newest = (await newestOf(engine, first)).at(-1) ?? first;
    try {
      await (await engine.session(newest)).rollover();
      done += 1;
    } catch (error) {
      if (!(error instanceof SkeinError) || !["conflict", "refused"].includes(error.code)) throw error;
    }
    await world.sleep(20);
  }
}

async function main(order: RolloverOrder): Promise<void> {
  const { path, first, peer, token, times, dieAt } = order;
  const place = await engineAt(path, { wrap: (store) => dyingStore(store, dieAt) });
  await using engine = place.engine;
  const { store, world } = place;
  const deps = makeDeps({ store, world });
  if (order.race === true) return await race(engine, world, order);
  let session = first;
  for (let round = 1; round <= times; round++) {
    const name = (way: string): string => `own-${way}-${round}`;
    await patiently(world, async () =>
      (await engine.session(first)).input(name("input"), { key: name("input") }),
    );
    await patiently(world, async () =>
      (await engine.session(peer)).send(first, name("message"), { key: name("message") }),
    );
    await patiently(world, () =>
      engine.webhook(token, { body: name("hook"), headers: { "x-skein-delivery": name("hook") } }),
    );
    const from = session;
    const scope = requestDeps(deps, { key: `roll-${round}` });
    session = (await patiently(world, () => rolloverSession(scope, from, {}))).next;
  }
}

if (process.argv[1] === import.meta.filename) await main(JSON.parse(process.argv[2] ?? "") as RolloverOrder);
