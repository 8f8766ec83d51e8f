/** Writes a session as Claude Code keeps it: a chain of records, one content block each. */
import type { ForeignEntry, Transcript, TranscriptBlock, WrittenTranscript } from "../model.ts";
import { markFields } from "../format/skein-mark.ts";
import { CallIds, derivedUuid, digest } from "./derived-id.ts";
import {
  asRecord,
  Clock,
  countCommon,
  isoTime,
  LeftOver,
  resultText,
  type AnswerEntry,
} from "./left-over.ts";

export function writeClaudeCode(transcript: Transcript): WrittenTranscript {
  const { header } = transcript;
  const session = derivedUuid("claude-code", header.tool, header.sourceId);
  const left = new LeftOver();
  countCommon(transcript, left, "claude-code");
  const chain = new Chain(transcript, session, left);
  for (const [at, entry] of transcript.entries.entries()) chain.add(entry, at);
  const titles = [
    ...(header.title === null
      ? []
      : [{ type: "custom-title", customTitle: header.title, sessionId: session }]),
    ...header.tags.map((tag) => ({ type: "tag", tag, sessionId: session })),
  ];
  const text = [...chain.records, ...titles].map((record) => `${JSON.stringify(record)}\n`).join("");
  const folder = (header.cwd ?? "/").replace(/[^A-Za-z0-9]/g, "-").slice(0, 200);
  return { path: `projects/${folder}/${session}.jsonl`, text, sessionId: session, left: left.list() };
}

class Chain {
  readonly records: Record<string, unknown>[] = [];
  readonly #transcript: Transcript;
  readonly #session: string;
  readonly #left: LeftOver;
  readonly #clock: Clock;
  readonly #ids: CallIds;
  readonly #isOwn: boolean;
  #parent: string | null = null;

  constructor(transcript: Transcript, session: string, left: LeftOver) {
    this.#transcript = transcript;
    this.#isOwn = transcript.header.tool === "claude-code";
    this.#session = session;
    this.#left = left;
    this.#clock = new Clock(transcript);
    this.#ids = new CallIds(session);
  }

  add(entry: ForeignEntry, at: number): void {
    if (entry.kind === "input") {
      const content = this.#content(entry.blocks);
      const isMeta = entry.from === "context" ? { isMeta: true } : {};
      this.#push("user", entry.atMs, { ...isMeta, message: { role: "user", content } });
    } else if (entry.kind === "answer") this.#addAnswer(entry, at);
    else {
      if (entry.keptFrom !== null) this.#left.add("kept tail of a compaction");
      const logicalParentUuid = this.#parent;
      this.#parent = null;
      this.#push("system", entry.atMs, {
        logicalParentUuid,
        subtype: "compact_boundary",
        content: "Conversation compacted",
        level: "info",
        isMeta: false,
        compactMetadata: { trigger: "auto", preTokens: entry.tokensBefore ?? 0 },
      });
      this.#push("user", entry.atMs, {
        isCompactSummary: true,
        isVisibleInTranscriptOnly: true,
        message: { role: "user", content: entry.summary },
      });
    }
  }

  #addAnswer(entry: AnswerEntry, at: number): void {
    const { usage } = entry;
    const id = entry.messageId ?? `msg_${digest(this.#session, entry.id, at).slice(0, 24)}`;
    const requestId = `req_${digest(this.#session, "request", at).slice(0, 24)}`;
    const calls = entry.calls.map((call, index) => ({ call, id: this.#ids.next(call.id, at, index) }));
    const blocks = [
      ...entry.blocks.flatMap((block) => this.#answerBlock(block)),
      ...calls.map(({ call, id }) => ({
        type: "tool_use",
        id,
        name: call.name,
        input: asRecord(call.input),
      })),
    ];
    if (blocks.length === 0) blocks.push({ type: "text", text: entry.error ?? "" });
    for (const [index, block] of blocks.entries()) {
      const isLast = index === blocks.length - 1;
      this.#push("assistant", entry.atMs, {
        requestId,
        ...(entry.error === null ? {} : { isApiErrorMessage: true }),
        ...(entry.interrupted ? { isAbortedMidStream: true } : {}),
        message: {
          id,
          type: "message",
          role: "assistant",
          model: entry.model ?? "<synthetic>",
          content: [block],
          stop_reason: isLast ? (calls.length > 0 ? "tool_use" : "end_turn") : null,
          stop_sequence: null,
          ...(usage === null
            ? {}
            : {
                usage: {
                  input_tokens: usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens,
                  cache_creation_input_tokens: usage.cacheWriteTokens,
                  cache_read_input_tokens: usage.cacheReadTokens,
                  output_tokens: usage.outputTokens,
                },
              }),
        },
      });
    }
    if (usage !== null && usage.costUsd !== null) this.#left.add("cost of an answer");
    for (const { call, id } of calls) {
      const content = call.status === "unknown" ? resultText(call) : this.#content(call.output);
      const block = { tool_use_id: id, type: "tool_result", content, is_error: call.status !== "ok" };
      this.#push("user", call.endedAtMs ?? entry.atMs, {
        message: { role: "user", content: [block] },
        ...(this.#isOwn && call.structured !== undefined ? { toolUseResult: call.structured } : {}),
      });
    }
  }

  /** Signed thinking goes back to the tool it came from; its own model refuses any other. */
  #answerBlock(block: TranscriptBlock): Record<string, unknown>[] {
    if (block.type === "text") return [{ type: "text", text: block.text }];
    if (block.type === "attachment") {
      this.#left.add("attachment of an answer, written as its name");
      return [{ type: "text", text: `[attachment: ${block.name ?? block.mediaType}]` }];
    }
    if (this.#isOwn && typeof block.opaque === "string")
      return [{ type: "thinking", thinking: block.text, signature: block.opaque }];
    this.#left.add("thinking block without a signature of this tool");
    return [];
  }

  #content(blocks: readonly TranscriptBlock[]): string | Record<string, unknown>[] {
    const [only] = blocks;
    if (blocks.length === 0) return "";
    if (blocks.length === 1 && only?.type === "text") return only.text;
    return blocks.flatMap((block): Record<string, unknown>[] => {
      if (block.type === "text") return [{ type: "text", text: block.text }];
      if (block.type === "thinking") {
        this.#left.add("thinking block outside an answer");
        return [];
      }
      const isImage = block.mediaType.startsWith("image/");
      if (block.data === null || (!isImage && block.mediaType !== "application/pdf")) {
        this.#left.add("attachment, written as its name");
        return [{ type: "text", text: `[attachment: ${block.name ?? block.mediaType}]` }];
      }
      const source = { type: "base64", media_type: block.mediaType, data: block.data };
      return [{ type: isImage ? "image" : "document", source }];
    });
  }

  #push(type: string, atMs: number | null, fields: Record<string, unknown>): void {
    const { header } = this.#transcript;
    const uuid = derivedUuid(this.#session, this.records.length);
    this.records.push({
      parentUuid: this.#parent,
      isSidechain: false,
      userType: "external",
      cwd: header.cwd ?? "/",
      sessionId: this.#session,
      version: header.tool === "claude-code" ? (header.toolVersion ?? "2.1.38") : "2.1.38",
      gitBranch: header.gitBranch ?? "",
      type,
      ...fields,
      uuid,
      timestamp: isoTime(this.#clock.at(atMs)),
      ...markFields(this.#transcript.origin),
    });
    this.#parent = uuid;
  }
}
