/**
 * Sends spans and metrics to a collector, by OTLP over HTTP as JSON. It never blocks work: unsent spans wait
 * as long as there is room, then the oldest are dropped and counted.
 */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { World } from "../../runtime/world.ts";
import type { Histogram, Labels } from "./histogram.ts";
import { names } from "./telemetry-names.ts";
import { trimEndOf } from "../../core/text/trim.ts";

export type Attributes = Readonly<Record<string, string | number | readonly string[]>>;

export interface Span {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: "internal" | "client";
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** Absent: success, or unknown. */
  readonly error?: string;
}

export interface OtlpMeasure {
  readonly name: string;
  readonly unit: string;
  readonly histogram: Histogram;
}

/** A sum that is read when it is sent. */
export interface SumMeasure {
  readonly name: string;
  readonly unit: string;
  /** It only grows. */
  readonly isMonotonic: boolean;
  readonly points: () => readonly { readonly labels: Labels; readonly count: number }[];
}

export interface OtlpOptions {
  /**
   * The base URL of the collector, such as `http://127.0.0.1:4318`; `/v1/traces` and `/v1/metrics` are
   * appended.
   */
  readonly endpoint: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly service: { readonly name: string; readonly version: string };
  readonly world: Pick<World, "now" | "sleep">;
  /** Called with the first failure after each success. */
  readonly trouble: (error: unknown) => void;
  readonly everyMs?: number;
}

export interface Otlp {
  span(span: Span): void;
  measure(measure: OtlpMeasure | SumMeasure): void;
  /** How many spans were dropped. */
  readonly dropped: number;
  /** Sends what there is now; resolves also when that fails. */
  flush(): Promise<void>;
  /** Sends what is left, and ends; a failure then drops it. */
  stop(): Promise<void>;
}

/** The settings of the standard OpenTelemetry variables; null: nothing is sent. */
export function otlpFrom(
  env: Readonly<Record<string, string | undefined>>,
  endpoint = env["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? "",
): (Pick<OtlpOptions, "endpoint" | "headers"> & { readonly serviceName: string }) | null {
  if (endpoint === "" || env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true") return null;
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? "")) {
    throw new SkeinError("invalid", `telemetry: endpoint: expected a URL, got ${quote(endpoint)}`, {
      hint: "for example http://127.0.0.1:4318",
    });
  }
  const pairs = (env["OTEL_EXPORTER_OTLP_HEADERS"] ?? "").split(",").flatMap((pair) => {
    const mark = pair.indexOf("=");
    return mark < 1 ? [] : [[pair.slice(0, mark).trim(), decoded(pair.slice(mark + 1).trim())]];
  });
  const headers = Object.fromEntries(pairs) as Record<string, string>;
  return { endpoint, headers, serviceName: env["OTEL_SERVICE_NAME"] || "skein" };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const everyUsualMs = 5_000;
const answerMs = 10_000;

/** Statuses after which OTLP requires a retry; any other failure is final. */
const passing: readonly number[] = [429, 502, 503, 504];

/** The result of a request. */
type SentPoint = "taken" | "refused" | "away";

export function makeOtlp(options: OtlpOptions): Otlp {
  const { world, trouble, everyMs = everyUsualMs } = options;
  const base = trimEndOf(options.endpoint, "/");
  const headers = { ...options.headers, "content-type": "application/json" };
  const startedMs = world.now();
  const over = new AbortController();
  const measures: (OtlpMeasure | SumMeasure)[] = [];
  let waiting: Span[] = [];
  let dropped = 0;
  let isTold = false;
  let sending = Promise.resolve();

  async function post(path: string, body: object): Promise<SentPoint> {
    let sent: SentPoint = "away";
    const late = new AbortController();
    const done = new AbortController();
    void world.sleep(answerMs, done.signal).then(() => late.abort());
    try {
      const text = JSON.stringify(body);
      const init = { method: "POST", headers, body: text, signal: late.signal, redirect: "manual" } as const;
      const response = await fetch(`${base}${path}`, init);
      sent = response.ok ? "taken" : passing.includes(response.status) ? "away" : "refused";
      await response.body?.cancel();
      if (!response.ok) throw new Error(`the collector responded with ${response.status} at ${path}`);
      isTold = false;
    } catch (error) {
      if (!isTold) trouble(error);
      isTold = true;
    } finally {
      done.abort();
    }
    return sent;
  }

  /** The oldest go first: recent ones matter more. */
  function makeRoom(): void {
    const excess = waiting.length - limit.telemetrySpansMax;
    if (excess <= 0) return;
    waiting.splice(0, excess);
    dropped += excess;
  }

  async function send(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, limit.telemetryBatchMax);
      waiting = waiting.slice(batch.length);
      const sent = await post("/v1/traces", spansBody(options, batch));
      if (sent === "refused") dropped += batch.length;
      if (sent !== "away") continue;
      waiting = [...batch, ...waiting];
      return makeRoom();
    }
    const filled = measures.filter((one) => (isSum(one) ? one.points() : one.histogram.series()).length > 0);
    if (filled.length > 0)
      await post("/v1/metrics", metricsBody(options, filled, { startedMs, nowMs: world.now() }));
  }

  const flush = (): Promise<void> => (sending = sending.then(send));

  async function sendOn(): Promise<void> {
    while (!over.signal.aborted) {
      await world.sleep(everyMs, over.signal);
      if (!over.signal.aborted) await flush();
    }
  }

  const going = sendOn();
  return {
    span(span) {
      waiting.push(span);
      makeRoom();
    },
    measure: (measure) => void measures.push(measure),
    get dropped() {
      return dropped;
    },
    flush,
    async stop() {
      over.abort();
      await going;
      await flush();
    },
  };
}

const resourceOf = ({ service }: OtlpOptions): object => ({
  attributes: attributesOf({ [names.service]: service.name, [names.serviceVersion]: service.version }),
});
const scopeOf = ({ service }: OtlpOptions): object => ({ name: "skein", version: service.version });

function spansBody(options: OtlpOptions, spans: readonly Span[]): object {
  const scopeSpans = [{ scope: scopeOf(options), spans: spans.map(spanBody) }];
  return { resourceSpans: [{ resource: resourceOf(options), scopeSpans }] };
}

/** As OTLP numbers them. */
const kinds = { internal: 1, client: 3 } as const;

function spanBody(span: Span): object {
  const { traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, error } = span;
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(endMs),
    attributes: attributesOf(error === undefined ? attributes : { ...attributes, [names.errorType]: error }),
    status: error === undefined ? {} : { code: 2 },
  };
}

function metricsBody(
  options: OtlpOptions,
  measures: readonly (OtlpMeasure | SumMeasure)[],
  times: Times,
): object {
  const metrics = measures.map((one) => ({
    name: one.name,
    unit: one.unit,
    ...(isSum(one) ? { sum: sumBody(one, times) } : { histogram: histogramBody(one, times) }),
  }));
  return {
    resourceMetrics: [
      { resource: resourceOf(options), scopeMetrics: [{ scope: scopeOf(options), metrics }] },
    ],
  };
}

const isSum = (measure: OtlpMeasure | SumMeasure): measure is SumMeasure => "points" in measure;

interface Times {
  readonly startedMs: number;
  readonly nowMs: number;
}

const timesBody = ({ startedMs, nowMs }: Times): object => ({
  startTimeUnixNano: nanos(startedMs),
  timeUnixNano: nanos(nowMs),
});
/** As OTLP numbers it. */
const cumulative = 2;

const histogramBody = ({ histogram }: OtlpMeasure, times: Times): object => ({
  aggregationTemporality: cumulative,
  dataPoints: histogram.series().map(({ labels, counts, sum, count }) => ({
    attributes: attributesOf(labels),
    ...timesBody(times),
    count: `${count}`,
    sum,
    bucketCounts: counts.map((one) => `${one}`),
    explicitBounds: histogram.bounds,
  })),
});

const sumBody = ({ isMonotonic, points }: SumMeasure, times: Times): object => ({
  aggregationTemporality: cumulative,
  isMonotonic,
  dataPoints: points().map(({ labels, count }) => ({
    attributes: attributesOf(labels),
    ...timesBody(times),
    asDouble: count,
  })),
});

/** 64-bit numbers are texts in the JSON of protocol buffers. */
const nanos = (ms: number): string => `${BigInt(Math.round(ms)) * 1_000_000n}`;

const attributesOf = (attributes: Attributes): object[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }));

function valueOf(value: string | number | readonly string[]): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value !== "number") return { arrayValue: { values: value.map(valueOf) } };
  return Number.isInteger(value) ? { intValue: `${value}` } : { doubleValue: value };
}
