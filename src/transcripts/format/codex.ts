/** Codex CLI: `sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl`, typed lines in the order of the session. */
import { join } from "node:path";
import type {
  ForeignEntry,
  FoundTranscript,
  PlannedBranch,
  PlannedEntry,
  SourceRange,
  SourceRecord,
  TranscriptBlock,
  TranscriptCall,
  TranscriptPlan,
  TranscriptReader,
  TranscriptUsage,
} from "../model.ts";
import type { SourceFile } from "../read/source-folder.ts";
import * as item from "./codex-item.ts";
import { makeDraft, originOf, rangeOf, type EntryDraft, WaitingById } from "./draft.ts";
import { folderOf, type TranscriptFormat } from "./format.ts";
import { fieldsOf, listOf, nameOf, parsedOr, textOf, timeOf, type Fields } from "./json-value.ts";
import { addUsage, noUsage, ReportCounter } from "./report.ts";
import { CodexCopies } from "./codex-copy.ts";
import { TaskList } from "./task-list.ts";

export const codex: TranscriptFormat = {
  name: "codex",
  title: "Codex CLI",
  expects: "rollout-TIME-SESSION.jsonl files, as below ~/.codex/sessions",
  folders(on) {
    const root = folderOf(on, "CODEX_HOME", join(on.home, ".codex"));
    return [join(root, "sessions"), join(root, "archived_sessions")];
  },
  find: async (folder) => findRollouts(await folder.list(), folder.only),
  split: () => ({ by: "lines" }),
  reader: (found) => new CodexReader(found),
};

const rolloutEnd = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:_[0-9a-f-]+)?\.jsonl(?:\.zst)?$/;

/** The id of the session in `rollout-<time>-<id>.jsonl`; `null` if the path is not of this form. */
function rolloutId(path: string): string | null {
  const end = rolloutEnd.exec(path);
  if (end === null || !`/${path.slice(0, end.index)}`.includes("/rollout-")) return null;
  return end[1] ?? null;
}

function findRollouts(files: readonly SourceFile[], only: string | null): FoundTranscript[] {
  return files.flatMap((file): FoundTranscript[] => {
    const id = rolloutId(file.path);
    if (file.bytes === 0 || (only === null ? id === null : file.path !== only)) return [];
    return [
      {
        tool: "codex",
        sourceId: id ?? file.path,
        files: [file.path],
        piece: null,
        parentId: null,
        bytes: file.bytes,
        modifiedAtMs: file.modifiedAtMs,
      },
    ];
  });
}

/** Lines that the model did not see. */
const otherLines = new Set([
  "world_state",
  "inter_agent_communication",
  "inter_agent_communication_metadata",
  "security_risk_score",
  "token_usage_record",
  "retained_context",
  "realtime_item",
]);
const otherItems = new Set(["compaction", "compaction_summary", "ghost_snapshot", "other"]);

interface AnswerDraft extends EntryDraft {
  /** A result came, or the usage of the response: the next item of the model begins a new answer. */
  isOver: boolean;
  model: string | null;
  usage: TranscriptUsage | null;
  readonly copyId: string;
}

class CodexReader implements TranscriptReader {
  readonly #found: FoundTranscript;
  readonly #report = new ReportCounter();
  readonly #tasks = new TaskList();
  #drafts: EntryDraft[] = [];
  readonly #branches: PlannedBranch[] = [];
  readonly #answers = new Map<string, AnswerDraft>();
  /** Repeats of the conversation for screens: read where nothing else is there. */
  readonly #events: EntryDraft[] = [];
  readonly #prompts = new Set<string>();
  /** Calls without an output. */
  readonly #calls = new WaitingById<{ readonly answer: AnswerDraft; readonly isOpen: boolean }>();
  readonly #interrupted = new Set<string>();
  readonly #children = new Map<string, string | null>();
  #answer: AnswerDraft | null = null;
  #meta: Fields | null = null;
  #version: string | null = null;
  #model: string | null = null;
  #title: string | null = null;
  #cwd: string | null = null;
  #startedAtMs: number | null = null;
  #totals: TranscriptUsage | null = null;
  #otherUsage: TranscriptUsage | null = null;
  #isFork = false;
  readonly #copies = new CodexCopies();

  constructor(found: FoundTranscript) {
    this.#found = found;
  }

  damage(range: SourceRange, reason: string): void {
    this.#report.damage(range, reason);
  }

  scan(record: SourceRecord): void {
    const line = fieldsOf(record.value);
    const { type, payload } = unwrap(line);
    const inner = type === "response_item" || type === "event_msg" ? `:${textOf(payload["type"]) ?? ""}` : "";
    this.#report.count(`${type}${inner}`);
    const atMs = timeOf(line["timestamp"]);
    this.#report.time(atMs);
    this.#startedAtMs ??= atMs;
    if (type === "session_meta") this.#scanMeta(payload);
    else if (type === "response_item") this.#scanItem(record, payload);
    else if (type === "event_msg") this.#scanEvent(record, payload);
    else if (type === "turn_context") {
      this.#model = nameOf(payload["model"]) ?? this.#model;
      this.#cwd ??= nameOf(payload["cwd"]);
      this.#report.unmapped(type);
    } else if (type === "compacted") this.#begin(makeDraft(`item-${record.from}`, "compaction", record));
    else if (otherLines.has(type)) this.#report.unmapped(type);
    else this.#report.unknown(type);
  }

  #scanMeta(payload: Fields): void {
    this.#copies.begin(payload);
    // Only the first is this file's; a fork has its source's after it.
    if (this.#meta !== null) {
      this.#isFork = true;
      return this.#report.unmapped("session_meta of another session");
    }
    this.#meta = payload;
    this.#version = nameOf(payload["cli_version"]);
    this.#cwd = nameOf(payload["cwd"]) ?? this.#cwd;
    this.#startedAtMs = timeOf(payload["timestamp"]) ?? this.#startedAtMs;
    this.#isFork ||= nameOf(payload["forked_from_id"]) !== null;
    // The beginning of the session lies in another rollout.
    if (payload["history_base"] !== undefined && payload["history_base"] !== null) this.#report.gaps += 1;
  }

  #scanItem(record: SourceRecord, payload: Fields): void {
    const type = textOf(payload["type"]) ?? "(none)";
    this.#copies.item(payload);
    if (type === "message" && payload["role"] !== "assistant") {
      const draft = makeDraft(`item-${record.from}`, "input", record);
      if (!item.isContext(payload)) this.#prompts.add(draft.id);
      this.#begin(draft);
    } else if (type === "message" || type === "reasoning") this.#addToAnswer(record);
    else if (item.callTypes.has(type)) this.#scanCall(record, payload, type);
    else if (item.outputTypes.has(type)) this.#scanOutput(record, payload);
    else if (type === "agent_message") this.#begin(makeDraft(`item-${record.from}`, "input", record));
    else if (otherItems.has(type)) this.#report.unmapped(`response_item:${type}`);
    else this.#report.unknown(`response_item:${type}`);
  }

  #begin(draft: EntryDraft): void {
    this.#answer = null;
    this.#drafts.push(draft);
  }

  #addToAnswer(record: SourceRecord): AnswerDraft {
    if (this.#answer !== null && !this.#answer.isOver) {
      this.#answer.records.push(rangeOf(record));
      return this.#answer;
    }
    const draft = makeDraft(`item-${record.from}`, "answer", record);
    this.#answer = {
      ...draft,
      isOver: false,
      model: this.#model,
      usage: null,
      copyId: this.#copies.id(),
    };
    this.#answers.set(draft.id, this.#answer);
    this.#drafts.push(this.#answer);
    return this.#answer;
  }

  #scanCall(record: SourceRecord, payload: Fields, type: string): void {
    const answer = this.#addToAnswer(record);
    const id = item.callId(payload, record.from);
    this.#calls.add(id, { answer, isOpen: item.callOf(payload, record.from).status === "unknown" });
    if (type === "function_call" && payload["name"] === "update_plan")
      this.#tasks.replace(fieldsOf(parsedOr(payload["arguments"]))["plan"]);
  }

  #scanOutput(record: SourceRecord, payload: Fields): void {
    const id = item.callId(payload, record.from);
    const owner = this.#calls.take(id)?.answer;
    if (owner === undefined) return this.#begin(makeDraft(`item-${record.from}`, "input", record));
    owner.records.push(rangeOf(record));
    owner.isOver = true;
  }

  #scanEvent(record: SourceRecord, payload: Fields): void {
    const type = textOf(payload["type"]) ?? "(none)";
    if (type === "token_count") this.#scanUsage(fieldsOf(payload["info"]));
    else if (type === "thread_rolled_back") this.#rollBack(Number(payload["num_turns"]), record.from);
    else if (type === "thread_name_updated") this.#title = nameOf(payload["thread_name"]) ?? this.#title;
    else if (type === "task_started") {
      this.#copies.turn(payload, record.from);
      this.#report.unmapped(`event_msg:${type}`);
    } else if (type === "user_message" || type === "agent_message") {
      const draft = makeDraft(`item-${record.from}`, type === "user_message" ? "input" : "answer", record);
      if (type === "user_message") this.#prompts.add(draft.id);
      this.#events.push(draft);
    } else if (type === "turn_aborted") {
      const answer = this.#drafts.findLast(({ kind }) => kind === "answer");
      if (answer !== undefined) this.#interrupted.add(answer.id);
    } else if (type === "error" && this.#answer === null) this.#addToAnswer(record);
    else {
      const child = nameOf(payload["new_thread_id"]);
      if (child !== null) this.#children.set(child, nameOf(payload["call_id"]));
      this.#report.unmapped(`event_msg:${type}`);
    }
  }

  /** Lines repeat, so that only growth of the total counts. A fork begins with the total of its source. */
  #scanUsage(info: Fields): void {
    if (info["total_token_usage"] === undefined) return;
    const now = item.totalsOf(info["total_token_usage"]);
    const last = item.totalsOf(info["last_token_usage"]);
    const before = this.#totals ?? (this.#isFork ? null : noUsage);
    this.#totals = now;
    const growth = before === null ? last : item.growthOf(before, now);
    if (growth === null) return;
    const used = growth ?? last;
    const answer = this.#answer ?? this.#lastAnswer();
    if (answer === undefined) this.#otherUsage = addUsage(this.#otherUsage, used);
    else {
      answer.usage = addUsage(answer.usage, used);
      answer.isOver = true;
    }
  }

  #lastAnswer(): AnswerDraft | undefined {
    const draft = this.#drafts.findLast(({ kind }) => kind === "answer");
    return draft === undefined ? undefined : this.#answers.get(draft.id);
  }

  /** The last turns of the person leave the session; they stay as a branch. */
  #rollBack(turns: number, from: number): void {
    let cut = this.#drafts.length;
    for (let left = Number.isFinite(turns) ? turns : 0; left > 0 && cut > 0; left--) {
      cut = this.#drafts.slice(0, cut).findLastIndex(({ id }) => this.#prompts.has(id));
      if (cut === -1) cut = 0;
    }
    if (cut === this.#drafts.length) return;
    const after = this.#drafts[cut - 1]?.id ?? null;
    this.#branches.push({ id: `rollback-${from}`, after, entries: this.#drafts.slice(cut) });
    this.#drafts = this.#drafts.slice(0, cut);
    this.#answer = null;
  }

  plan(): TranscriptPlan {
    const meta = this.#meta ?? {};
    const git = fieldsOf(meta["git"]);
    const spawn = fieldsOf(fieldsOf(fieldsOf(meta["source"])["subagent"])["thread_spawn"]);
    const speaks = this.#drafts.some(({ id, kind }) => kind === "answer" || this.#prompts.has(id));
    return {
      header: {
        tool: "codex",
        toolVersion: this.#version,
        sourceId: nameOf(meta["id"]) ?? this.#found.sourceId,
        title: this.#title,
        tags: [],
        cwd: this.#cwd,
        gitBranch: nameOf(git["branch"]),
        gitCommit: nameOf(git["commit_hash"]),
        gitRemote: nameOf(git["repository_url"]),
        startedAtMs: this.#startedAtMs,
        parentId: nameOf(meta["parent_thread_id"]) ?? nameOf(spawn["parent_thread_id"]),
        forkedFrom: nameOf(meta["forked_from_id"]),
      },
      entries: (speaks ? this.#drafts : [...this.#drafts, ...this.#events]).map(plainDraft),
      branches: this.#branches.map((branch) => ({
        ...branch,
        entries: Array.from(branch.entries, plainDraft),
      })),
      tasks: this.#tasks.tasks,
      children: [...this.#children].map(([sourceId, call]) => ({ sourceId, call, entries: [] })),
      otherUsage: this.#otherUsage,
      report: this.#report.report({
        unpairedCalls: this.#calls.values().filter(({ isOpen }) => isOpen).length,
      }),
      ...this.#copies.written(),
    };
  }

  entry(planned: PlannedEntry, records: readonly SourceRecord[]): ForeignEntry {
    const [first] = records;
    const line = fieldsOf(first?.value);
    const origin = originOf(planned, records, timeOf(line["timestamp"]));
    const { payload } = unwrap(line);
    if (planned.kind === "compaction")
      return {
        ...origin,
        kind: "compaction",
        summary: summaryOf(payload),
        keptFrom: null,
        tokensBefore: null,
      };
    if (planned.kind === "input")
      return {
        ...origin,
        kind: "input",
        from: this.#prompts.has(planned.id) ? "user" : "context",
        blocks: inputBlocks(payload),
      };
    const answer = this.#answers.get(planned.id);
    return {
      ...origin,
      kind: "answer",
      model: answer?.model ?? null,
      messageId: null,
      ...(answer === undefined ? {} : { copyId: answer.copyId }),
      usage: answer?.usage ?? null,
      interrupted: this.#interrupted.has(planned.id),
      ...answerOf(records),
    };
  }
}

const plainDraft = ({ id, kind, records }: PlannedEntry): PlannedEntry => ({ id, kind, records });

/** Up to 0.4x items had no wrapper, and the first line was a bare head. */
function unwrap(line: Fields): { readonly type: string; readonly payload: Fields } {
  const type = textOf(line["type"]);
  if (line["payload"] !== undefined) return { type: type ?? "(none)", payload: fieldsOf(line["payload"]) };
  if (type === null && typeof line["id"] === "string" && typeof line["timestamp"] === "string")
    return { type: "session_meta", payload: line };
  const isItem =
    (type === "message" && line["role"] !== undefined) ||
    type === "reasoning" ||
    (type !== null &&
      line["call_id"] !== undefined &&
      (item.callTypes.has(type) || item.outputTypes.has(type)));
  return isItem ? { type: "response_item", payload: line } : { type: type ?? "(none)", payload: line };
}

function inputBlocks(payload: Fields): readonly TranscriptBlock[] {
  if (item.outputTypes.has(textOf(payload["type"]) ?? "")) return item.outputOf(payload).output;
  const images = listOf(payload["images"]).map(item.imageOf);
  return [...item.messageBlocks(payload["content"] ?? payload["message"]), ...images];
}

/** A replacement history, if there is one, is all that the model sees from here on. */
function summaryOf(payload: Fields): string {
  const texts = listOf(payload["replacement_history"]).flatMap((entry) => {
    const message = fieldsOf(entry);
    if (message["type"] !== "message" || (message["role"] === "user" && item.isContext(message))) return [];
    if (message["role"] !== "user" && message["role"] !== "assistant") return [];
    return item
      .messageBlocks(message["content"])
      .flatMap((block) => (block.type === "text" ? block.text : []));
  });
  return texts.length > 0 ? texts.join("\n\n") : (textOf(payload["message"]) ?? "");
}

type AnswerContent = Pick<Extract<ForeignEntry, { kind: "answer" }>, "blocks" | "calls" | "error">;

function answerOf(records: readonly SourceRecord[]): AnswerContent {
  const blocks: TranscriptBlock[] = [];
  const calls: TranscriptCall[] = [];
  const waiting = new WaitingById<number>();
  let error: string | null = null;
  for (const { value, from } of records) {
    const line = fieldsOf(value);
    const { payload } = unwrap(line);
    const type = textOf(payload["type"]) ?? "";
    if (type === "message" || type === "agent_message")
      blocks.push(...item.messageBlocks(payload["content"] ?? payload["message"]));
    else if (type === "reasoning") blocks.push(item.reasoningOf(payload));
    else if (type === "error") error = nameOf(payload["message"]) ?? "error";
    else if (item.callTypes.has(type)) {
      waiting.add(item.callId(payload, from), calls.length);
      calls.push(item.callOf(payload, from));
    } else if (item.outputTypes.has(type)) {
      const at = waiting.take(item.callId(payload, from)) ?? -1;
      const call = calls[at];
      const endedAtMs = timeOf(line["timestamp"]);
      if (call !== undefined) calls[at] = { ...call, ...item.outputOf(payload), endedAtMs };
    }
  }
  return { blocks, calls, error };
}
