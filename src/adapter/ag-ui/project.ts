/**
 * Projects the events of one turn, and the live deltas of its answers, into events of an AG-UI run. Pure.
 * What the client has in the end depends on the log alone: deltas only bring text earlier, and a text that
 * the log does not confirm is taken back by a `resync`, which the stream replaces with the messages of the
 * log.
 */
import type { EventOf, SessionEvent } from "../../core/event.ts";
import { isOf } from "../../core/transcript.ts";
import type { LiveDelta } from "../../runtime/turn/live.ts";
import { beginsWith, type AnswerSegment } from "../answer-segment.ts";
import { argumentsOf, inputText, keptSegments, resultOf, saidIn, type RunEvent } from "./answer.ts";
import { messageId, resultId, toolCallId, waitId } from "./ids.ts";
import { parentOf } from "./messages.ts";
import { StateProjection } from "./state.ts";
import { UsageSum } from "./usage.ts";

/** Which run is projected. */
export interface RunProjectionOptions {
  readonly session: string;
  readonly threadId: string;
  readonly runId: string;
  /** Inputs that the client has. */
  readonly inputs?: ReadonlySet<number>;
  /** Calls whose result the client brought itself. */
  readonly settled?: ReadonlySet<number>;
  readonly state?: StateProjection;
}

/** An answer in progress, with the part that was sent. */
interface Answer {
  readonly requestSeq: number;
  segments: AnswerSegment[];
  isOpen: boolean;
}

interface CallState {
  readonly tool: string;
  readonly isExternal: boolean;
  isAsked: boolean;
}

/** Stands for the messages of the log up to a position. */
const resync = (toSeq: number): RunEvent => ({ type: "resync", toSeq });

/** The projection of one turn. Feed it the events from its first input on, in order. */
export class RunProjection {
  readonly #options: RunProjectionOptions;
  readonly #session: string;
  readonly #state: StateProjection;
  readonly #usage = new UsageSum();
  readonly #inputs = new Map<number, EventOf<"input.received"> | EventOf<"message.received">>();
  readonly #compactions = new Set<number>();
  readonly #calls = new Map<number, CallState>();
  /** Where the calls of the last answer hang. */
  #parentId = "";
  #startedSeq = 0;
  #isOver = false;
  #wait: { readonly by: string; readonly seq: number; readonly message: string | undefined } | null = null;
  #step: string | null = null;
  #answer: Answer | null = null;
  #failure: string | undefined;

  constructor(options: RunProjectionOptions) {
    this.#options = options;
    this.#session = options.session;
    this.#state = options.state ?? new StateProjection();
  }

  /** The position of `turn.started`; 0 before it. */
  get startedSeq(): number {
    return this.#startedSeq;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Why the turn waits; null while it runs, and after its end. */
  get waitsFor(): string | null {
    return this.#wait?.by ?? null;
  }

  /** The first events of a run. */
  start(): RunEvent[] {
    const { threadId, runId } = this.#options;
    return [{ type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0" }, this.#state.snapshot()];
  }

  /** The last events of a run whose turn waits for someone. */
  pause(): RunEvent[] {
    const events = [...this.#dropAnswer(), ...this.#closeStep()];
    const asked = [...this.#calls].filter(([, { isAsked }]) => isAsked);
    if (asked.length > 0) {
      const interrupts = asked.map(([seq, { tool }]) => approvalOf(seq, tool));
      return [...events, this.finish({ type: "interrupt", interrupts })];
    }
    const pending = [...this.#calls].filter(([, { isExternal }]) => isExternal);
    if (pending.length > 0 && (this.#wait === null || this.#wait.by === "tool")) {
      const pendingToolCallIds = pending.map(([seq]) => toolCallId(seq));
      return [...events, this.finish({ type: "success", pendingToolCallIds })];
    }
    const { by = "person", seq = this.#startedSeq, message } = this.#wait ?? {};
    const interrupt = { id: waitId(seq), reason: by, message: message ?? waitTexts[by] ?? by };
    return [...events, this.finish({ type: "interrupt", interrupts: [interrupt] })];
  }

  /** The last event of a run without an error. */
  finish(outcome: object, more: object = {}): RunEvent {
    const { threadId, runId } = this.#options;
    const usage = this.#usage.list();
    const used = usage.length === 0 ? {} : { usage };
    return { type: "RUN_FINISHED", threadId, runId, outcome, ...used, ...more };
  }

  /** The events of an event of the log. Those that a client does not show give none. */
  event(event: SessionEvent): RunEvent[] {
    if (isOf(event, "input.received", "message.received")) this.#inputs.set(event.seq, event);
    if (isOf(event, "item.recorded", "item.retracted")) return this.#state.event(event);
    if (isOf(event, "turn.started")) {
      this.#startedSeq = event.seq;
      return this.#users(event.body.inputs);
    }
    if (this.#startedSeq === 0 || this.#isOver) return [];
    return this.#turnEvent(event);
  }

  /** The events of a live delta. One of another answer, or after the answer, gives none. */
  delta({ requestSeq, delta }: LiveDelta): RunEvent[] {
    const answer = this.#answer;
    if (answer === null || answer.requestSeq !== requestSeq) return [];
    if (delta.type === "tool-call") return this.#closeSegment(answer);
    return delta.text === "" ? [] : this.#say(answer, { type: delta.type, text: delta.text });
  }

  #turnEvent(event: SessionEvent): RunEvent[] {
    if (isOf(event, "model.requested")) return this.#request(event);
    if (isOf(event, "model.responded")) return this.#respond(event);
    if (isOf(event, "model.failed")) return this.#fail(event);
    if (isOf(event, "tool.requested")) return this.#call(event);
    if (isOf(event, "tool.settled")) return this.#settle(event);
    if (isOf(event, "turn.ended")) return this.#end(event.body.outcome);
    if (isOf(event, "session.rewound")) return [resync(event.seq), ...this.#end("cancelled")];
    if (isOf(event, "tool.approved", "tool.denied")) {
      const call = this.#calls.get(event.cause ?? 0);
      if (call !== undefined) call.isAsked = false;
    }
    if (isOf(event, "session.activated")) this.#wait = null;
    if (!isOf(event, "session.suspended")) return [];
    this.#wait = { by: event.body.by, seq: event.seq, message: event.content?.reason };
    return [...this.#dropAnswer(), ...this.#closeStep()];
  }

  /** Inputs that the client has not sent in this run. */
  #users(inputs: readonly (readonly [number, number])[]): RunEvent[] {
    return inputs.flatMap(([seq]) => {
      const input = this.#inputs.get(seq);
      if (input === undefined || this.#options.inputs?.has(seq) === true) return [];
      const id = messageId(this.#session, seq);
      const delta = inputText(input);
      const content = delta === "" ? [] : [{ type: "TEXT_MESSAGE_CONTENT", messageId: id, delta }];
      return [
        { type: "TEXT_MESSAGE_START", messageId: id, role: "user" },
        ...content,
        { type: "TEXT_MESSAGE_END", messageId: id },
      ];
    });
  }

  #request({ seq, body }: EventOf<"model.requested">): RunEvent[] {
    if (body.purpose === "compaction") {
      this.#compactions.add(seq);
      return [];
    }
    const events = [...this.#dropAnswer(), ...this.#closeStep(), ...this.#users(body.inputs)];
    this.#step = `step_${seq}`;
    this.#answer = { requestSeq: seq, segments: [], isOpen: false };
    return [...events, { type: "STEP_STARTED", stepName: this.#step }];
  }

  #respond(event: EventOf<"model.responded">): RunEvent[] {
    this.#usage.add(event.body);
    if (event.cause !== null && this.#compactions.has(event.cause)) return [];
    return this.#complete(saidIn(event), event.seq);
  }

  #fail(event: EventOf<"model.failed">): RunEvent[] {
    this.#usage.add(event.body);
    if (event.cause !== null && this.#compactions.has(event.cause)) return [];
    this.#failure = event.erased ? undefined : event.content?.message;
    return this.#complete(keptSegments(event), event.seq);
  }

  /** Sends the rest of an answer; or all messages again, if other text was sent. */
  #complete(said: readonly AnswerSegment[], seq: number): RunEvent[] {
    const answer = this.#answer;
    if (answer === null) return [];
    this.#parentId = parentOf(this.#session, answer.requestSeq, said);
    if (!beginsWith(said, answer.segments, answer.isOpen)) {
      const events = this.#closeSegment(answer);
      this.#answer = null;
      return [...events, resync(seq)];
    }
    const events: RunEvent[] = [];
    for (const [place, segment] of said.entries()) {
      const sent = answer.segments[place]?.text.length ?? 0;
      if (place < answer.segments.length - 1 || sent >= segment.text.length) continue;
      if (sent === 0) events.push(...this.#closeSegment(answer));
      events.push(...this.#say(answer, { ...segment, text: segment.text.slice(sent) }));
    }
    events.push(...this.#closeSegment(answer));
    this.#answer = null;
    return events;
  }

  /** Closes an answer that nothing confirms. What was sent of it is taken back. */
  #dropAnswer(): RunEvent[] {
    const answer = this.#answer;
    if (answer === null) return [];
    this.#answer = null;
    const events = this.#closeSegment(answer);
    return answer.segments.length === 0 ? events : [...events, resync(answer.requestSeq)];
  }

  /** Adds text to the open segment, or opens one. */
  #say(answer: Answer, { type, text }: AnswerSegment): RunEvent[] {
    const last = answer.segments.at(-1);
    const continues = answer.isOpen && last?.type === type;
    const events = continues ? [] : this.#closeSegment(answer);
    if (continues) answer.segments[answer.segments.length - 1] = { type, text: last.text + text };
    else answer.segments.push({ type, text });
    answer.isOpen = true;
    const id = this.#segmentId(answer);
    if (type === "text") {
      if (!continues) events.push({ type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" });
      return [...events, { type: "TEXT_MESSAGE_CONTENT", messageId: id, delta: text }];
    }
    if (!continues) {
      events.push({ type: "REASONING_START", messageId: id });
      events.push({ type: "REASONING_MESSAGE_START", messageId: id, role: "reasoning" });
    }
    return [...events, { type: "REASONING_MESSAGE_CONTENT", messageId: id, delta: text }];
  }

  #closeSegment(answer: Answer): RunEvent[] {
    const last = answer.segments.at(-1);
    if (!answer.isOpen || last === undefined) return [];
    answer.isOpen = false;
    const id = this.#segmentId(answer);
    if (last.type === "text") return [{ type: "TEXT_MESSAGE_END", messageId: id }];
    return [
      { type: "REASONING_MESSAGE_END", messageId: id },
      { type: "REASONING_END", messageId: id },
    ];
  }

  #segmentId({ requestSeq, segments }: Answer): string {
    return messageId(this.#session, requestSeq, segments.length - 1);
  }

  #call(event: EventOf<"tool.requested">): RunEvent[] {
    const { seq, body } = event;
    this.#calls.set(seq, {
      tool: body.tool,
      isExternal: body.external !== undefined,
      isAsked: body.ask === true,
    });
    const id = toolCallId(seq);
    const parent = this.#parentId === "" ? {} : { parentMessageId: this.#parentId };
    return [
      { type: "TOOL_CALL_START", toolCallId: id, toolCallName: body.tool, ...parent },
      { type: "TOOL_CALL_ARGS", toolCallId: id, delta: argumentsOf(event) },
      { type: "TOOL_CALL_END", toolCallId: id },
    ];
  }

  #settle(event: EventOf<"tool.settled">): RunEvent[] {
    const seq = event.cause ?? 0;
    if (!this.#calls.delete(seq) || event.body.late === true) return [];
    if (this.#options.settled?.has(seq) === true) return [];
    const { content } = resultOf(event);
    const ids = { messageId: resultId(this.#session, seq), toolCallId: toolCallId(seq) };
    return [{ type: "TOOL_CALL_RESULT", ...ids, content, role: "tool" }];
  }

  #closeStep(): RunEvent[] {
    if (this.#step === null) return [];
    const stepName = this.#step;
    this.#step = null;
    return [{ type: "STEP_FINISHED", stepName }];
  }

  #end(outcome: string): RunEvent[] {
    const events = [...this.#dropAnswer(), ...this.#closeStep()];
    this.#isOver = true;
    this.#wait = null;
    if (outcome === "failed")
      return [...events, { type: "RUN_ERROR", message: this.#failure ?? "the turn failed", code: outcome }];
    if (outcome === "interrupted" || outcome === "cancelled")
      return [...events, this.finish({ type: "cancelled" })];
    const result = outcome === "completed" ? {} : { result: { outcome } };
    return [...events, this.finish({ type: "success" }, result)];
  }
}

const waitTexts: Readonly<Record<string, string>> = {
  budget: "The budget is used up.",
  error: "The model call failed.",
  unknown: "The outcome of a tool call is unknown.",
  person: "The session is suspended.",
};

const approvalOf = (seq: number, tool: string): object => ({
  id: toolCallId(seq),
  reason: "tool_call",
  toolCallId: toolCallId(seq),
  message: `The call of ${tool} needs an approval.`,
  responseSchema: {
    type: "object",
    properties: { approved: { type: "boolean" }, reason: { type: "string" } },
    required: ["approved"],
  },
});
