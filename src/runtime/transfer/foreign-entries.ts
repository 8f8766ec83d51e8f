/**
 * A session's log as entries of the transcript model, which the writers of src/transcripts turn into files of
 * other tools. A pure function of the events: imported entries, inputs where a turn consumed them, answers
 * with their calls and results, compactions. Rewound events are left out.
 */
import type { EventOf, SessionEvent } from "../../core/event.ts";
import { includes, type Ranges } from "../../core/range.ts";
import type { ContentBlock, Usage } from "../../core/schema.ts";
import type { z } from "zod";
import { isOf } from "../../core/transcript.ts";
import type {
  ForeignEntry,
  TranscriptBlock,
  TranscriptCall,
  TranscriptUsage,
} from "../../transcripts/model.ts";
import { isCutFor } from "./history-entry.ts";

/** The types that it reads. */
export const foreignTypes = [
  "source.imported input.imported answer.imported call.imported",
  "input.received message.received turn.started model.requested model.responded model.failed",
  "tool.requested tool.denied tool.settled transcript.compacted session.merged session.rewound",
].flatMap((line) => line.split(" "));

export interface EntrySource {
  /** Events of `foreignTypes`, in order. */
  readonly events: readonly SessionEvent[];
  /** Positions that were rewound away. */
  readonly lost: Ranges;
  /** The bytes of a blob; null when they are missing or too large to embed. */
  readonly blob: (hash: string) => Uint8Array | null;
}

export interface ForeignEntries {
  readonly entries: readonly ForeignEntry[];
  /** What the model has no place for, with counts. */
  readonly left: ReadonlyMap<string, number>;
}

export function foreignEntries(source: EntrySource): ForeignEntries {
  const builder = new Builder(source);
  for (const event of source.events) if (!includes(source.lost, event.seq)) builder.add(event);
  return builder.finish();
}

type Answer = Extract<ForeignEntry, { kind: "answer" }>;
type PlacedForeignEntry = { readonly seq: number; entry: ForeignEntry };

class Builder {
  readonly #source: EntrySource;
  readonly #bySeq: ReadonlyMap<number, SessionEvent>;
  readonly #placed: PlacedForeignEntry[] = [];
  readonly #left = new Map<string, number>();
  /** The answer of a call, and its place there, by the call's id. */
  readonly #calls = new Map<string, { readonly answer: PlacedForeignEntry; readonly at: number }>();
  readonly #waiting = new Set<number>();

  constructor(source: EntrySource) {
    this.#source = source;
    this.#bySeq = new Map(source.events.map((event) => [event.seq, event]));
  }

  finish(): ForeignEntries {
    this.#count("queued input", this.#waiting.size);
    return { entries: this.#placed.map(({ entry }) => entry), left: this.#left };
  }

  #count(what: string, many = 1): void {
    if (many > 0) this.#left.set(what, (this.#left.get(what) ?? 0) + many);
  }

  add(event: SessionEvent): void {
    if (isOf(event, "input.imported")) this.#addInput(event, event.body.from, event.body.atMs ?? null);
    else if (isOf(event, "answer.imported")) this.#addImported(event);
    else if (isOf(event, "call.imported")) this.#addCall(importedCall(event, this.#source.blob), event);
    else if (isOf(event, "input.received", "message.received")) this.#waiting.add(event.seq);
    else if (isOf(event, "turn.started", "model.requested")) this.#takeInputs(event.body.inputs);
    else if (isOf(event, "model.responded")) this.#addAnswer(event);
    else if (isOf(event, "model.failed")) this.#addPartial(event);
    else if (isOf(event, "tool.requested")) this.#addRequest(event);
    else if (isOf(event, "tool.denied", "tool.settled")) this.#settle(event);
    else if (isOf(event, "transcript.compacted")) this.#compact(event);
    else if (isOf(event, "session.merged")) {
      const text = `[merged from session ${event.body.from}]\n${event.content?.summary ?? erasedText}`;
      this.#push(event, { kind: "input", from: "context", blocks: [{ type: "text", text }] });
    }
  }

  #push(
    { seq, at }: SessionEvent,
    fields: ForeignEntry extends infer E
      ? E extends unknown
        ? Omit<E, "id" | "atMs" | "source">
        : never
      : never,
    atMs: number | null = at,
  ): PlacedForeignEntry {
    const placed: PlacedForeignEntry = { seq, entry: { ...fields, id: String(seq), atMs, source: [] } };
    this.#placed.push(placed);
    return placed;
  }

  #blocksOf(event: SessionEvent & { readonly content?: unknown }): TranscriptBlock[] {
    const blocks = (event.content as { readonly blocks?: readonly ContentBlock[] } | undefined)?.blocks;
    if (blocks !== undefined) return blocksOf(blocks, this.#source.blob);
    this.#count("erased content");
    return [{ type: "text", text: erasedText }];
  }

  #addInput(event: SessionEvent, from: "user" | "context", atMs: number | null, heading?: string): void {
    const head: TranscriptBlock[] = heading === undefined ? [] : [{ type: "text", text: heading }];
    this.#push(event, { kind: "input", from, blocks: [...head, ...this.#blocksOf(event)] }, atMs);
  }

  #takeInputs(inputs: readonly (readonly [number, number])[]): void {
    for (const [seq] of inputs) {
      const event = this.#bySeq.get(seq);
      if (event === undefined || !this.#waiting.delete(seq)) continue;
      if (isOf(event, "message.received"))
        this.#addInput(event, "context", event.at, `[a message from session ${event.body.from}]`);
      else if (isOf(event, "input.received"))
        this.#addInput(event, (event.body.from ?? "user") === "user" ? "user" : "context", event.at);
    }
  }

  #addImported(event: EventOf<"answer.imported">): void {
    const { model, atMs, usage, costNanoUsd, interrupted } = event.body;
    if (event.body.continues === true && this.#continueAnswer(event)) return;
    this.#push(
      event,
      {
        kind: "answer",
        model: model ?? null,
        messageId: event.content?.messageId ?? null,
        blocks: this.#blocksOf(event),
        calls: [],
        usage: usage === undefined ? null : usageOf(usage, costNanoUsd ?? null),
        interrupted: interrupted === true,
        error: event.content?.error ?? null,
      },
      atMs ?? null,
    );
  }

  /** What the tool added to an answer after it was imported is part of that answer. */
  #continueAnswer(event: EventOf<"answer.imported">): boolean {
    const last = this.#placed.at(-1);
    if (last?.entry.kind !== "answer") return false;
    const { usage, costNanoUsd, interrupted } = event.body;
    const { entry } = last;
    last.entry = {
      ...entry,
      blocks: [...entry.blocks, ...this.#blocksOf(event)],
      usage: usage === undefined ? entry.usage : addUsage(entry.usage, usageOf(usage, costNanoUsd ?? null)),
      interrupted: interrupted === true,
      error: event.content?.error ?? entry.error,
    };
    return true;
  }

  #addAnswer(event: EventOf<"model.responded">): void {
    const { model, usage, costNanoUsd } = event.body;
    const blocks = this.#blocksOf(event);
    // The calls follow as records; a signature is in the form of Skein's provider, which no tool reads.
    const said = blocks.map((block): TranscriptBlock => {
      if (block.type !== "thinking" || block.opaque === undefined) return block;
      this.#count("signature of a thinking block");
      return { type: "thinking", text: block.text };
    });
    this.#push(event, {
      kind: "answer",
      model: bareModel(model),
      messageId: null,
      blocks: said,
      calls: [],
      usage: usageOf(usage, costNanoUsd),
      interrupted: false,
      error: null,
    });
  }

  /** What a model said before its call failed is an answer that was cut short. */
  #addPartial(event: EventOf<"model.failed">): void {
    const { model, usage, costNanoUsd } = event.body;
    const partial = event.content?.partial;
    if (partial === undefined || partial === "") return;
    this.#push(event, {
      kind: "answer",
      model: bareModel(model),
      messageId: null,
      blocks: [{ type: "text", text: partial }],
      calls: [],
      usage: usage === undefined ? null : usageOf(usage, costNanoUsd),
      interrupted: true,
      error: null,
    });
  }

  #addRequest(event: EventOf<"tool.requested">): void {
    const { call: id, tool: name } = event.body;
    const input = event.content === undefined ? { erased: true } : event.content.input;
    this.#addCall({ id, name, input, status: "unknown", output: [], endedAtMs: null }, event);
  }

  #addCall(call: TranscriptCall, event: SessionEvent): void {
    let answer = this.#placed.at(-1);
    if (answer?.entry.kind !== "answer") {
      const none = { model: null, messageId: null, blocks: [], calls: [], usage: null } as const;
      answer = this.#push(event, { kind: "answer", ...none, interrupted: false, error: null });
    }
    const entry = answer.entry as Answer;
    this.#calls.set(call.id, { answer, at: entry.calls.length });
    answer.entry = { ...entry, calls: [...entry.calls, call] };
  }

  /** The first outcome counts, and a late one after an unknown one. */
  #settle(event: EventOf<"tool.denied"> | EventOf<"tool.settled">): void {
    const known = this.#calls.get(event.body.call);
    if (known === undefined) return;
    const entry = known.answer.entry as Answer;
    const call = entry.calls[known.at];
    if (call === undefined || call.status !== "unknown") return;
    const calls = entry.calls.with(known.at, { ...call, ...this.#outcome(event), endedAtMs: event.at });
    known.answer.entry = { ...entry, calls };
  }

  #outcome(
    event: EventOf<"tool.denied"> | EventOf<"tool.settled">,
  ): Pick<TranscriptCall, "status" | "output"> {
    const said = (text: string): TranscriptBlock[] => [{ type: "text", text }];
    if (isOf(event, "tool.denied")) {
      const reason = event.content?.reason;
      return { status: "error", output: said(reason === undefined ? "Denied." : `Denied: ${reason}`) };
    }
    const { status } = event.body;
    if (event.erased) return { status: status === "ok" ? "ok" : "error", output: said(erasedText) };
    if (status === "unknown") return { status, output: [] };
    const { output, blocks = [] } = event.content ?? {};
    const text = output === undefined ? (status === "skipped" ? "Not run." : "") : valueText(output);
    return {
      status: status === "ok" ? "ok" : "error",
      output: [...(text === "" ? [] : said(text)), ...blocksOf(blocks, this.#source.blob)],
    };
  }

  #compact(event: EventOf<"transcript.compacted">): void {
    const { strategy, toSeq, tokensBefore } = event.body;
    const summary = event.content?.summary;
    if (summary === undefined) {
      this.#count(strategy === "prune" ? "compaction that cut outputs" : "compaction without a summary");
      return;
    }
    const kept = this.#placed.find(({ seq }) => seq > toSeq);
    this.#push(event, { kind: "compaction", summary, keptFrom: kept?.entry.id ?? null, tokensBefore });
  }
}

const erasedText = "[erased]";

/** Names of other tools have no provider. */
const bareModel = (model: string): string => model.slice(model.indexOf("/") + 1);

const valueText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

const usageOf = (usage: z.infer<typeof Usage>, costNanoUsd: number | null): TranscriptUsage => ({
  inputTokens: usage.inputTokens,
  outputTokens: usage.outputTokens,
  cacheReadTokens: usage.cachedInputTokens ?? 0,
  cacheWriteTokens: usage.cacheWriteTokens ?? 0,
  reasoningTokens: usage.reasoningTokens ?? 0,
  costUsd: costNanoUsd === null ? null : costNanoUsd / 1e9,
});

const addUsage = (a: TranscriptUsage | null, b: TranscriptUsage): TranscriptUsage => ({
  inputTokens: (a?.inputTokens ?? 0) + b.inputTokens,
  outputTokens: (a?.outputTokens ?? 0) + b.outputTokens,
  cacheReadTokens: (a?.cacheReadTokens ?? 0) + b.cacheReadTokens,
  cacheWriteTokens: (a?.cacheWriteTokens ?? 0) + b.cacheWriteTokens,
  reasoningTokens: (a?.reasoningTokens ?? 0) + b.reasoningTokens,
  costUsd: a === null ? b.costUsd : a.costUsd === null ? null : a.costUsd + (b.costUsd ?? 0),
});

type ReadBlob = EntrySource["blob"];

/** Calls are entries of their own; a text that was kept as a file is whole again. */
function blocksOf(blocks: readonly ContentBlock[], blob: ReadBlob): TranscriptBlock[] {
  const made: TranscriptBlock[] = [];
  for (const [at, block] of blocks.entries()) {
    if (block.type === "text" || block.type === "reasoning") {
      const text = wholeText(block.text, blocks[at + 1], blob) ?? block.text;
      const opaque = block["opaque"];
      if (block.type === "text") made.push({ type: "text", text });
      else made.push({ type: "thinking", text, ...(opaque === undefined ? {} : { opaque }) });
    } else if (block.type === "image" || block.type === "file") {
      const before = blocks[at - 1];
      const isWhole =
        (before?.type === "text" || before?.type === "reasoning") &&
        wholeText(before.text, block, blob) !== null;
      if (!isWhole) made.push(attachmentOf(block, blob));
    }
  }
  return made;
}

function attachmentOf(
  block: Extract<ContentBlock, { type: "image" | "file" }>,
  blob: ReadBlob,
): TranscriptBlock {
  const bytes = blob(block.blob);
  return {
    type: "attachment",
    name: block.type === "file" ? (block.name ?? null) : null,
    mediaType: block.mediaType,
    data: bytes === null ? null : Buffer.from(bytes).toString("base64"),
  };
}

/** The text that an import kept in a file beside its beginning; null when the record holds all of it. */
function wholeText(shown: string, file: ContentBlock | undefined, blob: ReadBlob): string | null {
  if (file?.type !== "file" || !isCutFor(shown, file.name ?? "")) return null;
  const bytes = blob(file.blob);
  return bytes === null ? null : Buffer.from(bytes).toString("utf8");
}

function importedCall({ body, content = {} }: EventOf<"call.imported">, blob: ReadBlob): TranscriptCall {
  const { blocks = [], output, input, structured } = content;
  const wholes = new Set<ContentBlock>();
  /** A value that was too large for the record is in a file beside it. */
  const whole = (value: unknown): unknown => {
    if (typeof value !== "string") return value;
    for (const block of blocks) {
      const text = wholeText(value, block, blob);
      if (text === null) continue;
      wholes.add(block);
      return block.type === "file" && block.mediaType === "application/json" ? parsed(text) : text;
    }
    return value;
  };
  const [asked, said, beside] = [whole(input), whole(output), whole(structured)];
  const others = blocksOf(
    blocks.filter((block) => !wholes.has(block)),
    blob,
  );
  return {
    id: content.id ?? "",
    name: content.name ?? body.tool,
    input: asked ?? {},
    status: body.status,
    output: [...(said === undefined ? [] : [{ type: "text" as const, text: valueText(said) }]), ...others],
    ...(beside === undefined ? {} : { structured: beside }),
    endedAtMs: body.atMs ?? null,
  };
}

/** Redaction may have cut a literal in two: then it is a text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
