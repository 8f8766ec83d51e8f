/**
 * The story of a session: from events of a stretch of its log, what was said and done, in order, as it stands
 * in the mind. An input stands where it was taken up; all that became of a call stands with it; what was
 * rewound away is a line that can be unfolded.
 */
import type { EventOf } from "../../../core/event.ts";
import type { SessionEventType } from "../../../core/catalog.ts";
import type { LogEvent } from "./log-event.ts";

export type Range = readonly [fromSeq: number, toSeq: number];
export type Ranges = readonly Range[];

export function isOf<T extends SessionEventType>(
  event: LogEvent | undefined,
  ...types: readonly T[]
): event is Extract<LogEvent, { readonly type: T }> {
  return event !== undefined && (types as readonly string[]).includes(event.type);
}

export type Input = EventOf<"input.received"> | EventOf<"message.received">;

/** A call, and all that became of it. */
export interface Call {
  readonly request: EventOf<"tool.requested">;
  readonly approved?: EventOf<"tool.approved">;
  readonly denied?: EventOf<"tool.denied">;
  readonly started?: EventOf<"tool.started">;
  readonly settled?: EventOf<"tool.settled">;
  /** What came when it was settled already. */
  readonly late?: EventOf<"tool.settled">;
}

interface Placed {
  readonly key: string;
  /** Where it stands. */
  readonly seq: number;
  /** It was rewound away. */
  readonly isLost: boolean;
}

export type Entry = Placed &
  (
    | { readonly kind: "input"; readonly input: Input }
    | { readonly kind: "answer"; readonly answer: EventOf<"model.responded"> }
    | { readonly kind: "call"; readonly call: Call }
    | { readonly kind: "note"; readonly event: LogEvent }
    | { readonly kind: "lost"; readonly range: Range; readonly isOpen: boolean }
  );

export interface Told {
  /** Those of the types that stories are made of, in order, from one position to another. */
  readonly events: readonly LogEvent[];
  readonly fromSeq: number;
  readonly toSeq: number;
  /** An event from before them, such as an input that waited for long; undefined while it is not here. */
  readonly at: (seq: number) => LogEvent | undefined;
  /** The positions of the transcript, as the state has them. */
  readonly ranges: Ranges;
  /** First positions of what was rewound away and is shown nevertheless. */
  readonly unfolded: ReadonlySet<number>;
}

export interface Story {
  readonly entries: readonly Entry[];
  /** Inputs that no turn of the stretch took up, in order. */
  readonly untaken: readonly Input[];
}

/** Other events that are told of, in a line. */
const notedTypes = [
  "session.opened session.forked session.activated session.suspended session.slept session.woken",
  "session.interrupted session.closed session.reopened session.archived session.rewound session.merged",
  "session.migrated session.moved session.arrived document.loaded memory.carried transcript.compacted",
  "handoff.written checkpoint.saved zone.crossed budget.reached content.erased model.failed message.sent",
  "message.refused turn.ended item.recorded item.retracted trigger.fired",
].flatMap((line) => line.split(" "));
const noted: ReadonlySet<string> = new Set(notedTypes);

/** All that a story is made of. */
export const storyTypes: readonly string[] = [
  "input.received message.received turn.started model.requested model.responded",
  "tool.requested tool.approved tool.denied tool.started tool.settled",
]
  .flatMap((line) => line.split(" "))
  .concat(notedTypes);

export function storyOf(told: Told): Story {
  const lost = lostRanges(told);
  const telling = {
    told,
    entries: [] as Entry[],
    calls: new Map<number, number>(),
    inputs: new Map<number, Input>(),
    byPlace: new Map(told.events.map((event) => [event.seq, event])),
  };
  let next = lost.findIndex(([, to]) => to >= told.fromSeq);
  if (next === -1) next = lost.length;
  /** Says what was rewound away up to here; gives the range that holds the position, if one does. */
  const passed = (seq: number): Range | undefined => {
    for (let range = lost[next]; range !== undefined && range[0] <= seq; range = lost[++next]) {
      const isOpen = told.unfolded.has(range[0]);
      telling.entries.push({
        kind: "lost",
        key: `lost${range[0]}`,
        seq: range[0],
        isLost: false,
        range,
        isOpen,
      });
    }
    const before = lost[next - 1];
    return before !== undefined && before[1] >= seq ? before : undefined;
  };
  for (const event of told.events) {
    if (event.seq < told.fromSeq) continue;
    if (event.seq > told.toSeq) break;
    const away = passed(event.seq);
    if (away === undefined || told.unfolded.has(away[0]))
      tell(event, { ...telling, isLost: away !== undefined });
  }
  passed(told.toSeq);
  return { entries: telling.entries, untaken: [...telling.inputs.values()] };
}

interface Telling {
  readonly told: Told;
  readonly byPlace: ReadonlyMap<number, LogEvent>;
  readonly entries: Entry[];
  /** Where the entry of a call stands, by the position of its request. */
  readonly calls: Map<number, number>;
  /** What was received and not yet taken up, by position. */
  readonly inputs: Map<number, Input>;
  readonly isLost: boolean;
}

function tell(event: LogEvent, telling: Telling): void {
  const { entries, calls, inputs, isLost } = telling;
  const { seq } = event;
  const placed = { seq, isLost };
  if (isOf(event, "input.received", "message.received")) {
    if (!isLost) inputs.set(seq, event);
  } else if (isOf(event, "turn.started", "model.requested")) {
    take(event, telling);
  } else if (isOf(event, "model.responded")) {
    if (saysSomething(event)) entries.push({ kind: "answer", key: `answer${seq}`, ...placed, answer: event });
  } else if (isOf(event, "tool.requested")) {
    calls.set(seq, entries.length);
    entries.push({ kind: "call", key: `call${seq}`, ...placed, call: { request: event } });
  } else if (isOf(event, "tool.approved", "tool.denied", "tool.started", "tool.settled")) {
    goOn(event, telling);
  } else if (isNoted(event, telling.byPlace)) {
    entries.push({ kind: "note", key: `note${seq}`, ...placed, event });
  }
}

function take(event: EventOf<"turn.started"> | EventOf<"model.requested">, telling: Telling): void {
  const { told, byPlace, entries, inputs, isLost } = telling;
  for (const [seq] of event.body.inputs) {
    const input = byPlace.get(seq) ?? told.at(seq);
    if (!isLost) inputs.delete(seq);
    if (!isOf(input, "input.received", "message.received")) continue;
    entries.push({ kind: "input", key: `input${event.seq}.${seq}`, seq: event.seq, isLost, input });
  }
}

type After = EventOf<"tool.approved" | "tool.denied" | "tool.started" | "tool.settled">;

function goOn(event: After, { entries, calls }: Telling): void {
  const place = calls.get(event.cause ?? 0) ?? entries.findLastIndex((one) => isCall(one, event.body.call));
  const entry = entries[place];
  if (entry?.kind !== "call") return;
  const isLate = event.type === "tool.settled" && event.body.late === true;
  const part = isLate ? "late" : event.type.slice("tool.".length);
  entries[place] = { ...entry, call: { ...entry.call, [part]: event } };
}

const isCall = (entry: Entry, call: string): boolean =>
  entry.kind === "call" && entry.call.request.body.call === call;

/** An answer that only calls tools is told of by the calls. */
function saysSomething({ erased, body, content }: EventOf<"model.responded">): boolean {
  if (erased || !["stop", "tool-calls"].includes(body.finish)) return true;
  return (content?.blocks ?? []).some(
    (block) => block.type !== "tool-call" && !("text" in block && String(block.text).trim() === ""),
  );
}

function isNoted(event: LogEvent, byPlace: ReadonlyMap<number, LogEvent>): boolean {
  // What waits for an answer says so itself, and so does what got one.
  if (isOf(event, "session.suspended")) return event.body.by !== "approval";
  if (isOf(event, "session.activated"))
    return !isOf(byPlace.get(event.seq - 1), "tool.approved", "tool.settled");
  if (isOf(event, "turn.ended")) return event.body.outcome !== "completed";
  // What a tool recorded is told of by its call.
  if (isOf(event, "item.recorded", "item.retracted")) return event.cause === null;
  if (isOf(event, "trigger.fired")) return event.body.opened !== undefined;
  return noted.has(event.type);
}

/** What lies between the positions of the transcript, and what a rewind after the last one left behind. */
export function lostRanges({ events, toSeq, ranges }: Pick<Told, "events" | "toSeq" | "ranges">): Ranges {
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

/** The same, by the rewinds alone, of which the newest comes first. */
export function lostBy(rewinds: readonly Rewind[], ranges: Ranges): Ranges {
  const last = ranges.at(-1)?.[1] ?? 0;
  const behind: Range[] = [];
  let before = Infinity;
  for (const { seq, toSeq } of rewinds) {
    if (seq <= last) break;
    // One that was rewound away itself has left nothing behind any more.
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

/** The entry that tells of a position: it stands there, or something of it does; else what comes next. */
export function placeOf(entries: readonly Entry[], seq: number): number {
  const own = entries.findIndex((entry) => positionsOf(entry).includes(seq));
  if (own !== -1) return own;
  const within = entries.findIndex(
    (entry) => entry.kind === "lost" && entry.range[0] <= seq && seq <= entry.range[1],
  );
  if (within !== -1) return within;
  const next = entries.findIndex((entry) => entry.seq >= seq);
  return next === -1 ? entries.length - 1 : next;
}

function positionsOf(entry: Entry): readonly number[] {
  if (entry.kind === "input") return [entry.input.seq, entry.seq];
  if (entry.kind !== "call") return entry.kind === "lost" ? [] : [entry.seq];
  return Object.values(entry.call).map((event: { readonly seq: number }) => event.seq);
}

export type Phase = "asked" | "waiting" | "running" | "denied" | "ok" | "error" | "unknown" | "skipped";

/** How a call stands. */
export function phaseOf({ request, approved, denied, started, settled }: Call): Phase {
  if (settled !== undefined) return denied === undefined ? settled.body.status : "denied";
  if (denied !== undefined) return "denied";
  if (started !== undefined) return "running";
  if (request.body.ask === true && approved === undefined) return "asked";
  return "waiting";
}
