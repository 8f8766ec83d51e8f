/**
 * Traces and figures for OpenTelemetry, made from the events of the feed: whoever ran a turn, it is told of
 * once it is in the log, with the times that stand there. Nothing that was said goes out: ids, names, counts.
 *
 * A turn is one trace. Its ids follow from the session and the positions, so two servers that tell of the
 * same turn give the same span.
 */
import type { StoredRecord } from "../core/chain.ts";
import type { BodyOf, EventType } from "../core/catalogue.ts";
import { SkeinError } from "../core/error.ts";
import { operationOf } from "../protocol/operations.ts";
import { Engine } from "../runtime/engine.ts";
import { followFeed, type Following } from "./feed-follow.ts";
import { makeHistogram } from "./histogram.ts";
import type { Told } from "./listen.ts";
import type { Attributes, Otlp, Span } from "./otlp.ts";
import {
  durationBounds,
  metricNames,
  names,
  operations,
  providerName,
  requestBounds,
  tokenBounds,
} from "./telemetry-names.ts";

export interface Telemetry {
  /** Of each request that was answered. */
  told(told: Told): void;
  /** Tells of what happens in a store from now on. */
  follow(engine: Engine, trouble: (error: unknown) => void): Promise<Following>;
}

export function makeTelemetry(otlp: Pick<Otlp, "span" | "measure">): Telemetry {
  const tokens = makeHistogram(tokenBounds);
  const duration = makeHistogram(durationBounds);
  const requests = makeHistogram(requestBounds);
  otlp.measure({ ...metricNames.tokens, histogram: tokens });
  otlp.measure({ ...metricNames.duration, histogram: duration });
  otlp.measure({ ...metricNames.requests, histogram: requests });

  /** What a model call says beside its span. */
  function count({ attributes, startMs, endMs, error }: Span): void {
    const kept = [names.operation, names.provider, names.requestModel];
    const labels = Object.fromEntries(
      kept.flatMap((name) => (attributes[name] === undefined ? [] : [[name, String(attributes[name])]])),
    );
    const failed = error === undefined ? {} : { [names.errorType]: error };
    duration.record({ ...labels, ...failed }, (endMs - startMs) / 1_000);
    for (const [type, name] of [
      ["input", names.inputTokens],
      ["output", names.outputTokens],
    ] as const) {
      const used = attributes[name];
      if (typeof used === "number") tokens.record({ ...labels, [names.tokenType]: type }, used);
    }
  }

  return {
    told({ method, operation, status, ms }) {
      const labels = { [names.httpMethod]: method, [names.httpStatus]: status };
      requests.record(
        { ...labels, ...(operation === null ? {} : { [names.httpRoute]: operationOf(operation).path }) },
        ms / 1_000,
      );
    },
    follow: (engine, trouble) =>
      followFeed(engine, {
        trouble,
        restMs,
        async heard({ records }) {
          for (const record of records) {
            const span = await spanOf(engine, record);
            if (span === null) continue;
            otlp.span(span);
            if (span.attributes[names.operation] === operations.model) count(span);
          }
        },
      }),
  };
}

const restMs = 250;

/** The span that this record ends; null when it ends none. */
async function spanOf(engine: Engine, record: StoredRecord): Promise<Span | null> {
  const make = makers[record.type as keyof typeof makers] as Maker | undefined;
  if (make === undefined || record.turn === null) return null;
  try {
    return await make(engine, record, record.turn);
  } catch (error) {
    // A session that was deleted meanwhile has nothing to tell.
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

/** How a turn may end that went well enough. */
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
  const { model, outputTokensMax } = bodyOf<"model.requested">(asked);
  const [provider = "", ...rest] = model.split("/");
  const answered = bodyOf<"model.responded">(record);
  const { error, usage, costNanoUsd } = JSON.parse(record.body) as BodyOf<"model.failed">;
  const isFailed = record.type === "model.failed";
  return {
    ...idsOf(engine, record, turn, asked.seq),
    name: `${operations.model} ${rest.join("/")}`,
    kind: "client",
    startMs: asked.at,
    endMs: record.at,
    attributes: {
      ...usual(engine, record, turn),
      [names.operation]: operations.model,
      [names.provider]: providerName(provider),
      [names.requestModel]: rest.join("/"),
      ...(outputTokensMax === undefined ? {} : { [names.outputTokensMax]: outputTokensMax }),
      ...(isFailed ? {} : { [names.finish]: [answered.finish] }),
      ...usageOf(usage),
      ...(costNanoUsd === null ? {} : { [names.costNanoUsd]: costNanoUsd }),
    },
    ...(isFailed ? { error } : {}),
  };
}

function usageOf(usage: BodyOf<"model.failed">["usage"]): Attributes {
  if (usage === undefined) return {};
  const { inputTokens, outputTokens, cachedInputTokens: cached, cacheWriteTokens: written } = usage;
  return {
    [names.inputTokens]: inputTokens,
    [names.outputTokens]: outputTokens,
    ...(cached === undefined ? {} : { [names.cachedTokens]: cached }),
    ...(written === undefined ? {} : { [names.cacheWriteTokens]: written }),
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
    // It may have waited to be allowed; how long it ran, it says itself.
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
    [names.tenant]: Engine.contextOf(engine).tenant,
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

/** A turn is the root of its trace; whatever else there is stands below it. */
function idsOf(
  engine: Engine,
  { session }: StoredRecord,
  turn: number,
  startSeq: number | null,
): Pick<Span, "traceId" | "spanId" | "parentSpanId"> {
  const { world, tenant } = Engine.contextOf(engine);
  const digest = (text: string): string => world.digest("", `${tenant}\n${session}\n${text}`);
  const traceId = digest(`trace ${turn}`).slice(0, 32);
  const root = digest(`turn ${turn}`).slice(0, 16);
  if (startSeq === null) return { traceId, spanId: root };
  return { traceId, spanId: digest(`seq ${startSeq}`).slice(0, 16), parentSpanId: root };
}

/** Where the turn that ends here began. */
async function startOf(
  engine: Engine,
  { session, seq }: StoredRecord,
  turn: number,
): Promise<StoredRecord | null> {
  const { store } = Engine.contextOf(engine);
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
  const { store } = Engine.contextOf(engine);
  const range = { fromSeq: cause, toSeq: cause, limit: 1, contents: false };
  const [record] = await store.read(session, range);
  return record?.type === type ? record : null;
}

const bodyOf = <T extends EventType>({ body }: StoredRecord): BodyOf<T> => JSON.parse(body) as BodyOf<T>;
