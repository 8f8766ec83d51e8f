/** The first pass over a Claude Code file: what the order, the header and the report need of each record. */
import type { SourceRecord } from "../model.ts";
import * as record from "./claude-code-record.ts";
import { ClaudeTree, type NodeKind } from "./claude-code-tree.ts";
import { fieldsOf, listOf, nameOf, textOf, timeOf, type Fields } from "./json-value.ts";
import { ReportCounter } from "./report.ts";
import { markField, MarkedRecords } from "./skein-mark.ts";
import { TaskList } from "./task-list.ts";

export class ClaudeScan {
  readonly report = new ReportCounter();
  readonly tree = new ClaudeTree();
  readonly tasks = new TaskList();
  readonly titles = new Map<string, string>();
  readonly tags = new Set<string>();
  readonly children = new Map<string, string | null>();
  /** The call that an old sidechain answers, by the beginning of its prompt. */
  readonly prompts = new Map<string, string>();
  readonly sidechainPrompts = new Map<number, string>();
  readonly interruptions = new Set<number>();
  readonly kept = new Map<number, string>();
  /** Results with text beside them. */
  readonly saysMore = new Set<number>();
  readonly persisted: string[] = [];
  file = "";
  version: string | null = null;
  cwd: string | null = null;
  branch: string | null = null;
  agent: string | null = null;
  startedAtMs: number | null = null;
  forkedFrom: string | null = null;
  readonly marks = new MarkedRecords();

  scan(source: SourceRecord): void {
    const value = fieldsOf(source.value);
    const type = textOf(value["type"]) ?? "(none)";
    const subtype = type === "system" ? `:${textOf(value["subtype"]) ?? ""}` : "";
    this.report.count(`${type}${subtype}`);
    this.file = source.file;
    if (
      type === "user" ||
      type === "assistant" ||
      type === "system" ||
      type === "attachment" ||
      type === "progress"
    )
      return this.#scanChained(source, value, type);
    if (record.settingTypes.has(type)) this.#scanSetting(value, type);
    else {
      this.report.unknown(type);
      if (typeof value["uuid"] === "string") this.#addNode(source, value, { kind: "link" });
    }
  }

  #scanSetting(value: Fields, type: string): void {
    const title = nameOf(value["customTitle"]) ?? nameOf(value["aiTitle"]) ?? nameOf(value["summary"]);
    if (title !== null) this.titles.set(type, title);
    else if (type === "tag") {
      const tag = textOf(value["tag"]) ?? "";
      if (tag === "") this.tags.clear();
      else this.tags.add(tag);
    } else this.report.unmapped(type);
  }

  #scanChained(source: SourceRecord, value: Fields, type: string): void {
    this.marks.see(value[markField], source);
    const atMs = timeOf(value["timestamp"]);
    this.report.time(atMs);
    this.startedAtMs ??= atMs;
    this.version = nameOf(value["version"]) ?? this.version;
    this.cwd ??= nameOf(value["cwd"]);
    this.branch = nameOf(value["gitBranch"]) ?? this.branch;
    this.agent ??= nameOf(value["agentId"]);
    this.forkedFrom ??= nameOf(fieldsOf(value["forkedFrom"])["sessionId"]);
    if (type === "assistant") this.#scanAnswer(source, value);
    else if (type === "user") this.#scanUser(source, value);
    else if (type === "attachment") this.#scanAttachment(source, value);
    else if (value["subtype"] === "compact_boundary") this.#scanBoundary(source, value);
    else {
      this.report.unmapped(type === "system" ? `system:${textOf(value["subtype"]) ?? ""}` : type);
      if (type === "progress") this.#scanProgress(value);
      this.#addNode(source, value, { kind: "link" });
    }
  }

  #scanProgress(value: Fields): void {
    const agent = nameOf(fieldsOf(value["data"])["agentId"]);
    if (agent !== null) this.#addChild(agent, nameOf(value["parentToolUseID"]));
  }

  #addChild(agent: string, call: string | null): void {
    this.children.set(agent, this.children.get(agent) ?? call);
  }

  #scanAnswer(source: SourceRecord, value: Fields): void {
    const content = record.contentOf(value);
    content.unknown.forEach((type) => this.report.unknown(type));
    for (const { id, name, input } of content.calls) {
      this.tasks.call(id, name, input);
      const prompt = nameOf(fieldsOf(input)["prompt"]);
      if ((name === "Task" || name === "Agent") && prompt !== null)
        this.prompts.set(prompt.slice(0, 500), id);
    }
    const calls = content.calls.map(({ id }) => id);
    const results = content.results.map(({ id }) => id ?? "");
    const message = nameOf(fieldsOf(value["message"])["id"]);
    this.#addNode(source, value, { kind: "answer", message, calls, results });
  }

  #scanUser(source: SourceRecord, value: Fields): void {
    const content = record.contentOf(value);
    content.unknown.forEach((type) => this.report.unknown(type));
    const structured = value["toolUseResult"];
    const results = content.results.map(({ id }) => id ?? nameOf(value["sourceToolUseID"]) ?? "");
    for (const result of results) {
      this.tasks.result(result, structured);
      const agent = nameOf(fieldsOf(structured)["agentId"]);
      if (agent !== null) this.#addChild(agent, result);
    }
    if (Array.isArray(value["todos"]) && value["todos"].length > 0) this.tasks.replace(value["todos"]);
    const text = record.firstText(content.blocks);
    for (const { output } of content.results) this.#scanPersisted(record.firstText(output));
    const typed = record.typedByPerson(value, text);
    const kind: NodeKind =
      value["isCompactSummary"] === true
        ? "summary"
        : content.results.length > 0
          ? "result"
          : typed
            ? "prompt"
            : "context";
    const node = this.#addNode(source, value, { kind, results });
    if (node !== -1 && kind === "result" && content.blocks.length > 0) this.saysMore.add(node);
    if (node !== -1 && text.startsWith(record.interruption)) this.interruptions.add(node);
    if (node !== -1 && value["isSidechain"] === true && typed)
      this.sidechainPrompts.set(node, text.slice(0, 500));
  }

  /** A long output lies in a file beside; the transcript has its path and its beginning. */
  #scanPersisted(text: string): void {
    if (!text.startsWith("<persisted-output>")) return;
    for (const part of text.split(/[/\\\s]/)) {
      const name = /^.+\.(?:txt|json)/.exec(part)?.[0];
      if (name !== undefined) return void this.persisted.push(name);
    }
  }

  #scanAttachment(source: SourceRecord, value: Fields): void {
    const attachment = fieldsOf(value["attachment"]);
    const blocks = record.attachmentBlocks(attachment);
    if (blocks === null) this.report.unmapped(`attachment:${textOf(attachment["type"]) ?? ""}`);
    const isPrompt = record.isQueuedPrompt(attachment);
    this.#addNode(source, value, { kind: blocks === null ? "link" : isPrompt ? "prompt" : "context" });
  }

  #scanBoundary(source: SourceRecord, value: Fields): void {
    const node = this.#addNode(source, value, { kind: "boundary" });
    const metadata = fieldsOf(value["compactMetadata"]);
    const segment = fieldsOf(metadata["preservedSegment"]);
    const kept = listOf(fieldsOf(metadata["preservedMessages"])["uuids"])[0] ?? segment["headUuid"];
    if (node !== -1 && typeof kept === "string") this.kept.set(node, kept);
  }

  #addNode(
    { from, to }: SourceRecord,
    value: Fields,
    {
      kind,
      message = null,
      calls = [],
      results = [],
    }: { kind: NodeKind; message?: string | null; calls?: readonly string[]; results?: readonly string[] },
  ): number {
    const parent = value["parentUuid"];
    const isFirst = this.tree.add({
      uuid: nameOf(value["uuid"]) ?? `${from}`,
      parent: parent === null ? null : (textOf(parent) ?? undefined),
      logicalParent: nameOf(value["logicalParentUuid"]),
      kind,
      isSidechain: value["isSidechain"] === true,
      isMeta: value["isMeta"] === true,
      session: nameOf(value["sessionId"]) ?? "",
      message,
      calls,
      results,
      from,
      to,
    });
    if (!isFirst) this.report.unmapped("repeated record");
    return isFirst ? this.tree.size - 1 : -1;
  }
}
