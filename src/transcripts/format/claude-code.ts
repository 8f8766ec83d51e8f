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
import { ClaudeScan } from "./claude-code-scan.ts";
import type { TreePath } from "./claude-code-tree.ts";
import type { TranscriptFormat } from "./format.ts";
import { countOf, fieldsOf, nameOf, timeOf, type Fields } from "./json-value.ts";

export const claudeCode: TranscriptFormat = {
  name: "claude-code",
  title: "Claude Code",
  expects: "SESSION.jsonl files, as below ~/.claude/projects",
  folders: ({ home, env }) => [join(env["CLAUDE_CONFIG_DIR"] ?? join(home, ".claude"), "projects")],
  find: async (folder) => findSessions(await folder.list(), folder.only),
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
    // The run of the summarizer is no subagent of the user.
    if (agent?.startsWith("acompact-") === true) return [];
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
  readonly #interrupted = new Set<string>();
  #entryOf: ReadonlyMap<number, string> = new Map();
  readonly #scan = new ClaudeScan();

  constructor(found: FoundTranscript) {
    this.#found = found;
  }

  damage(range: SourceRange, reason: string): void {
    this.#scan.report.damage(range, reason);
  }

  scan(source: SourceRecord): void {
    this.#scan.scan(source);
  }

  plan(): TranscriptPlan {
    const tree = this.#scan.tree;
    const name =
      this.#scan.file
        .split("/")
        .at(-1)
        ?.replace(/\.jsonl$/, "") ?? "";
    const session = tree.chooseSession(uuid.test(name) ? name : (this.#found.parentId ?? null));
    const { main, branches } = tree.paths();
    const entryOf = new Map<number, string>();
    this.#entryOf = entryOf;
    const entries = this.#planPath(main, entryOf);
    const planned = branches.map((path): PlannedBranch => {
      const own = this.#planPath(path, entryOf);
      return {
        id: tree.uuid(path.nodes.at(-1) ?? -1),
        after: this.#entryAt(path.leavesAt, entryOf),
        entries: own,
      };
    });
    const inline = tree.sidechains().map((path) => this.#planChild(session, path, entryOf));
    const children = [...this.#scan.children].map(([agent, call]): PlannedChild => {
      return { sourceId: `${session}:${agent}`, call, entries: [] };
    });
    const paired = [...tree.calls()].filter(({ node }) => entryOf.has(node));
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
        unpairedCalls: paired.filter(({ isPaired }) => !isPaired).length,
        missingAttachments: this.#scan.persisted.filter((file) => !files.has(file)).length,
      }),
    };
  }

  #planChild(session: string, path: TreePath, entryOf: Map<number, string>): PlannedChild {
    const prompt = path.nodes
      .map((node) => this.#scan.sidechainPrompts.get(node))
      .find((text) => text !== undefined);
    return {
      sourceId: `${session}:${this.#scan.tree.uuid(path.nodes[0] ?? -1)}`,
      call: prompt === undefined ? null : (this.#scan.prompts.get(prompt) ?? null),
      entries: this.#planPath(path, entryOf),
    };
  }

  /** The entry of a node, or of the nearest record above it that has one, in file order. */
  #entryAt(node: number, entryOf: ReadonlyMap<number, string>): string | null {
    for (let at = node; at >= 0; at--) {
      const entry = entryOf.get(at);
      if (entry !== undefined) return entry;
    }
    return null;
  }

  #planPath({ nodes }: TreePath, entryOf: Map<number, string>): PlannedEntry[] {
    const tree = this.#scan.tree;
    const entries: (PlannedEntry & { records: SourceRange[] })[] = [];
    const answers = new Map<number | string, (typeof entries)[number]>();
    const rangeOf = (node: number): SourceRange => ({ file: this.#scan.file, ...tree.range(node) });
    const begin = (node: number, kind: ForeignEntry["kind"]): (typeof entries)[number] => {
      const entry = { id: tree.uuid(node), kind, records: [rangeOf(node)] };
      entries.push(entry);
      entryOf.set(node, entry.id);
      return entry;
    };
    for (const node of nodes) {
      const kind = tree.kind(node);
      const last = entries.at(-1);
      if (kind === "answer") {
        const message = tree.message(node);
        const known = message === -1 ? undefined : answers.get(message);
        if (known === undefined) answers.set(message === -1 ? `${node}` : message, begin(node, "answer"));
        else {
          known.records.push(rangeOf(node));
          entryOf.set(node, known.id);
        }
      } else if (kind === "boundary") begin(node, "compaction");
      else if (kind === "summary") {
        if (last?.kind === "compaction" && last.records.length === 1) {
          last.records.push(rangeOf(node));
          entryOf.set(node, last.id);
        } else begin(node, "compaction");
      } else if (kind === "result") begin(node, "input");
      else if (kind !== "link") begin(node, "input");
      if (this.#scan.interruptions.has(node)) {
        const answer = entries.findLast((entry) => entry.kind === "answer");
        if (answer !== undefined) this.#interrupted.add(answer.id);
      }
    }
    return this.#attachResults(entries, nodes, entryOf);
  }

  /** Moves the records of results to the answers that hold their calls. */
  #attachResults(
    entries: readonly (PlannedEntry & { records: SourceRange[] })[],
    nodes: readonly number[],
    entryOf: Map<number, string>,
  ): PlannedEntry[] {
    const tree = this.#scan.tree;
    const byId = new Map(entries.map((entry) => [entry.id, entry]));
    const wanted = new Map<number, Set<string>>();
    const calls = nodes.flatMap((node) => tree.callsOf(node).map((call) => ({ call, node })));
    for (const { call, node } of calls)
      for (const result of tree.resultsOf(call)) {
        const owner = entryOf.get(node);
        if (owner !== undefined && result !== node) (wanted.get(result) ?? setIn(wanted, result)).add(owner);
      }
    const moved = new Set<string>();
    for (const [result, owners] of wanted) {
      const id = tree.uuid(result);
      for (const owner of owners)
        byId.get(owner)?.records.push({ file: this.#scan.file, ...tree.range(result) });
      // A record may hold text beside its results: then it is an input, too.
      if (tree.kind(result) === "result" && !this.#scan.saysMore.has(result)) {
        moved.add(id);
        const [owner] = owners;
        if (owner !== undefined) entryOf.set(result, owner);
      }
    }
    return entries.filter(({ id, kind }) => kind !== "input" || !moved.has(id));
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
      return { ...origin, ...record.answerOf(values, this.#interrupted.has(planned.id)) };
    if (planned.kind === "input") return { ...origin, kind: "input", ...this.#inputOf(first) };
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

  #inputOf(value: Fields): Pick<Extract<ForeignEntry, { kind: "input" }>, "from" | "blocks"> {
    if (value["type"] === "attachment") {
      const attachment = fieldsOf(value["attachment"]);
      const from = record.isQueuedPrompt(attachment) ? "user" : "context";
      return { from, blocks: record.attachmentBlocks(attachment) ?? [] };
    }
    const { blocks, results } = record.contentOf(value);
    // The result of a call that the file does not have is context.
    const orphans = results.filter(({ id }) => this.#scan.tree.callNode(id ?? "") === -1);
    const typed = results.length === 0 && record.typedByPerson(value, record.firstText(blocks));
    return {
      from: typed ? "user" : "context",
      blocks: [...blocks, ...orphans.flatMap(({ output }) => output)],
    };
  }

  #keptFrom(boundary: Fields): string | null {
    const kept = this.#scan.kept.get(this.#scan.tree.nodeOf(nameOf(boundary["uuid"]) ?? ""));
    return kept === undefined ? null : (this.#entryOf.get(this.#scan.tree.nodeOf(kept)) ?? null);
  }
}

function setIn(map: Map<number, Set<string>>, key: number): Set<string> {
  const made = new Set<string>();
  map.set(key, made);
  return made;
}
