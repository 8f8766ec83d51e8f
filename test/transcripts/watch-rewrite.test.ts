/** A followed file whose earlier lines change: noticed at the next look, and never mixed. */
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { watchTranscripts, type ImportedTranscript } from "../../src/transcripts/transcripts.ts";
import { all, inMemory } from "../runtime/place.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-watch-rewrite-"));
after(() => rmSync(folder, { recursive: true }));
const id = "0b6f9f5e-3a0c-4e0a-9d5e-777777777777";

/** Prompts and answers, one line each. */
const linesOf = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => from + at)
    .map((at) => {
      const place = { sessionId: id, timestamp: "2026-11-18T10:00:00Z", cwd: "/home/ann/payroll" };
      const chain = { uuid: `n${at}`, parentUuid: at === 0 ? null : `n${at - 1}` };
      if (at % 2 === 0)
        return { ...place, ...chain, type: "user", message: { role: "user", content: `ask ${at}` } };
      const content = [{ type: "text", text: `say ${at}` }];
      const message = { id: `m${at}`, role: "assistant", model: "m", content };
      return { ...place, ...chain, type: "assistant", message };
    })
    .map((line) => `${JSON.stringify(line)}\n`)
    .join("");

/** Follows a file. A step is taken once so many entries are imported; the end comes at `last` or a report. */
async function follow(name: string, steps: Readonly<Record<number, (path: string) => void>>, last: number) {
  await using place = inMemory();
  const home = join(folder, name);
  const path = join(home, ".claude", "projects", "-home-ann-payroll", `${id}.jsonl`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, linesOf(0, 4));
  const done = new AbortController();
  const machine = { home, env: {}, nowMs: Date.now() };
  const changes: ImportedTranscript[] = [];
  let entries = 0;
  const signal = AbortSignal.any([done.signal, AbortSignal.timeout(60_000)]);
  for await (const change of watchTranscripts(place.engine, { tool: "claude-code", machine, signal })) {
    changes.push(change);
    entries += change.added;
    steps[entries]?.(path);
    if (entries === last || !["new", "grown"].includes(change.status)) done.abort();
  }
  const session = await place.engine.session(changes[0]?.session ?? "");
  const events = await all(session.events({ types: ["input.imported", "answer.imported"] }));
  const texts = events.map(({ content }) => (content as { blocks: { text: string }[] }).blocks[0]?.text);
  assert.equal((await place.engine.verify()).ok, true);
  return { statuses: changes.map(({ status }) => status), texts };
}

test("lines rewritten before the last one, and new ones behind them, are reported at once", async () => {
  const rewrite = (path: string): void =>
    writeFileSync(path, readFileSync(path, "utf8").replace("ask 2", "ask 9").concat(linesOf(5, 7)));
  const steps = { 4: (path: string) => appendFileSync(path, linesOf(4, 5)), 5: rewrite };
  const { statuses, texts } = await follow("rewritten", steps, 7);
  assert.equal(statuses.at(-1), "rewritten");
  assert.deepEqual(texts, ["ask 0", "say 1", "ask 2", "say 3", "ask 4"]);
});

test("lines that are appended continue the session", async () => {
  const steps = {
    4: (path: string) => appendFileSync(path, linesOf(4, 5)),
    5: (path: string) => appendFileSync(path, linesOf(5, 7)),
  };
  const { statuses, texts } = await follow("appended", steps, 7);
  assert.ok(
    statuses.every((status) => status === "new" || status === "grown"),
    statuses.join(", "),
  );
  assert.deepEqual(texts, ["ask 0", "say 1", "ask 2", "say 3", "ask 4", "say 5", "ask 6"]);
});
