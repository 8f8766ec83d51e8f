/**
 * Records the calls that pass through the proxy: the intent before anything is forwarded, the outcome after
 * the client has it. If the process dies between the two, the reservation stays counted as unconfirmed.
 */
import { budgetShort, shortReason } from "../../core/budget/budget.ts";
import { limit } from "../../core/limit.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Budget } from "../../core/budget/commands.ts";
import type { Amounts } from "../../core/state.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { blocksOf, chainOf, digestOf, entriesOf, isSame } from "./conversation.ts";
import { SkeinError } from "../../core/error.ts";
import { amountsOf } from "../../core/decision.ts";
import { costs, reservation, type ModelLookup, type Reservation } from "./money.ts";
import { withoutCredentials } from "./settings.ts";
import {
  makeIndex,
  startLabel,
  tokensOf,
  type LiveCall,
  type SessionChoice,
  type Point,
} from "./grouping.ts";
import type { ProviderWire, WireAnswer, WireMessage, ModelRequest } from "./wire.ts";

export interface RecorderOptions {
  readonly models: ModelLookup;
  readonly clock: () => number;
  /** The limit of each new conversation. */
  readonly budget?: Budget | undefined;
}

/** A call as it came. */
export interface ForwardedCall {
  readonly engine: Engine;
  /** A digest that only the caller's token yields: calls of two tokens are never one conversation. */
  readonly owner: string;
  readonly wire: ProviderWire;
  readonly path: string;
  readonly body: Buffer;
  readonly request: ModelRequest;
  /** What came of the answer so far. */
  readonly answer: () => WireAnswer;
}

/** How a call ended. */
export interface ForwardOutcome {
  /** The provider's status; null when there was no response. */
  readonly status: number | null;
  readonly answer: WireAnswer;
  /** Digest and length of the forwarded bytes. */
  readonly received: string;
  readonly bytes: number;
  readonly firstByteMs: number | null;
  /** Since the last byte. */
  readonly silentMs: number;
  /** Why it broke; null when it did not. */
  readonly error: { readonly kind: string; readonly message: string } | null;
}

/** A call whose intent is durable. */
export interface RecordedCall {
  readonly session: SessionId;
  /** The provider's status came. Call it before the client has it. */
  began(status: number): void;
  finish(outcome: ForwardOutcome): Promise<void>;
}

export interface Recorder {
  begin(call: ForwardedCall): Promise<RecordedCall>;
}

/** Records of one append, with the request. */
const entriesMax = limit.appendRecordsMax - 100;

export function makeRecorder(options: RecorderOptions): Recorder {
  const index = makeIndex();

  async function begin(call: ForwardedCall): Promise<RecordedCall> {
    const { engine, owner, wire, request } = call;
    const root = digestOf(`${owner}\n${wire.provider}`);
    const chain = chainOf(root, request.messages);
    const label = (chain[1] ?? chain[0] ?? "").slice(0, 40);
    const { previous } = request;
    const place = await index.find(engine, { owner: root, chain, label, previous });
    const settled = Promise.withResolvers<null>();
    let status: number | null = null;
    const live: LiveCall = {
      settled: settled.promise,
      isRefused: () => status !== null && status >= 400,
      answerId: () => call.answer().id,
    };
    const digests = { root, chain: chain.at(-1) ?? "", live };
    const { point, reserved } = await intendAt(call, place, { ...digests, label });
    index.add(root, point);
    const startedMs = options.clock();
    return {
      session: point.session,
      began: (given) => void (status = given),
      async finish(outcome) {
        try {
          const ms = options.clock() - startedMs;
          const done = await settle(call, point, { ...outcome, ms, reserved });
          [point.endSeq, point.failed, point.tokens] = [done.headSeq, outcome.error !== null, done.tokens];
          if (outcome.answer.id !== null) index.name(root, outcome.answer.id, point);
        } finally {
          point.live = null;
          settled.resolve(null);
        }
      },
    };
  }

  /** Where it belongs, or in a fork when the session has just gone another way. */
  async function intendAt(
    call: ForwardedCall,
    place: SessionChoice,
    { label, ...digests }: Digests & { readonly label: string },
  ): Promise<PlacedIntent> {
    const carried = place.kind === "new" || call.request.previous === null ? 0 : place.point.tokens;
    const reserved = reservation(call, options.models, carried);
    const how = { ...digests, reserved };
    const open = { label, budget: options.budget, amounts: reserved.amounts };
    if (place.kind === "new") return intend(call, { ...(await openSession(call, open)), ...how });
    try {
      return await intend(call, { ...(await sessionFor(call, place)), ...how });
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      if (!(error instanceof SkeinError)) throw error;
      // Deleted, or moved away.
      if (code === "not-found") return intend(call, { ...(await openSession(call, open)), ...how });
      if (place.kind !== "continue" || (code !== "conflict" && code !== "refused")) throw error;
      return intend(call, { ...(await forkFor(call, place)), ...how });
    }
  }

  async function intend(call: ForwardedCall, given: OpenedSession & IntentFields): Promise<PlacedIntent> {
    const { session, known, before, chain, root, live, reserved } = given;
    const { engine, wire, request, path, body } = call;
    const news = request.messages.slice(known);
    const keep = (bytes: Uint8Array): Promise<string> => engine.putBlob(bytes);
    const model = modelName(wire.provider, request.model);
    const said = await unsaid(engine, session, before, news);
    const entries = await entriesOf(said, {
      messages: request.messages,
      keep,
      model: foreignName(request.model),
    });
    const settings = digestOf(`${root}\n${JSON.stringify(request.settings)}`);
    await checkBudget(engine, session, model, reserved.amounts);
    const { writer, actor } = internalsOf(engine);
    for (let at = 0; entries.length - at > entriesMax; at += entriesMax) {
      const some = entries.slice(at, at + entriesMax);
      await writer.change(session, { do: "record-said", entries: some }, { actor });
    }
    const rest = entries.slice(Math.floor(Math.max(0, entries.length - 1) / entriesMax) * entriesMax);
    const change = await writer.change(
      session,
      {
        do: "forward",
        entries: rest,
        body: {
          provider: wire.provider,
          model,
          path: path.slice(0, 300),
          messages: request.messages.length,
          known,
          chain,
          bytes: body.length,
          settings,
          reserved: reserved.amounts,
          estimatedTokens: reserved.inputTokens,
        },
        content: {
          sent: digestOf(body),
          ...(before?.settings === settings ? {} : { settings: fitSettings(request.settings) }),
        },
      },
      { actor },
    );
    const point: Point = {
      session,
      chain,
      requestSeq: change.headSeq,
      endSeq: null,
      failed: false,
      tokens: 0,
      live,
      settings,
    };
    return { point, reserved };
  }

  /** The position after the outcome. */
  async function settle(
    call: ForwardedCall,
    point: Point,
    outcome: ForwardOutcome & { readonly ms: number; readonly reserved: Reservation },
  ): Promise<{ readonly headSeq: number; readonly tokens: number }> {
    const { engine, wire, request } = call;
    const { answer, status, error, ms } = outcome;
    const keep = (bytes: Uint8Array): Promise<string> => engine.putBlob(bytes);
    const blocks = await blocksOf(answer.message, keep);
    const said = {
      type: "answer",
      body: { model: foreignName(request.model) },
      content: { blocks },
    } as const;
    const cut = { ...said, body: { ...said.body, interrupted: true } };
    const money = costs(call, outcome, options.models);
    const model = modelName(wire.provider, request.model);
    const { writer, actor } = internalsOf(engine);
    const base = { requestSeq: point.requestSeq };
    const whole = error === null && status !== null;
    const { headSeq } = await writer.change(
      point.session,
      whole
        ? {
            do: "pass-on",
            ...base,
            body: {
              model,
              status,
              ...(answer.finish === null ? {} : { finish: finishName(answer.finish) }),
              usage: { ...money.usage },
              costNanoUsd: money.costNanoUsd,
              ...(money.unconfirmed === undefined ? {} : { unconfirmed: money.unconfirmed }),
              bytes: outcome.bytes,
              ms,
              ...(outcome.firstByteMs === null ? {} : { firstByteMs: outcome.firstByteMs }),
            },
            content: {
              received: outcome.received,
              ...(answer.message.calls.length === 0 ? {} : { calls: fitCalls(answer.message) }),
            },
            answer: blocks.length === 0 ? null : said,
          }
        : {
            do: "fail-forwarded",
            ...base,
            body: {
              model,
              error: error?.kind ?? "failed",
              ...(status === null ? {} : { status }),
              ...(money.isBilled ? { usage: { ...money.usage } } : {}),
              costNanoUsd: money.isBilled ? money.costNanoUsd : 0,
              ...(money.unconfirmed === undefined ? {} : { unconfirmed: money.unconfirmed }),
              ms,
            },
            content: { message: (error?.message ?? "").slice(0, 4_096) },
            answer: blocks.length === 0 ? null : cut,
          },
      { actor },
    );
    return { headSeq, tokens: tokensOf(money) };
  }

  return { begin };
}

interface Digests {
  /** Keyed with the caller's token. */
  readonly root: string;
  readonly chain: string;
  readonly live: LiveCall;
}

interface IntentFields extends Digests {
  readonly reserved: Reservation;
}

interface PlacedIntent {
  readonly point: Point;
  readonly reserved: Reservation;
}

interface OpenedSession {
  readonly session: SessionId;
  /** Messages that its log has. */
  readonly known: number;
  readonly before: Point | null;
}

interface SessionOpening {
  readonly label: string;
  readonly budget: Budget | undefined;
  readonly amounts: Amounts;
}

async function openSession(
  { engine, request, wire }: ForwardedCall,
  opening: SessionOpening,
): Promise<OpenedSession> {
  const { label, budget, amounts } = opening;
  const limits = budget === undefined ? {} : amountsOf(budget);
  if (limits.nanoUsd !== undefined && amounts.nanoUsd === undefined)
    throw new BudgetReached(unpricedText(modelName(wire.provider, request.model)));
  // Such a session could never forward its call.
  for (const resource of ["tokens", "nanoUsd"] as const) {
    const most = limits[resource];
    if (most !== undefined && (amounts[resource] ?? 0) > most)
      throw new BudgetReached(shortReason(resource, most, 0, amounts[resource] ?? 0));
  }
  const session = await engine.open({
    objective: objectiveOf(request),
    labels: { proxy: wire.provider, [startLabel]: label },
    ...(budget === undefined ? {} : { budget }),
  });
  return { session: session.id, known: 0, before: null };
}

type KnownPlace = Exclude<SessionChoice, { readonly kind: "new" }>;

async function sessionFor(call: ForwardedCall, place: KnownPlace): Promise<OpenedSession> {
  const { point, known } = place;
  const state = await internalsOf(call.engine).writer.current(point.session);
  const isFree = state.standing.turn === null && state.standing.status === "open";
  if (place.kind === "continue" && isFree && (await isAsItWas(call.engine, point, state.seq)))
    return { session: point.session, known, before: point };
  return forkFor(call, place);
}

async function forkFor({ engine }: ForwardedCall, place: KnownPlace): Promise<OpenedSession> {
  const { point, known } = place;
  const atSeq = place.kind === "fork" ? place.atSeq : (point.endSeq ?? point.requestSeq - 1);
  const parent = await engine.session(point.session);
  const fork = await parent.fork({ atSeq });
  return { session: fork.id, known, before: point };
}

/** Records after which the program no longer knows what the session says. */
const otherTypes = ["turn.started", "session.rewound", "proxy.requested", "session.merged"] as const;

/** False when a person, or a turn of Skein, went on with the session meanwhile. */
async function isAsItWas(engine: Engine, { session, endSeq }: Point, headSeq: number): Promise<boolean> {
  if (endSeq === null || headSeq === endSeq) return true;
  const range = { types: [...otherTypes], fromSeq: endSeq + 1, limit: 1 };
  for await (const _ of (await engine.session(session)).events(range)) return false;
  return true;
}

/** The answer that the log has already is not recorded again when the program sends it back. */
async function unsaid(
  engine: Engine,
  session: SessionId,
  before: Point | null,
  news: readonly WireMessage[],
): Promise<readonly WireMessage[]> {
  const [first, ...rest] = news;
  if (before === null || before.failed || first?.role !== "assistant") return news;
  // Several items may stand for one answer.
  const own = rest.findIndex(({ role }) => role !== "assistant");
  const count = own === -1 ? news.length : own + 1;
  const handle = await engine.session(session);
  const fromSeq = before.requestSeq;
  const range = { types: ["answer.imported" as const], fromSeq, limit: 1 };
  for await (const event of handle.events(range)) {
    const { content } = event as { content?: { blocks?: readonly { type: string; text?: string }[] } };
    const texts = (content?.blocks ?? []).flatMap(({ type, text = "" }) => (type === "text" ? [text] : []));
    const sent = news.slice(0, count).flatMap((message) => message.texts);
    const plain: WireMessage = { ...first, texts, calls: [], results: [], images: [] };
    // A redacted answer differs from what the program sends: it is the same all the same.
    if (isSame(plain, { ...plain, texts: sent }) || texts.join("").includes("[redacted"))
      return news.slice(count);
  }
  const isCallOnly = news.slice(0, count).every(({ texts }) => texts.length === 0);
  return isCallOnly ? news.slice(count) : news;
}

const objectiveOf = ({ messages }: ModelRequest): string => {
  const first = messages.find(({ role, texts }) => role === "user" && texts.length > 0);
  return (first?.texts.at(-1) ?? "A conversation of another program").trim().slice(0, 200);
};

const modelName = (provider: string, model: string): string =>
  `${provider}/${model.replaceAll(/[^A-Za-z0-9_.:@/-]/g, "-").slice(0, 128) || "unknown"}`;
const foreignName = (model: string): string =>
  model.replaceAll(/[^A-Za-z0-9_.:/@-]/g, "-").slice(0, 200) || "unknown";

const finishName = (text: string): string => text.replaceAll(/[^A-Za-z0-9_.:-]/g, "-").slice(0, 60);
const unpricedText = (model: string): string =>
  `the price of ${model} is unknown, so the cost budget cannot be enforced`;

const contentMax = limit.contentBytesMax * 0.8;

/** Settings that are too long for one content are kept as their names. */
function fitSettings(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const settings = withoutCredentials(given);
  if (Buffer.byteLength(JSON.stringify(settings)) <= contentMax) return { ...settings };
  return { tooLong: Object.keys(settings) };
}

const fitCalls = ({ calls }: WireMessage): object[] => {
  const list = calls.map(({ id, name, input }) => ({ id, name, input }));
  if (Buffer.byteLength(JSON.stringify(list)) <= contentMax) return list;
  return calls.map(({ id, name }) => ({ id, name }));
};

/** The budget of the conversation does not cover the call. Nothing was forwarded. */
export class BudgetReached extends Error {
  override readonly name = "BudgetReached";
}

/** Thrown before anything is written; the decision checks again. */
async function checkBudget(
  engine: Engine,
  session: SessionId,
  model: string,
  amounts: Amounts,
): Promise<void> {
  const state = await internalsOf(engine).writer.current(session);
  if (state.standing.limits.nanoUsd !== undefined && amounts.nanoUsd === undefined)
    throw new BudgetReached(unpricedText(model));
  const wanted: Amounts = { ...amounts, steps: 1 };
  const short = budgetShort(state, wanted);
  if (short === null) return;
  const { resource, limit: most, used } = short;
  throw new BudgetReached(shortReason(resource, most, used, wanted[resource] ?? 0));
}
