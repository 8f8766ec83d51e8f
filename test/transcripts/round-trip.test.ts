/** Import, export in the same format, import: the same entries, with what was redacted still redacted. */
import assert from "node:assert/strict";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { after, test } from "node:test";
import { exportFormats } from "../../src/call/field.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { importTranscripts } from "../../src/transcripts/transcripts.ts";
import { all, inMemory } from "../runtime/place.ts";
import { goldenFiles } from "./golden.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-round-trip-"));
after(() => rmSync(folder, { recursive: true }));
const samples = ["../../../shared/samples", "/work/shared/samples"]
  .map((path) => join(import.meta.dirname, path))
  .concat("/work/shared/samples")
  .find((path) => existsSync(path));
const skip = samples === undefined ? "../shared/samples is not there" : false;

const tools = ["claude-code", "codex", "opencode", "pi"] as const;
type Tool = (typeof tools)[number];
const machine = { home: folder, env: {}, nowMs: Date.UTC(2030, 0, 1) };

/** What an import keeps of a session, without what differs by design: ids, byte ranges and times. */
async function kept(session: Session): Promise<unknown[]> {
  const types = ["input.imported", "answer.imported", "call.imported", "transcript.compacted"];
  const events = await all(session.events({ types }));
  return events.map(({ type, body, content }) => {
    const {
      atMs: _at,
      source: _source,
      fromSeq: _from,
      toSeq: _to,
      ...fields
    } = body as Record<string, unknown>;
    const { id: _id, copyId: _copy, ...said } = (content ?? {}) as Record<string, unknown>;
    return { type, ...fields, ...said };
  });
}

/**
 * What a format cannot say, and the export lists: a call without a result, everywhere; an error status in
 * Codex; an unknown cost or model in opencode and pi. Codex counts totals: usage of zero is no usage.
 */
function afterLoss(tool: Tool, entries: readonly unknown[]): unknown[] {
  return entries.map((one) => {
    const entry = one as Record<string, unknown>;
    if (entry["type"] === "call.imported") {
      const isOk = entry["status"] === "ok" || tool === "codex";
      const said = entry["status"] === "unknown" ? { output: openCall } : {};
      return { ...entry, status: isOk ? "ok" : "error", ...said };
    }
    if (entry["type"] !== "answer.imported") return entry;
    const isUnused = JSON.stringify(entry["usage"]) === '{"inputTokens":0,"outputTokens":0}';
    if (tool === "codex" && isUnused) {
      const { usage: _usage, costNanoUsd: _cost, ...rest } = entry;
      return rest;
    }
    if (tool !== "opencode" && tool !== "pi") return entry;
    const { usage = { inputTokens: 0, outputTokens: 0 }, model = "unknown", costNanoUsd } = entry;
    return { ...entry, usage, model, costNanoUsd: costNanoUsd ?? 0 };
  });
}
/** An answer without an id of its provider is given one where the tool needs it. */
const withoutMade = (entries: readonly unknown[]): unknown[] =>
  entries.map((one) => {
    const { messageId, ...rest } = one as Record<string, unknown>;
    const isOwn = typeof messageId === "string" && !/^msg_[0-9a-f]{24}$/.test(messageId);
    return isOwn ? { ...rest, messageId } : rest;
  });
const openCall = "The session ended before this call had a result.";

let count = 0;

/** Imports the sessions below a path, exports each in its own format and imports that. */
async function roundTrip(tool: Tool, path: string): Promise<number> {
  await using first = inMemory();
  let sessions = 0;
  for await (const one of importTranscripts(first.engine, { tool, path, machine })) {
    if (one.session === null) continue;
    for (const id of [one.session, ...one.branches]) {
      const session = await first.engine.session(id);
      const written = await session.exportTranscript({ format: tool });
      assert.deepEqual(await session.exportTranscript({ format: tool }), written, "the same bytes twice");
      const target = join(folder, String(count++), written.path);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, written.text);
      await using second = inMemory();
      const imported = await all(importTranscripts(second.engine, { tool, path: target, machine }));
      assert.deepEqual(
        imported.map(({ status }) => status),
        ["new"],
        `${relative(path, target)}: ${imported[0]?.reason ?? ""}`,
      );
      const again = await second.engine.session(imported[0]?.session ?? "");
      const before = afterLoss(tool, await kept(session));
      assert.deepEqual(withoutMade(await kept(again)), before, `${tool} ${one.found.sourceId}`);
      sessions += 1;
    }
  }
  return sessions;
}

for (const tool of tools)
  test(`${tool}: a made session comes back equal`, async () => {
    for (const { format, file, text } of goldenFiles.filter((golden) => golden.format === tool)) {
      const path = join(folder, `golden-${format}`, basename(file));
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      assert.ok((await roundTrip(tool, path)) > 0);
    }
  });

for (const tool of tools)
  test(`${tool}: recorded sessions come back equal`, { skip }, async (t) => {
    const paths = globSync(join(samples ?? "", tool, "*.jsonl"));
    let sessions = 0;
    for (const path of paths) sessions += await roundTrip(tool, path);
    if (paths.length === 0) sessions += await roundTrip(tool, join(samples ?? "", tool));
    t.diagnostic(`${sessions} sessions`);
    assert.ok(sessions > 0);
  });

test("exports are the files that the tools' readers took (UPDATE=1 rewrites them)", async () => {
  await using place = inMemory();
  const { file, text } = goldenFiles.find(({ format }) => format === "claude-code")!;
  const path = join(folder, basename(file));
  writeFileSync(path, text);
  const [one] = await all(importTranscripts(place.engine, { tool: "claude-code", path, machine }));
  const session = await place.engine.session(one?.session ?? "");
  for (const format of exportFormats) {
    const { path: name, text: written, left } = await session.exportTranscript({ format });
    const golden = join(import.meta.dirname, "written", `${format}.golden`);
    const whole = `${name}\n${left.join("\n")}\n\n${written}`;
    if (process.env["UPDATE"] === "1") writeFileSync(golden, whole);
    assert.equal(whole, readFileSync(golden, "utf8"), format);
  }
});
