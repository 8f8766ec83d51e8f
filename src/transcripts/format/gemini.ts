/** Gemini CLI: `tmp/<project>/chats/session-*.jsonl` with patches, and one JSON document before 0.40. */
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
import { originOf, rangeOf } from "./draft.ts";
import { folderOf, type TranscriptFormat } from "./format.ts";
import { countOf, fieldsOf, listOf, nameOf, textOf, timeOf, type Fields } from "./json-value.ts";
import { ReportCounter } from "./report.ts";

export const gemini: TranscriptFormat = {
  name: "gemini",
  title: "Gemini CLI",
  expects: "session-*.json or .jsonl files, as in ~/.gemini/tmp/*/chats",
  folders: (on) => [join(folderOf(on, "GEMINI_CLI_HOME", on.home), ".gemini", "tmp")],
  async find(folder) {
    const files = await folder.list();
    return files.flatMap((file): FoundTranscript[] => {
      const isWanted = folder.only === null ? sessionFile.test(file.path) : file.path === folder.only;
      if (!isWanted || file.bytes === 0) return [];
      const sourceId =
        file.path
          .split("/")
          .at(-1)
          ?.replace(/\.jsonl?$/, "") ?? file.path;
      const parentId = /\/chats\/([^/]+)\/[^/]+$/.exec(`/${file.path}`)?.[1] ?? null;
      const { bytes, modifiedAtMs } = file;
      return [{ tool: "gemini", sourceId, files: [file.path], piece: null, parentId, bytes, modifiedAtMs }];
    });
  },
  split: (_found, file) => (file.endsWith(".jsonl") ? { by: "lines" } : { by: "field", field: "messages" }),
  reader: (found) => new GeminiReader(found),
};

const sessionFile = /(^|\/)chats\/([^/]+\/)?[^/]+\.jsonl?$|(^|\/)session-[^/]+\.jsonl?$/;

interface Message {
  readonly id: string;
  readonly range: SourceRange;
  readonly kind: "input" | "answer" | null;
  readonly calls: readonly {
    readonly id: string;
    readonly agent: string | null;
    readonly isPaired: boolean;
  }[];
}

class GeminiReader implements TranscriptReader {
  readonly #found: FoundTranscript;
  readonly #report = new ReportCounter();
  #messages = new Map<string, Message>();
  readonly #branches: PlannedBranch[] = [];
  #header: Fields = {};

  constructor(found: FoundTranscript) {
    this.#found = found;
  }

  damage(range: SourceRange, reason: string): void {
    this.#report.damage(range, reason);
  }

  scan(record: SourceRecord): void {
    const value = fieldsOf(record.value);
    if (value["$set"] !== undefined) this.#patch(fieldsOf(value["$set"]), record);
    else if (value["$rewindTo"] !== undefined) this.#rewind(textOf(value["$rewindTo"]) ?? "", record.from);
    else if (value["sessionId"] !== undefined && value["type"] === undefined) {
      this.#report.count("header");
      this.#header = { ...value, ...this.#header };
    } else this.#scanMessage(value, record);
  }

  #patch(fields: Fields, record: SourceRecord): void {
    this.#report.count("$set");
    const { messages, ...rest } = fields;
    this.#header = { ...this.#header, ...rest };
    if (!Array.isArray(messages)) return;
    this.#cutFrom(0, `set-${record.from}`);
    for (const message of messages) this.#scanMessage(fieldsOf(message), record);
  }

  #scanMessage(value: Fields, record: SourceRecord): void {
    const type = textOf(value["type"]) ?? "(none)";
    this.#report.count(type);
    this.#report.time(timeOf(value["timestamp"]));
    const kind = type === "user" ? "input" : type === "gemini" || type === "model" ? "answer" : null;
    if (kind === null) {
      if (type === "info" || type === "error" || type === "warning") this.#report.unmapped(type);
      else return this.#report.unknown(type);
    }
    const id = nameOf(value["id"]) ?? `line-${record.from}`;
    const calls = callsOf(value).map((call, at) => ({
      id: call.id,
      agent: nameOf(fieldsOf(listOf(value["toolCalls"])[at])["agentId"]),
      isPaired: call.status !== "unknown",
    }));
    // A message with a known id replaces the earlier one in its place.
    this.#messages.set(id, { id, range: rangeOf(record), kind, calls });
  }

  #rewind(id: string, from: number): void {
    this.#report.count("$rewindTo");
    const at = [...this.#messages.keys()].indexOf(id);
    this.#cutFrom(at === -1 ? 0 : at, `rewind-${from}`);
  }

  /** Messages from this one on leave the session; they stay as a branch. */
  #cutFrom(at: number, id: string): void {
    const all = [...this.#messages.values()];
    const entries = all.slice(at).flatMap(planOf);
    const after = all.slice(0, at).findLast(({ kind }) => kind !== null)?.id ?? null;
    if (entries.length > 0) this.#branches.push({ id, after, entries });
    this.#messages = new Map(all.slice(0, at).map((message) => [message.id, message]));
  }

  plan(): TranscriptPlan {
    const messages = [...this.#messages.values()];
    const calls = messages.flatMap((message) => message.calls);
    const header = this.#header;
    return {
      header: {
        tool: "gemini",
        toolVersion: null,
        sourceId: nameOf(header["sessionId"]) ?? this.#found.sourceId,
        title: nameOf(header["summary"]),
        tags: [],
        cwd: nameOf(listOf(header["directories"])[0]),
        gitBranch: null,
        gitCommit: null,
        gitRemote: null,
        startedAtMs: timeOf(header["startTime"]),
        parentId: header["kind"] === "subagent" ? this.#found.parentId : null,
        forkedFrom: null,
      },
      entries: messages.flatMap(planOf),
      branches: this.#branches,
      tasks: [],
      children: calls.flatMap(({ id, agent }) =>
        agent === null ? [] : [{ sourceId: agent, call: id, entries: [] }],
      ),
      otherUsage: null,
      report: this.#report.report({ unpairedCalls: calls.filter(({ isPaired }) => !isPaired).length }),
    };
  }

  entry(planned: PlannedEntry, records: readonly SourceRecord[]): ForeignEntry {
    const whole = fieldsOf(records[0]?.value);
    const listed = listOf(fieldsOf(whole["$set"])["messages"]).map(fieldsOf);
    const value =
      whole["$set"] === undefined ? whole : (listed.find((one) => one["id"] === planned.id) ?? {});
    const origin = originOf(planned, records, timeOf(value["timestamp"]));
    const blocks = partBlocks(value["content"] ?? value["parts"]);
    if (planned.kind === "input") {
      const [first] = blocks;
      const isGiven = first?.type === "text" && first.text.startsWith("This is the Gemini CLI.");
      return { ...origin, kind: "input", from: isGiven ? "context" : "user", blocks };
    }
    const thoughts = listOf(value["thoughts"]).flatMap((thought): TranscriptBlock[] => {
      const { subject, description } = fieldsOf(thought);
      const text = [nameOf(subject), nameOf(description)].filter((part) => part !== null).join("\n");
      return text === "" ? [] : [{ type: "thinking", text }];
    });
    return {
      ...origin,
      kind: "answer",
      model: nameOf(value["model"]),
      messageId: null,
      blocks: [...thoughts, ...blocks],
      calls: callsOf(value),
      usage: usageOf(value["tokens"]),
      interrupted: false,
      error: null,
    };
  }
}

function planOf({ id, kind, range }: Message): PlannedEntry[] {
  return kind === null ? [] : [{ id, kind, records: [range] }];
}

function partBlocks(content: unknown): TranscriptBlock[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const parts = Array.isArray(content)
    ? listOf(content)
    : content === undefined || content === null
      ? []
      : [content];
  return parts.flatMap((item): TranscriptBlock[] => {
    if (typeof item === "string") return item === "" ? [] : [{ type: "text", text: item }];
    const part = fieldsOf(item);
    const text = nameOf(part["text"]);
    if (text !== null) {
      const opaque = nameOf(part["thoughtSignature"]);
      if (part["thought"] !== true) return [{ type: "text", text }];
      return [{ type: "thinking", text, ...(opaque === null ? {} : { opaque }) }];
    }
    const inline = fieldsOf(part["inlineData"]);
    const file = fieldsOf(part["fileData"]);
    const mediaType = nameOf(inline["mimeType"]) ?? nameOf(file["mimeType"]);
    if (mediaType === null) return [];
    return [{ type: "attachment", name: nameOf(file["fileUri"]), mediaType, data: textOf(inline["data"]) }];
  });
}

function callsOf(value: Fields): TranscriptCall[] {
  return listOf(value["toolCalls"]).map((item, at) => {
    const call = fieldsOf(item);
    const hasResult = Array.isArray(call["result"]) || typeof call["result"] === "string";
    const failed = call["status"] === "error" || call["status"] === "cancelled";
    return {
      id: nameOf(call["id"]) ?? `${textOf(value["id"]) ?? ""}#${at}`,
      name: nameOf(call["name"]) ?? "(unnamed)",
      input: call["args"] ?? {},
      status: failed ? "error" : hasResult ? "ok" : "unknown",
      output: resultBlocks(call["result"]),
      ...(call["resultDisplay"] === undefined ? {} : { structured: call["resultDisplay"] }),
      endedAtMs: timeOf(call["timestamp"]),
    };
  });
}

function resultBlocks(result: unknown): TranscriptBlock[] {
  if (typeof result === "string") return partBlocks(result);
  return listOf(result).flatMap((item): TranscriptBlock[] => {
    const part = fieldsOf(item);
    if (part["functionResponse"] === undefined) return partBlocks([item]);
    const { response } = fieldsOf(part["functionResponse"]);
    const { output, error } = fieldsOf(response);
    return [{ type: "text", text: textOf(output) ?? textOf(error) ?? JSON.stringify(response ?? null) }];
  });
}

/** Thoughts are counted beside the output, and prompts of tools beside the input. */
function usageOf(value: unknown): TranscriptUsage | null {
  if (typeof value !== "object" || value === null) return null;
  const tokens = fieldsOf(value);
  const reasoningTokens = countOf(tokens["thoughts"]);
  return {
    inputTokens: countOf(tokens["input"]) + countOf(tokens["tool"]),
    outputTokens: countOf(tokens["output"]) + reasoningTokens,
    cacheReadTokens: countOf(tokens["cached"]),
    cacheWriteTokens: 0,
    reasoningTokens,
    costUsd: null,
  };
}
