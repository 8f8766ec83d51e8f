/** A home folder with sessions of Claude Code, and what a server may read of it. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalTranscripts } from "../../src/transcripts/local-transcripts.ts";

/** One turn with a call, as Claude Code writes it. */
export function claudeText(sessionId: string, cwd: string, question: string): string {
  const lines: object[] = [];
  const add = (type: string, message: object): void => {
    const parentUuid = lines.length === 0 ? null : `u${lines.length - 1}`;
    const timestamp = new Date(1_760_000_000_000 + lines.length * 1_000).toISOString();
    const place = { cwd, version: "2.1.39", gitBranch: "main", isSidechain: false, userType: "external" };
    lines.push({ type, uuid: `u${lines.length}`, parentUuid, timestamp, sessionId, ...place, message });
  };
  const answer = (id: string, block: object): void =>
    add("assistant", {
      id: `${sessionId}-${id}`,
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-5-20250929",
      content: [block],
      usage: { input_tokens: 100, output_tokens: 20 },
    });
  add("user", { role: "user", content: question });
  answer("m1", { type: "tool_use", id: "t1", name: "Bash", input: { command: "cat rates.json" } });
  add("user", {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: "t1", content: "base: 4.1" }],
  });
  answer("m2", { type: "text", text: "It is 4.1." });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

export interface TranscriptHome extends Disposable {
  readonly folder: string;
  readonly transcripts: LocalTranscripts;
}

export const transcriptId = (number: number): string =>
  `0b6f9f5e-3a0c-4e0a-9d5e-${String(number).padStart(12, "0")}`;

/** Three sessions in two projects, and a link that leaves the home. */
export function makeTranscriptHome(): TranscriptHome {
  const folder = mkdtempSync(join(tmpdir(), "skein-home-"));
  const projects = join(folder, ".claude", "projects");
  const outside = mkdtempSync(join(tmpdir(), "skein-outside-"));
  writeFileSync(join(outside, `${transcriptId(9)}.jsonl`), claudeText(transcriptId(9), "/secret", "No"));
  for (const [number, project] of ["payroll", "payroll", "checkout"].entries()) {
    mkdirSync(join(projects, `-home-ann-${project}`), { recursive: true });
    const id = transcriptId(number + 1);
    const text = claudeText(id, `/home/ann/${project}`, `Which rate in month ${number + 1}?`);
    writeFileSync(join(projects, `-home-ann-${project}`, `${id}.jsonl`), text);
  }
  symlinkSync(outside, join(projects, "-secret"));
  symlinkSync(
    join(outside, `${transcriptId(9)}.jsonl`),
    join(projects, "-home-ann-payroll", `${transcriptId(8)}.jsonl`),
  );
  const now = (): number => Date.now();
  return {
    folder,
    transcripts: new LocalTranscripts({ from: [folder], machine: { home: folder, env: {} }, now }),
    [Symbol.dispose]() {
      rmSync(folder, { recursive: true, force: true });
      rmSync(outside, { recursive: true, force: true });
    },
  };
}
