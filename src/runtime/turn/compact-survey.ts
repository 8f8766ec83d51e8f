/** The input of a compaction: the context, its weight, where a range may end, which inputs are unanswered. */
import { readRecords } from "../read/record-pages.ts";
import {
  cutsOf,
  markTypes,
  type Cut,
  type PlanMark,
  type ShownOutput,
  type Weight,
} from "../../core/compaction/plan.ts";
import type { OpenInput } from "../../core/compaction/summary.ts";
import { userBlocks } from "../../core/context/block.ts";
import { boundaryOf } from "../../core/context/source.ts";
import { readEvent, type SessionLogEvent } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import type { ResultBlock } from "../../core/context/part.ts";
import { subtract } from "../../core/range.ts";
import type { Overlay, State } from "../../core/state.ts";
import { imageTokens, roughTokens } from "../../core/context/token-count.ts";
import type { Store } from "../../store/port.ts";
import { readContent } from "../read/content.ts";
import { measure, type MeasuredContext, type StepWorld } from "./step.ts";

export interface CompactSurvey {
  readonly state: State;
  readonly measured: MeasuredContext;
  /** The summary the context begins with; null when nothing was summarized yet. */
  readonly boundary: Overlay | null;
  /** Of the messages, in order. */
  readonly weights: readonly Weight[];
  readonly cuts: readonly Cut[];
  readonly outputs: readonly ShownOutput[];
  /** Tokens before the messages, of the boundary, and of all messages. */
  readonly frameTokens: number;
  readonly boundaryTokens: number;
  readonly messagesTokens: number;
  /** The start of the turn with unanswered inputs; null when all are answered. */
  readonly openTurnSeq: number | null;
  /** When the events that begin and end steps were written, by position. */
  readonly times: ReadonlyMap<number, number>;
}

/** Reads what the context window holds: the events since the last boundary. */
export async function surveyOf(step: StepWorld): Promise<CompactSurvey> {
  const { deps, drive } = step;
  const state = await drive.state();
  const measured = await measure(step, state);
  const { parts, reasons } = measured.context;
  const { perPart } = await deps.tokenizer.estimate(parts);
  const scale = measured.estimated === 0 ? 1 : measured.tokens / measured.estimated;
  const all: Weight[] = perPart.map((tokens, place) => ({
    tokens: tokens * scale,
    toSeq: reasons[place]?.toSeq ?? 0,
  }));
  // Pinned items stay; a summary, the items and the transcript are what a compaction replaces.
  const found = parts.findIndex(({ part }, place) => part === "message" && reasons[place]?.kind !== "pinned");
  const begin = found === -1 ? parts.length : found;
  const weights = all.slice(begin);
  const isBoundary = (place: number): boolean =>
    ["summary", "items"].includes(reasons[begin + place]?.kind ?? "");
  const boundary = boundaryOf({ state });
  const events = await eventsSince(deps.store, drive.session, state, boundary?.toSeq ?? 0);
  const marks = events.flatMap(markOf);
  const sum = (some: readonly Weight[]): number => some.reduce((total, { tokens }) => total + tokens, 0);
  return {
    state,
    measured,
    boundary,
    weights,
    cuts: cutsOf(marks, weights),
    outputs: outputsOf(measured, marks, scale),
    frameTokens: sum(all.slice(0, begin)),
    boundaryTokens: boundary === null ? 0 : sum(weights.filter((_, place) => isBoundary(place))),
    messagesTokens: sum(weights),
    openTurnSeq: state.standing.turn?.startedSeq ?? unansweredTurn(events),
    times: new Map(events.map(({ seq, at }) => [seq, at])),
  };
}

async function eventsSince(
  store: Store,
  session: SessionId,
  state: State,
  afterSeq: number,
): Promise<SessionLogEvent[]> {
  const events: SessionLogEvent[] = [];
  for (const [from, toSeq] of subtract([[afterSeq + 1, state.seq]], state.mind.lost)) {
    for await (const record of readRecords(store, session, [from, toSeq], { types: markTypes })) {
      const { kind, event } = readEvent(record, false);
      if (kind === "known") events.push(event as SessionLogEvent);
    }
  }
  return events;
}

function markOf(event: SessionLogEvent): PlanMark[] {
  const { seq, type } = event;
  if (type === "model.requested") {
    return event.body.purpose === "compaction" ? [] : [{ type, seq, attempt: event.body.attempt }];
  }
  if (type === "tool.requested") return [{ type, seq, call: event.body.call }];
  if (type === "tool.settled") return event.body.late === true ? [] : [{ type, seq, call: event.body.call }];
  const mark = markTypes.find((one) => one === type);
  return mark === undefined ? [] : [{ type: mark, seq }];
}

/** The start of the last turn, if it ended without an answer and nothing came after it. */
function unansweredTurn(events: readonly SessionLogEvent[]): number | null {
  const ended = events.findLast(({ type }) => type === "turn.ended");
  if (ended?.type !== "turn.ended") return null;
  const { outcome } = ended.body;
  if (outcome === "completed" || outcome === "refused") return null;
  return events.findLast(({ type }) => type === "turn.started")?.seq ?? null;
}

/** Outputs that the context shows, each with the position of its outcome. */
function outputsOf(measured: MeasuredContext, marks: readonly PlanMark[], scale: number): ShownOutput[] {
  const requested = new Map<string, number>();
  const settled = new Map<string, number>();
  for (const { type, seq, call = "" } of marks) {
    if (type === "tool.requested") requested.set(call, seq);
    // A call of another tool is its own outcome.
    if (type === "call.imported") settled.set(`call_${seq}`, seq);
    const from = type === "tool.settled" ? requested.get(call) : undefined;
    if (from !== undefined && !settled.has(`call_${from}`)) settled.set(`call_${from}`, seq);
  }
  return measured.context.parts.flatMap((part) => {
    if (part.part !== "message" || part.role !== "tool") return [];
    return part.content.flatMap((block) => {
      const seq = settled.get(block.call);
      return seq === undefined ? [] : [{ seq, tokens: resultTokens(block) * scale }];
    });
  });
}

const resultTokens = ({ text, images = [] }: ResultBlock): number =>
  roughTokens(text) + images.length * imageTokens;

/** The inputs up to a position that the turn took and has not answered. */
export async function openInputs(
  { deps, drive }: StepWorld,
  { openTurnSeq, state }: CompactSurvey,
  toSeq: number,
): Promise<OpenInput[]> {
  const { store } = deps;
  if (openTurnSeq === null || openTurnSeq > toSeq) return [];
  const seqs: number[] = [];
  const types = ["turn.started", "model.requested"];
  const last = Math.min(toSeq, state.seq);
  for await (const record of readRecords(store, drive.session, [openTurnSeq, last], { types })) {
    const { inputs = [] } = readEvent(record, false).event.body as { inputs?: [number, number][] };
    seqs.push(...inputs.map(([seq]) => seq));
  }
  const inputs: OpenInput[] = [];
  for (const seq of seqs) {
    const blocks = userBlocks(await readContent(store, drive.session, seq), false);
    const said = blocks.map((block) => (block.type === "text" ? block.text : `[${block.type}]`));
    inputs.push({ seq, text: said.length === 0 ? "[erased]" : said.join("\n") });
  }
  return inputs;
}
