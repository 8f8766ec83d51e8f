/** pi: `sessions/--<directory>--/<time>_<id>.jsonl`, a tree of entries; version 1 is a list without ids. */
import { join } from "node:path";
import type {
  ForeignEntry,
  FoundTranscript,
  PlannedEntry,
  SourceRange,
  SourceRecord,
  TranscriptBlock,
  TranscriptCall,
  TranscriptPlan,
  TranscriptReader,
  TranscriptUsage,
} from "../model.ts";
import { makeDraft, noResult, originOf, rangeOf, type EntryDraft, WaitingById } from "./draft.ts";
import { folderOf, type TranscriptFormat } from "./format.ts";
import { countOf, fieldsOf, listOf, nameOf, textOf, timeOf, type Fields } from "./json-value.ts";
import { addUsage, ReportCounter } from "./report.ts";
import { markField, MarkedRecords } from "./skein-mark.ts";
import { entryAbove, treePaths, type TreeNode } from "./tree-paths.ts";

export const pi: TranscriptFormat = {
  name: "pi",
  title: "pi",
  expects: ".jsonl files, as below ~/.pi/agent/sessions",
  folders: (on) => [join(folderOf(on, "PI_CODING_AGENT_DIR", join(on.home, ".pi", "agent")), "sessions")],
  async find(folder) {
    const files = await folder.list();
    return files.flatMap((file): FoundTranscript[] => {
      const isWanted = folder.only === null ? file.path.endsWith(".jsonl") : file.path === folder.only;
      if (!isWanted || file.bytes === 0) return [];
      const name = file.path.split("/").at(-1) ?? "";
      const sourceId = name.replace(/\.jsonl$/, "").replace(/^.*_/, "");
      const { bytes, modifiedAtMs } = file;
      return [{ tool: "pi", sourceId, files: [file.path], piece: null, parentId: null, bytes, modifiedAtMs }];
    });
  },
  begins: ({ type }) => type === "session",
  split: () => ({ by: "lines" }),
  reader: (found) => new PiReader(found),
};

interface PiNode extends TreeNode {
  readonly range: SourceRange;
  readonly kind: "input" | "answer" | "result" | "compaction" | "link";
  readonly calls: readonly string[];
  readonly keptFrom: string | null;
}

const settings = new Set(["model_change", "thinking_level_change", "label", "custom", "context_edit"]);

class PiReader implements TranscriptReader {
  readonly #found: FoundTranscript;
  readonly #report = new ReportCounter();
  readonly #nodes = new Map<string, PiNode>();
  readonly #ids: string[] = [];
  #header: Fields = {};
  #last: string | null = null;
  #title: string | null = null;
  #otherUsage: TranscriptUsage | null = null;
  readonly #kept = new Map<string, string | null>();
  readonly #marks = new MarkedRecords();

  constructor(found: FoundTranscript) {
    this.#found = found;
  }

  damage(range: SourceRange, reason: string): void {
    this.#report.damage(range, reason);
  }

  scan(record: SourceRecord): void {
    const value = fieldsOf(record.value);
    const type = textOf(value["type"]) ?? "(none)";
    const message = fieldsOf(value["message"]);
    this.#marks.see(value[markField], record);
    const role = type === "message" ? `:${textOf(message["role"]) ?? ""}` : "";
    this.#report.count(`${type}${role}`);
    this.#report.time(timeOf(value["timestamp"]));
    if (type === "session") {
      if (this.#header["type"] === undefined) this.#header = value;
      this.#ids.push("");
      return;
    }
    // Version 1 has neither ids nor parents: the order is the file's.
    const id = nameOf(value["id"]) ?? `line-${record.from}`;
    const parent = value["parentId"] === undefined ? this.#last : textOf(value["parentId"]);
    if (type === "usage") this.#otherUsage = addUsage(this.#otherUsage, usageOf(value["usage"]));
    if (type === "compaction" && value["usage"] !== undefined)
      this.#otherUsage = addUsage(this.#otherUsage, usageOf(value["usage"]));
    if (type === "session_info") this.#title = nameOf(value["name"]) ?? this.#title;
    const kind = this.#kindOf(type, textOf(message["role"]) ?? "");
    this.#ids.push(id);
    if (this.#nodes.has(id)) return this.#report.unmapped("repeated record");
    this.#last = id;
    this.#nodes.set(id, {
      id,
      parent,
      range: rangeOf(record),
      kind,
      calls:
        kind === "answer" ? callsOf(message).map((call) => call.id) : [textOf(message["toolCallId"]) ?? ""],
      keptFrom: nameOf(value["firstKeptEntryId"]) ?? this.#ids[Number(value["firstKeptEntryIndex"])] ?? null,
    });
  }

  #kindOf(type: string, role: string): PiNode["kind"] {
    if (type === "message") {
      if (role === "assistant") return "answer";
      if (role === "toolResult") return "result";
      if (role !== "system") return "input";
      this.#report.unmapped("message:system");
      return "link";
    }
    if (type === "compaction") return "compaction";
    if (type === "branch_summary" || type === "custom_message") return "input";
    if (settings.has(type)) this.#report.unmapped(type);
    else if (type !== "usage" && type !== "session_info") this.#report.unknown(type);
    return "link";
  }

  plan(): TranscriptPlan {
    const { main, branches, gaps } = treePaths(this.#nodes, this.#last);
    const entryOf = new Map<string, string>();
    const owners = new WaitingById<EntryDraft>();
    const planPath = (nodes: readonly PiNode[]): EntryDraft[] => {
      const drafts: EntryDraft[] = [];
      for (const node of nodes) {
        if (node.kind === "link") continue;
        const owner = node.kind === "result" ? owners.take(node.calls[0] ?? "") : undefined;
        if (owner !== undefined) {
          owner.records.push(node.range);
          entryOf.set(node.id, owner.id);
          continue;
        }
        const draft = makeDraft(node.id, node.kind === "result" ? "input" : node.kind, node.range);
        drafts.push(draft);
        entryOf.set(node.id, node.id);
        if (node.kind !== "answer") continue;
        for (const call of node.calls) owners.add(call, draft);
      }
      return drafts;
    };
    const entries = planPath(main);
    this.#keepFrom(main, entryOf);
    const planned = branches.flatMap((path) => {
      const own = planPath(path.nodes);
      this.#keepFrom(path.nodes, entryOf);
      const id = path.nodes.at(-1)?.id ?? "";
      return own.length === 0
        ? []
        : [{ id, after: entryAbove(this.#nodes, path.after, entryOf), entries: own }];
    });
    return {
      header: this.#planHeader(),
      entries,
      branches: planned,
      tasks: [],
      children: [],
      otherUsage: this.#otherUsage,
      report: this.#report.report({ gaps, unpairedCalls: owners.values().length }),
      ...this.#marks.written(),
    };
  }

  /** The first entry at or after the node that a compaction keeps from; a compaction may name itself. */
  #keepFrom(nodes: readonly PiNode[], entryOf: ReadonlyMap<string, string>): void {
    for (const { id, kind, keptFrom } of nodes) {
      if (kind !== "compaction") continue;
      const at = nodes.findIndex((node) => node.id === keptFrom);
      const end = nodes.findIndex((node) => node.id === id);
      const kept = at === -1 ? undefined : nodes.slice(at, end).find((node) => entryOf.has(node.id));
      this.#kept.set(id, kept === undefined ? null : (entryOf.get(kept.id) ?? null));
    }
  }

  #planHeader(): TranscriptPlan["header"] {
    const header = this.#header;
    const version = header["version"];
    return {
      tool: "pi",
      toolVersion: typeof version === "number" ? `format ${version}` : "format 1",
      sourceId: nameOf(header["id"]) ?? this.#found.sourceId,
      title: this.#title,
      tags: [],
      cwd: nameOf(header["cwd"]),
      gitBranch: null,
      gitCommit: null,
      gitRemote: null,
      startedAtMs: timeOf(header["timestamp"]),
      parentId: null,
      forkedFrom: nameOf(header["parentSession"]),
    };
  }

  entry(planned: PlannedEntry, records: readonly SourceRecord[]): ForeignEntry {
    const values = records.map(({ value }) => fieldsOf(value));
    const [first = {}] = values;
    const origin = originOf(planned, records, timeOf(first["timestamp"]));
    const message = fieldsOf(first["message"]);
    if (planned.kind === "compaction") {
      const tokensBefore = typeof first["tokensBefore"] === "number" ? countOf(first["tokensBefore"]) : null;
      const summary = textOf(first["summary"]) ?? "";
      return {
        ...origin,
        kind: "compaction",
        summary,
        keptFrom: this.#kept.get(planned.id) ?? null,
        tokensBefore,
      };
    }
    if (planned.kind === "input") {
      const from = first["type"] === "message" && message["role"] === "user" ? "user" : "context";
      return { ...origin, kind: "input", from, blocks: inputBlocks(first, message) };
    }
    const results = new WaitingById<{ readonly result: Fields; readonly endedAtMs: number | null }>();
    for (const value of values.slice(1)) {
      const result = fieldsOf(value["message"]);
      results.add(textOf(result["toolCallId"]) ?? "", { result, endedAtMs: timeOf(value["timestamp"]) });
    }
    const stop = message["stopReason"];
    return {
      ...origin,
      kind: "answer",
      model: nameOf(message["model"]),
      messageId: nameOf(message["responseId"]),
      // A fork keeps the entries as they are.
      copyId: `${planned.id} ${textOf(first["timestamp"]) ?? ""}`,
      blocks: blocksOf(message["content"]),
      calls: callsOf(message).map((call) => ({ ...call, ...outcomeOf(results.take(call.id)) })),
      usage: usageOf(message["usage"]),
      interrupted: stop === "aborted",
      error: stop === "error" ? (nameOf(message["errorMessage"]) ?? "error") : null,
    };
  }
}

function outcomeOf(
  found: { readonly result: Fields; readonly endedAtMs: number | null } | undefined,
): Pick<TranscriptCall, "status" | "output" | "structured" | "endedAtMs"> {
  if (found === undefined) return noResult;
  const { result, endedAtMs } = found;
  return {
    status: result["isError"] === true ? "error" : "ok",
    output: blocksOf(result["content"]),
    ...(result["details"] === undefined || result["details"] === null
      ? {}
      : { structured: result["details"] }),
    endedAtMs,
  };
}

function inputBlocks(value: Fields, message: Fields): TranscriptBlock[] {
  if (value["type"] === "branch_summary") return textBlock(value["summary"]);
  if (value["type"] === "custom_message") return blocksOf(value["content"]);
  if (message["role"] === "bashExecution")
    return textBlock(`$ ${textOf(message["command"]) ?? ""}\n${textOf(message["output"]) ?? ""}`);
  return blocksOf(message["content"]);
}

function textBlock(value: unknown): TranscriptBlock[] {
  const text = nameOf(value);
  return text === null ? [] : [{ type: "text", text }];
}

function blocksOf(content: unknown): TranscriptBlock[] {
  if (typeof content === "string") return textBlock(content);
  return listOf(content).flatMap((item): TranscriptBlock[] => {
    const block = fieldsOf(item);
    if (block["type"] === "text") return textBlock(block["text"]);
    if (block["type"] === "thinking") {
      const opaque = nameOf(block["thinkingSignature"]);
      return [
        { type: "thinking", text: textOf(block["thinking"]) ?? "", ...(opaque === null ? {} : { opaque }) },
      ];
    }
    if (block["type"] !== "image") return [];
    const mediaType = nameOf(block["mimeType"]) ?? "image/png";
    return [{ type: "attachment", name: null, mediaType, data: textOf(block["data"]) }];
  });
}

function callsOf(message: Fields): Pick<TranscriptCall, "id" | "name" | "input">[] {
  return listOf(message["content"]).flatMap((item, at) => {
    const block = fieldsOf(item);
    if (block["type"] !== "toolCall") return [];
    const id = nameOf(block["id"]) ?? `call-${at}`;
    return [{ id, name: nameOf(block["name"]) ?? "(unnamed)", input: block["arguments"] ?? {} }];
  });
}

function usageOf(value: unknown): TranscriptUsage | null {
  if (typeof value !== "object" || value === null) return null;
  const usage = fieldsOf(value);
  const cost = fieldsOf(usage["cost"])["total"];
  const cacheReadTokens = countOf(usage["cacheRead"]);
  const cacheWriteTokens = countOf(usage["cacheWrite"]);
  return {
    inputTokens: countOf(usage["input"]) + cacheReadTokens + cacheWriteTokens,
    outputTokens: countOf(usage["output"]),
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens: countOf(usage["reasoning"]),
    costUsd: typeof cost === "number" ? countOf(cost) : null,
  };
}
