/** ChatGPT's export: a zip with `conversations*.json`, a tree of messages per conversation. */
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
} from "../model.ts";
import { makeDraft, noResult, originOf, rangeOf, type EntryDraft } from "./draft.ts";
import { findElements, idFields } from "./export-elements.ts";
import type { TranscriptFormat } from "./format.ts";
import { fieldsOf, listOf, nameOf, parsedOr, textOf, timeOf, type Fields } from "./json-value.ts";
import { ReportCounter } from "./report.ts";
import { entryAbove, treePaths, type TreeNode } from "./tree-paths.ts";

export const chatgpt: TranscriptFormat = {
  name: "chatgpt",
  title: "ChatGPT export",
  expects: "the export's .zip, its folder, or conversations.json",
  // An export lies where the browser saved it.
  folders: () => [],
  find: (folder) =>
    findElements(folder, "chatgpt", { container: "mapping", idOf: idFields("conversation_id", "id") }),
  split: (found, file) => (file === found.files[0] ? { by: "field", field: "mapping" } : { by: "nothing" }),
  reader: (found) => new ChatgptReader(found),
};

type Role = "input" | "answer" | "call" | "result" | "skip";

interface MessageNode extends TreeNode {
  readonly range: SourceRange;
  readonly role: Role;
}

class ChatgptReader implements TranscriptReader {
  readonly #found: FoundTranscript;
  readonly #report = new ReportCounter();
  readonly #nodes = new Map<string, MessageNode>();
  #header: Fields = {};
  #missing = 0;

  constructor(found: FoundTranscript) {
    this.#found = found;
  }

  damage(range: SourceRange, reason: string): void {
    this.#report.damage(range, reason);
  }

  scan(record: SourceRecord): void {
    const value = fieldsOf(record.value);
    if (
      value["current_node"] !== undefined ||
      value["create_time"] !== undefined ||
      value["title"] !== undefined
    ) {
      this.#report.count("conversation");
      this.#header = value;
      return;
    }
    const message = fieldsOf(value["message"]);
    const role = textOf(fieldsOf(message["author"])["role"]) ?? "(root)";
    const type = textOf(fieldsOf(message["content"])["content_type"]);
    this.#report.count(type === null ? role : `${role}:${type}`);
    this.#report.time(timeOf(message["create_time"]));
    for (const block of blocksOf(message))
      if (block.type === "attachment" && block.data === null && !this.#hasFile(block.name))
        this.#missing += 1;
    const id = nameOf(value["id"]) ?? nameOf(message["id"]) ?? `node-${record.from}`;
    const range = rangeOf(record);
    this.#nodes.set(id, { id, parent: nameOf(value["parent"]), range, role: this.#roleOf(message, role) });
  }

  #hasFile(name: string | null): boolean {
    return name !== null && this.#found.files.some((file) => file.split("/").at(-1)?.startsWith(name));
  }

  #roleOf(message: Fields, role: string): Role {
    if (role === "(root)") return "skip";
    const isHidden = fieldsOf(message["metadata"])["is_visually_hidden_from_conversation"] === true;
    if (isHidden || (blocksOf(message).length === 0 && !isCall(message))) {
      this.#report.unmapped(isHidden ? "hidden message" : "empty message");
      return "skip";
    }
    if (role === "user" || role === "system") return "input";
    if (role === "tool") return "result";
    if (role === "assistant") return isCall(message) ? "call" : "answer";
    this.#report.unknown(role);
    return "skip";
  }

  plan(): TranscriptPlan {
    const header = this.#header;
    const { main, branches, gaps } = treePaths(this.#nodes, nameOf(header["current_node"]));
    const entryOf = new Map<string, string>();
    let unpairedCalls = 0;
    const planPath = (nodes: readonly MessageNode[]): EntryDraft[] => {
      const drafts: EntryDraft[] = [];
      let answer: EntryDraft | null = null;
      let open = 0;
      let before: Role = "skip";
      for (const { id, role, range } of nodes) {
        if (role === "skip") continue;
        if (role === "input") {
          unpairedCalls += open;
          open = 0;
          answer = null;
          drafts.push(makeDraft(id, "input", range));
        } else if (role === "result" && answer === null) drafts.push(makeDraft(id, "input", range));
        else if (answer === null || (open === 0 && before === "result" && role !== "result")) {
          answer = makeDraft(id, "answer", range);
          drafts.push(answer);
        } else answer.records.push(range);
        before = role;
        if (role === "call") open += 1;
        if (role === "result" && open > 0) open -= 1;
        entryOf.set(id, drafts.at(-1)?.id ?? id);
      }
      unpairedCalls += open;
      return drafts;
    };
    const entries = planPath(main);
    const planned = branches.flatMap((path) => {
      const own = planPath(path.nodes);
      const id = path.nodes.at(-1)?.id ?? "";
      return own.length === 0
        ? []
        : [{ id, after: entryAbove(this.#nodes, path.after, entryOf), entries: own }];
    });
    return {
      header: {
        tool: "chatgpt",
        toolVersion: null,
        sourceId: nameOf(header["conversation_id"]) ?? nameOf(header["id"]) ?? this.#found.sourceId,
        title: nameOf(header["title"]),
        tags: header["is_archived"] === true ? ["archived"] : [],
        cwd: null,
        gitBranch: null,
        gitCommit: null,
        gitRemote: null,
        startedAtMs: timeOf(header["create_time"]),
        parentId: null,
        forkedFrom: null,
      },
      entries,
      branches: planned,
      tasks: [],
      children: [],
      otherUsage: null,
      report: this.#report.report({ gaps, unpairedCalls, missingAttachments: this.#missing }),
    };
  }

  entry(planned: PlannedEntry, records: readonly SourceRecord[]): ForeignEntry {
    const messages = records.map(({ value }) => fieldsOf(fieldsOf(value)["message"]));
    const [first = {}] = messages;
    const origin = originOf(planned, records, timeOf(first["create_time"]));
    if (planned.kind !== "answer") {
      const type = fieldsOf(first["content"])["content_type"];
      const isTyped = fieldsOf(first["author"])["role"] === "user" && type !== "user_editable_context";
      return { ...origin, kind: "input", from: isTyped ? "user" : "context", blocks: blocksOf(first) };
    }
    const blocks: TranscriptBlock[] = [];
    const calls: TranscriptCall[] = [];
    let model: string | null = null;
    let error: string | null = null;
    for (const message of messages) {
      const role = fieldsOf(message["author"])["role"];
      if (isCall(message)) calls.push({ ...callOf(message), ...noResult });
      else if (role === "tool") {
        const at = calls.findIndex(({ status }) => status === "unknown");
        const call = calls[at];
        const isFailed = fieldsOf(message["content"])["content_type"] === "system_error";
        const result = { output: blocksOf(message), endedAtMs: timeOf(message["create_time"]) };
        if (call !== undefined) calls[at] = { ...call, ...result, status: isFailed ? "error" : "ok" };
        else blocks.push(...result.output);
      } else {
        blocks.push(...blocksOf(message));
        if (fieldsOf(message["content"])["content_type"] === "system_error")
          error = textsOf(message) || "error";
      }
      model ??= nameOf(fieldsOf(message["metadata"])["model_slug"]);
    }
    const isCut = messages.at(-1)?.["status"] === "in_progress";
    return {
      ...origin,
      kind: "answer",
      model,
      messageId: null,
      blocks,
      calls,
      usage: null,
      interrupted: isCut,
      error,
    };
  }
}

/** A call is a message to a tool. */
function isCall(message: Fields): boolean {
  const recipient = textOf(message["recipient"]) ?? "all";
  return fieldsOf(message["author"])["role"] === "assistant" && recipient !== "all" && recipient !== "";
}

function callOf(message: Fields): Pick<TranscriptCall, "id" | "name" | "input"> {
  const input = parsedOr(textsOf(message));
  return { id: textOf(message["id"]) ?? "", name: textOf(message["recipient"]) ?? "", input };
}

const textsOf = (message: Fields): string =>
  blocksOf(message)
    .flatMap((block) => (block.type === "text" ? block.text : []))
    .join("\n");

function blocksOf(message: Fields): TranscriptBlock[] {
  const content = fieldsOf(message["content"]);
  const type = textOf(content["content_type"]) ?? "";
  if (type === "thoughts")
    return listOf(content["thoughts"]).flatMap((thought) => {
      const { summary, content: said } = fieldsOf(thought);
      return thinking([nameOf(summary), nameOf(said)].filter((part) => part !== null).join("\n"));
    });
  if (type === "reasoning_recap") return thinking(textOf(content["content"]) ?? "");
  if (Array.isArray(content["parts"])) return content["parts"].flatMap(partBlocks);
  const fields = ["text", "result", "user_profile", "user_instructions", "model_set_context"];
  return fields.flatMap((name) => partBlocks(content[name]));
}

const thinking = (text: string): TranscriptBlock[] => (text === "" ? [] : [{ type: "thinking", text }]);

function partBlocks(part: unknown): TranscriptBlock[] {
  if (typeof part === "string") return part === "" ? [] : [{ type: "text", text: part }];
  const { asset_pointer: pointer, text, content_type: type } = fieldsOf(part);
  if (nameOf(text) !== null) return [{ type: "text", text: nameOf(text) ?? "" }];
  const name = nameOf(pointer)?.replace(/^[a-z-]+:\/\//, "") ?? null;
  if (name === null) return [];
  const mediaType = textOf(type)?.startsWith("audio") === true ? "audio/wav" : "image/png";
  return [{ type: "attachment", name, mediaType, data: null }];
}
