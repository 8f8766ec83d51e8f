/**
 * Traces and metrics for OpenTelemetry, made from the events of the feed: whichever process ran a turn, it is
 * exported once it is in the log, with the times that stand there. Contents are never exported: only ids,
 * names, counts.
 *
 * A turn is one trace. Its ids derive from the session and the positions, so two servers export the same turn
 * as the same span.
 */
import { present } from "../../core/present.ts";
import type { StoredRecord } from "../../core/chain.ts";
import type { BodyOf, EventType } from "../../core/catalog.ts";
import { SkeinError } from "../../core/error.ts";
import { settledSpend, type Spend } from "../../core/budget/money.ts";
import { operationOf } from "../../call/operations.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { followFeed, type FeedFollower } from "./feed-follow.ts";
import { makeHistogram } from "./histogram.ts";
import type { CompletedRequest } from "../http/server.ts";
import type { Attributes, Otlp, Span } from "./otlp.ts";
import { costFigures, costMetrics, type Figure } from "./cost-metrics.ts";
import { makeCostMeter, type CostMeter, type SettledCall } from "./cost-meter.ts";
import {
  durationBounds,
  metricNames,
  names,
  operations,
  providerName,
  requestBounds,
  tokenBounds,
} from "./telemetry-names.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

export interface Telemetry {
  /** Called with each completed request. */
  observe(completed: CompletedRequest): void;
  /** Exports the events of a store from now on. */
  follow(engine: Engine, trouble: (error: unknown) => void): Promise<FeedFollower>;
}

export function makeTelemetry(otlp: Pick<Otlp, "span" | "measure">): Telemetry {
  const tokens = makeHistogram(tokenBounds);
  const duration = makeHistogram(durationBounds);
  const requests = makeHistogram(requestBounds);
  otlp.measure({ ...metricNames.tokens, histogram: tokens });
  otlp.measure({ ...metricNames.duration, histogram: duration });
  otlp.measure({ ...metricNames.requests, histogram: requests });

  const meters = new Map<string, CostMeter>();
  for (const { key, otlp: name, unit, isMonotonic } of costMetrics)
    otlp.measure({ name, unit, isMonotonic, points: () => pointsOf(meters, key) });

  /** The duration of a model call. */
  function time({ attributes, startMs, endMs, error }: Span): void {
    const kept = [names.operation, names.provider, names.requestModel];
    const labels = Object.fromEntries(
      kept.flatMap((name) => (attributes[name] === undefined ? [] : [[name, String(attributes[name])]])),
    );
    const failed = present({ [names.errorType]: error });
    duration.record({ ...labels, ...failed }, (endMs - startMs) / 1_000);
  }

  function countTokens({ model, spend }: SettledCall): void {
    if (spend.inputTokens + spend.outputTokens === 0) return;
    const labels = { [names.operation]: operations.model, ...modelNames(model) };
    tokens.record({ ...labels, [names.tokenType]: "input" }, spend.inputTokens);
    tokens.record({ ...labels, [names.tokenType]: "output" }, spend.outputTokens);
  }

  return {
    observe({ method, operation, status, ms }) {
      const labels = { [names.httpMethod]: method, [names.httpStatus]: status };
      requests.record(
        { ...labels, ...(operation === null ? {} : { [names.httpRoute]: operationOf(operation).path }) },
        ms / 1_000,
      );
    },
    follow(engine, trouble) {
      const { store, tenant } = internalsOf(engine);
      const meter = meters.get(tenant) ?? makeCostMeter();
      meters.set(tenant, meter);
      return followFeed(engine, {
        trouble,
        restMs,
        async heard({ records }) {
          // A failed page is processed again: nothing is counted before all of it is read.
          const spans: Span[] = [];
          for (const record of records) {
            const span = await spanOf(engine, record);
            if (span !== null) spans.push(span);
          }
          const settled = await meter.read(store, records);
          for (const call of settled) countTokens(call);
          for (const span of spans) {
            otlp.span(span);
            if (span.attributes[names.operation] === operations.model) time(span);
          }
        },
      });
    },
  };
}

/** Provider and model, as the conventions name them. */
function modelNames(name: string): Readonly<Record<string, string>> {
  const [provider = "", ...rest] = name.split("/");
  return { [names.provider]: providerName(provider), [names.requestModel]: rest.join("/") };
}

/** The series of a cost metric, of every tenant. */
const pointsOf = (
  meters: ReadonlyMap<string, CostMeter>,
  key: (typeof costMetrics)[number]["key"],
): readonly Figure[] =>
  [...meters].flatMap(([tenant, meter]) =>
    costFigures(meter.models())[key].map(({ labels, count }) => {
      const { model = "", direction, usage, price } = labels;
      const given = { [names.tokenType]: direction, [names.usage]: usage, [names.price]: price };
      const said = Object.entries(given).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value] as const],
      );
      const attributes = { [names.tenant]: tenant, ...modelNames(`${model}`), ...Object.fromEntries(said) };
      return { labels: attributes, count };
    }),
  );

const restMs = 250;

/** The span that this record ends; null when it ends none. */
async function spanOf(engine: Engine, record: StoredRecord): Promise<Span | null> {
  const make = makers[record.type as keyof typeof makers] as Maker | undefined;
  if (make === undefined || record.turn === null) return null;
  try {
    return await make(engine, record, record.turn);
  } catch (error) {
    // A session that was deleted meanwhile has no spans.
    if (error instanceof SkeinError && error.code === "not-found") return null;
    throw error;
  }
}

type Maker = (engine: Engine, record: StoredRecord, turn: number) => Promise<Span | null>;

const makers = {
  "turn.ended": turnSpan,
  "model.responded": modelSpan,
  "model.failed": modelSpan,
  "tool.settled": toolSpan,
} as const satisfies Partial<Record<EventType, Maker>>;

/** Outcomes of a turn that count as success. */
const fine: readonly string[] = ["completed", "interrupted", "cancelled", "suspended"];

async function turnSpan(engine: Engine, record: StoredRecord, turn: number): Promise<Span | null> {
  const started = await startOf(engine, record, turn);
  if (started === null) return null;
  const { outcome, steps } = bodyOf<"turn.ended">(record);
  const agent = agentOf(record);
  return {
    ...idsOf(engine, record, turn, null),
    name: agent === null ? operations.turn : `${operations.turn} ${agent.name}`,
    kind: "internal",
    startMs: started.at,
    endMs: record.at,
    attributes: {
      ...usual(engine, record, turn),
      [names.operation]: operations.turn,
      [names.outcome]: outcome,
      [names.steps]: steps,
    },
    ...(fine.includes(outcome) ? {} : { error: outcome }),
  };
}

async function modelSpan(engine: Engine, record: StoredRecord, turn: number): Promise<Span | null> {
  const asked = await causeOf(engine, record, "model.requested");
  if (asked === null) return null;
  const { model, outputTokensMax, reserved } = bodyOf<"model.requested">(asked);
  const answered = bodyOf<"model.responded">(record);
  const settled = JSON.parse(record.body) as BodyOf<"model.failed">;
  // The span of the call was sent when it counted as lost. The counters have its actual cost.
  if (settled.released !== undefined) return null;
  const isFailed = record.type === "model.failed";
  const named = modelNames(model);
  return {
    ...idsOf(engine, record, turn, asked.seq),
    name: `${operations.model} ${named[names.requestModel] ?? ""}`,
    kind: "client",
    startMs: asked.at,
    endMs: record.at,
    attributes: {
      ...usual(engine, record, turn),
      [names.operation]: operations.model,
      ...named,
      ...present({ [names.outputTokensMax]: outputTokensMax }),
      ...(isFailed ? {} : { [names.finish]: [answered.finish] }),
      ...usageOf(settled.usage),
      ...spendAttributes(settledSpend(isFailed ? "model.failed" : "model.responded", settled, reserved)),
    },
    ...(isFailed ? { error: settled.error } : {}),
  };
}

/** Money as src/core/budget/money.ts defines it. An unknown price has no amount. */
function spendAttributes(spend: Spend | null): Attributes {
  if (spend === null) return {};
  const { nanoUsd, unpriced, unconfirmedNanoUsd, unconfirmedTokens } = spend;
  return {
    [names.price]: unpriced === 0 ? "known" : "unknown",
    ...(unpriced === 0 ? { [names.costNanoUsd]: nanoUsd } : {}),
    ...(unconfirmedNanoUsd === 0 ? {} : { [names.unconfirmedNanoUsd]: unconfirmedNanoUsd }),
    ...(unconfirmedTokens === 0 ? {} : { [names.unconfirmedTokens]: unconfirmedTokens }),
  };
}

function usageOf(usage: BodyOf<"model.failed">["usage"]): Attributes {
  if (usage === undefined) return {};
  const { inputTokens, outputTokens, cachedInputTokens: cached, cacheWriteTokens: written } = usage;
  return {
    [names.inputTokens]: inputTokens,
    [names.outputTokens]: outputTokens,
    [names.usage]: usage.estimated === true ? "estimated" : "reported",
    ...present({ [names.cachedTokens]: cached, [names.cacheWriteTokens]: written }),
  };
}

async function toolSpan(engine: Engine, record: StoredRecord, turn: number): Promise<Span | null> {
  const { call, status, late, ms } = bodyOf<"tool.settled">(record);
  const asked = late === true ? null : await causeOf(engine, record, "tool.requested");
  if (asked === null) return null;
  const { tool } = bodyOf<"tool.requested">(asked);
  return {
    ...idsOf(engine, record, turn, asked.seq),
    name: `${operations.tool} ${tool}`,
    kind: "internal",
    // It may have waited for approval; the record has its own duration.
    startMs: ms === undefined ? asked.at : Math.max(asked.at, record.at - ms),
    endMs: record.at,
    attributes: {
      ...usual(engine, record, turn),
      [names.operation]: operations.tool,
      [names.tool]: tool,
      [names.toolType]: "function",
      [names.toolCall]: call,
      [names.toolStatus]: status,
    },
    ...(status === "error" || status === "unknown" ? { error: status } : {}),
  };
}

function usual(engine: Engine, record: StoredRecord, turn: number): Attributes {
  const agent = agentOf(record);
  return {
    [names.conversation]: record.session,
    [names.tenant]: internalsOf(engine).tenant,
    [names.turn]: turn,
    [names.seq]: record.seq,
    ...(agent === null ? {} : { [names.agent]: agent.name, [names.agentVersion]: agent.version }),
  };
}

/** `agent:coder@3`. */
function agentOf({ actor }: StoredRecord): { readonly name: string; readonly version: string } | null {
  const [, name, version] = /^agent:([^@]+)@(\d+)$/.exec(actor) ?? [];
  return name === undefined || version === undefined ? null : { name, version };
}

/** A turn is the root of its trace; all other spans are below it. */
function idsOf(
  engine: Engine,
  { session }: StoredRecord,
  turn: number,
  startSeq: number | null,
): Pick<Span, "traceId" | "spanId" | "parentSpanId"> {
  const { world, tenant } = internalsOf(engine);
  const digest = (text: string): string => world.digest("", `${tenant}\n${session}\n${text}`);
  const traceId = digest(`trace ${turn}`).slice(0, 32);
  const root = digest(`turn ${turn}`).slice(0, 16);
  if (startSeq === null) return { traceId, spanId: root };
  return { traceId, spanId: digest(`seq ${startSeq}`).slice(0, 16), parentSpanId: root };
}

/** The start of the turn that ends here. */
async function startOf(
  engine: Engine,
  { session, seq }: StoredRecord,
  turn: number,
): Promise<StoredRecord | null> {
  const { store } = internalsOf(engine);
  const range = { fromSeq: 1, toSeq: seq, reverse: true, limit: 1, contents: false };
  const [started] = await store.read(session, { ...range, types: ["turn.started"] });
  return started?.turn === turn ? started : null;
}

async function causeOf(
  engine: Engine,
  { session, cause }: StoredRecord,
  type: EventType,
): Promise<StoredRecord | null> {
  if (cause === null) return null;
  const { store } = internalsOf(engine);
  const range = { fromSeq: cause, toSeq: cause, limit: 1, contents: false };
  const [record] = await store.read(session, range);
  return record?.type === type ? record : null;
}

const bodyOf = <T extends EventType>({ body }: StoredRecord): BodyOf<T> => JSON.parse(body) as BodyOf<T>;
