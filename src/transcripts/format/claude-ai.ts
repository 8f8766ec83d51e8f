/** Claude.ai's export: a zip with `conversations.json`, a list of messages per conversation. */
import type {
  ForeignEntry,
  FoundTranscript,
  PlannedEntry,
  SourceRange,
  SourceRecord,
  TranscriptBlock,
  TranscriptPlan,
  TranscriptReader,
} from "../model.ts";
import { readContent, type MessageContent } from "./anthropic-blocks.ts";
import { noResult, originOf, rangeOf } from "./draft.ts";
import { findElements, idFields } from "./export-elements.ts";
import type { TranscriptFormat } from "./format.ts";
import { fieldsOf, listOf, nameOf, textOf, timeOf, type Fields } from "./json-value.ts";
import { ReportCounter } from "./report.ts";
import { treePaths, type TreeNode } from "./tree-paths.ts";

export const claudeAi: TranscriptFormat = {
  name: "claude-ai",
  title: "Claude.ai export",
  expects: "the export's .zip, its folder, or conversations.json",
  // An export lies where the browser saved it.
  folders: () => [],
  find: (folder) => findElements(folder, "claude-ai", { container: "chat_messages", idOf: idFields("uuid") }),
  split: (found, file) =>
    file === found.files[0] ? { by: "field", field: "chat_messages" } : { by: "nothing" },
  reader: (found) => new ClaudeAiReader(found),
};

/** The parent of a first message. */
const root = "00000000-0000-4000-8000-000000000000";

interface MessageNode extends TreeNode {
  readonly range: SourceRange;
  readonly kind: "input" | "answer";
}

class ClaudeAiReader implements TranscriptReader {
  readonly #found: FoundTranscript;
  readonly #report = new ReportCounter();
  readonly #nodes = new Map<string, MessageNode>();
  #header: Fields = {};
  #model: string | null = null;
  #last: string | null = null;
  #unpaired = 0;
  #missing = 0;

  constructor(found: FoundTranscript) {
    this.#found = found;
  }

  damage(range: SourceRange, reason: string): void {
    this.#report.damage(range, reason);
  }

  scan(record: SourceRecord): void {
    const value = fieldsOf(record.value);
    if (value["sender"] === undefined) {
      this.#report.count("conversation");
      this.#header = value;
      this.#model = nameOf(value["model"]);
      return;
    }
    const sender = textOf(value["sender"]) ?? "(none)";
    this.#report.count(sender);
    if (sender !== "human" && sender !== "assistant") return this.#report.unknown(sender);
    this.#report.time(timeOf(value["created_at"]));
    const content = contentOf(value);
    content.unknown.forEach((type) => this.#report.unknown(type));
    const results = new Set(content.results.map(({ id }) => id));
    this.#unpaired += content.calls.filter(({ id }) => !results.has(id)).length;
    this.#missing += listOf(value["files"]).length;
    const id = nameOf(value["uuid"]) ?? `message-${record.from}`;
    const above = value["parent_message_uuid"];
    const parent = above === undefined ? this.#last : above === root ? null : textOf(above);
    this.#last = id;
    this.#nodes.set(id, {
      id,
      parent,
      range: rangeOf(record),
      kind: sender === "human" ? "input" : "answer",
    });
  }

  plan(): TranscriptPlan {
    const header = this.#header;
    const leaf = nameOf(header["current_leaf_message_uuid"]) ?? this.#last;
    const { main, branches, gaps } = treePaths(this.#nodes, leaf);
    return {
      header: {
        tool: "claude-ai",
        toolVersion: null,
        sourceId: nameOf(header["uuid"]) ?? this.#found.sourceId,
        title: nameOf(header["name"]),
        tags: [],
        cwd: null,
        gitBranch: null,
        gitCommit: null,
        gitRemote: null,
        startedAtMs: timeOf(header["created_at"]),
        parentId: null,
        forkedFrom: null,
      },
      entries: main.map(planOf),
      branches: branches.map(({ nodes, after }) => ({
        id: nodes.at(-1)?.id ?? "",
        after,
        entries: nodes.map(planOf),
      })),
      tasks: [],
      children: [],
      otherUsage: null,
      report: this.#report.report({ gaps, unpairedCalls: this.#unpaired, missingAttachments: this.#missing }),
    };
  }

  entry(planned: PlannedEntry, records: readonly SourceRecord[]): ForeignEntry {
    const value = fieldsOf(records[0]?.value);
    const origin = originOf(planned, records, timeOf(value["created_at"]));
    const content = contentOf(value);
    const blocks = [...content.blocks, ...attachmentsOf(value)];
    if (planned.kind === "input") return { ...origin, kind: "input", from: "user", blocks };
    const results = new Map(content.results.map((result) => [result.id ?? "", result]));
    return {
      ...origin,
      kind: "answer",
      model: nameOf(value["model"]) ?? this.#model,
      messageId: null,
      blocks,
      calls: content.calls.map((call) => {
        const result = results.get(call.id);
        if (result === undefined) return { ...call, ...noResult };
        return { ...call, status: result.isError ? "error" : "ok", output: result.output, endedAtMs: null };
      }),
      usage: null,
      interrupted: value["stop_reason"] === "user_canceled",
      error: null,
    };
  }
}

const planOf = ({ id, kind, range }: MessageNode): PlannedEntry => ({ id, kind, records: [range] });

/** `content` may be empty while `text` is not, and the other way round. Results may lack their call's id. */
function contentOf(value: Fields): MessageContent {
  const content = readContent(value["content"], textOf(value["uuid"]) ?? "");
  const isEmpty = content.blocks.length + content.calls.length + content.results.length === 0;
  const whole = isEmpty ? readContent(textOf(value["text"]) ?? "", "") : content;
  let next = 0;
  const results = whole.results.map((result, at) => {
    const id = result.id ?? whole.calls[next]?.id ?? `result-${at}`;
    next += 1;
    return { ...result, id };
  });
  return { ...whole, results };
}

function attachmentsOf(value: Fields): TranscriptBlock[] {
  const texts = listOf(value["attachments"]).map((item): TranscriptBlock => {
    const { file_name: name, extracted_content: text } = fieldsOf(item);
    return { type: "text", text: `${textOf(name) ?? "attachment"}\n${textOf(text) ?? ""}` };
  });
  const files = listOf(value["files"]).map((item): TranscriptBlock => {
    const name = nameOf(fieldsOf(item)["file_name"]);
    return { type: "attachment", name, mediaType: "application/octet-stream", data: null };
  });
  return [...texts, ...files];
}
