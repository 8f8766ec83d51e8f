/**
 * The stores that the behaviour tests stand on, by name. Each test file runs on `embedded`; those in the
 * table of test/postgres/again.ts run once more on PostgreSQL, told by a variable of the process.
 */
import { randomBytes } from "node:crypto";
import type { WorkspaceId } from "../src/core/ids.ts";
import { version } from "../src/core/version.ts";
import type { World } from "../src/runtime/world.ts";
import { realWorld } from "../src/runtime/world.ts";
import { memoryStore } from "../src/store/memory/store.ts";
import type { Store, StoreWorld } from "../src/store/port.ts";
import { postgresStore } from "../src/store/postgres/store.ts";
import { sqliteStore } from "../src/store/sqlite/store.ts";
import { newPath } from "./path.ts";

interface Given {
  readonly world: World | StoreWorld;
  readonly workspace: WorkspaceId;
}

/** A place that several stores can be opened at, as several processes would. */
export interface LastingPlace {
  readonly place: string;
  open(given: Given): Promise<Store>;
  remove(): void;
}

interface Kind {
  /** A store that nobody else has. */
  store(given: Given): Store;
  /** The same, for `openEngine`. */
  place(): string;
  lasting(): LastingPlace;
  /** A place for a new store of several processes; where it is a file, at this path. */
  placeIn(path: string): string;
}

/** Of one database, which `again.ts` names before it loads any test. */
export const databaseVariable = "SKEIN_TEST_DATABASE";
const kindVariable = "SKEIN_TEST_STORE";

const kinds: Readonly<Record<string, Kind>> = {
  embedded: {
    store: (given) => memoryStore(given),
    place: () => "memory:",
    lasting() {
      const { path, remove } = newPath();
      // Waiting for the disk would only take time here; test/store and test/crash are about that.
      const open = (given: Given) => sqliteStore({ path, durability: "process", ...given });
      return { place: path, open, remove };
    },
    placeIn: (path) => path,
  },
  postgres: {
    store: (given) => lazily(given, openTenant(newTenant(), given)),
    place: newTenant,
    lasting() {
      const place = newTenant();
      return { place, open: (given) => openTenant(place, given), remove: () => undefined };
    },
    placeIn: newTenant,
  },
};

/** Which one this process stands on. */
export const kind = (): Kind => {
  const found = kinds[process.env[kindVariable] ?? "embedded"];
  if (found === undefined) throw new Error(`no such kind of store: ${process.env[kindVariable]}`);
  return found;
};

/** How many cases a property is tried on: on PostgreSQL, where each takes longer, only a few of them. */
export const cases = (count: number): { readonly numRuns: number } => ({
  numRuns: process.env[kindVariable] === "postgres" ? Math.ceil(count / 20) : count,
});

/** From one call at which a process dies to the next that is tried: on PostgreSQL one in eleven. */
export const stride = (): number => (process.env[kindVariable] === "postgres" ? 11 : 1);

/** For `test(…, { skip }, …)`: why a test that reaches into the file of a store has none. */
export const noFile = (): string | false =>
  process.env[kindVariable] === "postgres" ? "reaches into the file of an embedded store" : false;

/** The same for one that is long and shows nothing of the store. */
export const atLength = (): string | false =>
  process.env[kindVariable] === "postgres"
    ? "takes a thousand appends, and shows nothing of the store"
    : false;

export const standOn = (name: string): void => {
  process.env[kindVariable] = name;
};

function newTenant(): string {
  const url = new URL(process.env[databaseVariable] ?? "");
  url.searchParams.set("tenant", `t${randomBytes(8).toString("hex")}`);
  url.searchParams.set("connections", "4");
  return url.href;
}

const opened = new Set<Store>();

/** Connections keep a process from ending, so what tests have left open is closed after them. */
export async function closeLeft(): Promise<void> {
  const left = [...opened];
  opened.clear();
  await Promise.all(left.map((store) => store.close()));
}

/** The clock is the test's, the timers are real: a store waits for its server and not for the test. */
async function openTenant(url: string, { world, workspace }: Given): Promise<Store> {
  const { sleep, defer } = realWorld();
  const now = (): number => world.now();
  const own = { now, sleep, defer, digest: world.digest };
  const store = await postgresStore({ url, world: own, workspace, clock: "world", durability: "process" });
  opened.add(store);
  return store;
}

/** A store that is still being opened, for tests that make theirs at once. It can be spread like others. */
function lazily(given: Given, opening: Promise<Store>): Store {
  const { world, workspace } = given;
  opening.catch(() => undefined);
  const calls = Object.keys(memoryStore(given)).map((name) => [
    name,
    async (...args: readonly unknown[]) => {
      const store = await opening;
      return (store[name as keyof Store] as (...words: readonly unknown[]) => unknown)(...args);
    },
  ]);
  const known = { workspace, program: version, now: () => world.now(), watch: watchOf(opening) };
  return { ...(Object.fromEntries(calls) as Store), ...known };
}

function watchOf(opening: Promise<Store>): Store["watch"] {
  return (changed) => {
    let over = false;
    let end: (() => void) | null = null;
    const begin = async (): Promise<void> => {
      const store = await opening;
      if (!over) end = store.watch(changed);
    };
    begin().catch(() => undefined);
    return () => {
      over = true;
      end?.();
    };
  };
}
