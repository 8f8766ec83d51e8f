/** Writers: the same bytes twice, read back equal, nothing unescaped, unknown outcomes as errors. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, test } from "node:test";
import { parseTranscript, transcriptTargets, writeTranscript } from "../../src/transcripts/transcripts.ts";
import type { ForeignEntry, Transcript } from "../../src/transcripts/transcripts.ts";
import { readAll } from "./count.ts";
import { goldenFiles } from "./golden.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-writers-"));
after(() => rmSync(folder, { recursive: true }));

async function goldenSession(at: number): Promise<Transcript> {
  const { format, file, text } = goldenFiles[at]!;
  const path = join(folder, file);
  writeFileSync(path, text);
  const { plan, entries } = await readAll(format, path);
  return { header: plan.header, entries, tasks: plan.tasks };
}

/** What every target with calls must keep: who speaks, texts, calls by order, outcomes. */
function essence(entries: readonly ForeignEntry[]): unknown[] {
  const texts = (entry: Exclude<ForeignEntry, { kind: "compaction" }>): string =>
    entry.blocks
      .flatMap((block) => (block.type === "text" && !isName(block.text) ? block.text : []))
      .join("\n");
  // An attachment without data is written as its name.
  const isName = (text: string): boolean => text.startsWith("[attachment: ");
  return entries.map((entry) => {
    if (entry.kind === "compaction") return ["compaction", entry.summary];
    if (entry.kind === "input") return [entry.from, texts(entry)];
    const usage = entry.usage ?? { inputTokens: 0, outputTokens: 0 };
    const calls = entry.calls.map((call) => [call.name, call.status === "ok"]);
    return ["answer", texts(entry), calls, usage.inputTokens, usage.outputTokens];
  });
}

test("every target writes the same bytes twice, and lists what does not map", async () => {
  for (const at of goldenFiles.keys()) {
    const session = await goldenSession(at);
    for (const target of transcriptTargets) {
      const first = writeTranscript(target, session);
      assert.deepEqual(writeTranscript(target, session), first);
      assert.ok(first.text.length > 0 && first.path.length > 0, target);
    }
  }
  const pending = await goldenSession(0);
  assert.ok(writeTranscript("codex", pending).left.some((line) => line.includes("thinking")));
});

test("jsonl is lossless", async () => {
  for (const at of goldenFiles.keys()) {
    const session = await goldenSession(at);
    assert.deepEqual(
      parseTranscript(writeTranscript("jsonl", session).text),
      JSON.parse(JSON.stringify(session)),
    );
  }
});

test("a session written for a tool reads back equal", async () => {
  for (const at of goldenFiles.keys())
    for (const target of ["claude-code", "pi", "opencode", "codex"]) {
      const session = await goldenSession(at);
      // opencode writes a compaction as a request and a summary; Codex has no error status.
      const written = writeTranscript(target, session);
      const place = join(folder, `${target}-${at}`);
      mkdirSync(place, { recursive: true });
      const path = join(place, basename(written.path));
      writeFileSync(path, written.text);
      const { entries, plan } = await readAll(target, path);
      const expected = essence(session.entries);
      const read = essence(entries).filter((entry) => !isRequest(entry));
      if (target === "codex") assert.deepEqual(strip(read), strip(expected), written.path);
      else
        assert.deepEqual(
          read,
          expected.filter((entry) => !isRequest(entry)),
          `${goldenFiles[at]?.file} ${target}`,
        );
      assert.equal(plan.report.unpairedCalls, 0, "every call has a result");
      assert.equal(plan.report.damagedCount, 0);
    }
});

/** An input without text, such as the request of a compaction. */
const isRequest = (entry: unknown): boolean => Array.isArray(entry) && entry[0] === "user" && entry[1] === "";
const strip = (entries: readonly unknown[]): string =>
  JSON.stringify(entries.filter((entry) => !isRequest(entry))).replaceAll("false", "true");

test("pages escape everything that comes from the session", async () => {
  const session = await goldenSession(0);
  const evil = '<script>alert(1)</script><img src=x onerror="a">\u001b[31m`````';
  const hostile: Transcript = {
    ...session,
    header: { ...session.header, title: evil, cwd: evil },
    entries: [
      {
        id: "1",
        atMs: null,
        source: [],
        kind: "input",
        from: "user",
        blocks: [{ type: "text", text: evil }],
      },
      ...session.entries,
    ],
  };
  const html = writeTranscript("html", hostile).text;
  assert.doesNotMatch(html, /<script|<img src=x|\u001b/);
  assert.match(html, /default-src 'none'/);
  const markdown = writeTranscript("markdown", hostile).text;
  assert.doesNotMatch(markdown.split("\n")[0] ?? "", /[^\\]<|\u001b/);
  assert.match(markdown, /``````text/);
});

test("plain messages pair every call with a result", async () => {
  const session = await goldenSession(0);
  const messages = JSON.parse(writeTranscript("anthropic", session).text) as {
    content: { type: string }[];
  }[];
  const types = messages.flatMap(({ content }) => content.map(({ type }) => type));
  assert.equal(types.filter((type) => type === "tool_use").length, 3);
  assert.equal(types.filter((type) => type === "tool_result").length, 3);
  const openai = JSON.parse(writeTranscript("openai", session).text) as { role: string }[];
  assert.equal(openai.filter(({ role }) => role === "tool").length, 3);
});
