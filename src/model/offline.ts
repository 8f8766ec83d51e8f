/**
 * The offline model: no key, no network, no randomness. The same context gives the same answer, so every
 * feature can be tried without an account. It understands a few fixed commands (offline/phrase.ts), turns
 * them into real tool calls, and says plainly what it is and cannot do.
 */
import type { ContextPart } from "../core/context/part.ts";
import { limit } from "../core/limit.ts";
import { estimateTokens, roughTokens } from "../core/context/token-count.ts";
import { messagesOf, textOf } from "./offline/known.ts";
import { isLost, planOf, toolsOf, type OfflinePlan } from "./offline/plan.ts";
import { answerTo, helpText, introduction, missingText, outcomeText } from "./offline/reply.ts";
import { isProseRequest, proseOf } from "./offline/prose.ts";
import { isSummaryRequest, summaryOf } from "./offline/summary.ts";
import {
  ModelError,
  type ModelAnswer,
  type AnswerBlock,
  type ModelDelta,
  type Model,
  type ModelCall,
} from "./port.ts";

const offlineName = "offline/offline";

export interface OfflineOptions {
  /** With a world it knows the date, and can pace its answer. */
  readonly world?: { now(): number; sleep(ms: number, signal?: AbortSignal): Promise<void> };
  /** Between two pieces of the answer; default: none. */
  readonly paceMs?: number;
}

/** A known price of zero. */
const price = { input: 0, output: 0, cachedInput: 0, cacheWrite: 0, asOf: "2026-11-01" } as const;
const windowTokens = 32_768;

export function offlineModel({ world, paceMs = 0 }: OfflineOptions = {}): Model {
  return {
    name: offlineName,
    facts: { windowTokens, outputTokensMax: 8_192, images: false, price },
    async *stream(call) {
      const inputTokens = estimateTokens(call.parts);
      if (inputTokens > windowTokens) {
        const message = `the context has ${inputTokens} tokens, the offline model's window ${windowTokens}`;
        throw new ModelError("overflow", message);
      }
      const answer = limited(answerOf(call.parts, world?.now() ?? null), call.outputTokensMax);
      for (const delta of deltasOf(answer.blocks)) {
        if (paceMs > 0) await world?.sleep(paceMs, call.signal);
        checkSignal(call);
        yield delta;
      }
      checkSignal(call);
      const outputTokens = answer.blocks.reduce((sum, block) => sum + blockTokens(block), 0);
      return { ...answer, usage: { inputTokens, outputTokens }, sent: null };
    },
  };
}

function checkSignal({ signal }: ModelCall): void {
  if (signal.aborted) throw new ModelError("interrupted", "the model call was interrupted");
}

type Words = Pick<ModelAnswer, "blocks" | "finish">;

function answerOf(parts: readonly ContextPart[], nowMs: number | null): Words {
  if (isSummaryRequest(parts)) return say(summaryOf(parts));
  if (isProseRequest(parts)) return say(proseOf(parts));
  return replyOf(parts.map(shortened), nowMs);
}

function replyOf(parts: readonly ContextPart[], nowMs: number | null): Words {
  const plan = planOf(parts, nowMs);
  if (plan === null)
    return say(introduced(parts, [isLost(parts) ? lost : "There is nothing left for me to do."]));
  const next = plan.isStopped ? undefined : plan.groups[plan.begun];
  if (next === undefined) return say(introduced(parts, replyTo(plan, parts)));
  const before = messagesOf(parts).flatMap(({ content }) =>
    content.filter(({ type }) => type === "tool-call"),
  );
  const blocks = next.wishes.map((wish, place): AnswerBlock => {
    return { type: "tool-call", call: `offline_${before.length + place + 1}`, ...wish };
  });
  return { blocks, finish: "tool-calls" };
}

/** With each text cut to what the grammar reads in bounded time. */
function shortened(part: ContextPart): ContextPart {
  const cut = <T extends object>(thing: T): T =>
    "text" in thing && typeof thing.text === "string" && thing.text.length > limit.offlineCharsMax
      ? { ...thing, text: thing.text.slice(0, limit.offlineCharsMax).toWellFormed() }
      : thing;
  if (part.part === "system") return cut(part);
  if (part.part !== "message") return part;
  return { ...part, content: part.content.map(cut) } as ContextPart;
}

const lost =
  "My context was compacted in the middle of this, so I cannot tell what was done. Say again what is left.";

const say = (text: string): Words => ({ blocks: [{ type: "text", text }], finish: "stop" });

/** Introduces itself once per context. */
function introduced(parts: readonly ContextPart[], paragraphs: readonly string[]): string {
  const isKnown = messagesOf(parts).some(
    (message) => message.role === "assistant" && textOf(message).includes("offline model"),
  );
  return [...(isKnown ? [] : [introduction]), ...paragraphs].join("\n\n");
}

function replyTo(plan: OfflinePlan, parts: readonly ContextPart[]): string[] {
  const { clauses, groups, begun, done, isStopped, missing } = plan;
  const said = (is: string): string[] => clauses.filter((one) => one.is === is).map((one) => one.said);
  const answers = said("question").map(
    (question) => answerTo(question, parts) ?? `Nothing in the context answers "${question}".`,
  );
  const left = isStopped ? groups.slice(begun).flatMap((group) => group.said) : [];
  const strange = said("other");
  const isHelpful = said("help").length > 0 || strange.length === clauses.length;
  const shownOther = strange.slice(0, 3).map((one) => `"${one.slice(0, 80).toWellFormed()}"`);
  return [
    ...(said("greeting").length > 0 && clauses.length === 1 ? ["Hello. Say help to see what I can do."] : []),
    ...done.map(outcomeText),
    ...answers,
    ...missing.map(missingText),
    ...(strange.length === 0 ? [] : [`I do not understand ${shownOther.join(", ")}.`]),
    ...(left.length === 0 ? [] : [`I stopped there. Not done: ${left.join("; ")}.`]),
    ...(isHelpful ? [helpText(toolsOf(parts))] : []),
  ];
}

/** Cut to the output limit; the finish reason of a cut answer says so. */
function limited(words: Words, tokensMax: number): Words {
  let left = tokensMax;
  const blocks: AnswerBlock[] = [];
  for (const block of words.blocks) {
    const tokens = blockTokens(block);
    if (tokens <= left) {
      left -= tokens;
      blocks.push(block);
      continue;
    }
    const text = block.type === "text" ? cutText(block.text, left) : "";
    return { blocks: text === "" ? blocks : [...blocks, { type: "text", text }], finish: "length" };
  }
  return { ...words, blocks };
}

function cutText(text: string, tokensMax: number): string {
  let [fits, tooLong] = [0, text.length];
  while (tooLong - fits > 1) {
    const middle = Math.floor((fits + tooLong) / 2);
    if (roughTokens(text.slice(0, middle)) <= tokensMax) fits = middle;
    else tooLong = middle;
  }
  return text.slice(0, fits).toWellFormed();
}

const blockTokens = (block: AnswerBlock): number =>
  block.type === "tool-call"
    ? 8 + roughTokens(block.tool + JSON.stringify(block.input))
    : roughTokens(block.text);

/** One word at a time. */
function deltasOf(blocks: readonly AnswerBlock[]): ModelDelta[] {
  return blocks.flatMap((block): ModelDelta[] => {
    if (block.type === "tool-call") return [{ type: "tool-call", tool: block.tool }];
    const pieces = block.text.match(/\S+\s*|^\s+/g) ?? [block.text];
    return pieces.map((text) => ({ type: block.type, text }));
  });
}
