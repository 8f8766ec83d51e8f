/**
 * Summaries by a model. The intent is recorded and the maximum cost reserved before the model is called; the
 * actual cost is recorded with the summary, or with the failure.
 */
import type { CountedUsage } from "../../core/turn/commands.ts";
import { budgetReason, budgetShort } from "../../core/budget/budget.ts";
import type { Cut } from "../../core/compaction/plan.ts";
import { compactionPrompt, readSummary, type FoundItem } from "../../core/compaction/prompt.ts";
import type { OpenInput } from "../../core/compaction/summary.ts";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import type { Settings } from "../../core/context/part.ts";
import { costOf } from "../../core/budget/price.ts";
import type { Amounts, State } from "../../core/state.ts";
import { ModelError, type ModelAnswer, type Model } from "../../model/port.ts";
import type { WorkspaceEffects } from "../log/workspace-effects.ts";
import { drawnBeside, payCall } from "../project/draw.ts";
import type { CompactSurvey } from "./compact-survey.ts";
import { nextContext } from "../context/context-reader.ts";
import { listen } from "./model-stream.ts";
import { safeText } from "../log/redact.ts";
import { outputRoom, planningOf, reservation, type StepWorld } from "./step.ts";
import { cleanText } from "./tool-output.ts";
import { nothingStreamed, recordBroken, settle } from "./broken-call.ts";
import { modelOf } from "../context/model-settings.ts";

/** A model that may be called, and its settings. */
export interface Summarizer {
  readonly model: Model;
  readonly settings: Settings;
  /** The maximum size of a request to it. */
  readonly windowTokens: number;
}

/**
 * The agent's choice first, then the session's own model. An unavailable choice is skipped, and so is one
 * without a price under a money budget.
 */
export async function summarizersOf(
  { deps, runContext }: StepWorld,
  { state }: CompactSurvey,
  windowTokens: number,
): Promise<readonly Summarizer[]> {
  const own: Summarizer = { model: runContext.model, settings: runContext.settings, windowTokens };
  const name = runContext.rules.compaction.model;
  if (name === undefined || name === runContext.model.name) return [own];
  const chosen = await modelOf(deps, name).catch(() => null);
  if (chosen === null) return [own];
  if (chosen.facts.price === null && state.standing.limits.nanoUsd !== undefined) return [own];
  const settings = { model: chosen.name, images: chosen.facts.images };
  return [{ model: chosen, settings, windowTokens: chosen.facts.windowTokens }, own];
}

/** The maximum length of a summary. It stands in every later context. */
export const summaryTokens = (windowTokens: number, goneTokens: number): number =>
  Math.max(100, Math.floor(Math.min(4_000, windowTokens / 8, goneTokens / 2)));

/** The model's room besides its input: for the summary, items, and possibly reasoning. */
const answerTokens = ({ model, windowTokens }: Summarizer): number =>
  Math.min(model.facts.outputTokensMax, 16_384, Math.floor(windowTokens / 6));

const promptTokens = 1_200;

/** How much of the messages this model can read. */
export const readableTokens = (summarizer: Summarizer, { frameTokens }: CompactSurvey): number =>
  summarizer.windowTokens -
  frameTokens -
  Math.min(promptTokens, Math.floor(summarizer.windowTokens / 6)) -
  Math.floor(answerTokens(summarizer) / 2);

export interface SummaryOptions {
  readonly strategy: "summarize" | "extract";
  readonly reason: "threshold" | "overflow" | "asked" | "policy";
  readonly instructions?: string | undefined;
  readonly inputs: readonly OpenInput[];
}

export type SummaryOutcome =
  | {
      readonly kind: "summary";
      readonly summary: string;
      readonly items: readonly FoundItem[];
      readonly requestSeq: number;
      readonly usage: CountedUsage;
      readonly costNanoUsd: number | null;
    }
  | { readonly kind: "failed"; readonly error: ModelError }
  /** The session is suspended, or the turn is over: a limit was reached, or an interrupt came. */
  | { readonly kind: "stopped" };

/** Attempts with a model that is busy, or whose answer was lost. */
const attemptsMax = 3;
const backoffMs = 500;

/** Requests a summary of everything up to a cut. The result is not recorded yet. */
export async function summarize(
  step: StepWorld,
  survey: CompactSurvey,
  cut: Cut,
  summarizer: Summarizer,
  options: SummaryOptions,
): Promise<SummaryOutcome> {
  for (let attempt = 1; ; attempt++) {
    const summarized = await ask(step, survey, cut, summarizer, options);
    if (summarized.kind !== "failed") return summarized;
    const { retryable, retryAfterMs } = summarized.error;
    const wait = retryAfterMs ?? backoffMs * 2 ** (attempt - 1);
    if (!retryable || attempt >= attemptsMax || wait > limit.retryAfterMsMax / 10) return summarized;
    await step.deps.world.sleep(wait, step.signal);
    if (step.signal.aborted) return { kind: "stopped" };
  }
}

async function ask(
  step: StepWorld,
  survey: CompactSurvey,
  cut: Cut,
  summarizer: Summarizer,
  options: SummaryOptions,
): Promise<SummaryOutcome> {
  const asked = promptFor(survey, summaryTokens(summarizer.windowTokens, cut.goneTokens), options);
  // Sends what the log holds.
  const prompt = safeText(step.deps.world, asked);
  const answered = await askModel(step, summarizer, { toSeq: cut.toSeq, prompt, reason: options.reason });
  if (answered.kind !== "words") return answered;
  const { words, requestSeq, usage, costNanoUsd } = answered;
  const { summary, items } =
    options.strategy === "extract" ? readSummary(words) : { summary: words.trim(), items: [] };
  return { kind: "summary", summary, items, requestSeq, usage, costNanoUsd };
}

export type SummaryAnswer =
  | {
      readonly kind: "words";
      readonly words: string;
      readonly requestSeq: number;
      readonly usage: CountedUsage;
      readonly costNanoUsd: number | null;
    }
  | Exclude<SummaryOutcome, { readonly kind: "summary" }>;

/** Calls a model about the context up to a position. The result is not recorded yet, and must be. */
export async function askModel(
  step: StepWorld,
  summarizer: Summarizer,
  asked: { readonly toSeq: number; readonly prompt: string; readonly reason: SummaryOptions["reason"] },
): Promise<SummaryAnswer> {
  const { deps, drive } = step;
  const { model } = summarizer;
  const request = await makeRequest(step, summarizer, asked);
  if (request === null) return { kind: "stopped" };
  let answer: ModelAnswer;
  const { requestSeq, reserved, tokens: inputTokens } = request;
  const streamed = nothingStreamed(deps);
  try {
    const { parts, outputTokensMax } = request;
    // A summary must not be taken for an answer.
    const call = { parts, outputTokensMax, requestSeq: null, signal: step.signal, streamed };
    answer = await listen(deps, drive.session, model, call);
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const broken = { model, requestSeq, error, streamed, reserved, inputTokens, isStep: false };
    await recordBroken(deps, drive, broken);
    return error.kind === "interrupted" ? { kind: "stopped" } : { kind: "failed", error };
  }
  const said = answer.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const usage = answer.usage ?? {
    inputTokens: request.tokens,
    outputTokens: await deps.tokenizer.count(said),
    estimated: true,
  };
  const costNanoUsd = costOf(model.facts.price, usage);
  const words = cleanText(said);
  if (words.trim() !== "") return { kind: "words", words, requestSeq, usage, costNanoUsd };
  // It was answered and must be paid, but with nothing that could replace the range.
  const error = new ModelError("invalid", `the response has no summary (${answer.finish})`);
  await failed(step, model, error, { requestSeq, usage, costNanoUsd });
  return { kind: "failed", error };
}

function promptFor({ state }: CompactSurvey, tokens: number, options: SummaryOptions): string {
  const { strategy, instructions, inputs } = options;
  const tasks = [...state.mind.items.values()].filter(({ status }) => status === "open");
  return compactionPrompt({
    strategy,
    words: Math.floor(tokens * 0.6),
    ...(instructions === undefined ? {} : { instructions }),
    unanswered: inputs.map(({ text }) => text.replace(/\s+/gu, " ").slice(0, 200).toWellFormed()),
    tasks: tasks.map(({ key }) => key),
  });
}

interface MadeRequest {
  readonly parts: Awaited<ReturnType<typeof nextContext>>["parts"];
  readonly outputTokensMax: number;
  readonly requestSeq: number;
  readonly tokens: number;
  readonly reserved: Amounts;
}

/** Records the intent; null when a limit prevents it: the session is suspended. */
async function makeRequest(
  step: StepWorld,
  summarizer: Summarizer,
  { toSeq, prompt, reason }: { toSeq: number; prompt: string; reason: SummaryOptions["reason"] },
): Promise<MadeRequest | null> {
  const { deps, drive } = step;
  const { model, settings } = summarizer;
  let made: Omit<MadeRequest, "requestSeq"> | null = null;
  let effects: WorkspaceEffects | null = null;
  const build = async (state: State) => {
    const rendered = await nextContext(deps, drive.session, {
      state,
      settings,
      inputs: [],
      toSeq,
      prompt,
      planning: planningOf(step.runContext),
    });
    const { tokens } = await deps.tokenizer.estimate(rendered.parts);
    let outputTokensMax = 0;
    const paid = await payCall(deps, drive.session, state, (left) => {
      outputTokensMax = outputRoom(model.facts, answerTokens(summarizer), tokens, left);
      return reservation(model.facts, tokens, outputTokensMax);
    });
    ({ effects } = paid);
    const { reserved, draw } = paid;
    if (reason === "asked" && draw?.short !== undefined)
      throw new SkeinError("refused", draw.short, { hint: 'raise it: "skein project budget"' });
    if (reason === "asked") assertAffordable(state, reserved, model);
    made = { parts: rendered.parts, outputTokensMax, tokens, reserved };
    return {
      do: "request" as const,
      draw,
      model: model.name,
      renderer: rendered.renderer,
      context: rendered.digest,
      digestForm: rendered.digestForm,
      parts: rendered.parts.length,
      inputs: [],
      plan: rendered.newPlan?.draft,
      reserved,
      estimatedTokens: tokens,
      outputTokensMax,
      settings,
      prompt,
      nowMs: deps.world.now(),
      compactTo: toSeq,
    };
  };
  const change = await drive.change(build, { also: (written) => drawnBeside(written, effects) });
  if (made === null || change.state.standing.reserved === null) return null;
  return { ...(made as Omit<MadeRequest, "requestSeq">), requestSeq: change.headSeq };
}

/** An explicit request for a summary fails without money for it; the session continues unchanged. */
function assertAffordable(state: State, reserved: Amounts, model: Model): void {
  const short = budgetShort(state, reserved);
  const unpriced = state.standing.limits.nanoUsd !== undefined && reserved.nanoUsd === undefined;
  if (short === null && !unpriced) return;
  const message =
    short === null
      ? `the price of ${model.name} is unknown, so the cost budget cannot be enforced`
      : budgetReason(short.resource, short.limit, short.used);
  throw new SkeinError("refused", message, { hint: 'raise the budget, or use the strategy "prune"' });
}

/** Settles a call with a useless answer. */
export async function failed(
  { deps, drive }: StepWorld,
  model: Model,
  { kind: error, message, retryable }: Pick<ModelError, "message" | "retryable"> & { readonly kind: string },
  paid: { readonly requestSeq?: number; readonly usage: CountedUsage; readonly costNanoUsd: number | null },
): Promise<void> {
  const words = safeText(deps.world, cleanText(message)).slice(0, limit.reasonCharsMax);
  await settle(drive, { do: "fail", model: model.name, error, retryable, message: words, ...paid });
}
