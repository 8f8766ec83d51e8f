/**
 * Metrics of a running server in Prometheus text format, at `/metrics`. Reading them needs a token with the
 * scope `operate`. Figures that the store must count are refreshed at most every few seconds, however often
 * they are read.
 */
import { readRows } from "../../runtime/read/session-rows.ts";
import { statuses, type SessionStatus } from "../../core/session/lifecycle.ts";
import { makeProblem } from "../../protocol/problem.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { World } from "../../runtime/world.ts";
import { isProblem } from "../auth/authorize.ts";
import { followFeed, type FeedFollower } from "./feed-follow.ts";
import { makeHistogram, type Histogram, type Labels } from "./histogram.ts";
import type { SideRoute, CompletedRequest } from "../http/server.ts";
import { costFigures, costMetrics, type Figure } from "./cost-metrics.ts";
import { makeCostMeter, type CostMeter } from "./cost-meter.ts";
import { ProblemError } from "../http/problem.ts";
import { sendText } from "../http/reply.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

const metricsPath = "/metrics";
const mediaType = "text/plain; version=0.0.4; charset=utf-8";

/** Seconds. */
const latencyBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const countedMs = 5_000;
/** Events are counted at this interval, and not one by one. */
const restMs = 1_000;
/** Sessions of one status are counted up to this: more would cost a read of all of them. */
const countedMax = 10_000;
/** Closed sessions are not counted: their number only grows. */
const countedStatuses: readonly SessionStatus[] = statuses.filter(
  (status) => !["closed", "archived", "moved"].includes(status),
);

export interface Metrics {
  readonly beside: SideRoute;
  /** Called with each completed request. */
  observe(completed: CompletedRequest): void;
  streaming(change: 1 | -1, tenant: string): void;
  /** Follows the events of a store, to count them. */
  follow(engine: Engine, trouble: (error: unknown) => void): Promise<FeedFollower>;
}

/** The figures of one tenant; no other tenant sees them. */
interface MetricState {
  readonly requests: Map<string, { readonly labels: Labels; count: number }>;
  readonly latency: Histogram;
  readonly events: Map<string, number>;
  readonly cost: CostMeter;
  streams: number;
  /** From the writing of the last event to its reading here. */
  lagMs: number;
  counted: { readonly atMs: number; readonly lines: Promise<readonly string[]> } | null;
}

const nothingSeen = (): MetricState => ({
  requests: new Map(),
  latency: makeHistogram(latencyBounds),
  events: new Map(),
  cost: makeCostMeter(),
  streams: 0,
  lagMs: 0,
  counted: null,
});

export function makeMetrics(world: Pick<World, "now" | "steady">): Metrics {
  const tenants = new Map<string, MetricState>();
  const startedMs = world.now();
  const clock = (): number => world.steady?.() ?? world.now();

  /** Unauthenticated requests belong to no tenant, and are not shown. */
  function seenOf(tenant: string): MetricState {
    const seen = tenants.get(tenant) ?? nothingSeen();
    tenants.set(tenant, seen);
    return seen;
  }

  function observe({ operation, status, ms, tenant }: CompletedRequest): void {
    const { requests, latency } = seenOf(tenant ?? "");
    const labels = { operation: operation ?? "none", status: `${Math.floor(status / 100)}xx` };
    const name = `${labels.operation} ${labels.status}`;
    const known = requests.get(name) ?? { labels, count: 0 };
    known.count += 1;
    requests.set(name, known);
    latency.record({ operation: labels.operation }, ms / 1_000);
  }

  /** Concurrent and close requests share one read of the store. */
  function storeLines(engine: Engine, seen: MetricState): Promise<readonly string[]> {
    const { counted } = seen;
    if (counted !== null && clock() - counted.atMs < countedMs) return counted.lines;
    const lines = countStore(engine);
    seen.counted = { atMs: clock(), lines };
    lines.catch(() => (seen.counted = null));
    return lines;
  }

  return {
    observe,
    streaming: (change, tenant) => void (seenOf(tenant).streams += change),
    follow(engine, trouble) {
      const { store, tenant } = internalsOf(engine);
      const seen = seenOf(tenant);
      return followFeed(engine, {
        trouble,
        restMs,
        async heard({ records }) {
          await seen.cost.read(store, records);
          for (const { type } of records) seen.events.set(type, (seen.events.get(type) ?? 0) + 1);
          const last = records.at(-1);
          if (last !== undefined) seen.lagMs = Math.max(0, store.now() - last.at);
        },
      });
    },
    async beside(request, response, { target, headers, authorizer }) {
      if (target.path !== metricsPath) return false;
      if (request.method !== "GET" && request.method !== "HEAD")
        throw new ProblemError({
          ...makeProblem("wrong-method", "allowed methods: GET"),
          allow: "GET, HEAD",
        });
      const who = await authorizer.authorize(request, { operation: { scope: "operate" } });
      if (isProblem(who)) throw new ProblemError(who);
      const seen = seenOf(who.tenant);
      const lines = [...ownLines(seen, startedMs), ...(await storeLines(who.engine, seen))];
      const text = `${lines.join("\n")}\n`;
      sendText(response, 200, text, { ...headers, "content-type": mediaType, "cache-control": "no-store" });
      return true;
    },
  };
}

function ownLines(seen: MetricState, startedMs: number): readonly string[] {
  const events = [...seen.events].map(([type, count]) => ({ labels: { type }, count }));
  const requests = [...seen.requests.values()];
  return [
    ...metric("skein_requests_total", "counter", "Completed requests.", requests),
    ...histogramLines("skein_request_seconds", "Duration of requests.", seen.latency),
    ...metric("skein_streams_open", "gauge", "Open streams.", one(seen.streams)),
    ...metric("skein_events_total", "counter", "Events appended since the start.", events),
    ...metric(
      "skein_feed_lag_seconds",
      "gauge",
      "Time from writing to reading an event.",
      one(seen.lagMs / 1_000),
    ),
    ...metric("skein_start_time_seconds", "gauge", "Start time of the server.", one(startedMs / 1_000)),
    ...costLines(seen.cost),
  ];
}

function costLines(meter: CostMeter): readonly string[] {
  const figures = costFigures(meter.models());
  return costMetrics.flatMap(({ key, prometheus, help, isMonotonic }) =>
    metric(prometheus, isMonotonic ? "counter" : "gauge", help, figures[key]),
  );
}

/** The contents of the caller's store. */
async function countStore(engine: Engine): Promise<readonly string[]> {
  const { store } = internalsOf(engine);
  const nowMs = store.now();
  const stats = await store.stats();
  const due = await store.due({ nowMs, limit: countedMax, perAgent: countedMax });
  const leased = await store.leased();
  const workers = (await store.workers()).filter(({ untilMs }) => untilMs > nowMs);
  const sessions: Figure[] = [];
  for (const status of countedStatuses)
    sessions.push({ labels: { status }, count: await countSessions(engine, status) });
  const slots = workers.reduce((sum, { concurrency }) => sum + concurrency, 0);
  return [
    ...metric("skein_sessions", "gauge", `Sessions by status, counted up to ${countedMax}.`, sessions),
    ...metric(
      "skein_sessions_stored",
      "gauge",
      "Sessions of the store, whatever their status.",
      one(stats.sessions),
    ),
    ...metric("skein_sessions_due", "gauge", "Sessions that wait for a worker.", one(due.length)),
    ...metric("skein_sessions_leased", "gauge", "Running sessions.", one(leased.length)),
    ...metric("skein_workers", "gauge", "Workers with a recent heartbeat.", one(workers.length)),
    ...metric("skein_worker_slots", "gauge", "Slots of all workers.", one(slots)),
    ...metric("skein_store_records", "gauge", "Records of the store.", one(stats.records)),
    ...metric(
      "skein_store_bytes",
      "gauge",
      "Size of the store.",
      stats.bytes === null ? [] : one(stats.bytes),
    ),
    ...metric("skein_store_blob_bytes", "gauge", "Size of its blobs.", one(stats.blobBytes)),
  ];
}

async function countSessions(engine: Engine, status: SessionStatus): Promise<number> {
  const { store } = internalsOf(engine);
  let count = 0;
  for await (const _ of readRows(store, { status: [status] })) if (++count === countedMax) break;
  return count;
}

const one = (count: number): Figure[] => [{ labels: {}, count }];

function metric(name: string, type: string, help: string, figures: readonly Figure[]): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...figures.map(({ labels, count }) => `${name}${labelText(labels)} ${count}`),
  ];
}

function histogramLines(name: string, help: string, histogram: Histogram): string[] {
  const lines = histogram.series().flatMap(({ labels, counts, sum, count }) => {
    let below = 0;
    const buckets = histogram.bounds.map((bound, place) => {
      below += counts[place] ?? 0;
      return `${name}_bucket${labelText({ ...labels, le: `${bound}` })} ${below}`;
    });
    return [
      ...buckets,
      `${name}_bucket${labelText({ ...labels, le: "+Inf" })} ${count}`,
      `${name}_sum${labelText(labels)} ${sum}`,
      `${name}_count${labelText(labels)} ${count}`,
    ];
  });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines];
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(`${value}`)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
