/**
 * Projects the events of one response, and the live deltas of its answers, into stream events and the
 * response object. Pure. Each stream event is numbered by the position of the event that it is of: the same
 * numbers come again after a restart, whatever of it arrived as deltas. An answer counts from its request,
 * and where its deltas are cut depends on its text alone.
 */
import type { EventOf, SessionEvent } from "../../core/event.ts";
import { isOf } from "../../core/transcript.ts";
import type { LiveDelta } from "../../runtime/turn/live.ts";
import { AnswerStream, type StreamEvent, type UnnumberedEvent } from "./answer.ts";
import { conversationId, responseId } from "./ids.ts";
import { segmentsOf } from "../answer-segment.ts";
import { argumentsOf, callItem, placeOf, segmentItem, type OutputItem } from "./output.ts";
import { cutPieces } from "./pieces.ts";

/** The record of a response: what its request was. */
export interface ResponseRecord {
  readonly session: string;
  readonly seq: number;
  readonly at: number;
  readonly body: ResponseBody;
  readonly content: ResponseContent;
}

export interface ResponseBody {
  /** How many records follow it in its append: items, and then inputs. */
  readonly items: number;
  readonly inputs: number;
  /** It continues a turn that waited for outputs of functions. */
  readonly continues: boolean;
}

/** Erased with its contents. */
export interface ResponseContent {
  readonly model?: string;
  readonly instructions?: string;
  readonly metadata?: unknown;
  readonly tools?: readonly unknown[];
  readonly previous?: string;
  readonly isConversation?: boolean;
  /** The calls that it brought the outputs of. */
  readonly calls?: readonly string[];
}

/** Events that change a response. */
export const responseTypes: readonly string[] = [
  "turn.started model.requested model.responded model.failed tool.requested tool.settled turn.ended",
  "session.suspended session.activated session.rewound session.closed session.interrupted lease.released",
].flatMap((line) => line.split(" "));

/** An event of the log may give so many stream events. */
const numbersPerEvent = 2 ** 20;

type Status = "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";

/** The projection of one response. Feed it the events after its record, in order. */
export class ResponseProjection {
  readonly #record: ResponseRecord;
  readonly #output: OutputItem[] = [];
  readonly #calls = new Map<
    number,
    { readonly request: EventOf<"tool.requested">; readonly index: number }
  >();
  #isActive: boolean;
  #status: Status = "in_progress";
  #answer: AnswerStream | null = null;
  #indexes = 0;
  #usage = { input: 0, output: 0, cached: 0, reasoning: 0 };
  #model: string | null = null;
  #error: { readonly code: string; readonly message: string } | null = null;
  #incomplete: string | null = null;
  #waitsFor: string | null = null;

  constructor(record: ResponseRecord) {
    this.#record = record;
    this.#isActive = record.body.continues;
  }

  get isOver(): boolean {
    return this.#status !== "in_progress";
  }

  /** Whom the turn waits for while the response is in progress: an approval, a person. */
  get waitsFor(): string | null {
    return this.isOver ? null : this.#waitsFor;
  }

  /** The first events of every stream. */
  start(): StreamEvent[] {
    const { seq } = this.#record;
    return [
      this.#numbered(seq, 0, { type: "response.created", response: this.response }),
      this.#numbered(seq, 1, { type: "response.in_progress", response: this.response }),
    ];
  }

  /** The stream events of an event. */
  event(event: SessionEvent): StreamEvent[] {
    if (this.isOver) return [];
    if (isOf(event, "turn.started", "model.requested") && this.#takes(event.body.inputs))
      this.#isActive = true;
    if (isOf(event, "session.suspended")) return this.#suspend(event);
    if (isOf(event, "session.activated")) this.#waitsFor = null;
    if (isOf(event, "session.closed")) return this.#end(event.seq, "cancelled");
    if (isOf(event, "session.rewound") && event.body.toSeq < this.#record.seq)
      return this.#end(event.seq, "cancelled");
    if (!this.#isActive) return [];
    if (isOf(event, "model.requested")) this.#request(event);
    if (isOf(event, "model.responded")) return this.#respond(event);
    if (isOf(event, "model.failed")) return this.#fail(event);
    if (isOf(event, "tool.requested")) return this.#call(event);
    if (isOf(event, "tool.settled")) return this.#settle(event);
    if (isOf(event, "turn.ended")) return this.#endTurn(event);
    return [];
  }

  /** The stream events of a live delta. One of another answer gives none. */
  delta({ requestSeq, delta }: LiveDelta): StreamEvent[] {
    const answer = this.#answer;
    if (answer?.seq !== requestSeq) return [];
    if (delta.type === "tool-call") return answer.close("completed");
    return delta.text === "" ? [] : answer.say({ type: delta.type, text: delta.text });
  }

  get response(): Readonly<Record<string, unknown>> {
    const { session, seq, at, content } = this.#record;
    const { input, output, cached, reasoning } = this.#usage;
    return {
      id: responseId(session, seq),
      object: "response",
      created_at: Math.floor(at / 1_000),
      status: this.#status,
      background: false,
      error: this.#error,
      incomplete_details: this.#incomplete === null ? null : { reason: this.#incomplete },
      instructions: content.instructions ?? null,
      max_output_tokens: null,
      model: this.#model ?? content.model ?? "",
      output: [...this.#output],
      parallel_tool_calls: true,
      previous_response_id: content.previous ?? null,
      conversation: content.isConversation === true ? { id: conversationId(session) } : null,
      reasoning: { effort: null, summary: null },
      store: true,
      temperature: null,
      text: { format: { type: "text" } },
      tool_choice: "auto",
      tools: content.tools ?? [],
      top_p: null,
      truncation: "disabled",
      usage: this.isOver
        ? {
            input_tokens: input,
            input_tokens_details: { cached_tokens: cached },
            output_tokens: output,
            output_tokens_details: { reasoning_tokens: reasoning },
            total_tokens: input + output,
          }
        : null,
      metadata: content.metadata ?? {},
    };
  }

  #takes(inputs: readonly (readonly [number, number])[]): boolean {
    const { seq, body } = this.#record;
    const from = seq + body.items;
    return inputs.some(([input]) => input > from && input <= from + body.inputs);
  }

  #numbered(seq: number, index: number, event: UnnumberedEvent): StreamEvent {
    const number = (seq - this.#record.seq) * numbersPerEvent + index;
    return { ...event, sequence_number: number };
  }

  #request({ seq, body }: EventOf<"model.requested">): void {
    if (body.purpose === "compaction") return;
    this.#model = body.model;
    this.#answer = new AnswerStream({
      session: this.#record.session,
      seq,
      number: (index, event) => this.#numbered(seq, index, event),
      nextIndex: () => this.#indexes++,
    });
  }

  #respond({ body, content, cause }: EventOf<"model.responded">): StreamEvent[] {
    this.#count(body.usage);
    const answer = this.#answer;
    if (answer === null || cause !== answer.seq) return [];
    const said = segmentsOf(content?.blocks ?? []);
    const events = answer.complete(said);
    for (const [at, segment] of said.entries()) {
      const place = placeOf(said, at);
      this.#output.push(segmentItem(this.#record.session, { seq: answer.seq, place }, segment));
    }
    this.#answer = null;
    return events;
  }

  /** A text that was sent of a failed answer is an item of the stream, and not of the response. */
  #fail({ body, content, cause }: EventOf<"model.failed">): StreamEvent[] {
    this.#count(body.usage);
    const answer = this.#answer;
    if (answer === null || cause !== answer.seq) return [];
    const partial = (body.partialChars ?? 0) > 0 ? (content?.partial ?? "") : "";
    this.#answer = null;
    return answer.fail(partial);
  }

  #call(request: EventOf<"tool.requested">): StreamEvent[] {
    const { seq, body } = request;
    const item = callItem(this.#record.session, request);
    const output_index = this.#indexes++;
    this.#output.push(item);
    const at = { item_id: item.id, output_index };
    const open = { ...item, status: "in_progress" };
    if (body.external === undefined) {
      this.#calls.set(seq, { request, index: output_index });
      const events = [
        { type: "response.output_item.added", output_index, item: open },
        { type: "response.mcp_call.in_progress", ...at },
      ];
      return events.map((event, index) => this.#numbered(seq, index, event));
    }
    const given = argumentsOf(request);
    const events = [
      { type: "response.output_item.added", output_index, item: { ...open, arguments: "" } },
      ...cutPieces(given, true).pieces.map((delta) => ({
        type: "response.function_call_arguments.delta",
        ...at,
        delta,
      })),
      { type: "response.function_call_arguments.done", ...at, name: body.tool, arguments: given },
      { type: "response.output_item.done", output_index, item },
    ];
    return events.map((event, index) => this.#numbered(seq, index, event));
  }

  #settle(settled: EventOf<"tool.settled">): StreamEvent[] {
    const call = this.#calls.get(settled.cause ?? 0);
    if (call === undefined || settled.body.late === true) return [];
    this.#calls.delete(settled.cause ?? 0);
    const item = callItem(this.#record.session, call.request, settled);
    const place = this.#output.findIndex(({ id }) => id === item.id);
    this.#output[place] = item;
    const type = `response.mcp_call.${settled.body.status === "ok" ? "completed" : "failed"}`;
    const events = [
      { type, item_id: item.id, output_index: call.index },
      { type: "response.output_item.done", output_index: call.index, item },
    ];
    return events.map((event, index) => this.#numbered(settled.seq, index, event));
  }

  #suspend({ seq, body, content }: EventOf<"session.suspended">): StreamEvent[] {
    this.#waitsFor = body.by;
    if (body.by === "tool") return this.#isActive ? this.#end(seq, "completed") : [];
    if (body.by !== "error" && body.by !== "budget") return [];
    const code = body.by === "budget" ? "rate_limit_exceeded" : "server_error";
    this.#error = { code, message: content?.reason ?? `suspended: ${body.by}` };
    return this.#end(seq, "failed");
  }

  #endTurn({ seq, body }: EventOf<"turn.ended">): StreamEvent[] {
    const { outcome } = body;
    if (outcome === "length") this.#incomplete = "max_output_tokens";
    if (outcome === "refused") this.#incomplete = "content_filter";
    if (outcome === "failed") this.#error = { code: "server_error", message: "the turn failed" };
    return this.#end(seq, statuses[outcome] ?? "cancelled");
  }

  #end(seq: number, status: Status): StreamEvent[] {
    const answer = this.#answer;
    const open = answer === null ? [] : answer.close("incomplete");
    this.#answer = null;
    this.#status = status;
    const type = status === "cancelled" ? "response.incomplete" : `response.${status}`;
    return [...open, this.#numbered(seq, 0, { type, response: this.response })];
  }

  #count(usage: EventOf<"model.responded">["body"]["usage"] | undefined): void {
    this.#usage = {
      input: this.#usage.input + (usage?.inputTokens ?? 0),
      output: this.#usage.output + (usage?.outputTokens ?? 0),
      cached: this.#usage.cached + (usage?.cachedInputTokens ?? 0),
      reasoning: this.#usage.reasoning + (usage?.reasoningTokens ?? 0),
    };
  }
}

const statuses: Readonly<Record<string, Status>> = {
  completed: "completed",
  length: "incomplete",
  refused: "incomplete",
  failed: "failed",
};
