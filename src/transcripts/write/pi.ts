/** Writes a session in pi's format 3: a header and a chain of entries. */
import type { ForeignEntry, Transcript, TranscriptBlock, WrittenTranscript } from "../model.ts";
import { markFields, type SkeinPosition } from "../format/skein-mark.ts";
import { CallIds, derivedUuid, digest } from "./derived-id.ts";
import {
  asRecord,
  Clock,
  countCommon,
  isoTime,
  LeftOver,
  providerOf,
  resultText,
  type AnswerEntry,
} from "./left-over.ts";

export function writePi(transcript: Transcript): WrittenTranscript {
  const { header } = transcript;
  const session = derivedUuid("pi", header.tool, header.sourceId);
  const left = new LeftOver();
  countCommon(transcript, left, "pi");
  left.add("tag", header.tags.length);
  const file = new PiFile(transcript, session, left);
  const startedAt = isoTime(header.startedAtMs ?? 0);
  const cwd = header.cwd ?? "/";
  file.lines.push({ type: "session", version: 3, id: session, timestamp: startedAt, cwd });
  for (const [at, entry] of transcript.entries.entries()) file.add(entry, at);
  if (header.title !== null) file.push("session_info", null, { name: header.title });
  const folder = `--${cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`;
  const name = `${startedAt.replace(/[:.]/g, "-")}_${session}.jsonl`;
  const text = file.lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return { path: `sessions/${folder}/${name}`, text, sessionId: session, left: left.list() };
}

class PiFile {
  readonly lines: Record<string, unknown>[] = [];
  readonly #session: string;
  readonly #left: LeftOver;
  readonly #clock: Clock;
  readonly #ids: CallIds;
  readonly #isOwn: boolean;
  readonly #origin: SkeinPosition | undefined;
  readonly #used = new Set<string>();
  readonly #entryIds = new Map<string, string>();
  #parent: string | null = null;

  constructor(transcript: Transcript, session: string, left: LeftOver) {
    this.#session = session;
    this.#left = left;
    this.#clock = new Clock(transcript);
    this.#ids = new CallIds(session);
    this.#isOwn = transcript.header.tool === "pi";
    this.#origin = transcript.origin;
  }

  add(entry: ForeignEntry, at: number): void {
    if (entry.kind === "answer") this.#addAnswer(entry, at);
    else if (entry.kind === "compaction") {
      const kept = entry.keptFrom === null ? undefined : this.#entryIds.get(entry.keptFrom);
      if (entry.keptFrom !== null && kept === undefined) this.#left.add("kept tail of a compaction");
      this.push("compaction", entry.atMs, (id) => ({
        summary: entry.summary,
        firstKeptEntryId: kept ?? id,
        tokensBefore: entry.tokensBefore ?? 0,
      }));
    } else if (entry.from === "context") {
      const content = this.#content(entry.blocks);
      this.push("custom_message", entry.atMs, { customType: "context", content, display: false });
    } else
      this.#message(entry.atMs, (ms) => ({
        role: "user",
        content: this.#content(entry.blocks),
        timestamp: ms,
      }));
    this.#entryIds.set(entry.id, this.#first ?? "");
    this.#first = null;
  }

  #first: string | null = null;

  #addAnswer(entry: AnswerEntry, at: number): void {
    const calls = entry.calls.map((call, index) => ({ call, id: this.#ids.next(call.id, at, index) }));
    const content = [
      ...this.#content(entry.blocks),
      ...calls.map(({ call, id }) => ({
        type: "toolCall",
        id,
        name: call.name,
        arguments: asRecord(call.input),
      })),
    ];
    const { usage } = entry;
    if (usage === null || usage.costUsd === null) this.#left.add("unknown cost of an answer, written as 0");
    const input = usage === null ? 0 : usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens;
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: usage?.costUsd ?? 0 };
    const stop =
      entry.error !== null ? "error" : entry.interrupted ? "aborted" : calls.length > 0 ? "toolUse" : "stop";
    this.#message(entry.atMs, (ms) => ({
      role: "assistant",
      content,
      api: providerOf(entry.model) === "openai" ? "openai-responses" : "anthropic-messages",
      provider: providerOf(entry.model),
      model: entry.model ?? "unknown",
      usage: {
        input,
        output: usage?.outputTokens ?? 0,
        cacheRead: usage?.cacheReadTokens ?? 0,
        cacheWrite: usage?.cacheWriteTokens ?? 0,
        totalTokens: (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0),
        cost,
      },
      stopReason: stop,
      ...(entry.messageId === null ? {} : { responseId: entry.messageId }),
      ...(entry.error === null ? {} : { errorMessage: entry.error }),
      timestamp: ms,
    }));
    for (const { call, id } of calls)
      this.#message(call.endedAtMs ?? entry.atMs, (ms) => ({
        role: "toolResult",
        toolCallId: id,
        toolName: call.name,
        content:
          call.status === "unknown" ? [{ type: "text", text: resultText(call) }] : this.#content(call.output),
        ...(this.#isOwn && call.structured !== undefined ? { details: call.structured } : {}),
        isError: call.status !== "ok",
        timestamp: ms,
      }));
  }

  #content(blocks: readonly TranscriptBlock[]): Record<string, unknown>[] {
    return blocks.flatMap((block): Record<string, unknown>[] => {
      if (block.type === "text") return [{ type: "text", text: block.text }];
      if (block.type === "attachment") {
        if (block.data !== null && block.mediaType.startsWith("image/"))
          return [{ type: "image", data: block.data, mimeType: block.mediaType }];
        this.#left.add("attachment, written as its name");
        return [{ type: "text", text: `[attachment: ${block.name ?? block.mediaType}]` }];
      }
      if (this.#isOwn && typeof block.opaque === "string")
        return [{ type: "thinking", thinking: block.text, thinkingSignature: block.opaque }];
      if (block.opaque !== undefined) this.#left.add("signature of a thinking block");
      return [{ type: "thinking", thinking: block.text }];
    });
  }

  #message(atMs: number | null, make: (ms: number) => Record<string, unknown>): void {
    this.push("message", atMs, (_id, ms) => ({ message: make(ms) }));
  }

  push(
    type: string,
    atMs: number | null,
    fields: Record<string, unknown> | ((id: string, ms: number) => Record<string, unknown>),
  ): void {
    let id = "";
    for (let attempt = 0; id === "" || this.#used.has(id); attempt++)
      id = digest(this.#session, this.lines.length, attempt).slice(0, 8);
    this.#used.add(id);
    const ms = this.#clock.at(atMs);
    const own = typeof fields === "function" ? fields(id, ms) : fields;
    this.lines.push({
      type,
      id,
      parentId: this.#parent,
      timestamp: isoTime(ms),
      ...own,
      ...markFields(this.#origin),
    });
    this.#parent = id;
    this.#first ??= id;
  }
}
