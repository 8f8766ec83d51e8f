/** Claude Code: `projects/<directory>/<uuid>.jsonl`, a tree of records, one content block a line. */
import { join } from "node:path";
import type {
  ForeignEntry,
  FoundTranscript,
  PlannedBranch,
  PlannedChild,
  PlannedEntry,
  SourceRange,
  SourceRecord,
  TranscriptPlan,
  TranscriptReader,
} from "../model.ts";
import type { SourceFile } from "../read/source-folder.ts";
import * as record from "./claude-code-record.ts";
import { ClaudePlanner } from "./claude-code-plan.ts";
import { ClaudeScan } from "./claude-code-scan.ts";
import type { TreePath } from "./claude-code-tree.ts";
import { folderOf, type TranscriptFormat } from "./format.ts";
import { countOf, fieldsOf, nameOf, timeOf, type Fields } from "./json-value.ts";

export const claudeCode: TranscriptFormat = {
  name: "claude-code",
  title: "Claude Code",
  expects: "SESSION.jsonl files, as below ~/.claude/projects",
  folders: (on) => [join(folderOf(on, "CLAUDE_CONFIG_DIR", join(on.home, ".claude")), "projects")],
  find: async (folder) => findSessions(await folder.list(), folder.only),
  // Its files begin with a record of any kind; those of pi, Codex and Gemini CLI begin with one of their own.
  begins: ({ type, projectHash, id, payload }) =>
    type !== "session" &&
    projectHash === undefined &&
    payload === undefined &&
    (type !== undefined || id === undefined),
  split: (found, file) => ({ by: file === found.files[0] ? "lines" : "nothing" }),
  reader: (found) => new ClaudeCodeReader(found),
};

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const agentFile = /(?:^|\/)agent-([^/]+)\.jsonl$/;

function findSessions(files: readonly SourceFile[], only: string | null): FoundTranscript[] {
  const isTranscript = ({ path, bytes }: SourceFile): boolean =>
    bytes > 0 && path.endsWith(".jsonl") && !path.endsWith("/history.jsonl") && path !== "history.jsonl";
  return files.filter(isTranscript).flatMap((file): FoundTranscript[] => {
    if (only !== null && file.path !== only && !file.path.includes("/subagents/")) return [];
    const agent = agentFile.exec(file.path)?.[1];
    const stem = file.path.replace(/\.jsonl$/, "");
    const session = agent === undefined ? null : sessionAbove(file.path);
    const parts =
      agent === undefined ? files.filter(({ path }) => path.startsWith(`${stem}/tool-results/`)) : [];
    return [
      {
        tool: "claude-code",
        sourceId: agent === undefined ? (stem.split("/").at(-1) ?? stem) : `${session ?? ""}:${agent}`,
        files: [file.path, ...parts.map(({ path }) => path)],
        piece: null,
        parentId: session,
        bytes: file.bytes,
        modifiedAtMs: file.modifiedAtMs,
      },
    ];
  });
}

/** `<uuid>/subagents/agent-<id>.jsonl`: the folder above names the session. */
function sessionAbove(path: string): string | null {
  return path.split("/").findLast((part) => uuid.test(part)) ?? null;
}

class ClaudeCodeReader implements TranscriptReader {
  readonly #found: FoundTranscript;
  readonly #scan = new ClaudeScan();
  #planner = new ClaudePlanner(this.#scan);

  constructor(found: FoundTranscript) {
    this.#found = found;
  }

  damage(range: SourceRange, reason: string): void {
    this.#scan.report.damage(range, reason);
  }

  scan(source: SourceRecord): void {
    this.#scan.scan(source);
  }

  #plan: TranscriptPlan | undefined;

  plan(): TranscriptPlan {
    return (this.#plan ??= this.#makePlan());
  }

  #makePlan(): TranscriptPlan {
    const tree = this.#scan.tree;
    const name =
      this.#scan.file
        .split("/")
        .at(-1)
        ?.replace(/\.jsonl$/, "") ?? "";
    const session = tree.chooseSession(uuid.test(name) ? name : (this.#found.parentId ?? null));
    const { main, branches } = tree.paths();
    const planner = new ClaudePlanner(this.#scan);
    this.#planner = planner;
    const entries = planner.plan(main.nodes);
    const planned = branches.map((path): PlannedBranch => {
      const own = planner.plan(path.nodes);
      const after = planner.entryAt(path.leavesAt);
      return { id: tree.uuid(path.nodes.at(-1) ?? -1), after, entries: own };
    });
    const inline = tree.sidechains().map((path) => this.#planChild(session, path));
    const children = [...this.#scan.children].map(([agent, call]): PlannedChild => {
      return { sourceId: `${session}:${agent}`, call, entries: [] };
    });
    let unpairedCalls = 0;
    for (const node of tree.calls.unpaired()) unpairedCalls += planner.entryOf(node) === null ? 0 : 1;
    planner.release();
    tree.release();
    const files = new Set(this.#found.files.map((file) => file.split("/").at(-1)));
    const isAgent =
      this.#scan.agent !== null && (agentFile.test(this.#scan.file) || this.#found.parentId !== null);
    return {
      header: {
        tool: "claude-code",
        toolVersion: this.#scan.version,
        sourceId: isAgent
          ? `${session}:${this.#scan.agent ?? ""}`
          : session === ""
            ? this.#found.sourceId
            : session,
        title:
          this.#scan.titles.get("custom-title") ??
          this.#scan.titles.get("ai-title") ??
          this.#scan.titles.get("summary") ??
          null,
        tags: [...this.#scan.tags],
        cwd: this.#scan.cwd,
        gitBranch: this.#scan.branch,
        gitCommit: null,
        gitRemote: null,
        startedAtMs: this.#scan.startedAtMs,
        parentId: isAgent ? session : null,
        forkedFrom: this.#scan.forkedFrom,
      },
      entries,
      branches: planned,
      tasks: this.#scan.tasks.tasks,
      children: isAgent ? [] : [...inline, ...children],
      otherUsage: null,
      report: this.#scan.report.report({
        gaps: tree.gaps,
        unpairedCalls,
        missingAttachments: this.#scan.persisted.filter((file) => !files.has(file)).length,
      }),
      ...this.#scan.marks.written(),
    };
  }

  #planChild(session: string, { nodes }: TreePath): PlannedChild {
    const prompt = Array.from(nodes, (node) => this.#scan.sidechainPrompts.get(node)).find(
      (text) => text !== undefined,
    );
    return {
      sourceId: `${session}:${this.#scan.tree.uuid(nodes[0] ?? -1)}`,
      call: prompt === undefined ? null : (this.#scan.prompts.get(prompt) ?? null),
      entries: this.#planner.plan(nodes),
    };
  }

  entry(planned: PlannedEntry, records: readonly SourceRecord[]): ForeignEntry {
    const values = records.map(({ value }) => fieldsOf(value));
    const [first = {}] = values;
    const origin = {
      id: planned.id,
      atMs: timeOf(first["timestamp"]),
      source: records.map(({ file, from, to }) => ({ file, from, to })),
    };
    if (planned.kind === "answer")
      return { ...origin, ...record.answerOf(values, this.#planner.interrupted.has(planned.id)) };
    if (planned.kind === "input")
      return { ...origin, kind: "input", ...this.#inputOf(first, records[0]?.from ?? 0) };
    const boundary = values.find((value) => value["subtype"] === "compact_boundary") ?? {};
    const summary = values.find((value) => value["isCompactSummary"] === true) ?? {};
    const texts = record
      .contentOf(summary)
      .blocks.flatMap((block) => (block.type === "text" ? block.text : []));
    const metadata = fieldsOf(boundary["compactMetadata"]);
    return {
      ...origin,
      kind: "compaction",
      summary: texts.join("\n"),
      keptFrom: this.#keptFrom(boundary),
      tokensBefore: typeof metadata["preTokens"] === "number" ? countOf(metadata["preTokens"]) : null,
    };
  }

  #inputOf(value: Fields, from: number): Pick<Extract<ForeignEntry, { kind: "input" }>, "from" | "blocks"> {
    if (value["type"] === "attachment") {
      const attachment = fieldsOf(value["attachment"]);
      const speaker = record.isQueuedPrompt(attachment) ? "user" : "context";
      return { from: speaker, blocks: record.attachmentBlocks(attachment) ?? [] };
    }
    const { blocks, results } = record.contentOf(value);
    const { tree } = this.#scan;
    const places = tree.calls.orphansOf(tree.nodeOf(nameOf(value["uuid"]) ?? `${from}`));
    // The result of a call that the file does not have is context.
    const orphans = results.filter((_, place) => places?.has(place) === true);
    const typed = results.length === 0 && record.typedByPerson(value, record.firstText(blocks));
    return {
      from: typed ? "user" : "context",
      blocks: [...blocks, ...orphans.flatMap(({ output }) => output)],
    };
  }

  #keptFrom(boundary: Fields): string | null {
    const kept = this.#scan.kept.get(this.#scan.tree.nodeOf(nameOf(boundary["uuid"]) ?? ""));
    return kept === undefined ? null : this.#planner.entryOf(this.#scan.tree.nodeOf(kept));
  }
}
