/**
 * Records the calls that pass through the proxy: the intent before anything is forwarded, the outcome after
 * the client has it. If the process dies between the two, the reservation stays counted as unconfirmed.
 */
import { budgetReason, budgetShort } from "../../core/budget/budget.ts";
import { costOf, type TokenPrice, type TokenUsage } from "../../core/budget/price.ts";
import { settleBroken } from "../../core/budget/money.ts";
import { limit } from "../../core/limit.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Budget } from "../../core/budget/commands.ts";
import type { Amounts } from "../../core/state.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { blocksOf, chainOf, digestOf, entriesOf, isSame } from "./conversation.ts";
import { makeIndex, startLabel, type Place, type Point } from "./grouping.ts";
import type { Wire, WireAnswer, WireMessage, WireRequest } from "./wire.ts";

/** What is known of a model; null: nothing. */
export type ModelLookup = (
  model: string,
) => { readonly price: TokenPrice | null; readonly outputTokensMax: number | null } | null;

export interface RecorderOptions {
  readonly models: ModelLookup;
  readonly clock: () => number;
  /** The limit of each new conversation. */
  readonly budget?: Budget | undefined;
}

/** A call as it came. */
export interface Forwarded {
  readonly engine: Engine;
  /** Of the caller's token: calls of two tokens are never one conversation. */
  readonly owner: string;
  readonly wire: Wire;
  readonly path: string;
  readonly body: Buffer;
  readonly request: WireRequest;
}

/** How a call ended. */
export interface Outcome {
  /** The provider's status; null when there was no response. */
  readonly status: number | null;
  readonly answer: WireAnswer;
  /** Digest and length of what was passed on. */
  readonly received: string;
  readonly bytes: number;
  readonly firstByteMs: number | null;
  /** Why it broke; null when it did not. */
  readonly error: { readonly kind: string; readonly message: string } | null;
}

/** A call whose intent is durable. */
export interface RecordedCall {
  readonly session: SessionId;
  finish(outcome: Outcome): Promise<void>;
}

export interface Recorder {
  begin(call: Forwarded): Promise<RecordedCall>;
}

/** Where a provider names no output limit, and nothing is known of the model. */
const outputTokensUsual = 8_192;
/** Records of one append, with the request. */
const entriesMax = limit.appendRecordsMax - 100;

export function makeRecorder(options: RecorderOptions): Recorder {
  const index = makeIndex();

  async function begin(call: Forwarded): Promise<RecordedCall> {
    const { engine, owner, wire, request } = call;
    const root = `${owner}\n${wire.provider}`;
    const chain = chainOf(root, request.messages);
    const label = (chain[1] ?? chain[0] ?? "").slice(0, 40);
    const { previous } = request;
    const place = await index.find(engine, { owner, chain, label, previous });
    const opened = await sessionFor(call, place, { label, budget: options.budget });
    const point = await intend(call, { ...opened, chain: chain.at(-1) ?? "" });
    index.add(owner, point);
    const startedMs = options.clock();
    return {
      session: point.session,
      async finish(outcome) {
        const done = await settle(call, point, { ...outcome, ms: options.clock() - startedMs });
        [point.endSeq, point.failed] = [done, outcome.error !== null];
        if (outcome.answer.id !== null) index.name(owner, outcome.answer.id, point);
      },
    };
  }

  async function intend(call: Forwarded, { session, known, before, chain }: Opened & { chain: string }) {
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
    const settings = digestOf(JSON.stringify(request.settings));
    const reserved = reservation(call, options.models);
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
          sent: digestOf(body),
          bytes: body.length,
          settings,
          reserved: reserved.amounts,
          estimatedTokens: reserved.inputTokens,
        },
        content: before?.settings === settings ? undefined : { settings: fitSettings(request.settings) },
      },
      { actor },
    );
    const point: Point = {
      session,
      chain,
      requestSeq: change.headSeq,
      endSeq: null,
      failed: false,
      settings,
    };
    return point;
  }

  /** The position after the outcome. */
  async function settle(call: Forwarded, point: Point, outcome: Outcome & { ms: number }): Promise<number> {
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
              ...(answer.finish === null ? {} : { finish: answer.finish.slice(0, 60) }),
              usage: { ...money.usage },
              costNanoUsd: money.costNanoUsd,
              received: outcome.received,
              bytes: outcome.bytes,
              ms,
              ...(outcome.firstByteMs === null ? {} : { firstByteMs: outcome.firstByteMs }),
            },
            content: answer.message.calls.length === 0 ? undefined : { calls: fitCalls(answer.message) },
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
    return headSeq;
  }

  return { begin };
}

interface Opened {
  readonly session: SessionId;
  /** Messages that its log has. */
  readonly known: number;
  readonly before: Point | null;
}

async function sessionFor(
  { engine, request, wire }: Forwarded,
  place: Place,
  { label, budget }: { readonly label: string; readonly budget: Budget | undefined },
): Promise<Opened> {
  if (place.kind === "new") {
    const labels = { proxy: wire.provider, [startLabel]: label };
    const session = await engine.open({
      objective: objectiveOf(request),
      labels,
      ...(budget === undefined ? {} : { budget }),
    });
    return { session: session.id, known: 0, before: null };
  }
  const { point, known } = place;
  const state = await internalsOf(engine).writer.current(point.session);
  // A person, or a turn of Skein, may have gone on with it meanwhile.
  const isFree = state.standing.turn === null && state.standing.status === "open";
  if (place.kind === "continue" && isFree) return { session: point.session, known, before: point };
  const atSeq = place.kind === "fork" ? place.atSeq : (point.endSeq ?? point.requestSeq - 1);
  const parent = await engine.session(point.session);
  const fork = await parent.fork({ atSeq });
  return { session: fork.id, known, before: point };
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

const objectiveOf = ({ messages }: WireRequest): string => {
  const first = messages.find(({ role, texts }) => role === "user" && texts.length > 0);
  return (first?.texts.at(-1) ?? "A conversation of another program").trim().slice(0, 200);
};

interface Reservation {
  readonly amounts: Amounts;
  readonly inputTokens: number;
}

/** No tokenizer counts fewer than one token for eight bytes, or more than one for two, of usual text. */
const bytesPerToken = 3;

function reservation({ body, request, wire }: Forwarded, models: ModelLookup): Reservation {
  const facts = models(`${wire.provider}/${request.model}`);
  const images = request.messages.flatMap((message) => message.images);
  const pictured = images.reduce((sum, { base64 }) => sum + base64.length, 0);
  const inputTokens = Math.ceil((body.length - pictured) / bytesPerToken) + images.length * 1_600;
  const outputTokens = request.outputTokensMax ?? facts?.outputTokensMax ?? outputTokensUsual;
  const nanoUsd = costOf(facts?.price ?? null, { inputTokens, outputTokens });
  const tokens = inputTokens + outputTokens;
  return { inputTokens, amounts: nanoUsd === null ? { tokens } : { tokens, nanoUsd } };
}

interface Costs {
  readonly usage: TokenUsage & { readonly estimated?: true };
  readonly costNanoUsd: number | null;
  readonly unconfirmed?: Amounts;
  /** False: the provider refused the call, which costs nothing. */
  readonly isBilled: boolean;
}

/** By what the provider reported; what it did not report is estimated, and marked. */
function costs(call: Forwarded, { answer, status, error }: Outcome, models: ModelLookup): Costs {
  const { amounts, inputTokens } = reservation(call, models);
  const price = models(`${call.wire.provider}/${call.request.model}`)?.price ?? null;
  const { texts, reasoning, calls } = answer.message;
  const chars = [...texts, ...reasoning, ...calls.map(({ input }) => JSON.stringify(input) ?? "")].join(
    "",
  ).length;
  const streamedTokens = Math.ceil(chars / bytesPerToken);
  if (status !== null && status >= 400 && chars === 0) {
    return free;
  }
  if (error !== null || !answer.isWhole) {
    if (status === null) return error?.kind === "unreachable" ? free : unsent(amounts);
    const known = { price, reserved: amounts, inputTokens, reported: answer.usage, streamedTokens };
    return { ...settleBroken({ ...known, hidden: false, silentMs: 0 }), isBilled: true };
  }
  if (answer.usage !== null)
    return { usage: answer.usage, costNanoUsd: costOf(price, answer.usage), isBilled: true };
  const usage = { inputTokens, outputTokens: streamedTokens, estimated: true } as const;
  return { usage, costNanoUsd: costOf(price, usage), isBilled: true };
}

/** The provider refused the call, or never got it. */
const free: Costs = { usage: { inputTokens: 0, outputTokens: 0 }, costNanoUsd: 0, isBilled: false };

/** No response at all: the provider may have worked for it. */
const unsent = (amounts: Amounts): Costs => ({
  usage: { inputTokens: 0, outputTokens: 0 },
  costNanoUsd: 0,
  unconfirmed: amounts,
  isBilled: true,
});

const modelName = (provider: string, model: string): string =>
  `${provider}/${model.replaceAll(/[^A-Za-z0-9_.:@/-]/g, "-").slice(0, 128) || "unknown"}`;
const foreignName = (model: string): string =>
  model.replaceAll(/[^A-Za-z0-9_.:/@-]/g, "-").slice(0, 200) || "unknown";

const contentMax = limit.contentBytesMax * 0.8;

/** Settings that are too long for one content are kept as their names. */
function fitSettings(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
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
    throw new BudgetReached(`the price of ${model} is unknown, so the cost budget cannot be enforced`);
  const short = budgetShort(state, { ...amounts, steps: 1 });
  if (short !== null) throw new BudgetReached(budgetReason(short.resource, short.limit, short.used));
}
