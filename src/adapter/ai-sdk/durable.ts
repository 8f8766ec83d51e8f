/**
 * Durable runs: `generateText` and `streamText` with the program's own loop, where every model call and tool
 * call is a record of a session. A run that is started again gets the recorded outcomes, and makes only the
 * calls that are missing.
 *
 * The records are foreign ones (`x.ai-sdk.…`), because the program renders its prompts itself: Skein could
 * not rebuild the context of a call, and says nothing of it.
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4Middleware,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import type { ToolSet } from "ai";
import { SkeinError } from "../../core/error.ts";
import { errorText } from "../../core/first-error.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { Drive } from "../../runtime/turn/drive.ts";
import { openOnce } from "../open-once.ts";
import { CallLedger, type Intent, type RecordedOutcome, type RunUsage } from "./call-ledger.ts";
import { sha256 } from "./ids.ts";

/** What a repeated tool call does; as in Skein's own tools. */
export type ToolEffect = "read" | "idempotent" | "unsafe";

/** Options of `durableRun`. */
export interface DurableRunOptions {
  /** Names the run: started again with this name, it continues. */
  readonly run: string;
  /** Of the session that keeps it. Default: the name of the run. */
  readonly objective?: string;
}

/** A durable run. It holds the session's lease, so that no other process runs it too. */
export interface DurableRun extends AsyncDisposable {
  readonly session: Session;
  /** For `wrapLanguageModel({ model, middleware })`. */
  readonly middleware: LanguageModelV4Middleware;
  /**
   * The same tools, with recorded calls. `effects` decides about a call that a crash cut off: `read` and
   * `idempotent` ones run again; of an unsafe one, the default, the outcome is unknown, as the model learns.
   */
  wrapTools<T extends ToolSet>(tools: T, effects?: { readonly [N in keyof T]?: ToolEffect }): T;
  /** Tokens of the recorded calls, each counted once. */
  readonly usage: RunUsage;
}

const runLabel = "ai-sdk.run";

/** Starts a run, or continues it. Rejects with `conflict` while another process runs it. */
export async function durableRun(
  engine: Engine,
  { run, objective = `Durable run ${run}` }: DurableRunOptions,
): Promise<DurableRun> {
  if (typeof run !== "string" || run === "" || run.length > 1_000)
    throw new SkeinError("invalid", "durableRun: run: expected a text of 1 to 1,000 characters");
  const digest = sha256(run);
  const labels = { [runLabel]: digest };
  const session = await openOnce(`${runLabel}:${digest}`, (key) => engine.open({ objective, labels, key }));
  const drive = await session.drive();
  try {
    const ledger = await CallLedger.open(engine, session, drive);
    const over = new AbortController();
    void keepLease(engine, drive, over.signal);
    return {
      session,
      middleware: makeMiddleware(ledger),
      wrapTools: (tools, effects = {}) => wrapTools(ledger, session.id, tools, effects),
      get usage() {
        return ledger.usage;
      },
      async [Symbol.asyncDispose]() {
        over.abort();
        await drive[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await drive[Symbol.asyncDispose]();
    throw error;
  }
}

/** A lost lease shows at the next call. */
async function keepLease(engine: Engine, drive: Drive, signal: AbortSignal): Promise<void> {
  const { world } = internalsOf(engine);
  while (!signal.aborted) {
    await world.sleep(drive.lease.leaseMs / 3, signal);
    if (!signal.aborted) await drive.lease.renew().catch(() => null);
  }
}

function makeMiddleware(ledger: CallLedger): LanguageModelV4Middleware {
  return {
    specificationVersion: "v4",
    async wrapGenerate({ doGenerate, params, model }) {
      const args = argumentsOf(params, model);
      const id = ledger.take("generate", args);
      const known = await ledger.outcome(id);
      if (known !== null) return known.value as LanguageModelV4GenerateResult;
      const intent: Intent = { kind: "model", name: args.model, content: args };
      await ledger.begin(id, intent);
      const result = await orFail(doGenerate(), { ledger, id, intent });
      const value = withoutTransport(result);
      await ledger.settle(id, intent, { status: "ok", value, body: countsOf(result.usage) });
      return result;
    },
    async wrapStream({ doStream, params, model }) {
      const args = argumentsOf(params, model);
      const id = ledger.take("stream", args);
      const known = await ledger.outcome(id);
      if (known !== null) return { stream: ReadableStream.from(known.value as LanguageModelV4StreamPart[]) };
      const intent: Intent = { kind: "model", name: args.model, content: args };
      await ledger.begin(id, intent);
      const { stream, ...rest } = await orFail(doStream(), { ledger, id, intent });
      return { ...rest, stream: recorded(stream, { ledger, id, intent }) };
    },
  };
}

interface OpenIntent {
  readonly ledger: CallLedger;
  readonly id: ReturnType<CallLedger["take"]>;
  readonly intent: Intent;
}

async function orFail<T>(work: PromiseLike<T>, { ledger, id, intent }: OpenIntent): Promise<T> {
  try {
    return await work;
  } catch (error) {
    // The error of the provider is the one to report.
    await ledger.fail(id, intent, errorText(error)).catch(() => ledger.release(id));
    throw error;
  }
}

/** The parts as they come; the last one only when all of them are durable. */
function recorded(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  { ledger, id, intent }: OpenIntent,
): ReadableStream<LanguageModelV4StreamPart> {
  async function* parts(): AsyncGenerator<LanguageModelV4StreamPart> {
    const kept: LanguageModelV4StreamPart[] = [];
    let why = "the stream was cancelled";
    let isSettled = false;
    try {
      for await (const part of stream) {
        keepPart(kept, part);
        if (part.type === "error") why = errorText(part.error);
        if (part.type === "finish") {
          await ledger.settle(id, intent, { status: "ok", value: kept, body: countsOf(part.usage) });
          isSettled = true;
        }
        yield part;
      }
      if (!isSettled) why = "the stream ended before the response was complete";
    } catch (error) {
      why = errorText(error);
      throw error;
    } finally {
      if (!isSettled) await ledger.fail(id, intent, why).catch(() => ledger.release(id));
    }
  }
  return ReadableStream.from(parts());
}

/** Adjacent deltas of one part are one. Raw events of the provider are not kept. */
function keepPart(kept: LanguageModelV4StreamPart[], part: LanguageModelV4StreamPart): void {
  if (part.type === "raw" || part.type === "ping") return;
  const last = kept.at(-1);
  const joins = last !== undefined && "delta" in part && "delta" in last && last.type === part.type;
  if (joins && last.id === part.id && part.providerMetadata === undefined)
    kept[kept.length - 1] = { ...last, delta: last.delta + part.delta };
  else kept.push(part);
}

/** What makes a call this one. Signals and headers do not. */
function argumentsOf(
  { abortSignal: _, headers: __, includeRawChunks: ___, ...params }: LanguageModelV4CallOptions,
  { provider, modelId }: { readonly provider: string; readonly modelId: string },
): { readonly model: string; readonly params: unknown } {
  return { model: `${provider}/${modelId}`, params };
}

/** Bodies and headers of the connection are left out of the answer. */
function withoutTransport(result: LanguageModelV4GenerateResult): LanguageModelV4GenerateResult {
  const { request: _, response, ...rest } = result;
  if (response === undefined) return rest;
  const { headers: __, body: ___, ...kept } = response;
  return { ...rest, response: kept };
}

function countsOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Readonly<Record<string, number>> {
  return { inputTokens: inputTokens.total ?? 0, outputTokens: outputTokens.total ?? 0 };
}

function wrapTools<T extends ToolSet>(
  ledger: CallLedger,
  session: string,
  tools: T,
  effects: { readonly [N in keyof T]?: ToolEffect },
): T {
  const wrapped = Object.entries(tools).map(([name, tool]) => {
    const { execute } = tool;
    if (execute === undefined) return [name, tool] as const;
    const effect = effects[name] ?? "unsafe";
    const run = async (input: unknown, options: { readonly toolCallId: string }): Promise<unknown> => {
      const id = ledger.take("tool", { name, call: options.toolCallId, input });
      const known = await ledger.outcome(id);
      if (known !== null) return replayed(known.value, known.status);
      const intent: Intent = { kind: "tool", name, body: { effect }, content: { input } };
      if (ledger.wasCut(id) && effect === "unsafe") {
        const value = `${name}: an earlier process began this call, and its outcome is unknown`;
        await ledger.settle(id, intent, { status: "unknown", value });
        throw new Error(value);
      }
      await ledger.begin(id, intent);
      const key = sha256(`${session}\n${id.call}\n${id.n}`);
      let outcome: RecordedOutcome;
      try {
        outcome = { status: "ok", value: await whole(execute(input as never, { ...options, key } as never)) };
      } catch (error) {
        await ledger.settle(id, intent, { status: "error", value: errorText(error) });
        throw error;
      }
      await ledger.settle(id, intent, outcome);
      return outcome.value;
    };
    return [name, { ...tool, execute: run }] as const;
  });
  return Object.fromEntries(wrapped) as T;
}

function replayed(value: unknown, status: string): unknown {
  if (status === "ok") return value;
  throw new Error(String(value));
}

/** The last of several results: earlier ones are preliminary. */
async function whole(result: unknown): Promise<unknown> {
  const given = await result;
  if (typeof given !== "object" || given === null || !(Symbol.asyncIterator in given)) return given;
  let last: unknown;
  for await (const one of given as AsyncIterable<unknown>) last = one;
  return last;
}
