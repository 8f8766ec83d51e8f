/** One answer of a model as stream events: its texts in order, from live deltas and from the log. Pure. */
import type { AnswerSegment } from "../answer-segment.ts";
import { placeOf, segmentItem, textPart } from "./output.ts";
import { cutPieces } from "./pieces.ts";

/** An event of a stream of OpenAI's Responses API. */
export type StreamEvent = Readonly<Record<string, unknown>> & {
  readonly type: string;
  readonly sequence_number: number;
};

/** A stream event without its number. */
export type UnnumberedEvent = Readonly<Record<string, unknown>> & { readonly type: string };

interface AnswerOptions {
  readonly session: string;
  /** The position of its request. */
  readonly seq: number;
  readonly number: (index: number, event: UnnumberedEvent) => StreamEvent;
  /** The place of the next output item. */
  readonly nextIndex: () => number;
}

/** What was sent of an answer. */
export class AnswerStream {
  readonly seq: number;
  readonly #session: string;
  readonly #number: AnswerOptions["number"];
  readonly #nextIndex: () => number;
  readonly #segments: AnswerSegment[] = [];
  readonly #indexes: number[] = [];
  /** The rest of the open text that is not cut yet; null when none is open. */
  #rest: string | null = null;
  #count = 0;

  constructor({ session, seq, number, nextIndex }: AnswerOptions) {
    this.seq = seq;
    this.#session = session;
    this.#number = number;
    this.#nextIndex = nextIndex;
  }

  /** Sends a text, or more of the open one. */
  say({ type, text }: AnswerSegment): StreamEvent[] {
    const last = this.#segments.at(-1);
    const isOpen = this.#rest !== null && last?.type === type;
    const events = isOpen ? [] : [...this.close("completed"), ...this.#open(type)];
    const before = isOpen ? last.text : "";
    this.#segments[this.#segments.length - 1] = { type, text: before + text };
    const { pieces, rest } = cutPieces((this.#rest ?? "") + text, false);
    this.#rest = rest;
    return [...events, ...pieces.map((piece) => this.#piece(piece))];
  }

  #open(type: AnswerSegment["type"]): StreamEvent[] {
    this.#segments.push({ type, text: "" });
    this.#rest = "";
    this.#indexes.push(this.#nextIndex());
    const place = placeOf(this.#segments, this.#segments.length - 1);
    const item = segmentItem(
      this.#session,
      { seq: this.seq, place, status: "in_progress" },
      { type, text: "" },
    );
    const at = this.#place();
    const { output_index } = at;
    const added = { type: "response.output_item.added", output_index, item };
    const part =
      type === "text"
        ? { type: "response.content_part.added", ...at, part: textPart("") }
        : { type: "response.reasoning_summary_part.added", ...at, part: { type: "summary_text", text: "" } };
    return [this.#next(added), this.#next(part)];
  }

  #piece(delta: string): StreamEvent {
    const isText = this.#segments.at(-1)?.type === "text";
    const at = this.#place();
    return this.#next(
      isText
        ? { type: "response.output_text.delta", ...at, delta, logprobs: [] }
        : { type: "response.reasoning_summary_text.delta", ...at, delta },
    );
  }

  /** Ends the open text. */
  close(status: string): StreamEvent[] {
    const last = this.#segments.at(-1);
    if (this.#rest === null || last === undefined) return [];
    const { pieces } = cutPieces(this.#rest, true);
    const events = pieces.map((piece) => this.#piece(piece));
    this.#rest = null;
    const { type, text } = last;
    const at = this.#place();
    const place = placeOf(this.#segments, this.#segments.length - 1);
    const item = segmentItem(this.#session, { seq: this.seq, place, status }, last);
    const done =
      type === "text"
        ? [
            { type: "response.output_text.done", ...at, text, logprobs: [] },
            { type: "response.content_part.done", ...at, part: textPart(text) },
          ]
        : [
            { type: "response.reasoning_summary_text.done", ...at, text },
            { type: "response.reasoning_summary_part.done", ...at, part: { type: "summary_text", text } },
          ];
    const { output_index } = at;
    const ended = { type: "response.output_item.done", output_index, item };
    return [...events, ...[...done, ended].map((one) => this.#next(one))];
  }

  #place() {
    const last = this.#segments.length - 1;
    const place = placeOf(this.#segments, last);
    const type = this.#segments.at(-1)?.type ?? "text";
    const { id } = segmentItem(this.#session, { seq: this.seq, place }, { type, text: "" });
    const part = type === "text" ? { content_index: 0 } : { summary_index: 0 };
    return { item_id: id, output_index: this.#indexes[last] ?? 0, ...part };
  }

  #next(event: UnnumberedEvent): StreamEvent {
    return this.#number(this.#count++, event);
  }

  /** Sends the rest of an answer. */
  complete(said: readonly AnswerSegment[]): StreamEvent[] {
    const sent = [...this.#segments];
    const events: StreamEvent[] = [];
    let matched = 0;
    for (const segment of said) {
      const { type, text } = segment;
      const before = sent[matched];
      const isSent = before?.type === type && text.startsWith(before.text);
      if (isSent) matched += 1;
      if (isSent && matched < this.#segments.length) continue;
      const rest = isSent ? text.slice(before.text.length) : text;
      if (rest !== "" && (!isSent || this.#rest !== null)) events.push(...this.say({ type, text: rest }));
      events.push(...this.close("completed"));
    }
    return [...events, ...this.close("completed")];
  }

  /** Ends a failed answer. Its log has a part of the text that it sent, or all. */
  fail(partial: string): StreamEvent[] {
    const sent = this.#segments.at(-1);
    const rest = sent?.type === "text" ? partial.slice(sent.text.length) : partial;
    const hasNoText = this.#segments.every(({ type }) => type !== "text");
    const canGrow = rest !== "" && (hasNoText || (this.#rest !== null && sent?.type === "text"));
    const events = canGrow ? this.say({ type: "text", text: rest }) : [];
    return [...events, ...this.close("incomplete")];
  }
}
