/**
 * Opens a store and the engine on it: here the command line chooses the drivers. The first run that needs
 * models and tools loads them.
 */
import { SkeinError } from "../../core/error.ts";
import { makeWorkspaceId, quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { realWorld, type World } from "../../runtime/world.ts";
import type { Store } from "../../store/port.ts";
import { locateStore, type LocatedStore } from "../../store/registry.ts";

export interface StoreOpener {
  readonly store: (options?: { readonly create?: boolean }) => Promise<Store>;
  readonly engine: (options?: EngineOpening) => Promise<Engine>;
  readonly close: () => Promise<void>;
}

export interface EngineOpening {
  readonly create?: boolean;
  /** True refuses other tenants of the same database. */
  readonly walled?: boolean;
}

/**
 * Opens on first use. The engine is loaded only for verbs that need it: most of its start is the event
 * catalog.
 */
export function makeOpening(place: string): StoreOpener {
  let world: World = realWorld();
  let opened: Promise<Store> | null = null;
  let engine: Promise<Engine> | null = null;
  const started = new AsyncDisposableStack();
  const openAt = async (at: LocatedStore, create: boolean): Promise<Store> => {
    checkLasting(at);
    const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
    return at.open({ world, workspace, create, lockWaitMs: lockWaitMs() });
  };
  const store = async (create: boolean): Promise<Store> => openAt(await locateStore(place), create);
  return {
    store: ({ create = false } = {}) => (opened ??= store(create)),
    engine: ({ create = false, walled = false } = {}) =>
      (engine ??= (async () => {
        const loading = import("../../runtime/engine/engine.ts");
        const secrets = import("./secrets.ts");
        const { signerIn } = await import("./keys.ts");
        secrets.catch(() => undefined);
        opened ??= store(create);
        // The store is opened while the engine loads; if both fail, the store's error is reported.
        const [ready, { Engine }] = await Promise.all([opened, loading]);
        world = { ...world, redactor: (await secrets).redactorFor(process.env) };
        const at = await locateStore(place);
        return new Engine({
          store: ready,
          world,
          tenant: at.tenancy?.tenant ?? "default",
          openStore: async (other, { create: make = true } = {}) => {
            const there = await locateStore(other);
            if (walled) await checkWall({ at, workspace: ready.workspace, world }, there);
            return openAt(there, make);
          },
          signer: () => signerIn(process.env),
          ...(at.address === null ? {} : { place: at.address }),
          models: once(async () => {
            const models = await (await import("./config.ts")).loadModels(world);
            started.defer(async () => models[Symbol.asyncDispose]?.());
            return models;
          }),
          tools: once(async () =>
            (await import("../../tool/source.ts")).makeToolSource({
              world,
              hidden: at.files.slice(0, 1),
            }),
          ),
        });
      })()),
    close: async () => {
      // The failure was reported already, and there is nothing to close.
      const ready = await opened?.catch(() => null);
      const running = await engine?.catch(() => null);
      await (running ?? ready)?.close();
      await started.disposeAsync();
    },
  };
}

/** True when the store exists, or when only a connection can tell. */
export const storeExists = async (place: string): Promise<boolean> => (await locateStore(place)).exists();

/** Loads on first use, and returns the same from then on. Retries after a failure. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | null = null;
  return () =>
    (loaded ??= load().catch((error: unknown) => {
      loaded = null;
      throw error;
    }));
}

interface Wall {
  readonly at: LocatedStore;
  readonly workspace: Store["workspace"];
  readonly world: World;
}

/** A server does not open other tenants of its database. */
async function checkWall({ at, workspace, world }: Wall, other: LocatedStore): Promise<void> {
  if (at.tenancy === undefined || other.tenancy === undefined) return;
  if (other.tenancy.tenant === at.tenancy.tenant) return;
  if (!(await other.tenancy.holds(workspace, world))) return;
  throw new SkeinError("refused", "the destination is another tenant of the same database", {
    hint: "export the session, and import it there",
  });
}

/** A command ends with its process, and a store in memory with it. */
function checkLasting(at: LocatedStore): void {
  if (at.address !== null) return;
  throw new SkeinError("invalid", `--store: unknown scheme in ${quote(at.shown)}`, {
    hint: "pass the path of a file, or postgres://user:password@host:5432/database",
  });
}

function lockWaitMs(): number {
  const text = process.env["SKEIN_LOCK_WAIT_MS"];
  if (text === undefined || text === "") return limit.lockWaitMs;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new SkeinError("invalid", `SKEIN_LOCK_WAIT_MS: expected milliseconds, got ${quote(text)}`, {
    hint: "pass a non-negative integer",
  });
}
