/** The side services of a server: metrics, request log, telemetry and webhooks, made together. */
import type { Engine } from "../../runtime/engine/engine.ts";
import type { World } from "../../runtime/world.ts";
import type { FeedFollower } from "./feed-follow.ts";
import type { Mount } from "../http/mount.ts";
import type { ServeOptions } from "../http/server.ts";
import { makeRequestLog, type LogForm } from "./request-log.ts";
import { makeMetrics } from "./metrics.ts";
import { makeOtlp, type OtlpOptions } from "./otlp.ts";
import { makeTelemetry } from "./telemetry.ts";
import { makeWebhooksIn } from "../http/webhooks-in.ts";
import { openWebhooksOut } from "./webhooks-out.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

export interface OutwardOptions {
  readonly world: World;
  readonly version: string;
  readonly log: LogForm;
  /** Takes one line of the request log. */
  readonly write: (line: string) => void;
  readonly tenants: (tenant: string) => Promise<Engine | null>;
  readonly trouble: (error: unknown) => void;
  /** True allows webhooks at addresses of this machine and of private networks. */
  readonly allowPrivate: boolean;
  /** Other protocols, which may have work of their own. */
  readonly mounts?: readonly Pick<Mount, "follow">[];
  /** Null: nothing is sent to a collector. */
  readonly otlp: (Pick<OtlpOptions, "endpoint" | "headers"> & { readonly serviceName: string }) | null;
}

export interface Outward {
  readonly serve: Required<
    Pick<ServeOptions, "besides" | "onRequest" | "streaming" | "isReady" | "privateHooks">
  >;
  /** Sends what is left, and ends. */
  stop(): Promise<void>;
}

/** How long the store may take to answer before the server counts as not ready. */
const readyMs = 3_000;

/** `engine` is the one whose events are counted and traced. */
export async function openOutward(engine: Engine, options: OutwardOptions): Promise<Outward> {
  const { world, version, trouble, tenants } = options;
  const { store, tenant } = internalsOf(engine);
  const metrics = makeMetrics(world);
  const log = makeRequestLog({ form: options.log, now: world.now, write: options.write });
  const following: FeedFollower[] = [await metrics.follow(engine, trouble)];
  const sent = options.otlp;
  const service = { name: sent?.serviceName ?? "skein", version };
  const otlp = sent === null ? null : makeOtlp({ ...sent, service, world, trouble });
  const telemetry = otlp === null ? null : makeTelemetry(otlp);
  if (telemetry !== null) following.push(await telemetry.follow(engine, trouble));
  const outbound = { allowPrivate: options.allowPrivate };
  following.push(await openWebhooksOut(engine, { outbound, trouble }));
  for (const mount of options.mounts ?? []) {
    const own = await mount.follow?.(engine, trouble);
    if (own !== undefined) following.push(own);
  }
  return {
    serve: {
      privateHooks: options.allowPrivate,
      besides: [metrics.beside, makeWebhooksIn({ world, tenants, tenant })],
      onRequest(completed) {
        metrics.observe(completed);
        log(completed);
        telemetry?.observe(completed);
      },
      streaming: metrics.streaming,
      isReady: async () => {
        const over = new AbortController();
        const answered = store.head(store.workspace).then(() => true);
        answered.catch(() => undefined);
        // An unreachable store may block for long: monitoring needs an answer now.
        const late = world.sleep(readyMs, over.signal).then(() => false);
        return Promise.race([answered, late]).finally(() => over.abort());
      },
    },
    async stop() {
      await Promise.all(following.map((one) => one.stop()));
      await otlp?.stop();
    },
  };
}
