/** Writes a session as `opencode import` takes it: strictly checked JSON of messages and parts. */
import type { Transcript, TranscriptBlock, WrittenTranscript } from "../model.ts";
import { markOf } from "../format/skein-mark.ts";
import { CallIds, digest } from "./derived-id.ts";
import {
  asRecord,
  Clock,
  countCommon,
  LeftOver,
  providerOf,
  resultText,
  type AnswerEntry,
} from "./left-over.ts";

type Json = Record<string, unknown>;

export function writeOpencode(transcript: Transcript): WrittenTranscript {
  const left = new LeftOver();
  countCommon(transcript, left, "opencode");
  left.add("tag", transcript.header.tags.length);
  const document = new OpencodeDocument(transcript, left).make();
  const { id } = document.info;
  const text = `${JSON.stringify(document, null, 2)}\n`;
  return { path: `${id}.json`, text, sessionId: id, left: left.list() };
}

class OpencodeDocument {
  readonly #transcript: Transcript;
  readonly #left: LeftOver;
  readonly #clock: Clock;
  readonly #seed: string;
  readonly #session: string;
  readonly #ids: CallIds;
  /** The first message of an entry, by the entry's id. */
  readonly #messageIds = new Map<string, string>();
  readonly #messages: { info: Json; parts: Json[] }[] = [];
  #parts = 0;
  #lastUser: string | null = null;
  #model: string;

  constructor(transcript: Transcript, left: LeftOver) {
    const { header, entries } = transcript;
    this.#transcript = transcript;
    this.#left = left;
    this.#clock = new Clock(transcript);
    this.#seed = digest("opencode", header.tool, header.sourceId).slice(0, 10);
    this.#session = `ses_${digest("opencode session", header.tool, header.sourceId).slice(0, 26)}`;
    this.#ids = new CallIds(this.#session);
    const first = entries.find((entry) => entry.kind === "answer" && entry.model !== null);
    this.#model = (first?.kind === "answer" ? first.model : null) ?? "unknown";
  }

  make(): { readonly info: Json & { readonly id: string }; readonly messages: readonly unknown[] } {
    const { header, origin } = this.#transcript;
    const created = header.startedAtMs ?? this.#clock.at(null);
    for (const [at, entry] of this.#transcript.entries.entries()) {
      const first = this.#messages.length;
      if (entry.kind === "input")
        this.#addUser(entry.atMs, this.#blockParts(entry.blocks, entry.from === "context"));
      else if (entry.kind === "answer") this.#addAnswer(entry, at);
      else {
        const tail = entry.keptFrom === null ? undefined : this.#messageIds.get(entry.keptFrom);
        if (entry.keptFrom !== null && tail === undefined) this.#left.add("kept tail of a compaction");
        this.#requestCompaction(entry.atMs, {
          type: "compaction",
          auto: true,
          ...(tail === undefined ? {} : { tail_start_id: tail }),
        });
        this.#addAssistant(entry.atMs, { summary: true, finish: "stop" }, [
          { type: "text", text: entry.summary },
        ]);
      }
      const id = this.#messages[first]?.info["id"];
      if (typeof id === "string") this.#messageIds.set(entry.id, id);
    }
    return {
      info: {
        id: this.#session,
        // The tool keeps it. Ids of the messages begin with the seed.
        slug: origin === undefined ? this.#seed : `skein-${markOf(origin)}-${this.#seed}`,
        projectID: "global",
        directory: header.cwd ?? "/",
        title: header.title ?? `${header.tool} ${header.sourceId}`.slice(0, 100),
        version: header.tool === "opencode" ? (header.toolVersion ?? "1.18.33") : "1.18.33",
        time: { created, updated: Math.max(created, this.#clock.at(null)) },
      },
      messages: this.#messages,
    };
  }

  /** The tool asks for a summary in a message without text: one that is there already is that one. */
  #requestCompaction(atMs: number | null, part: Json): void {
    const last = this.#messages.at(-1);
    if (last?.info["role"] === "user" && last.parts.length === 0)
      last.parts.push(this.#part(part, last.info["id"]));
    else this.#addUser(atMs, [part]);
  }

  #part(part: Json, messageID: unknown): Json {
    this.#parts += 1;
    return { ...part, id: this.#id("prt", this.#parts), sessionID: this.#session, messageID };
  }

  /** Ids sort in the order of the session and are unique over the tool's whole database. */
  #id(prefix: "msg" | "prt", at: number): string {
    const order = at.toString(16).padStart(6, "0");
    return `${prefix}_${this.#seed}${order}${digest(this.#session, prefix, at).slice(0, 10)}`;
  }

  #add(info: Json, parts: readonly Json[]): string {
    const id = this.#id("msg", this.#messages.length);
    const whole = parts.map((part) => this.#part(part, id));
    this.#messages.push({ info: { ...info, id, sessionID: this.#session }, parts: whole });
    return id;
  }

  #addUser(atMs: number | null, parts: readonly Json[]): void {
    this.#lastUser = this.#add(
      {
        role: "user",
        time: { created: this.#clock.at(atMs) },
        agent: "build",
        model: { providerID: providerOf(this.#model), modelID: this.#model },
      },
      parts,
    );
  }

  #addAssistant(atMs: number | null, fields: Json, parts: readonly Json[]): void {
    // A message of the model answers one of a person.
    if (this.#lastUser === null) this.#addUser(atMs, []);
    const cwd = this.#transcript.header.cwd ?? "/";
    const created = this.#clock.at(atMs);
    this.#add(
      {
        role: "assistant",
        parentID: this.#lastUser,
        modelID: this.#model,
        providerID: providerOf(this.#model),
        mode: "build",
        agent: "build",
        path: { cwd, root: cwd },
        cost: 0,
        tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
        time: { created, completed: this.#clock.at(null) },
        ...fields,
      },
      parts,
    );
  }

  #addAnswer(entry: AnswerEntry, at: number): void {
    const { usage } = entry;
    if (entry.model !== null) this.#model = entry.model;
    const calls = entry.calls.map((call, index) =>
      this.#callPart(entry, call, this.#ids.next(call.id, at, index)),
    );
    if (usage === null || usage.costUsd === null) this.#left.add("unknown cost of an answer, written as 0");
    const error = entry.interrupted
      ? { error: { name: "MessageAbortedError", data: { message: "The operation was aborted." } } }
      : entry.error === null
        ? {}
        : { error: { name: "UnknownError", data: { message: entry.error } } };
    this.#addAssistant(
      entry.atMs,
      {
        modelID: this.#model,
        providerID: providerOf(this.#model),
        cost: usage?.costUsd ?? 0,
        tokens: {
          input: usage === null ? 0 : usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens,
          output: (usage?.outputTokens ?? 0) - (usage?.reasoningTokens ?? 0),
          reasoning: usage?.reasoningTokens ?? 0,
          cache: { read: usage?.cacheReadTokens ?? 0, write: usage?.cacheWriteTokens ?? 0 },
        },
        finish: calls.length > 0 ? "tool-calls" : "stop",
        ...error,
      },
      [...this.#blockParts(entry.blocks, false), ...calls],
    );
  }

  #metadata({ structured }: AnswerEntry["calls"][number]): Json {
    const isOwn = this.#transcript.header.tool === "opencode" && structured !== undefined;
    return isOwn ? asRecord(structured) : {};
  }

  #callPart(entry: AnswerEntry, call: AnswerEntry["calls"][number], callID: string): Json {
    const start = entry.atMs ?? 0;
    const time = { start, end: Math.max(start, call.endedAtMs ?? start) };
    const input = asRecord(call.input);
    const text = resultText(call);
    const files = call.output.filter((block) => block.type === "attachment");
    this.#left.add("attachment of a result, written as its name", files.length);
    const state =
      call.status === "ok"
        ? { status: "completed", input, output: text, title: call.name, metadata: this.#metadata(call), time }
        : { status: "error", input, error: text === "" ? "error" : text, time };
    return { type: "tool", callID, tool: call.name, state };
  }

  #blockParts(blocks: readonly TranscriptBlock[], synthetic: boolean): Json[] {
    return blocks.map((block): Json => {
      if (block.type === "text")
        return { type: "text", text: block.text, ...(synthetic ? { synthetic } : {}) };
      if (block.type === "thinking") {
        const isOwn = this.#transcript.header.tool === "opencode" && block.opaque !== undefined;
        if (!isOwn && block.opaque !== undefined) this.#left.add("signature of a thinking block");
        return {
          type: "reasoning",
          text: block.text,
          ...(isOwn ? { metadata: block.opaque } : {}),
          time: { start: 0, end: 0 },
        };
      }
      if (block.data === null) this.#left.add("attachment without data, written as its name");
      const name = block.name ?? "attachment";
      if (block.data === null) return { type: "text", text: `[attachment: ${name}]`, synthetic: true };
      const url = `data:${block.mediaType};base64,${block.data}`;
      return { type: "file", mime: block.mediaType, url, filename: name };
    });
  }
}
