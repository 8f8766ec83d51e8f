/**
 * The transcript of a session: messages, answers and calls, in order, built from a stretch of its log. An
 * input appears where a turn consumed it; the approval and result of a call belong to its entry; a rewound
 * range is one entry that expands. The command line and the console render it.
 */
import type { EventOf, SessionEvent } from "./event.ts";
import type { SessionEventType } from "./catalog.ts";
import { importedAnswer, importedCall, importedInput } from "./history/transcript.ts";
import { limit } from "./limit.ts";
import type { Range, Ranges } from "./range.ts";
import { summarize } from "./summary.ts";
import { modelFailure } from "./turn/events.ts";

export function isOf<T extends SessionEventType>(
  event: SessionEvent | undefined,
  ...types: readonly T[]
): event is Extract<SessionEvent, { readonly type: T }> {
  return event !== undefined && (types as readonly string[]).includes(event.type);
}

export type Input = EventOf<"input.received"> | EventOf<"message.received">;

/** A call with its approval, start and result. */
export interface CallHistory {
  readonly request: EventOf<"tool.requested">;
  readonly approved?: EventOf<"tool.approved">;
  readonly denied?: EventOf<"tool.denied">;
  readonly started?: EventOf<"tool.started">;
  readonly settled?: EventOf<"tool.settled">;
  /** A result that arrived after the call was settled. */
  readonly late?: EventOf<"tool.settled">;
}

interface PlacedEntry {
  readonly key: string;
  /** Position in the log. */
  readonly seq: number;
  /** The entry was rewound. */
  readonly isLost: boolean;
}

export type SessionTranscriptEntry = PlacedEntry &
  (
    | { readonly kind: "input"; readonly input: Input }
    | { readonly kind: "answer"; readonly answer: EventOf<"model.responded"> }
    | { readonly kind: "call"; readonly call: CallHistory }
    | { readonly kind: "note"; readonly event: SessionEvent; readonly text: string }
    | { readonly kind: "lost"; readonly range: Range; readonly isOpen: boolean }
  );

/** A stretch of a log, and the context that the transcript needs. */
export interface TranscriptStretch {
  /** Events of `transcriptTypes`, in order, from one position to another. */
  readonly events: readonly SessionEvent[];
  readonly fromSeq: number;
  readonly toSeq: number;
  /** Finds an event before the stretch, such as a long-queued input; undefined: not loaded yet. */
  readonly at: (seq: number) => SessionEvent | undefined;
  /** The positions of the transcript, from the state. */
  readonly ranges: Ranges;
  /** First positions of rewound ranges that are expanded. */
  readonly unfolded: ReadonlySet<number>;
}

export interface SessionTranscript {
  readonly entries: readonly SessionTranscriptEntry[];
  /** Inputs that no turn of the stretch consumed, in order. */
  readonly untaken: readonly Input[];
}

/** Other events that the transcript mentions, in one line each. */
const notedTypes = [
  "session.opened session.forked session.activated session.suspended session.slept session.woken",
  "session.interrupted session.closed session.continued session.reopened session.archived session.rewound",
  "session.split",
  "session.merged",
  "session.migrated session.moved session.arrived document.loaded memory.carried transcript.compacted",
  "overlay.lifted zone.crossed zone.acted",
  "handoff.written checkpoint.saved budget.reached content.erased model.failed proxy.failed",
  "message.sent message.refused turn.ended item.recorded item.retracted trigger.fired source.imported",
].flatMap((line) => line.split(" "));
const noted: ReadonlySet<string> = new Set(notedTypes);

/** Types of the events that a transcript is built from. */
export const transcriptTypes: readonly string[] = [
  "input.received message.received turn.started model.requested model.responded",
  "tool.requested tool.approved tool.denied tool.started tool.settled",
  "input.imported answer.imported call.imported",
]
  .flatMap((line) => line.split(" "))
  .concat(notedTypes);

export function buildTranscript(source: TranscriptStretch): SessionTranscript {
  const lost = lostRanges(source);
  const builder: Builder = {
    source,
    entries: [],
    calls: new Map(),
    inputs: new Map(),
    bySeq: new Map(source.events.map((event) => [event.seq, event])),
  };
  let next = lost.findIndex(([, to]) => to >= source.fromSeq);
  if (next === -1) next = lost.length;
  /** Adds the rewound ranges up to here; returns the one that holds the position. */
  const passLost = (seq: number): Range | undefined => {
    for (let range = lost[next]; range !== undefined && range[0] <= seq; range = lost[++next]) {
      const [from] = range;
      const isOpen = source.unfolded.has(from);
      builder.entries.push({ kind: "lost", key: `lost${from}`, seq: from, isLost: false, range, isOpen });
    }
    const before = lost[next - 1];
    return before !== undefined && before[1] >= seq ? before : undefined;
  };
  for (const event of source.events) {
    if (event.seq < source.fromSeq) continue;
    if (event.seq > source.toSeq) break;
    const range = passLost(event.seq);
    if (range === undefined || source.unfolded.has(range[0])) addEvent(builder, event, range !== undefined);
  }
  passLost(source.toSeq);
  return { entries: builder.entries, untaken: [...builder.inputs.values()] };
}

interface Builder {
  readonly source: TranscriptStretch;
  readonly bySeq: ReadonlyMap<number, SessionEvent>;
  readonly entries: SessionTranscriptEntry[];
  /** Index of the entry of a call, by the position of its request. */
  readonly calls: Map<number, number>;
  /** Inputs that no turn has consumed yet, by position. */
  readonly inputs: Map<number, Input>;
}

function addEvent(builder: Builder, event: SessionEvent, isLost: boolean): void {
  const { entries, calls, inputs, bySeq } = builder;
  const { seq } = event;
  if (isOf(event, "input.received", "message.received")) {
    if (!isLost) inputs.set(seq, event);
  } else if (isOf(event, "turn.started", "model.requested")) {
    takeInputs(builder, event, isLost);
  } else if (isOf(event, "model.responded")) {
    if (saysSomething(event))
      entries.push({ kind: "answer", key: `answer${seq}`, seq, isLost, answer: event });
  } else if (isOf(event, "tool.requested")) {
    calls.set(seq, entries.length);
    entries.push({ kind: "call", key: `call${seq}`, seq, isLost, call: { request: event } });
  } else if (isOf(event, "tool.approved", "tool.denied", "tool.started", "tool.settled")) {
    continueCall(builder, event);
  } else if (isOf(event, "input.imported")) {
    entries.push({ kind: "input", key: `input${seq}`, seq, isLost, input: importedInput(event) });
  } else if (isOf(event, "answer.imported")) {
    const answer = importedAnswer(event);
    if (saysSomething(answer)) entries.push({ kind: "answer", key: `answer${seq}`, seq, isLost, answer });
  } else if (isOf(event, "call.imported")) {
    entries.push({ kind: "call", key: `call${seq}`, seq, isLost, call: importedCall(event) });
  } else if (isNoted(event, bySeq)) {
    const text = noteText(event, bySeq);
    entries.push({ kind: "note", key: `note${seq}`, seq, isLost, event, text });
  }
}

function takeInputs(
  { source, bySeq, entries, inputs }: Builder,
  event: EventOf<"turn.started"> | EventOf<"model.requested">,
  isLost: boolean,
): void {
  for (const [seq] of event.body.inputs) {
    const input = bySeq.get(seq) ?? source.at(seq);
    if (!isLost) inputs.delete(seq);
    if (!isOf(input, "input.received", "message.received")) continue;
    entries.push({ kind: "input", key: `input${event.seq}.${seq}`, seq: event.seq, isLost, input });
  }
}

type CallUpdate = EventOf<"tool.approved" | "tool.denied" | "tool.started" | "tool.settled">;

function continueCall({ entries, calls }: Builder, event: CallUpdate): void {
  const place = calls.get(event.cause ?? 0) ?? entries.findLastIndex((one) => isCall(one, event.body.call));
  const entry = entries[place];
  if (entry?.kind !== "call") return;
  const isLate = event.type === "tool.settled" && event.body.late === true;
  const part = isLate ? "late" : event.type.slice("tool.".length);
  entries[place] = { ...entry, call: { ...entry.call, [part]: event } };
}

const isCall = (entry: SessionTranscriptEntry, call: string): boolean =>
  entry.kind === "call" && entry.call.request.body.call === call;

/** The calls of an answer represent an answer without text. */
function saysSomething({ erased, body, content }: EventOf<"model.responded">): boolean {
  if (erased || !["stop", "tool-calls"].includes(body.finish)) return true;
  return (content?.blocks ?? []).some(
    (block) => block.type !== "tool-call" && !("text" in block && String(block.text).trim() === ""),
  );
}

function isNoted(event: SessionEvent, bySeq: ReadonlyMap<number, SessionEvent>): boolean {
  // The call itself shows its approval.
  if (isOf(event, "session.suspended")) return event.body.by !== "approval";
  if (isOf(event, "session.activated"))
    return !isOf(bySeq.get(event.seq - 1), "tool.approved", "tool.settled");
  if (isOf(event, "turn.ended")) return event.body.outcome !== "completed";
  // The call of a tool shows what the tool recorded.
  if (isOf(event, "item.recorded", "item.retracted")) return event.cause === null;
  if (isOf(event, "trigger.fired")) return event.body.opened !== undefined;
  return noted.has(event.type);
}

/** One line for an event; a failed model call names the attempt that follows. */
function noteText(event: SessionEvent, bySeq: ReadonlyMap<number, SessionEvent>): string {
  if (isOf(event, "session.opened")) return "Opened";
  if (isOf(event, "handoff.written")) return "Handoff written";
  const request = event.cause === null ? undefined : bySeq.get(event.cause);
  if (!isOf(event, "model.failed") || !isOf(request, "model.requested")) return summarize(event);
  if (request.body.purpose === "compaction") return summarize(event);
  const text = modelFailure(event.body, event.content, {
    attempt: request.body.attempt + 1,
    attemptsMax: limit.attemptsMax,
  });
  return event.erased ? `${text} (content erased)` : text;
}

/** Gaps between the positions of the transcript, and what a rewind after the last one left out. */
export function lostRanges({
  events,
  toSeq,
  ranges,
}: Pick<TranscriptStretch, "events" | "toSeq" | "ranges">): Ranges {
  const last = ranges.at(-1)?.[1] ?? 0;
  const rewinds: Rewind[] = [];
  for (let place = events.length - 1; place >= 0; place--) {
    const event = events[place];
    if (event === undefined || event.seq <= last) break;
    if (event.seq <= toSeq && isOf(event, "session.rewound"))
      rewinds.push({ seq: event.seq, toSeq: event.body.toSeq });
  }
  return lostBy(rewinds, ranges);
}

export interface Rewind {
  readonly seq: number;
  readonly toSeq: number;
}

/** The same from the rewinds alone, newest first. */
export function lostBy(rewinds: readonly Rewind[], ranges: Ranges): Ranges {
  const last = ranges.at(-1)?.[1] ?? 0;
  const behind: Range[] = [];
  let before = Infinity;
  for (const { seq, toSeq } of rewinds) {
    if (seq <= last) break;
    // A rewind that was itself rewound left nothing out.
    if (seq >= before) continue;
    const from = Math.max(last, toSeq) + 1;
    if (from < seq) behind.unshift([from, seq - 1]);
    before = from;
  }
  return [...gapsIn(ranges), ...behind];
}

export function gapsIn(ranges: Ranges): Ranges {
  const gaps: Range[] = [];
  let next = 1;
  for (const [from, to] of ranges) {
    if (from > next) gaps.push([next, from - 1]);
    next = to + 1;
  }
  return gaps;
}

/** Index of the entry that shows a position, or else of the next entry. */
export function placeOf(entries: readonly SessionTranscriptEntry[], seq: number): number {
  const own = entries.findIndex((entry) => positionsOf(entry).includes(seq));
  if (own !== -1) return own;
  const within = entries.findIndex(
    (entry) => entry.kind === "lost" && entry.range[0] <= seq && seq <= entry.range[1],
  );
  if (within !== -1) return within;
  const next = entries.findIndex((entry) => entry.seq >= seq);
  return next === -1 ? entries.length - 1 : next;
}

function positionsOf(entry: SessionTranscriptEntry): readonly number[] {
  if (entry.kind === "input") return [entry.input.seq, entry.seq];
  if (entry.kind !== "call") return entry.kind === "lost" ? [] : [entry.seq];
  return Object.values(entry.call).map((event: { readonly seq: number }) => event.seq);
}

export type Phase = "asked" | "waiting" | "running" | "denied" | "ok" | "error" | "unknown" | "skipped";

/** State of a call. */
export function phaseOf({ request, approved, denied, started, settled }: CallHistory): Phase {
  if (settled !== undefined) return denied === undefined ? settled.body.status : "denied";
  if (denied !== undefined) return "denied";
  if (started !== undefined) return "running";
  if (request.body.ask === true && approved === undefined) return "asked";
  return "waiting";
}

type AnyBlocks = readonly { readonly type: string }[] | undefined;

/** Text of all blocks of one type. */
export const blocksTextOf = (blocks: AnyBlocks, type: "text" | "reasoning"): string =>
  (blocks ?? [])
    .flatMap((block) => (block.type === type && "text" in block ? [String(block.text)] : []))
    .join("\n\n");

/** The expanded detail of a note; null: its line says everything. */
export function noteDetail(event: SessionEvent): string | readonly unknown[] | null {
  if (isOf(event, "transcript.compacted", "session.merged")) return event.content?.summary || null;
  if (isOf(event, "handoff.written", "document.loaded")) return event.content?.text ?? null;
  if (isOf(event, "memory.carried")) return event.content?.items ?? null;
  if (isOf(event, "session.opened")) return event.content?.instructions ?? null;
  if (isOf(event, "message.sent")) return blocksTextOf(event.content?.blocks, "text") || null;
  return null;
}
