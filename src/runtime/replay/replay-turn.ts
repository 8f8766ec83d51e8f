/** Turns for comparing and repeating: read from a log, without rewound ranges. */
import { readRecords } from "../read/record-pages.ts";
import type { ContentBlock } from "../../core/schema.ts";
import { readEvent, type EventOf, type SessionLogEvent } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import type { CarriedMemory } from "../../core/item/commands.ts";
import { present } from "../../core/present.ts";
import { includes } from "../../core/range.ts";
import type { ReplayCall, ReplayTurn, ReplayUsage } from "../../core/turn/run-comparison.ts";
import type { OpenCall, State } from "../../core/state.ts";
import { inflate, readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";

/** An input of the original, to be given again. */
export type RecordedInput =
  | {
      readonly type: "input.received";
      readonly blocks: readonly ContentBlock[];
      readonly from?: "user" | "trigger" | "system";
    }
  | {
      readonly type: "message.received";
      readonly body: EventOf<"message.received">["body"];
      readonly text: string;
    };

export interface TakenCall extends ReplayCall {
  readonly effect: OpenCall["effect"];
  /** The position of its outcome; null while there is none. */
  readonly settledSeq: number | null;
  /** Whether a person or a rule denied it, and why. */
  readonly denied: { readonly reason: string | undefined } | null;
}

export interface TakenTurn extends ReplayTurn {
  readonly calls: readonly TakenCall[];
  /** The memory news it got when it began. */
  readonly carried: CarriedMemory | null;
  /** The inputs it began with. */
  readonly begun: readonly RecordedInput[];
  /** Inputs taken later in it, after so many steps. */
  readonly steered: readonly { readonly afterSteps: number; readonly input: RecordedInput }[];
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
interface TurnInProgress extends Mutable<Omit<TakenTurn, "calls" | "begun" | "steered" | "inputs">> {
  readonly calls: Mutable<TakenCall>[];
  readonly inputs: string[];
  readonly begun: RecordedInput[];
  readonly steered: { readonly afterSteps: number; readonly input: RecordedInput }[];
}

const types = [
  "memory.carried",
  "turn.started",
  "turn.ended",
  "model.requested",
  "model.responded",
  "model.failed",
  "transcript.compacted",
  "tool.requested",
  "tool.denied",
  "tool.settled",
] as const;
/** The events of a turn. */
type TurnEvent = Extract<SessionLogEvent, { readonly type: (typeof types)[number] }>;

/** The turns that began after a position and are part of the mind at the end. */
export async function readTurns(
  deps: Deps,
  session: SessionId,
  afterSeq: number,
  { seq: toSeq, mind }: State,
): Promise<TakenTurn[]> {
  const { store } = deps;
  const turns: TurnInProgress[] = [];
  let carried: CarriedMemory | null = null;
  const only = { types, contents: true };
  for await (const record of readRecords(store, session, [afterSeq + 1, toSeq], only)) {
    const read = readEvent(record, true);
    if (read.kind !== "known" || includes(mind.lost, record.seq)) continue;
    const event = { ...read.event, content: await inflate(store, read.event.content) } as TurnEvent;
    if (event.type === "memory.carried") carried = carriedBy(event);
    if (event.type === "turn.started") {
      turns.push(begin(event, carried));
      carried = null;
    }
    const turn = turns.at(-1);
    if (turn !== undefined) await note(deps, session, turn, event);
  }
  return turns;
}

/** The memory of an event, to be carried again; null if it is erased. */
const carriedBy = ({ body, content }: EventOf<"memory.carried">): CarriedMemory | null =>
  content === undefined
    ? null
    : {
        items: content.items as CarriedMemory["items"],
        tokens: body.tokens ?? 0,
        withdrawn: (content.withdrawn ?? []) as NonNullable<CarriedMemory["withdrawn"]>,
        ...present({ upTo: body.upTo, workspace: body.workspace, left: body.left }),
      };

const begin = ({ seq, turn }: EventOf<"turn.started">, carried: CarriedMemory | null): TurnInProgress => ({
  carried,
  turn: turn ?? 0,
  startedSeq: seq,
  endedSeq: null,
  outcome: null,
  inputs: [],
  answer: "",
  steps: 0,
  inputTokens: 0,
  outputTokens: 0,
  nanoUsd: 0,
  unpriced: 0,
  calls: [],
  begun: [],
  steered: [],
});

async function note(deps: Deps, session: SessionId, turn: TurnInProgress, event: TurnEvent): Promise<void> {
  switch (event.type) {
    case "memory.carried":
      return;
    case "turn.started":
      return takeUp(deps, session, turn, event.body.inputs);
    case "model.requested":
      if (event.body.purpose === "compaction") return;
      if (event.body.attempt <= 1) turn.steps += 1;
      return takeUp(deps, session, turn, event.body.inputs);
    case "model.responded": {
      const said = textOf(event.content?.blocks ?? []);
      turn.answer = [turn.answer, said].filter((text) => text !== "").join("\n\n");
      return spend(turn, event.body);
    }
    case "model.failed":
      return spend(turn, event.body);
    case "transcript.compacted":
      if (event.body.model !== undefined) spend(turn, event.body);
      return;
    case "tool.requested":
    case "tool.denied":
    case "tool.settled":
      return noteCall(turn, event);
    case "turn.ended":
      turn.endedSeq = event.seq;
      turn.outcome = event.body.outcome;
  }
}

function noteCall(
  { calls }: TurnInProgress,
  event: EventOf<"tool.requested"> | EventOf<"tool.denied"> | EventOf<"tool.settled">,
): void {
  if (event.type === "tool.requested") {
    const { tool, effect } = event.body;
    const call = { seq: event.seq, tool, input: event.content?.input ?? null, effect };
    calls.push({ ...call, status: null, settledSeq: null, denied: null });
    return;
  }
  // The request causes the outcome of a call; ids repeat over time.
  const call = calls.findLast(({ seq }) => seq === event.cause);
  if (call === undefined) return;
  if (event.type === "tool.denied") call.denied = { reason: event.content?.reason };
  else if (event.body.late !== true) [call.status, call.settledSeq] = [event.body.status, event.seq];
}

function spend(
  turn: Mutable<ReplayUsage>,
  {
    usage,
    costNanoUsd = null,
  }: {
    readonly usage?: { readonly inputTokens: number; readonly outputTokens: number } | undefined;
    readonly costNanoUsd?: number | null | undefined;
  },
): void {
  turn.inputTokens += usage?.inputTokens ?? 0;
  turn.outputTokens += usage?.outputTokens ?? 0;
  turn.nanoUsd += costNanoUsd ?? 0;
  if (costNanoUsd === null) turn.unpriced += 1;
}

async function takeUp(
  deps: Deps,
  session: SessionId,
  turn: TurnInProgress,
  taken: readonly (readonly [seq: number, input: number])[],
): Promise<void> {
  for (const [seq] of taken) {
    const input = await readInput(deps, session, seq);
    turn.inputs.push(input.type === "input.received" ? textOf(input.blocks) : input.text);
    // Before the first request all inputs are taken together.
    if (turn.steps <= 1) turn.begun.push(input);
    else turn.steered.push({ afterSteps: turn.steps - 1, input });
  }
}

async function readInput({ store }: Deps, session: SessionId, seq: number): Promise<RecordedInput> {
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  const content = (await readContent(store, session, seq)) as
    | { blocks?: readonly ContentBlock[] }
    | undefined;
  const blocks = content?.blocks ?? [{ type: "text", text: "[erased]" } as const];
  const event = record === undefined ? undefined : (readEvent(record, false).event as SessionLogEvent);
  if (event?.type === "message.received")
    return { type: "message.received", body: event.body, text: textOf(blocks) };
  const from = event?.type === "input.received" ? event.body.from : undefined;
  return { type: "input.received", blocks, ...(from === undefined ? {} : { from }) };
}

const textOf = (blocks: readonly ContentBlock[]): string =>
  blocks
    .flatMap((block) =>
      block.type === "text"
        ? [block.text]
        : block.type === "image" || block.type === "file"
          ? [`[${block.type}: ${block.mediaType}]`]
          : [],
    )
    .join("\n");
