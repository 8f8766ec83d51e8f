/**
 * Compaction: replaces a range of the transcript in the context. The range stays in the log.
 *
 * A session over its context window can always recover. It tries, in this order, until there is room: leaving
 * out old outputs when the range is too long to be read at once; summaries by the agent's choice of model and
 * by the session's own, in several pieces if needed; and when neither room nor a model is left, a
 * summary composed by rule, which says so. As a last resort the outputs of the last step are left out too,
 * and then all of the transcript is replaced, with the unanswered inputs cut to fit.
 *
 * A budget limit suspends the session as elsewhere, and nothing is compacted. A model that fails while there
 * is still room leaves the context as it is: the next step tries again.
 */
import {
  isBeyond,
  isOverfull,
  planPrune,
  planRange,
  weighed,
  type Cut,
  type RangePlan,
} from "../../core/compaction/plan.ts";
import { plainSummary, withInputs } from "../../core/compaction/summary.ts";
import { SkeinError } from "../../core/error.ts";
import { ModelError } from "../../model/port.ts";
import { recordPrune, recordSummary } from "./compact-record.ts";
import {
  failed,
  readableTokens,
  summarize,
  summarizersOf,
  summaryTokens,
  type Summarizer,
} from "./compact-summary.ts";
import { openInputs, surveyOf, type CompactSurvey } from "./compact-survey.ts";
import { readContent } from "../read/content.ts";
import { nextContext } from "../context/context-reader.ts";
import { planningOf, type MeasuredContext, type StepWorld } from "./step.ts";

export interface CompactOptions {
  /** `policy`: what the agent wants in the zone of its context, whatever the window. */
  readonly reason: "threshold" | "overflow" | "asked" | "policy";
  /** Defaults to the agent's. */
  readonly strategy?: "prune" | "summarize" | "extract";
  /** What the summary should focus on. */
  readonly instructions?: string;
}

/** True when this context must be compacted before it is sent. */
export function mustCompact(step: StepWorld, { tokens }: MeasuredContext): boolean {
  const { windowTokens } = step.runContext.model.facts;
  if (!isOverfull(tokens, windowTokens, step.runContext.rules.compaction)) return false;
  const tried = step.failedTokens ?? 0;
  const hasGrown = tokens < tried || tokens >= tried + windowTokens * gainShare;
  return hasGrown || isBeyond(tokens, windowTokens);
}

/** The parameters of one call of `compactNow`. */
interface Task extends CompactOptions {
  readonly step: StepWorld;
  readonly strategy: "prune" | "summarize" | "extract";
  /** The context must fit into this. A provider may accept less than the nominal context window. */
  readonly windowTokens: number;
  readonly summarizers: readonly Summarizer[];
  /** How much of the range is requested at once; less after a model found it too long. */
  fitTokens: number;
}

/** Share of the context window for the newest messages, which stay verbatim. */
const keptShare = 0.25;
/** Share of the context window: a smaller gain is not worth a call while there is room. */
const gainShare = 0.05;
/** An explicit request is followed, unless the summary would be as long as its range. */
const askedGainTokens = 100;
/** Share of the messages: in a large window they are short of any share of it. */
const policyGainShare = 0.2;
/** Outputs shorter than this are never left out. */
const prunedTokensMin = 200;
/** Each round advances by at least a step; so many would be a session of many context windows. */
const roundsMax = 100;

/**
 * Compacts: in a turn between two steps, or while the session is idle. True when the context is smaller now.
 * False when nothing is left to compact, a model failed while there is room, or a limit was reached. For an
 * explicit request, a failing model and a limit are errors.
 */
export async function compactNow(step: StepWorld, options: CompactOptions): Promise<boolean> {
  await writeOff(step);
  const first = await surveyOf(step);
  const task = await taskOf(step, first, options);
  const { reason, windowTokens } = task;
  const whole = reason === "threshold" ? windowTokens : Math.min(windowTokens, first.messagesTokens);
  let keepTokens = Math.floor(whole * keptShare);
  let now = first;
  for (let round = 0; round < roundsMax; round++) {
    const did = await compactOnce(task, now, keepTokens);
    if (did === "stopped") return now.measured.tokens < first.measured.tokens;
    if (did === "nothing") break;
    if (did === "again") continue;
    now = await surveyOf(step);
    if (did === "whole" && !isForced(task, now)) break;
    if (did === "whole") keepTokens = Math.floor(keepTokens / 4);
  }
  if (isForced(task, now) && options.strategy !== "prune") now = await lastResort(task, now);
  const isSmaller = now.measured.tokens < first.measured.tokens;
  if (!isSmaller) step.failedTokens = first.measured.tokens;
  return isSmaller;
}

async function taskOf(step: StepWorld, first: CompactSurvey, options: CompactOptions): Promise<Task> {
  const { rules, model } = step.runContext;
  const { tokens } = first.measured;
  const own = model.facts.windowTokens;
  const windowTokens = options.reason === "overflow" ? Math.min(own, Math.floor(tokens)) : own;
  const strategy = options.strategy ?? rules.compaction.strategy;
  const summarizers = await summarizersOf(step, first, windowTokens);
  return { ...options, step, strategy, windowTokens, summarizers, fitTokens: Infinity };
}

/** No room is left for an answer: something must go, whatever it takes. */
const isForced = ({ windowTokens }: Task, { measured }: CompactSurvey): boolean =>
  isBeyond(measured.tokens, windowTokens);

/** Writes off a model call that a dead runner left, of a session that is not running now. */
async function writeOff({ drive }: StepWorld): Promise<void> {
  const { reserved } = (await drive.state()).standing;
  if (reserved === null) return;
  const message = "the process that called the model has ended";
  const fail = { do: "fail", model: reserved.model, error: "crashed", retryable: true } as const;
  await drive.change({ ...fail, costNanoUsd: null, message });
}

/**
 * `whole`: all of the planned range was replaced. `piece`: some of it, and there is more. `again`: nothing
 * was written, but less is requested next time.
 */
type CompactStep = "whole" | "piece" | "again" | "nothing" | "stopped";

async function compactOnce(task: Task, now: CompactSurvey, keepTokens: number): Promise<CompactStep> {
  const { strategy, windowTokens, reason } = task;
  const forced = isForced(task, now);
  const ofMessages = Math.max(askedGainTokens, Math.floor(now.messagesTokens * policyGainShare));
  const ofWindow = Math.floor(windowTokens * gainShare);
  const least = { asked: askedGainTokens, policy: ofMessages, threshold: ofWindow, overflow: ofWindow }[
    reason
  ];
  const gainTokensMin = forced ? 1 : least;
  const { boundaryTokens, cuts } = now;
  const range = { keepTokens, boundaryTokens, gainTokensMin };
  if (strategy === "prune") {
    const tail = planRange(cuts, { ...range, gainTokensMin: 1, fitTokens: Infinity });
    if (tail !== null && (await prune(task, now, tail.cut.toSeq, gainTokensMin))) return "whole";
    if (!forced || task.reason === "asked") return "nothing";
  }
  const readable = Math.max(...task.summarizers.map((one) => readableTokens(one, now)));
  const fitTokens = Math.min(task.fitTokens, readable);
  const plan = planRange(cuts, { ...range, fitTokens });
  if (plan === null || !(await isClosed(task, plan.cut))) return "nothing";
  if (!plan.isWhole || !plan.fits) {
    const tail = planRange(cuts, { ...range, fitTokens: Infinity }) ?? plan;
    const step = pieceOf(task.step);
    if (await prune({ ...task, step }, now, tail.cut.toSeq, gainTokensMin)) return "piece";
  }
  return replace(task, now, plan);
}

/** A piece carries neither the caller's key nor the policy's record: a repetition does the rest. */
const pieceOf = (step: StepWorld): StepWorld =>
  step.asked === true || step.byPolicy === true ? { ...step, asked: false, byPolicy: false } : step;

/** Checks the end of the range against the state. */
async function isClosed({ step }: Task, { toSeq }: Cut): Promise<boolean> {
  const { mind } = await step.deps.states.at(step.drive.session, toSeq);
  return mind.calls.size === 0;
}

async function prune(task: Task, now: CompactSurvey, toSeq: number, gainTokensMin: number): Promise<boolean> {
  const plan = planPrune(now.outputs, { toSeq, tokensMin: prunedTokensMin, gainTokensMin });
  if (plan === null) return false;
  await recordPrune(task.step, now, { ...plan, toSeq });
  return true;
}

/** Summarizes the range with the first model that can. */
async function replace(
  task: Task,
  now: CompactSurvey,
  { cut, fits, isWhole }: RangePlan,
): Promise<CompactStep> {
  const { step, reason, instructions } = task;
  const strategy = task.strategy === "extract" ? "extract" : "summarize";
  const done = isWhole ? "whole" : "piece";
  const inputs = await openInputs(step, now, cut.toSeq);
  const able = task.summarizers.filter((one) => fits && readableTokens(one, now) >= cut.goneTokens);
  let failure: ModelError | null = null;
  for (const summarizer of able) {
    const made = await summarize(step, now, cut, summarizer, { strategy, reason, instructions, inputs });
    if (made.kind === "stopped") return "stopped";
    if (made.kind === "failed") {
      failure = made.error;
      continue;
    }
    const { items, requestSeq, usage, costNanoUsd } = made;
    const { model } = summarizer;
    const summary = made.summary === "" ? await plainText(task, now, cut) : made.summary;
    const carried = (text: string): string => withInputs(text, inputs, inputChars(task));
    const by = { model: model.name, requestSeq, usage, costNanoUsd };
    const whose = isWhole ? step : pieceOf(step);
    if (await recordSummary(whose, now, cut, { strategy, summary, carried, items, by })) return done;
    const { standing } = await step.drive.state();
    failure = new ModelError("invalid", "the summary is not shorter than the transcript");
    await failed(step, model, { kind: "no-gain", message: failure.message, retryable: false }, by);
    if (standing.reserved === null) return "stopped";
  }
  if (failure?.kind === "overflow" && task.fitTokens > 1) {
    task.fitTokens = Math.min(Math.floor(cut.goneTokens / 2), task.fitTokens - 1);
    return "again";
  }
  if (isForced(task, now)) return (await replacePlainly(task, now, cut)) ? done : "nothing";
  if (reason === "asked" && failure !== null) {
    const message = `compress: no summary: ${failure.message}`;
    throw new SkeinError("unavailable", message, {
      hint: 'retry, or use the strategy "prune"',
      cause: failure,
    });
  }
  return "nothing";
}

/** Characters for inputs that are carried along. */
const inputChars = ({ windowTokens }: Task): number => Math.max(400, Math.floor((windowTokens / 8) * 3));

/** Replaces the range by a summary composed by rule. */
async function replacePlainly(task: Task, now: CompactSurvey, cut: Cut): Promise<boolean> {
  const { step } = task;
  const inputs = await openInputs(step, now, cut.toSeq);
  const summary = await plainText(task, now, cut);
  const carried = (text: string): string => withInputs(text, inputs, inputChars(task));
  return recordSummary(step, now, cut, { strategy: "summarize", summary, carried, items: [] });
}

async function plainText(task: Task, now: CompactSurvey, { toSeq, goneTokens }: Cut): Promise<string> {
  const { deps, drive, runContext } = task.step;
  const { state, boundary } = now;
  const settings = runContext.settings;
  const options = { state, settings, inputs: [], toSeq, planning: planningOf(task.step.runContext) };
  const { parts, reasons } = await nextContext(deps, drive.session, options);
  const messages = parts.flatMap((part, place) =>
    part.part === "message" && reasons[place]?.kind === "transcript" ? [part] : [],
  );
  const content = boundary === null ? null : await readContent(deps.store, drive.session, boundary.seq);
  const earlier = (content as { readonly summary?: string } | null)?.summary ?? null;
  const most = summaryTokens(task.windowTokens, goneTokens);
  // The number of characters a token has depends on the language.
  for (let charsMax = most * 4; ; charsMax = Math.floor(charsMax * 0.6)) {
    const summary = plainSummary(messages, { earlier, charsMax });
    if (charsMax < 300 || (await deps.tokenizer.count(summary)) <= most) return summary;
  }
}

/** No range is left to replace, and there is still no room: replaces what was kept until now. */
async function lastResort(task: Task, before: CompactSurvey): Promise<CompactSurvey> {
  const { step } = task;
  const { calls, toSeq } = before.state.mind;
  if (calls.size > 0 || toSeq <= (before.boundary?.toSeq ?? 0)) return before;
  const pruned = await prune(task, before, toSeq, 1);
  const now = pruned ? await surveyOf(step) : before;
  if (!isForced(task, now)) return now;
  const cut = weighed({ toSeq, endsTurn: false }, now.weights);
  return (await replacePlainly(task, now, cut)) ? surveyOf(step) : now;
}
