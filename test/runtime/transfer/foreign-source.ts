/** Transcripts of another tool, made in memory. */
import { createHash } from "node:crypto";
import type { TranscriptSource } from "../../../src/runtime/transfer/history.ts";
import type {
  PlannedEntry,
  ForeignEntry,
  TranscriptHeader,
  TranscriptPlan,
} from "../../../src/transcripts/model.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

export const said = (id: string, text: string): ForeignEntry => ({
  kind: "input",
  id,
  atMs: 1_760_000_000_000,
  source: [{ file: "a.jsonl", from: 0, to: 10 }],
  from: "user",
  blocks: [{ type: "text", text }],
});

export const answered = (id: string, text: string, calls = 0): ForeignEntry => ({
  kind: "answer",
  id,
  atMs: 1_760_000_001_000,
  source: [{ file: "a.jsonl", from: 10, to: 20 }],
  model: "claude-sonnet 4.5",
  messageId: id,
  blocks: [
    { type: "thinking", text: "hm", opaque: { signature: "x" } },
    { type: "text", text },
  ],
  calls: Array.from({ length: calls }, (_, place) => ({
    id: `toolu_${place}`,
    name: "Read File!",
    input: { path: `file-${place}` },
    status: place === 0 ? ("ok" as const) : ("unknown" as const),
    output: place === 0 ? [{ type: "text" as const, text: "base: 4.1" }] : [],
    endedAtMs: null,
  })),
  usage: {
    inputTokens: 100,
    outputTokens: 20,
    cacheReadTokens: 80,
    cacheWriteTokens: 0,
    reasoningTokens: 5,
    costUsd: null,
  },
  interrupted: false,
  error: null,
});

interface Made {
  readonly entries: readonly ForeignEntry[];
  readonly branch?: readonly ForeignEntry[];
  readonly after?: string;
  readonly header?: Partial<TranscriptHeader>;
}

export function sourceOf(
  { entries, branch = [], after = "", header = {} }: Made,
  text = JSON.stringify(entries),
): TranscriptSource {
  const planned = (some: readonly ForeignEntry[]): PlannedEntry[] =>
    some.map(({ id, kind }) => ({ id, kind, records: [] }));
  const byId = new Map([...entries, ...branch].map((one) => [one.id, one]));
  const plan: TranscriptPlan = {
    header: {
      tool: "claude-code",
      toolVersion: "2.1.39",
      sourceId: "ae4a77f8",
      title: "Rates\u001b[31m of November",
      tags: [],
      cwd: "/home/ann/payroll",
      gitBranch: "main",
      gitCommit: null,
      gitRemote: null,
      startedAtMs: null,
      parentId: null,
      forkedFrom: null,
      ...header,
    },
    entries: planned(entries),
    branches: branch.length === 0 ? [] : [{ id: "b1", after, entries: planned(branch) }],
    tasks: [{ key: "t1", text: "check the rate", status: "open" }],
    children: [],
    otherUsage: null,
    report: {
      records: { user: 2, assistant: 2 },
      unknownTypes: { "new-kind": 1 },
      damaged: [],
      damagedCount: 0,
      gaps: 0,
      unpairedCalls: 1,
      missingAttachments: 0,
      tooLarge: 0,
      timesOutOfOrder: 0,
      unmapped: {},
    },
  };
  return {
    plan,
    file: "projects/payroll/ae4a77f8.jsonl",
    bytes: text.length,
    digest: sha(text),
    async *entries(wanted) {
      for (const { id } of wanted) yield byId.get(id)!;
    },
    async *original() {
      const bytes = Buffer.from(text);
      yield { bytes, source: { file: "a.jsonl", from: 0, to: bytes.length } };
    },
  };
}
