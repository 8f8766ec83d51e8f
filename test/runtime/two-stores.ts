/** Two stores of different workspaces, and stores whose process dies at a given call. */
import { makeWorkspaceId, type SessionId } from "../../src/core/ids.ts";
import { SkeinError } from "../../src/core/error.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Store } from "../../src/store/port.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { kind } from "../kind.ts";
import { newPath } from "../path.ts";
import { postgresDriver } from "../postgres/place.ts";
import { madeWorld, type MadeWorld } from "./made-world.ts";

export interface Home {
  readonly store: Store;
  readonly engine: Engine;
  readonly world: MadeWorld;
}

export interface Homes extends AsyncDisposable {
  readonly a: Home;
  readonly b: Home;
}

let made = 0;
const newWorkspace = () => {
  made += 1;
  return makeWorkspaceId({ nowMs: made, random: Uint8Array.from({ length: 10 }, () => made) });
};
export function twoInMemory(): Homes {
  const [a, b] = ["a", "b"].map((name) => {
    const world = madeWorld(name);
    const store = kind().store({ world, workspace: newWorkspace() });
    return { store, world, engine: new Engine({ store, world }) };
  }) as [Home, Home];
  const close = async (): Promise<void> => {
    for (const { engine } of [a, b]) await engine.close();
  };
  return { a, b, [Symbol.asyncDispose]: close };
}

export async function twoInFiles(): Promise<Homes> {
  const places = [kind().lasting(), kind().lasting()];
  const homes: Home[] = [];
  for (const [place, { open }] of places.entries()) {
    const world = madeWorld(`file ${place}`);
    const workspace = newWorkspace();
    const store = await open({ world, workspace });
    homes.push({ store, world, engine: new Engine({ store, world }) });
  }
  const [a, b] = homes as [Home, Home];
  const close = async (): Promise<void> => {
    for (const { engine } of homes) await engine.close();
    for (const { remove } of places) remove();
  };
  return { a, b, [Symbol.asyncDispose]: close };
}

/** The first in a file, the second in PostgreSQL. */
export async function fileAndPostgres(): Promise<Homes> {
  const { path, remove } = newPath();
  const { url, done } = await postgresDriver();
  const { sleep, defer } = realWorld();
  const home = async (name: string, open: (world: MadeWorld) => Promise<Store>): Promise<Home> => {
    const world = madeWorld(name);
    const store = await open(world);
    return { store, world, engine: new Engine({ store, world }) };
  };
  const a = await home("file", (world) =>
    sqliteStore({ path, world, workspace: newWorkspace(), durability: "process" }),
  );
  const b = await home("server", (world) => {
    const own = { now: () => world.now(), digest: world.digest, sleep, defer };
    return postgresStore({ url, world: own, workspace: newWorkspace(), clock: "world" });
  });
  const close = async (): Promise<void> => {
    for (const { engine } of [a, b]) await engine.close();
    remove();
    await done();
  };
  return { a, b, [Symbol.asyncDispose]: close };
}

/** A session with a fork point, a blob, items and a rewind; and a fork of it. */
export async function livedIn({ engine }: Pick<Home, "engine">): Promise<{ root: Session; fork: Session }> {
  const root = await engine.open({ objective: "November payroll run", labels: { team: "finance" } });
  await root.append("x".repeat(70_000));
  await root.record("fact", "base-rate", 4.1, { because: "the table says so" });
  const image = await engine.putBlob(Uint8Array.from({ length: 300_000 }, (_, place) => place % 251));
  await root.input([
    { type: "text", text: "look" },
    { type: "image", blob: image, mediaType: "image/png" },
  ]);
  await root.rewind(3);
  const fork = await root.fork({ atSeq: 4, objective: "What if it rises?" });
  await fork.record("decision", "wait", true, { because: "not known yet" });
  await root.append("after the fork");
  return { root, fork };
}

/** Calls that count as steps of a process. */
interface Life {
  left: number;
  dead: boolean;
  steps: number;
}

export const lifeOf = (steps: number): Life => ({ left: steps, dead: false, steps: 0 });

/**
 * The store as a process sees it that dies at its nth call: before it is made, or right after, when the
 * answer is never heard.
 */
export function mortal(store: Store, life: Life, when: "before" | "after"): Store {
  const dies = (): SkeinError => {
    life.dead = true;
    return new SkeinError("unavailable", "the process is dead");
  };
  return new Proxy(store, {
    get(target, name: keyof Store) {
      const value = target[name];
      if (typeof value !== "function" || ["watch", "close", "now"].includes(name)) return value;
      const work = value as (...args: readonly unknown[]) => Promise<unknown>;
      return async (...args: readonly unknown[]) => {
        if (life.dead) throw dies();
        life.steps++;
        life.left--;
        const isLast = life.left === 0;
        if (isLast && when === "before") throw dies();
        const answer = await work(...args);
        if (isLast) throw dies();
        return answer;
      };
    },
  });
}

/** The status of a session in a store; null when it is not there. A copy does not live there. */
export async function statusIn({ store, engine }: Home, id: SessionId): Promise<string | null> {
  const head = await store.head(id);
  if (head === undefined) return null;
  if (head.copy === true) return "copy";
  return (await (await engine.session(id)).fold()).standing.status;
}
