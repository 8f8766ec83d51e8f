/**
 * Projects the events of one turn, and the live deltas of its answers, into UI message chunks. Pure. The
 * message that results depends on the events alone: deltas only bring parts of it earlier, and what they
 * brought wrongly is taken back with `reset-step`. One subject: the projection.
 */
import type { UIMessageChunk } from "ai";
import type { EventOf, SessionEvent } from "../../core/event.ts";
import type { ContentBlock } from "../../core/schema.ts";
import { isOf } from "../../core/transcript.ts";
import type { LiveDelta } from "../../runtime/turn/live.ts";
import { beginsWith, segmentsOf, type AnswerSegment } from "../answer-segment.ts";
import { messageId, toolCallId } from "./ids.ts";

/** The tokens and the cost of a turn. */
export interface TurnUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cachedInputTokens: number;
  readonly reasoningTokens: number;
}

/** The metadata of an assistant message. */
export interface TurnMetadata {
  readonly session: string;
  /** The position where the turn began, and the last position that the message shows. */
  readonly seq: number;
  readonly toSeq: number;
  readonly createdAt: number;
  /** `running`, `waiting` (for an approval, a tool result, a person), or the outcome of the turn. */
  readonly status: string;
  /** While it waits: for what. */
  readonly waitsFor: string | null;
  readonly usage: TurnUsage;
  /** In nano-dollars; null when the price of a call is unknown. */
  readonly costNanoUsd: number | null;
}

/** A file or image of the store. */
export interface BlobBlock {
  readonly blob: string;
  readonly mediaType: string;
}

/** What a projection needs beyond the events. */
export interface ChatProjectionOptions {
  readonly session: string;
  /** Where a client gets the bytes of an image; null leaves the image out. */
  readonly urlOf?: (block: BlobBlock) => string | null;
}

/** An answer in progress, with the part that was sent. */
interface Answer {
  readonly requestSeq: number;
  segments: AnswerSegment[];
  isOpen: boolean;
}

interface ToolState {
  readonly seq: number;
  readonly asked: boolean;
  answered: boolean;
  denied: string | null;
}

/** Events that change the message of a turn. */
const shown: ReadonlySet<string> = new Set(
  [
    "model.requested model.responded model.failed transcript.compacted turn.ended",
    "tool.requested tool.approved tool.denied tool.settled",
    "session.suspended session.activated session.rewound",
  ].flatMap((line) => line.split(" ")),
);

const erasedText = "[erased]";
const noUsage: TurnUsage = {
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
};

/** The projection of one turn. Feed it the events from `turn.started` on, in order. */
export class TurnProjection {
  readonly #session: string;
  readonly #urlOf: (block: BlobBlock) => string | null;
  readonly #inputs = new Map<number, SessionEvent>();
  readonly #compactions = new Set<number>();
  readonly #calls = new Map<number, ToolState>();
  #startedSeq = 0;
  #createdAt = 0;
  #toSeq = 0;
  #status = "";
  #waitsFor: string | null = null;
  #hasStep = false;
  #answer: Answer | null = null;
  #partial: string | null = null;
  #usage = noUsage;
  #cost: number | null = 0;

  constructor({ session, urlOf = () => null }: ChatProjectionOptions) {
    this.#session = session;
    this.#urlOf = urlOf;
  }

  /** The position of `turn.started`; 0 before it. */
  get startedSeq(): number {
    return this.#startedSeq;
  }

  /** True once the turn has an outcome. */
  get isOver(): boolean {
    return !["", "running", "waiting"].includes(this.#status);
  }

  /** Why the turn waits; null while it runs, and after its end. */
  get waitsFor(): string | null {
    return this.#status === "waiting" ? this.#waitsFor : null;
  }

  get metadata(): TurnMetadata {
    return {
      session: this.#session,
      seq: this.#startedSeq,
      toSeq: this.#toSeq,
      createdAt: this.#createdAt,
      status: this.#status,
      waitsFor: this.#waitsFor,
      usage: this.#usage,
      costNanoUsd: this.#cost,
    };
  }

  /** The first chunk of a stream about this turn. */
  start(): UIMessageChunk {
    const id = messageId(this.#session, this.#startedSeq);
    return { type: "start", messageId: id, messageMetadata: this.metadata };
  }

  /** The last chunks of a stream that ends before the turn does: it waits for someone. */
  pause(): UIMessageChunk[] {
    const finishReason = ["approval", "tool"].includes(this.#waitsFor ?? "") ? "tool-calls" : "other";
    const chunks = [...this.#keepPartial(), ...this.#closeStep()];
    return [...chunks, { type: "finish", finishReason, messageMetadata: this.metadata }];
  }

  /** The chunks of an event. Events that a chat does not show give none. */
  event(event: SessionEvent): UIMessageChunk[] {
    if (isOf(event, "input.received", "message.received")) this.#inputs.set(event.seq, event);
    else if (isOf(event, "turn.started")) return this.#begin(event);
    if (this.#startedSeq === 0 || this.isOver || !shown.has(event.type)) return [];
    this.#toSeq = event.seq;
    return this.#shownEvent(event);
  }

  #shownEvent(event: SessionEvent): UIMessageChunk[] {
    if (isOf(event, "model.requested")) return this.#request(event);
    if (isOf(event, "model.responded")) return this.#respond(event);
    if (isOf(event, "model.failed")) return this.#fail(event);
    if (isOf(event, "tool.requested")) return this.#callTool(event);
    if (isOf(event, "tool.approved", "tool.denied")) return this.#decide(event);
    if (isOf(event, "tool.settled")) return this.#settle(event);
    if (isOf(event, "session.suspended")) return this.#suspend(event);
    if (isOf(event, "turn.ended")) return this.#end(event.body.outcome);
    if (isOf(event, "session.rewound")) return this.#end("rewound");
    if (isOf(event, "session.activated")) this.#resume();
    else if (isOf(event, "transcript.compacted")) this.#count(event.body.usage, event.body.costNanoUsd);
    return [];
  }

  /** The chunks of a live delta. One of another answer, or after the answer, gives none. */
  delta({ requestSeq, delta }: LiveDelta): UIMessageChunk[] {
    const answer = this.#answer;
    if (answer === null || answer.requestSeq !== requestSeq) return [];
    if (delta.type === "tool-call") return this.#closePart(answer);
    if (delta.text === "") return [];
    return this.#say(answer, { type: delta.type, text: delta.text });
  }

  #begin({ seq, at }: EventOf<"turn.started">): UIMessageChunk[] {
    this.#startedSeq = seq;
    this.#toSeq = seq;
    this.#createdAt = at;
    this.#status = "running";
    return [this.start()];
  }

  #request({ seq, body }: EventOf<"model.requested">): UIMessageChunk[] {
    if (body.purpose === "compaction") {
      this.#compactions.add(seq);
      return [];
    }
    const chunks = this.#discard();
    const steered = body.inputs.flatMap(([input]) => this.#steering(input));
    const isRetry = this.#hasStep && body.attempt > 1 && steered.length === 0;
    if (!isRetry) chunks.push(...this.#closeStep(), ...steered, { type: "start-step" });
    this.#hasStep = true;
    this.#answer = { requestSeq: seq, segments: [], isOpen: false };
    return chunks;
  }

  /** Takes back the sent part of a failed answer. */
  #discard(): UIMessageChunk[] {
    const wasSent = this.#answer !== null && this.#answer.segments.length > 0;
    this.#answer = null;
    this.#partial = null;
    return wasSent ? [{ type: "reset-step" }] : [];
  }

  #steering(seq: number): UIMessageChunk[] {
    const input = this.#inputs.get(seq);
    if (input === undefined || !isOf(input, "input.received", "message.received")) return [];
    const parts = userParts(input, this.#urlOf);
    return [{ type: "steering-message", id: messageId(this.#session, seq), parts }];
  }

  #respond(event: EventOf<"model.responded">): UIMessageChunk[] {
    const { body, content, erased, cause } = event;
    this.#count(body.usage, body.costNanoUsd);
    if (cause !== null && this.#compactions.has(cause)) return [];
    const said = erased ? [{ type: "text", text: erasedText } as const] : segmentsOf(content?.blocks ?? []);
    const chunks = this.#complete(said);
    this.#answer = null;
    return chunks;
  }

  #fail({ body, content, erased, cause }: EventOf<"model.failed">): UIMessageChunk[] {
    this.#count(body.usage, body.costNanoUsd);
    if (cause !== null && this.#compactions.has(cause)) return [];
    const partial = erased ? erasedText : content?.partial;
    this.#partial = (body.partialChars ?? 0) > 0 ? (partial ?? null) : null;
    return this.#answer === null ? [] : this.#closePart(this.#answer);
  }

  /** The partial text of a failed answer stays when no other attempt follows. */
  #keepPartial(): UIMessageChunk[] {
    if (this.#answer === null) return [];
    return this.#complete(this.#partial === null ? [] : [{ type: "text", text: this.#partial }]);
  }

  /** Sends the rest of an answer; from its beginning, if other text was sent. */
  #complete(said: readonly AnswerSegment[]): UIMessageChunk[] {
    const answer = this.#answer ?? { requestSeq: this.#toSeq, segments: [], isOpen: false };
    const isWrong = !beginsWith(said, answer.segments, answer.isOpen);
    const chunks: UIMessageChunk[] = isWrong ? [{ type: "reset-step" }] : [];
    if (isWrong) Object.assign(answer, { segments: [], isOpen: false });
    for (const [place, segment] of said.entries()) {
      const sent = answer.segments[place]?.text.length ?? 0;
      if (place < answer.segments.length - 1) continue;
      if (sent < segment.text.length) {
        const rest = { ...segment, text: segment.text.slice(sent) };
        if (sent === 0) chunks.push(...this.#closePart(answer));
        chunks.push(...this.#say(answer, rest));
      }
    }
    chunks.push(...this.#closePart(answer));
    return chunks;
  }

  /** Adds text to the open part, or opens one. */
  #say(answer: Answer, { type, text }: AnswerSegment): UIMessageChunk[] {
    const last = answer.segments.at(-1);
    const continues = answer.isOpen && last?.type === type;
    const chunks = continues ? [] : this.#closePart(answer);
    if (continues) answer.segments[answer.segments.length - 1] = { type, text: last.text + text };
    else answer.segments.push({ type, text });
    answer.isOpen = true;
    const id = partId(answer);
    if (!continues) chunks.push({ type: `${type}-start`, id });
    return [...chunks, { type: `${type}-delta`, id, delta: text }];
  }

  #closePart(answer: Answer): UIMessageChunk[] {
    const last = answer.segments.at(-1);
    if (!answer.isOpen || last === undefined) return [];
    answer.isOpen = false;
    return [{ type: `${last.type}-end`, id: partId(answer) }];
  }

  #callTool({ seq, body, content, erased }: EventOf<"tool.requested">): UIMessageChunk[] {
    const id = toolCallId(seq);
    this.#calls.set(seq, { seq, asked: body.ask === true, answered: false, denied: null });
    const input = erased ? erasedText : acceptable(content?.input);
    // A client executes external calls, and knows their types. All others ran here.
    const kind = body.external === undefined ? { dynamic: true, providerExecuted: true } : {};
    const chunks: UIMessageChunk[] = [
      { type: "tool-input-available", toolCallId: id, toolName: body.tool, input: input ?? null, ...kind },
    ];
    if (body.ask === true) chunks.push({ type: "tool-approval-request", approvalId: id, toolCallId: id });
    return chunks;
  }

  #decide(event: EventOf<"tool.approved" | "tool.denied">): UIMessageChunk[] {
    const call = this.#calls.get(event.cause ?? 0);
    if (call === undefined || call.answered) return [];
    const approved = event.type === "tool.approved";
    const reason = event.erased ? erasedText : event.content?.reason;
    if (!approved) call.denied = reason ?? "";
    if (!call.asked && approved) return [];
    return this.#answerCall(call, approved, reason);
  }

  #answerCall(call: ToolState, approved: boolean, reason?: string): UIMessageChunk[] {
    const id = toolCallId(call.seq);
    call.answered = true;
    const response = { type: "tool-approval-response", approvalId: id, approved } as const;
    const chunk: UIMessageChunk = reason === undefined ? response : { ...response, reason };
    if (call.asked) return [chunk];
    return [{ type: "tool-approval-request", approvalId: id, toolCallId: id, isAutomatic: true }, chunk];
  }

  #settle({ body, content, erased, cause }: EventOf<"tool.settled">): UIMessageChunk[] {
    const call = this.#calls.get(cause ?? 0);
    if (call === undefined || body.late === true) return [];
    this.#calls.delete(call.seq);
    const id = toolCallId(call.seq);
    const output = erased ? erasedText : acceptable(content?.output ?? "");
    if (body.status === "ok") {
      const images = (content?.blocks ?? []).flatMap((block) => this.#image(block));
      return [{ type: "tool-output-available", toolCallId: id, output }, ...images];
    }
    const text = typeof output === "string" ? output : JSON.stringify(output);
    if (body.status === "skipped" && (call.denied !== null || (call.asked && !call.answered))) {
      const answered = call.answered ? [] : this.#answerCall(call, false, text);
      return [...answered, { type: "tool-output-denied", toolCallId: id }];
    }
    const why = { error: "", unknown: "the outcome is unknown", skipped: "not executed" }[body.status];
    const errorText = [why, text].filter((part) => part !== "").join(": ") || "failed";
    return [{ type: "tool-output-error", toolCallId: id, errorText }];
  }

  #image(block: ContentBlock): UIMessageChunk[] {
    if (block.type !== "image") return [];
    const url = this.#urlOf(block);
    return url === null ? [] : [{ type: "file", url, mediaType: block.mediaType }];
  }

  #suspend({ body }: EventOf<"session.suspended">): UIMessageChunk[] {
    this.#status = "waiting";
    this.#waitsFor = body.by;
    return this.#keepPartial();
  }

  #resume(): void {
    this.#status = "running";
    this.#waitsFor = null;
  }

  #closeStep(): UIMessageChunk[] {
    if (!this.#hasStep) return [];
    this.#hasStep = false;
    return [{ type: "finish-step" }];
  }

  #end(outcome: string): UIMessageChunk[] {
    const chunks = [...this.#keepPartial(), ...this.#closeStep()];
    this.#answer = null;
    this.#status = outcome;
    this.#waitsFor = null;
    if (["interrupted", "cancelled", "rewound"].includes(outcome))
      chunks.push({ type: "abort", reason: outcome });
    const finishReason = finishReasons[outcome] ?? "other";
    return [...chunks, { type: "finish", finishReason, messageMetadata: this.metadata }];
  }

  #count(usage: TurnTokens | undefined, costNanoUsd: number | null | undefined): void {
    const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, reasoningTokens = 0 } = usage ?? {};
    const before = this.#usage;
    this.#usage = {
      inputTokens: before.inputTokens + inputTokens,
      outputTokens: before.outputTokens + outputTokens,
      totalTokens: before.totalTokens + inputTokens + outputTokens,
      cachedInputTokens: before.cachedInputTokens + cachedInputTokens,
      reasoningTokens: before.reasoningTokens + reasoningTokens,
    };
    if (costNanoUsd === undefined) return;
    this.#cost = this.#cost === null || costNanoUsd === null ? null : this.#cost + costNanoUsd;
  }
}

interface TurnTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
}

type FinishReason = NonNullable<Extract<UIMessageChunk, { type: "finish" }>["finishReason"]>;

const finishReasons: Readonly<Record<string, FinishReason>> = {
  completed: "stop",
  length: "length",
  refused: "content-filter",
  failed: "error",
  interrupted: "interrupted",
  cancelled: "interrupted",
  rewound: "interrupted",
};

/**
 * The client refuses a whole chunk with a key `__proto__`, or `prototype` in a `constructor`. A value with
 * such a key is sent as its JSON text.
 */
function acceptable(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const text = JSON.stringify(value);
  return /"(__proto__|constructor)":/.test(text) ? text : value;
}

const partId = ({ requestSeq, segments }: Answer): string => `${requestSeq}.${segments.length}`;

type UserPart = Extract<UIMessageChunk, { type: "steering-message" }>["parts"][number];

/** The parts of a user message. */
export function userParts(
  { content, erased }: EventOf<"input.received"> | EventOf<"message.received">,
  urlOf: (block: BlobBlock) => string | null,
): UserPart[] {
  if (erased) return [{ type: "text", text: erasedText }];
  return (content?.blocks ?? []).flatMap((block): UserPart[] => {
    if (block.type === "text") return [{ type: "text", text: block.text }];
    if (block.type !== "image" && block.type !== "file") return [];
    const url = urlOf(block);
    const filename = block.type === "file" && block.name !== undefined ? { filename: block.name } : {};
    if (url === null) return [{ type: "text", text: `[${block.type}: ${block.mediaType}]` }];
    return [{ type: "file", mediaType: block.mediaType, url, ...filename }];
  });
}
