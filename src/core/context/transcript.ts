/**
 * The transcript as messages. Each request emits everything since the previous one: the model's answer, the
 * results of its calls, then one message with all input. Nothing is emitted earlier or changed later, so
 * contexts grow only at the end.
 */
import type { SessionEventType } from "../catalog.ts";
import type { EventOf, SessionLogEvent } from "../event.ts";
import type { ModelBlock, UserBlock } from "./part.ts";
import { metadataOf, spoken, text, userBlocks, withoutLooseReasoning } from "./block.ts";
import { notes, type LateDocuments } from "./note.ts";
import { resultBlock, resultText, type ContextCall } from "./result.ts";
import { reasonOf } from "./retrieved.ts";
import {
  field,
  frontToolsSeq,
  isObject,
  pruning,
  put,
  type BroughtReason,
  type ContextSource,
  type RenderedParts,
  type Sheet,
} from "./source.ts";
import { gap } from "./text.ts";
import { standIns, toolDefinitions, toolNameFor } from "./tools.ts";

type Answer = Pick<EventOf<"model.responded">, "seq" | "content"> & {
  readonly body: { readonly model: string };
};

/** Everything since the last request. */
interface UnsentEvents {
  readonly answers: Answer[];
  readonly calls: ContextCall[];
  readonly tools: EventOf<"tools.bound">[];
  readonly said: UserBlock[];
  /** The positions of the input blocks. */
  readonly saidAt: number[];
  readonly brought: BroughtReason[];
  readonly lacked: string[];
}

/** A transcript that is read so far; it can be read on, and ended at any place. */
export interface TranscriptReading extends LateDocuments {
  source: ContextSource;
  /** Since renderer 2: shows the text of an interrupted call. */
  readonly showsInterrupted: boolean;
  readonly sheet: Sheet;
  readonly isPruned: (seq: number) => boolean;
  /** The last call of each id, in this transcript. */
  readonly calls: Map<string, ContextCall>;
  /** Every tool that was called. */
  readonly called: Set<string>;
  /** Requests for other purposes than a step: they and their answers are not part of the transcript. */
  readonly aside: Set<number>;
  readonly frontToolsSeq: number;
  /** The last failed call with partial text, until the next request. */
  interrupted: EventOf<"model.failed"> | null;
  /** The number of tools offered so far. */
  offered: number;
  stretch: UnsentEvents;
}

const goOn = "(Go on.)";
const interruptedNote = "[your answer was interrupted here, before it was complete]";
const endsWithInput = "added: a request must end with input";
const spokenOf = (why: string) => ["transcript", why] as const;
const emptyStretch = (): UnsentEvents => ({
  answers: [],
  calls: [],
  tools: [],
  said: [],
  saidAt: [],
  brought: [],
  lacked: [],
});

export function beginTranscript(
  source: ContextSource,
  sheet: Sheet,
  { showsInterrupted }: { readonly showsInterrupted: boolean },
): TranscriptReading {
  return {
    source,
    showsInterrupted,
    lateTokens: 0,
    interrupted: null,
    sheet,
    isPruned: pruning(source),
    calls: new Map(),
    called: new Set(),
    aside: new Set(),
    frontToolsSeq: frontToolsSeq(source),
    offered: offeredBy(sheet),
    stretch: emptyStretch(),
  };
}

/** Reads the transcript of a source, which continues what was read before. */
export function readTranscript(reading: TranscriptReading, source: ContextSource): void {
  reading.source = source;
  for (const event of source.transcript) read(reading, event);
}

/** The parts as a request here would send them. What was read can be read on afterwards. */
export function endTranscript(reading: TranscriptReading): RenderedParts {
  const { source, sheet, stretch, offered, interrupted } = reading;
  const { answers, calls, tools, said, saidAt, brought, lacked } = stretch;
  const before = sheet.parts.length;
  reading.stretch = {
    answers: [...answers],
    calls: [...calls],
    tools: [...tools],
    said: [...said],
    saidAt: [...saidAt],
    brought: [...brought],
    lacked: [...lacked],
  };
  const requestSeq = source.state.seq + 1;
  if (source.state.standing.turn === null) putInterrupted(reading);
  takeUp(reading, source.taken, requestSeq);
  flush(reading);
  if (source.prompt !== undefined) putPrompt(sheet, source.prompt, requestSeq);
  const rendered = { parts: sheet.parts.slice(), reasons: sheet.reasons.slice() };
  sheet.parts.length = sheet.reasons.length = before;
  for (const call of calls) call.isShown = false;
  Object.assign(reading, { stretch, offered, interrupted });
  return rendered;
}

type Reader<T extends SessionEventType> = (reading: TranscriptReading, event: EventOf<T>) => void;

const readers = {
  "turn.started": (reading, { body, seq }) => {
    putInterrupted(reading);
    takeUp(reading, seqsOf(body.inputs), seq);
  },
  "context.retrieved": (reading, { turn, body }) => {
    // It stands between the interrupted answer and the inputs of the next turn.
    if (turn === null) putInterrupted(reading);
    reading.stretch.brought.push(...body.entries.map(reasonOf));
    if (body.note !== undefined) reading.stretch.lacked.push(body.note);
  },
  "memory.carried": (reading, { turn }) => {
    if (turn === null) putInterrupted(reading);
  },
  "model.requested": (reading, { body, seq }) => {
    if (body.purpose === "compaction") return void reading.aside.add(seq);
    // A retry in the same turn: its answer replaces the partial one.
    reading.interrupted = null;
    takeUp(reading, seqsOf(body.inputs), seq);
    flush(reading);
  },
  "model.responded": (reading, event) => {
    if (event.cause === null || !reading.aside.has(event.cause)) reading.stretch.answers.push(event);
  },
  "model.failed": (reading, event) => {
    if (!reading.showsInterrupted || (event.body.partialChars ?? 0) === 0) return;
    if (event.cause === null || !reading.aside.has(event.cause)) reading.interrupted = event;
  },
  "tool.requested": ask,
  "tool.denied": (reading, event) => {
    const call = reading.calls.get(event.body.call);
    if (call !== undefined) call.denied = event;
  },
  "tool.settled": settle,
  "tools.bound": (reading, event) => {
    const { tools } = reading.source.state.standing;
    const isOffered = tools.some(({ seq }) => seq === event.seq);
    if (isOffered && event.seq !== reading.frontToolsSeq) reading.stretch.tools.push(event);
  },
  "input.imported": (reading, { content, seq }) => {
    const gone = content === undefined;
    const blocks = gone
      ? [text(gap("what was said in another tool"))]
      : userBlocks(content, reading.source.settings.images);
    say(reading, blocks, seq);
  },
  "answer.imported": (reading, event) => {
    // Answers in a row are one message; whatever stands between two of them is put down first.
    if (reading.stretch.said.length > 0 || reading.stretch.calls.length > 0) flush(reading);
    const { body, content, seq } = event;
    reading.stretch.answers.push({ seq, body: { model: body.model ?? "" }, content });
    if (body.interrupted === true) say(reading, [text(interruptedNote)], seq);
  },
  "call.imported": recount,
} satisfies { readonly [T in SessionEventType]?: Reader<T> };

/** The event types that a renderer needs after the boundary. */
export const transcriptTypes: readonly SessionEventType[] = [
  ...new Set<SessionEventType>([
    ...(Object.keys(readers) as (keyof typeof readers)[]),
    ...(Object.keys(notes) as (keyof typeof notes)[]),
  ]),
  "transcript.compacted",
  "overlay.lifted",
  "session.rewound",
  "session.migrated",
];

function read(reading: TranscriptReading, event: SessionLogEvent): void {
  // The tables are keyed by the event's own type, which TypeScript cannot follow through the index.
  const reader = (readers as Readonly<Record<string, Reader<SessionEventType>>>)[event.type];
  const note = (
    notes as Readonly<
      Record<string, (event: SessionLogEvent, source: ContextSource, late: LateDocuments) => string | null>
    >
  )[event.type];
  reader?.(reading, event);
  const words = note?.(event, reading.source, reading) ?? null;
  if (words !== null) say(reading, [text(words)], event.seq);
}

const seqsOf = (taken: readonly (readonly [number, number])[]): readonly number[] =>
  taken.map(([seq]) => seq);

function say({ stretch }: TranscriptReading, blocks: readonly UserBlock[], seq: number): void {
  if (blocks.length === 0) return;
  stretch.said.push(...blocks);
  stretch.saidAt.push(seq);
}

/** Inputs appear where they are consumed. */
function takeUp(reading: TranscriptReading, seqs: readonly number[], atSeq: number): void {
  const { source } = reading;
  for (const seq of seqs) {
    const event = source.events.get(seq);
    const content: unknown = event?.content;
    if (event?.type === "message.received") {
      const topic = event.body.topic === undefined ? "" : ` on ${event.body.topic}`;
      say(reading, [text(`[a message from session ${event.body.from}${topic}]`)], atSeq);
    } else if (event?.type === "input.received" && (event.body.from ?? "user") !== "user") {
      say(reading, [text(`[from ${event.body.from === "trigger" ? "a trigger" : "the system"}]`)], atSeq);
    }
    const gone = content === undefined;
    const blocks = gone ? [text(gap("what this input said"))] : userBlocks(content, source.settings.images);
    say(reading, blocks, atSeq);
  }
}

/** The partial answer of an ended turn, as the model's answer, with a note that it is incomplete. */
function putInterrupted(reading: TranscriptReading): void {
  const event = reading.interrupted;
  reading.interrupted = null;
  if (event === null) return;
  const partial = field(event.content, "partial");
  const said = typeof partial === "string" ? partial : gap("what the model had said");
  reading.stretch.answers.push({
    seq: event.seq,
    body: { model: event.body.model },
    content: { blocks: [{ type: "text", text: said }] },
  });
  say(reading, [text(interruptedNote)], event.seq);
}

function ask(reading: TranscriptReading, event: EventOf<"tool.requested">): void {
  const call: ContextCall = {
    event,
    tool: toolNameFor(event.body.tool),
    denied: null,
    settled: null,
    isShown: false,
  };
  reading.stretch.calls.push(call);
  reading.calls.set(event.body.call, call);
  reading.called.add(event.body.tool);
}

/** A call that another tool made: asked for and settled in one record. */
function recount(reading: TranscriptReading, event: EventOf<"call.imported">): void {
  const { body, seq } = event;
  const content = event.content ?? {};
  const requested = { seq, body: { call: `imported_${seq}`, tool: body.tool }, content: event.content };
  const settled = { ...event, content: event.content === undefined ? undefined : content };
  reading.stretch.calls.push({
    event: requested,
    tool: toolNameFor(body.tool),
    denied: null,
    settled,
    isShown: false,
  });
  reading.called.add(body.tool);
}

/** The first outcome counts. A later one, or one whose call is already rendered, becomes a note. */
function settle(reading: TranscriptReading, event: EventOf<"tool.settled">): void {
  const call = reading.calls.get(event.body.call);
  if (event.body.late === true || (call !== undefined && call.settled !== null)) return;
  if (call !== undefined) call.settled = event;
  if (call !== undefined && !call.isShown) return;
  const { source, isPruned } = reading;
  const { said, images } = resultText(event, {
    isPruned: isPruned(event.seq),
    images: source.settings.images,
  });
  const which = call === undefined ? "an earlier call" : `${idOf(call)} (${call.tool})`;
  say(
    reading,
    [text(`[the outcome of ${which} came later: ${event.body.status}]\n${said}`), ...images],
    event.seq,
  );
}

const idOf = ({ event }: ContextCall): string => `call_${event.seq}`;

/** Emits everything since the last request. */
function flush(reading: TranscriptReading): void {
  const { stretch, sheet } = reading;
  reading.stretch = emptyStretch();
  putAnswer(reading, stretch);
  putTools(reading, stretch);
  const last = sheet.parts.findLast(({ part }) => part === "message");
  const role = last?.part === "message" ? last.role : null;
  if (stretch.said.length > 0) {
    const place = [stretch.saidAt[0] ?? 0, stretch.saidAt.at(-1) ?? 0] as const;
    const part = { part: "message", role: "user", content: stretch.said } as const;
    put(sheet, part, spokenOf("input"), place, stretch);
  } else if (role === null || role === "assistant") putGoOn(sheet);
}

/** Providers require the last message, and the first one, to be the user's. */
const putGoOn = (sheet: Sheet): void =>
  put(sheet, { part: "message", role: "user", content: [text(goOn)] }, spokenOf(endsWithInput), [0, 0]);

/** A prompt is enough input. */
function putPrompt(sheet: Sheet, prompt: string, seq: number): void {
  const { parts, reasons } = sheet;
  if (reasons.at(-1)?.why === endsWithInput) {
    parts.pop();
    reasons.pop();
  }
  const part = { part: "message", role: "user", content: [text(prompt)] } as const;
  put(sheet, part, spokenOf("prompt for a summary or handoff"), [seq, seq]);
}

function putAnswer(reading: TranscriptReading, { answers, calls }: UnsentEvents): void {
  const { sheet, source } = reading;
  const content = answerBlocks(source, answers, calls);
  if (content.length === 0) return;
  if (!sheet.parts.some(({ part }) => part === "message")) putGoOn(sheet);
  const made = callsIn(content, calls);
  if (made.length > 0 && reading.offered === 0) {
    const tools = standIns(reading.called);
    reading.offered = tools.length;
    put(
      sheet,
      { part: "tools", tools },
      ["tools", "stand-ins: a provider requires the called tools"],
      [0, 0],
    );
  }
  const seqs = [...answers, ...calls.map(({ event }) => event)].map(({ seq }) => seq);
  const place = [Math.min(...seqs), Math.max(...seqs)] as const;
  put(sheet, { part: "message", role: "assistant", content }, spokenOf("answer"), place);
  if (made.length === 0) return;
  const results = made.map((call) =>
    resultBlock(call, idOf(call), {
      isPruned: call.settled !== null && reading.isPruned(call.settled.seq),
      images: source.settings.images,
    }),
  );
  for (const call of made) call.isShown = true;
  const settledAt = made.map(({ event, settled }) => settled?.seq ?? event.seq);
  put(sheet, { part: "message", role: "tool", content: results }, spokenOf("results of the calls"), [
    Math.min(...settledAt),
    Math.max(...settledAt),
  ]);
}

/** The answer with its calls. A call without a block is added at the end, because it was requested. */
function answerBlocks(
  { settings }: ContextSource,
  answers: UnsentEvents["answers"],
  calls: readonly ContextCall[],
): readonly ModelBlock[] {
  const left = new Set(calls);
  const blocks: ModelBlock[] = [];
  for (const answer of answers) {
    const content: unknown = answer.content;
    const own = answer.body.model === settings.model;
    const given = field(content, "blocks");
    if (content === undefined) blocks.push({ type: "text", text: gap("what the model said") });
    for (const one of Array.isArray(given) ? (given as unknown[]) : []) {
      if (field(one, "type") !== "tool-call") {
        blocks.push(...spoken(one, own));
        continue;
      }
      const call = [...left].find(({ event }) => event.body.call === field(one, "call"));
      if (call === undefined) continue;
      left.delete(call);
      blocks.push(callBlock(call, field(one, "input"), metadataOf(one, own)));
    }
  }
  return withoutLooseReasoning([...blocks, ...[...left].map((call) => callBlock(call, undefined, {}))]);
}

function callBlock(call: ContextCall, said: unknown, metadata: Pick<ModelBlock, "metadata">): ModelBlock {
  const content: unknown = call.event.content;
  const input = isObject(content) && "input" in content ? content["input"] : said;
  const missing = content === undefined ? { erased: "the arguments" } : {};
  const fit = input === undefined ? missing : isObject(input) ? input : { invalid: input };
  return { type: "tool-call", call: idOf(call), tool: call.tool, input: fit, ...metadata };
}

/** The calls of a message, in its order. */
function callsIn(content: readonly ModelBlock[], calls: readonly ContextCall[]): readonly ContextCall[] {
  return content.flatMap((block) =>
    block.type === "tool-call" ? calls.filter((call) => idOf(call) === block.call) : [],
  );
}

/** Tools bound later, where they were bound. Once there are calls, some tool must be offered. */
function putTools(reading: TranscriptReading, { tools }: UnsentEvents): void {
  const { sheet, called } = reading;
  for (const event of tools) {
    const given = toolDefinitions(event);
    const now = given.length === 0 ? standIns(called) : given;
    if (now.length === 0 && reading.offered === 0) continue;
    reading.offered = now.length;
    const place = [event.seq, event.seq] as const;
    put(sheet, { part: "tools", tools: now }, ["tools", "tools offered from here on"], place);
  }
}

function offeredBy({ parts }: Sheet): number {
  const tools = parts.find((part) => part.part === "tools");
  return tools?.part === "tools" ? tools.tools.length : 0;
}
