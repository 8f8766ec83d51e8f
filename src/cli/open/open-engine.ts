/**
 * Opening a store and the engine on it: the place where the command line chooses the drivers. Models and
 * tools are loaded by the first run that needs them.
 */
import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { SkeinError } from "../../core/error.ts";
import { makeWorkspaceId, quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { realWorld, type World } from "../../runtime/world.ts";
import type { Store } from "../../store/port.ts";
import { isPostgresAddress, shownAddress, tenantAt } from "../../store/postgres/connection/address.ts";

export interface Opening {
  readonly store: (options?: { readonly create?: boolean }) => Promise<Store>;
  readonly engine: (options?: EngineOpening) => Promise<Engine>;
  readonly close: () => Promise<void>;
}

export interface EngineOpening {
  readonly create?: boolean;
  /** Other tenants of the same database are not opened, whoever names them. */
  readonly walled?: boolean;
}

/**
 * Opens on first use. The engine is loaded only for verbs that need it: most of its start is the event
 * catalogue.
 */
export function makeOpening(place: string): Opening {
  let world: World = realWorld();
  let opened: Promise<Store> | null = null;
  let engine: Promise<Engine> | null = null;
  const openAt = async (place: string, create: boolean): Promise<Store> => {
    const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
    if (isPostgresAddress(place)) {
      const { postgresStore } = await import("../../store/postgres/store.ts");
      return postgresStore({ url: place, world, workspace, create });
    }
    checkPlace(place, create);
    const { sqliteStore } = await import("../../store/sqlite/store.ts");
    const own = { create, lockWaitMs: lockWaitMs(), clock: "files" } as const;
    return sqliteStore({ path: fileOf(place), world, workspace, ...own });
  };
  const store = (create: boolean): Promise<Store> => openAt(place, create);
  return {
    store: ({ create = false } = {}) => (opened ??= store(create)),
    engine: ({ create = false, walled = false } = {}) =>
      (engine ??= (async () => {
        const loading = import("../../runtime/engine/engine.ts");
        const secrets = import("./secrets.ts");
        const { signerIn } = await import("./keys.ts");
        secrets.catch(() => undefined);
        opened ??= store(create);
        // The store is opened while the engine loads; if both fail, the store's failure is the one to tell.
        const [ready, { Engine }] = await Promise.all([opened, loading]);
        world = { ...world, redactor: (await secrets).redactorFor(process.env) };
        return new Engine({
          store: ready,
          world,
          tenant: tenantAt(place),
          openStore: async (other, { create: make = true } = {}) => {
            if (walled) await checkWall({ place, workspace: ready.workspace, world }, other);
            return openAt(other, make);
          },
          signer: () => signerIn(process.env),
          place: isPostgresAddress(place) ? shownAddress(place) : resolve(fileOf(place)),
          models: once(async () => (await import("./config.ts")).loadModels(world)),
          tools: once(async () =>
            (await import("../../tool/source.ts")).makeToolSource({
              world,
              hidden: isPostgresAddress(place) ? [] : [resolve(fileOf(place))],
            }),
          ),
        });
      })()),
    close: async () => {
      // What failed to open was told already, and there is nothing to close.
      const ready = await opened?.catch(() => null);
      const running = await engine?.catch(() => null);
      await (running ?? ready)?.close();
    },
  };
}

/** Whether there is a store already, or somebody else looks after that. */
export const isThere = (place: string): boolean => isPostgresAddress(place) || existsSync(fileOf(place));

/** As it may be shown: an address without its password. */
export const shownStore = (place: string): string => (isPostgresAddress(place) ? shownAddress(place) : place);

/** What SQLite would take for a place of its own making is a file like any other. */
export const fileOf = (place: string): string => (/^(:|file:)/.test(place) ? `./${place}` : place);

/** Loads on first use, and gives the same from then on. What failed is tried again. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | null = null;
  return () =>
    (loaded ??= load().catch((error: unknown) => {
      loaded = null;
      throw error;
    }));
}

interface Walled {
  readonly place: string;
  readonly workspace: Store["workspace"];
  readonly world: World;
}

/** The database itself is asked whether it is this one, which may have many names. */
async function checkWall({ place, workspace, world }: Walled, other: string): Promise<void> {
  if (!isPostgresAddress(place) || !isPostgresAddress(other)) return;
  if (tenantAt(other) === tenantAt(place)) return;
  const { holdsWorkspace } = await import("../../store/postgres/tenant/tenants.ts");
  if (!(await holdsWorkspace({ url: other, world, workspace }))) return;
  throw new SkeinError("refused", "that is another tenant of the same database", {
    hint: "nothing goes from one to the other through a server; export the session, and import it there",
  });
}

function checkPlace(place: string, create: boolean): void {
  const scheme = /^:?(memory|[a-z][a-z0-9+]{1,20}(?=:\/\/)):/.exec(place)?.[1];
  if (scheme !== undefined) {
    throw new SkeinError("invalid", `the command line has no store for ${quote(`${scheme}:`)}`, {
      hint: "give the path of a file, or postgres://user:password@host:5432/database",
    });
  }
  if (place === "" || place.includes("\0")) {
    throw new SkeinError("invalid", "the path of the store is empty", {
      hint: "give --store STORE, or unset SKEIN_STORE",
    });
  }
  if (!create) return;
  const folder = dirname(place);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new SkeinError("unavailable", `there is no directory ${folder} to keep the store in`, {
    hint: `make it first: mkdir -p ${folder}`,
  });
}

function lockWaitMs(): number {
  const text = process.env["SKEIN_LOCK_WAIT_MS"];
  if (text === undefined || text === "") return limit.lockWaitMs;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new SkeinError("invalid", `SKEIN_LOCK_WAIT_MS is ${quote(text)}`, {
    hint: "a whole number of milliseconds",
  });
}
