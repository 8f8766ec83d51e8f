/**
 * The engines of tenants: each is opened with the first request of a token of it, and closed when it is
 * unused for long. A request never creates a missing tenant.
 */
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { World } from "../../runtime/world.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

export interface OpenTenantsOptions {
  /** Null when the tenant does not exist. */
  readonly open: (tenant: string) => Promise<Engine | null>;
  readonly world: Pick<World, "now" | "steady">;
  /** True when it has background work, and must stay open. Never by default. */
  readonly isBusy?: (engine: Engine) => boolean;
  readonly idleMs?: number;
  readonly openMax?: number;
}

export interface OpenTenants extends AsyncDisposable {
  /** Each use keeps it open. */
  engineOf(tenant: string): Promise<Engine | null>;
  /** Closes all of them; later requests find none. */
  close(): Promise<void>;
}

interface OpenTenant {
  readonly engine: Promise<Engine | null>;
  usedMs: number;
}

/** The one tenant of a store without others. The opener of its engine closes it. */
export function oneTenant(engine: Engine): (tenant: string) => Promise<Engine | null> {
  const { tenant: own } = internalsOf(engine);
  return async (tenant) => (tenant === own ? engine : null);
}

export function makeTenants(options: OpenTenantsOptions): OpenTenants {
  const {
    world,
    isBusy = () => false,
    idleMs = limit.tenantIdleMs,
    openMax = limit.tenantsOpenMax,
  } = options;
  const all = new Map<string, OpenTenant>();
  let closed = false;
  const clock = (): number => world.steady?.() ?? world.now();

  /** A tenant that is requested again while it closes is opened again, beside it. */
  async function leave(tenant: string, { engine }: OpenTenant): Promise<void> {
    all.delete(tenant);
    await (await engine)?.close();
  }

  /** The least recently used one first. */
  async function tidy(nowMs: number): Promise<void> {
    for (const [tenant, open] of all) {
      const isIdle = nowMs - open.usedMs >= idleMs;
      if (!isIdle && all.size <= openMax) return;
      const engine = await open.engine;
      if (all.get(tenant) === open && engine !== null && !isBusy(engine)) await leave(tenant, open);
    }
  }

  async function begin(tenant: string): Promise<OpenTenant> {
    const open = { engine: options.open(tenant), usedMs: clock() };
    all.set(tenant, open);
    const forget = (): void => void (all.get(tenant) === open && all.delete(tenant));
    await open.engine.then((engine) => (engine === null ? forget() : undefined), forget);
    return open;
  }

  async function close(): Promise<void> {
    closed = true;
    await Promise.all([...all].map(([tenant, open]) => leave(tenant, open).catch(() => undefined)));
  }

  return {
    async engineOf(tenant) {
      if (closed) throw new SkeinError("unavailable", "the server is closing");
      const known = all.get(tenant);
      const open = known ?? (await begin(tenant));
      open.usedMs = clock();
      if (all.get(tenant) === open) {
        all.delete(tenant);
        all.set(tenant, open);
      }
      if (known === undefined) void tidy(clock()).catch(() => undefined);
      return open.engine;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
