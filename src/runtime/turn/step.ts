/**
 * One step of a turn: renders the context, records the request, calls the model, records its answer. Costs
 * are reserved before and settled after, so that a crash loses no charge.
 */
import type { ToolCallDraft } from "../../core/tool/commands.ts";
import type { CountedUsage, ConsumedInputs, ZoneChange } from "../../core/turn/commands.ts";
import { mayIn } from "../../core/session/lifecycle.ts";
import { limit } from "../../core/limit.ts";
import type { ContextPart, ModelBlock } from "../../core/context/part.ts";
import type { ContentBlock } from "../../core/schema.ts";
import { costOf } from "../../core/budget/price.ts";
import type { Amounts, State } from "../../core/state.ts";
import { corrected } from "../../core/context/token-count.ts";
import type { Planning } from "../../core/context/plan.ts";
import { hasDrifted } from "../../core/context/drift.ts";
import { isSlowing, withAnswer } from "../../core/context/latency.ts";
import { readSignals } from "../../core/context/signal.ts";
import { readZone } from "../../core/context/zone.ts";
import { ModelError, type ModelAnswer, type ModelFacts } from "../../model/port.ts";
import { storeAnswer } from "./store-answer.ts";
import { nextContext, type Context as Rendered } from "../context/context-reader.ts";
import { judgeTool, rulesOf, type RunContext } from "./run-context.ts";
import { takeCalls, type Drive } from "./drive.ts";
import { nextTaken } from "../read/inbox.ts";
import { listen } from "./model-stream.ts";
import type { WorkspaceEffects } from "../log/workspace-effects.ts";
import { drawnBeside, payCall } from "../project/draw.ts";
import type { Deps } from "../deps.ts";
import { safeJson } from "../log/redact.ts";
import { toolErrorText } from "./tool-output.ts";
import { nothingStreamed, recordBroken } from "./broken-call.ts";
import { commandOf, findApproval, listApprovals } from "../workspace/approvals.ts";
import { readBindings } from "../read/bindings.ts";
import type { NextFollowUp } from "../log/follow-up.ts";

/** A context and its token count, as far as it is known before it is sent. */
export interface MeasuredContext {
  readonly context: Rendered;
  /** The state it was rendered at, and the inputs that a request then takes. */
  readonly atSeq: number;
  readonly inputs: ConsumedInputs;
  readonly estimated: number;
  readonly tokens: number;
}

/** What the last call showed about the tokenizer's error. */
export interface Lesson {
  readonly estimated: number;
  readonly actual: number;
}

export interface StepWorld {
  readonly deps: Deps;
  readonly drive: Drive;
  readonly runContext: RunContext;
  /** Aborted by an interrupt and by the loss of the lease. */
  signal: AbortSignal;
  lesson: Lesson | null;
  /**
   * The token count at which a compaction gained nothing. While there is room, the next attempt waits until
   * the context has grown: a model that returns no summary is paid all the same.
   */
  failedTokens?: number;
  /** Commands in the append of an answer. */
  readonly followUp?: NextFollowUp;
  /** True when a caller requested the compaction, so that it carries the key of that call. */
  readonly asked?: boolean;
  /** The compaction is what the agent's policy wants in the zone of the context. */
  readonly byPolicy?: boolean;
}

/** What a request at this state would send. */
export async function measure(step: StepWorld, state: State): Promise<MeasuredContext> {
  const { deps, drive, runContext } = step;
  const taken = await nextTaken(deps.store, drive.session, state);
  const rendered = await nextContext(deps, drive.session, {
    state,
    settings: runContext.settings,
    inputs: taken,
    planning: planningOf(runContext),
    isKept: true,
  });
  const { tokens: estimated } = await deps.tokenizer.estimate(rendered.parts);
  const { lesson } = step;
  const tokens = lesson === null ? estimated : corrected(estimated, lesson.estimated, lesson.actual);
  return { context: rendered, atSeq: state.seq, inputs: taken, estimated, tokens };
}

/** What the contexts of a run are planned for. */
export const planningOf = ({ model, rules }: RunContext): Planning => ({
  windowTokens: model.facts.windowTokens,
  shares: rules.shares,
});

/** The maximum output: by the model, the agent, the context window and the budget. */
export function outputRoom(facts: ModelFacts, agentMax: number, tokens: number, left: Amounts): number {
  const room = Math.min(facts.outputTokensMax, agentMax, facts.windowTokens - tokens);
  const byTokens = left.tokens === undefined ? Infinity : left.tokens - tokens;
  const { price } = facts;
  const input = costOf(price, { inputTokens: tokens, outputTokens: 0 }) ?? 0;
  const byMoney =
    left.nanoUsd === undefined || price === null || price.output === 0
      ? Infinity
      : Math.floor((left.nanoUsd - input) / price.output);
  return Math.max(limit.outputTokensMin, Math.floor(Math.min(room, byTokens, byMoney)));
}

/** The maximum use of a call, which must be free in the budget before it is made. */
export function reservation(facts: ModelFacts, tokens: number, outputTokensMax: number): Amounts {
  const nanoUsd = costOf(facts.price, { inputTokens: tokens, outputTokens: outputTokensMax });
  return { tokens: tokens + outputTokensMax, ...(nanoUsd === null ? {} : { nanoUsd }) };
}

export type RequestOutcome =
  | { readonly kind: "answered" }
  /** The session is suspended, or the turn was ended from outside. */
  | { readonly kind: "stopped" }
  | { readonly kind: "failed"; readonly error: ModelError };

export async function takeStep(step: StepWorld, first: MeasuredContext): Promise<RequestOutcome> {
  const { deps, drive, runContext } = step;
  const { world } = deps;
  const { facts, name: model } = runContext.model;
  let measured = first;
  let outputTokensMax = 0;
  let effects: WorkspaceEffects | null = null;
  const build = async (state: State) => {
    // Another writer may have appended since: the request must match the log.
    if (state.seq !== measured.atSeq) measured = await measure(step, state);
    const { context: rendered, tokens, inputs } = measured;
    const paid = await payCall(deps, drive.session, state, (left) => {
      outputTokensMax = outputRoom(facts, runContext.rules.outputTokensMax, tokens, left);
      return reservation(facts, tokens, outputTokensMax);
    });
    ({ effects } = paid);
    return {
      do: "request" as const,
      model,
      renderer: rendered.renderer,
      context: rendered.digest,
      digestForm: rendered.digestForm,
      parts: rendered.parts.length,
      inputs,
      plan: rendered.newPlan?.draft,
      reserved: paid.reserved,
      draw: paid.draw,
      estimatedTokens: tokens,
      outputTokensMax,
      settings: runContext.settings,
      nowMs: world.now(),
    };
  };
  const requested = await drive.change(build, { also: (written) => drawnBeside(written, effects) });
  if (requested.state.standing.reserved === null) return { kind: "stopped" };
  const begun = world.now();
  const parts: readonly ContextPart[] = measured.context.parts;
  const requestSeq = requested.headSeq;
  const streamed = nothingStreamed(deps);
  try {
    const { signal } = step;
    const call = { parts, outputTokensMax, signal, requestSeq, streamed };
    const answer = await listen(deps, drive.session, runContext.model, call);
    await respond(step, measured, answer, { ms: Math.max(0, world.now() - begun), requestSeq });
    return { kind: "answered" };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const reserved = reservation(facts, measured.tokens, outputTokensMax);
    const inputTokens = measured.tokens;
    const { model } = runContext;
    const broken = { model, requestSeq, error, streamed, reserved, inputTokens, isStep: true };
    await recordBroken(deps, drive, broken);
    return { kind: "failed", error };
  }
}

async function respond(
  step: StepWorld,
  measured: MeasuredContext,
  answer: ModelAnswer,
  { ms, requestSeq }: { readonly ms: number; readonly requestSeq: number },
): Promise<void> {
  const { deps, drive, runContext } = step;
  const { facts, name: model } = runContext.model;
  const usage = answer.usage ?? (await counted(deps, measured, answer));
  const costNanoUsd = costOf(facts.price, usage);
  const sent = answer.sent === null ? {} : { sent: deps.world.digest("", answer.sent) };
  if (answer.usage !== null)
    step.lesson = { estimated: measured.estimated, actual: answer.usage.inputTokens };
  // Calls are judged by the arguments they will run with.
  const { blocks: answered, wrong } = storeAnswer(answer, (value) => safeJson(deps.world, value));
  const over = { do: "fail", model, requestSeq, error: "overtaken", retryable: false } as const;
  await drive.change(
    async (state) => {
      const { reserved, status } = state.standing;
      // The turn ended during the model call: the answer is useless, but it was paid.
      if (reserved?.seq !== requestSeq || !mayIn(status, "settle")) return { ...over, usage, costNanoUsd };
      const { blocks, calls } = takeCalls(answered, state, (name) => {
        const tool = runContext.tools.get(name);
        const isExternal = tool !== undefined && tool.effect !== "session" && tool.external === true;
        const deadline = isExternal ? { deadlineMs: deps.store.now() + tool.timeoutMs } : {};
        return { effect: tool?.effect ?? "unsafe", ...deadline };
      });
      const places = answered.flatMap((block, place) => (block.type === "tool-call" ? [place] : []));
      const judged: ToolCallDraft[] = [];
      for (const [number, call] of calls.entries()) {
        judged.push(await judge(step, state, call, wrong.get(places[number] ?? -1)));
      }
      const zone = zoneNow(step, state, measured, { usage, blocks, ms });
      const { finish } = answer;
      return {
        do: "respond",
        model,
        finish,
        usage,
        costNanoUsd,
        blocks,
        calls: judged,
        ...sent,
        ms,
        zone,
      };
    },
    { followUp: step.followUp },
  );
}

/** True when a call may run: it is known, its arguments are valid, and the rules allow it. */
async function judge(
  step: StepWorld,
  state: State,
  call: ToolCallDraft,
  unfit: string | undefined,
): Promise<ToolCallDraft> {
  const { deps, drive, runContext } = step;
  const tool = runContext.tools.get(call.tool);
  const wrong = (reason: string): ToolCallDraft => ({ ...call, verdict: "error", reason });
  if (tool === undefined) {
    const names = [...runContext.tools.keys()];
    const there = names.length === 0 ? "there are none" : `there are ${names.slice(0, 50).join(", ")}`;
    return wrong(`there is no tool ${call.tool}; ${there}`);
  }
  if (unfit !== undefined) return wrong(unfit);
  const checked = await tool.check(call.input);
  if (!checked.ok) return wrong(toolErrorText(checked.message));
  const rules = await rulesOf(deps, drive.session, state, runContext);
  const { rule, reason } = judgeTool(rules, tool, { input: call.input, checked: checked.value });
  if (rule === "allow") return call;
  const why = reason === undefined || reason === null ? "" : `: ${reason}`;
  if (rule === "deny") return { ...call, verdict: "deny", reason: `not allowed${why}` };
  const command = commandOf(tool, checked.value, await readBindings(deps, drive.session, state));
  if (command === undefined) return { ...call, verdict: "ask" };
  // A call with a saved approval is recorded as approved when it starts, if it still is then.
  if (findApproval(await listApprovals(deps), call.tool, command) !== undefined) return call;
  return { ...call, verdict: "ask", command };
}

function zoneNow(
  { runContext, deps }: StepWorld,
  { standing }: State,
  { context }: MeasuredContext,
  { usage, blocks, ms }: ReceivedAnswer,
): ZoneChange {
  const { rules, model, tools } = runContext;
  const { contextFrom, lastTurn, pace, zoneCauses } = standing;
  const calls = readSignals(context.parts, (tool) => tools.get(tool)?.effect === "read");
  // An exchange that calls tools goes on: what it is about shows in the end.
  const goesOn = blocks.some(({ type }) => type === "tool-call");
  const answer = { part: "message", role: "assistant", content: blocks as readonly ModelBlock[] } as const;
  const drifted = goesOn ? zoneCauses.includes("drift") : hasDrifted([...context.parts, answer]);
  const slow = isSlowing(withAnswer(pace, [ms, usage.outputTokens]));
  const measure = {
    tokens: usage.inputTokens + usage.outputTokens,
    windowTokens: model.facts.windowTokens,
    turns: lastTurn - contextFrom.turn,
    ageMs: Math.max(0, deps.world.now() - contextFrom.at),
    signals: [...calls, ...(drifted ? (["drift"] as const) : []), ...(slow ? (["latency"] as const) : [])],
  };
  return { ...readZone(measure, rules.zones), policy: rules.zones };
}

interface ReceivedAnswer {
  readonly usage: CountedUsage;
  readonly blocks: readonly ContentBlock[];
  readonly ms: number;
}

/** Counts for a provider that reports no usage. */
async function counted(deps: Deps, measured: MeasuredContext, answer: ModelAnswer): Promise<CountedUsage> {
  const outputTokens = await deps.tokenizer.count(JSON.stringify(answer.blocks));
  return { inputTokens: measured.tokens, outputTokens, estimated: true };
}
