/** Writes a session as a Codex rollout in the legacy mode, which every version opens. */
import type { Transcript, TranscriptBlock, TranscriptUsage, WrittenTranscript } from "../model.ts";
import { addUsage, noUsage } from "../format/report.ts";
import { markOf } from "../format/skein-mark.ts";
import { CallIds, codexTurnId, derivedUuid } from "./derived-id.ts";
import {
  Clock,
  countCommon,
  isoTime,
  LeftOver,
  resultText,
  textOfBlocks,
  type AnswerEntry,
} from "./left-over.ts";

export function writeCodex(transcript: Transcript): WrittenTranscript {
  const { header } = transcript;
  const id = derivedUuid("codex", header.tool, header.sourceId);
  const left = new LeftOver();
  countCommon(transcript, left);
  left.add("tag", header.tags.length);
  const rollout = new Rollout(transcript, id, left);
  for (const [at, entry] of transcript.entries.entries()) {
    if (entry.kind === "input") rollout.addInput(entry.from, entry.blocks, entry.atMs);
    else if (entry.kind === "answer") rollout.addAnswer(entry, at);
    else {
      if (entry.keptFrom !== null) left.add("kept tail of a compaction");
      rollout.line("compacted", entry.atMs, { message: entry.summary });
    }
  }
  rollout.finish();
  const startedAt = isoTime(header.startedAtMs ?? 0);
  const [day = "1970-01-01", time = ""] = startedAt.split("T");
  const name = `rollout-${day}T${time.slice(0, 8).replaceAll(":", "-")}-${id}.jsonl`;
  const text = rollout.lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return { path: `sessions/${day.replaceAll("-", "/")}/${name}`, text, sessionId: id, left: left.list() };
}

class Rollout {
  readonly lines: Record<string, unknown>[] = [];
  readonly #session: string;
  readonly #left: LeftOver;
  readonly #clock: Clock;
  readonly #ids: CallIds;
  readonly #isOwn: boolean;
  #turn: string | null = null;
  #turns = 0;
  #said: string | null = null;
  #model: string | null = null;
  readonly #cwd: string;
  #totals: TranscriptUsage = noUsage;

  constructor(transcript: Transcript, session: string, left: LeftOver) {
    const { header, origin } = transcript;
    this.#session = session;
    this.#left = left;
    this.#clock = new Clock(transcript);
    this.#ids = new CallIds(session);
    this.#isOwn = header.tool === "codex";
    this.#cwd = header.cwd ?? "/";
    const hasGit = header.gitBranch !== null || header.gitCommit !== null || header.gitRemote !== null;
    const git = {
      ...(header.gitCommit === null ? {} : { commit_hash: header.gitCommit }),
      ...(header.gitBranch === null ? {} : { branch: header.gitBranch }),
      ...(header.gitRemote === null ? {} : { repository_url: header.gitRemote }),
    };
    this.line("session_meta", header.startedAtMs, {
      id: session,
      timestamp: isoTime(header.startedAtMs ?? 0),
      cwd: this.#cwd,
      // A fork in the tool keeps this field, but not unknown ones.
      originator: origin === undefined ? "codex_cli_rs" : `skein ${markOf(origin)}`,
      cli_version: this.#isOwn ? (header.toolVersion ?? "0.50.0") : "0.50.0",
      source: "cli",
      model_provider: "openai",
      ...(hasGit ? { git } : {}),
    });
    if (header.title !== null)
      this.#event(header.startedAtMs, {
        type: "thread_name_updated",
        thread_id: session,
        thread_name: header.title,
      });
  }

  line(type: string, atMs: number | null, payload: Record<string, unknown>): void {
    this.lines.push({ timestamp: isoTime(this.#clock.at(atMs)), type, payload });
  }

  #event(atMs: number | null, payload: Record<string, unknown>): void {
    this.line("event_msg", atMs, payload);
  }

  #item(atMs: number | null, payload: Record<string, unknown>): void {
    this.line("response_item", atMs, payload);
  }

  addInput(from: "user" | "context", blocks: readonly TranscriptBlock[], atMs: number | null): void {
    const content = blocks.flatMap((block) => this.#part(block));
    if (from === "context") return this.#item(atMs, { type: "message", role: "developer", content });
    this.finish();
    this.#turns += 1;
    this.#turn = codexTurnId(this.#session, this.#turns);
    this.#event(atMs, { type: "task_started", turn_id: this.#turn });
    this.#event(atMs, {
      type: "user_message",
      message: textOfBlocks(blocks),
      images: [],
      local_images: [],
      text_elements: [],
    });
    this.#item(atMs, { type: "message", role: "user", content });
  }

  #part(block: TranscriptBlock): Record<string, unknown>[] {
    if (block.type === "text") return [{ type: "input_text", text: block.text }];
    if (block.type === "thinking") {
      this.#left.add("thinking block outside an answer");
      return [];
    }
    if (block.data !== null && block.mediaType.startsWith("image/"))
      return [{ type: "input_image", image_url: `data:${block.mediaType};base64,${block.data}` }];
    this.#left.add("attachment, written as its name");
    return [{ type: "input_text", text: `[attachment: ${block.name ?? block.mediaType}]` }];
  }

  addAnswer(entry: AnswerEntry, at: number): void {
    if (entry.model !== null && entry.model !== this.#model) {
      this.#model = entry.model;
      this.line("turn_context", entry.atMs, {
        cwd: this.#cwd,
        approval_policy: "on-request",
        sandbox_policy: { type: "read-only" },
        model: entry.model,
        summary: "auto",
      });
    }
    for (const block of entry.blocks) this.#addBlock(block, entry.atMs);
    if (entry.error !== null && entry.blocks.length + entry.calls.length === 0)
      this.#event(entry.atMs, { type: "error", message: entry.error });
    else if (entry.error !== null) this.#addBlock({ type: "text", text: entry.error }, entry.atMs);
    const calls = entry.calls.map((call, index) => ({ call, id: this.#ids.next(call.id, at, index) }));
    for (const { call, id } of calls)
      if (typeof call.input === "string")
        this.#item(entry.atMs, { type: "custom_tool_call", name: call.name, input: call.input, call_id: id });
      else
        this.#item(entry.atMs, {
          type: "function_call",
          name: call.name,
          arguments: JSON.stringify(call.input ?? {}),
          call_id: id,
        });
    if (entry.usage !== null) this.#addUsage(entry.usage, entry.atMs);
    for (const { call, id } of calls) {
      const type = typeof call.input === "string" ? "custom_tool_call_output" : "function_call_output";
      const images = call.output.some((block) => block.type === "attachment" && block.data !== null);
      const text = images ? call.output.flatMap((block) => this.#part(block)) : resultText(call);
      if (call.status === "error") this.#left.add("error status of a call");
      this.#item(call.endedAtMs ?? entry.atMs, { type, call_id: id, output: text });
    }
    if (entry.interrupted) this.#event(entry.atMs, { type: "turn_aborted", reason: "interrupted" });
  }

  #addBlock(block: TranscriptBlock, atMs: number | null): void {
    if (block.type === "text") {
      this.#said = block.text;
      this.#event(atMs, { type: "agent_message", message: block.text });
      const content = [{ type: "output_text", text: block.text }];
      this.#item(atMs, { type: "message", role: "assistant", content });
    } else if (block.type === "thinking" && this.#isOwn && typeof block.opaque === "string") {
      const summary = block.text === "" ? [] : [{ type: "summary_text", text: block.text }];
      this.#item(atMs, { type: "reasoning", summary, content: null, encrypted_content: block.opaque });
    } else
      this.#left.add(
        block.type === "thinking" ? "thinking block of another tool" : "attachment of an answer",
      );
  }

  #addUsage(usage: TranscriptUsage, atMs: number | null): void {
    this.#totals = addUsage(this.#totals, { ...usage, costUsd: null }) ?? this.#totals;
    if (usage.costUsd !== null) this.#left.add("cost of an answer");
    const counts = (one: TranscriptUsage): Record<string, number> => ({
      input_tokens: one.inputTokens,
      cached_input_tokens: one.cacheReadTokens,
      cache_write_input_tokens: one.cacheWriteTokens,
      output_tokens: one.outputTokens,
      reasoning_output_tokens: one.reasoningTokens,
      total_tokens: one.inputTokens + one.outputTokens,
    });
    const info = { total_token_usage: counts(this.#totals), last_token_usage: counts(usage) };
    this.#event(atMs, {
      type: "token_count",
      info: { ...info, model_context_window: null },
      rate_limits: null,
    });
  }

  finish(): void {
    if (this.#turn === null) return;
    this.#event(null, { type: "task_complete", turn_id: this.#turn, last_agent_message: this.#said });
    this.#turn = null;
    this.#said = null;
  }
}
