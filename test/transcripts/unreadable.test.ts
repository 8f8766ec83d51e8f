/** A source that cannot be read is reported with its reason, and the others are imported. */
import assert from "node:assert/strict";
import fs, { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { openEngine } from "../../src/index.ts";
import { LocalTranscripts } from "../../src/transcripts/local-transcripts.ts";
import {
  importTranscripts,
  watchTranscripts,
  type ImportedTranscript,
} from "../../src/transcripts/transcripts.ts";
import { claudeText, transcriptId } from "../server/transcript-home.ts";
import * as golden from "./golden.ts";
import { opencodeDatabase } from "./packed.ts";

/** A home with a session of pi, one of Claude Code, and the database of opencode. */
function makeHome(t: TestContext, database: (path: string, folder: string) => void = () => undefined) {
  const home = mkdtempSync(join(tmpdir(), "skein-unreadable-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const write = (path: string, text: string | Uint8Array): string => {
    const file = join(home, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
    // Not in progress: a watch imports it whole.
    utimesSync(file, new Date(1_760_000_000_000), new Date(1_760_000_000_000));
    return file;
  };
  write(`.claude/projects/-a/${transcriptId(1)}.jsonl`, claudeText(transcriptId(1), "/a", "Which rate?"));
  write(".pi/agent/sessions/-a/2026_x.jsonl", golden.piOne);
  const path = write(".local/share/opencode/opencode.db", "");
  database(path, home);
  return { home, write, path, machine: { home, env: {}, nowMs: Date.now() } };
}

const garbage = (path: string): void => writeFileSync(path, Buffer.alloc(8_192, "no database "));

function lock(path: string, folder: string): DatabaseSync {
  writeFileSync(path, opencodeDatabase(folder));
  const writer = new DatabaseSync(path);
  writer.exec(
    "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; INSERT INTO message VALUES ('m', 's', 1, '{}')",
  );
  return writer;
}

const shown = ({ found, status }: ImportedTranscript): string => `${found.tool} ${status}`;

/** Makes the read of paths that contain this text fail, as a missing permission does. */
function forbid(t: TestContext, part: string): void {
  const deny = (path: unknown): void => {
    if (!String(path).includes(part)) return;
    const message = `EACCES: permission denied, open '${String(path)}'`;
    throw Object.assign(new Error(message), { code: "EACCES", syscall: "open" });
  };
  const { readdirSync } = fs;
  const { open } = fs.promises;
  t.mock.method(fs, "readdirSync", (...args: Parameters<typeof readdirSync>) => {
    deny(args[0]);
    return readdirSync(...args);
  });
  t.mock.method(fs.promises, "open", async (...args: Parameters<typeof open>) => {
    deny(args[0]);
    return open(...args);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

async function importAll(options: Parameters<typeof importTranscripts>[1]): Promise<ImportedTranscript[]> {
  await using engine = await openEngine({ store: "memory:" });
  return await Array.fromAsync(importTranscripts(engine, options));
}

test("a damaged or locked database of one tool leaves the sessions of the others", async (t) => {
  const damaged = makeHome(t, garbage);
  const first = await importAll({ tool: "auto", machine: damaged.machine });
  assert.deepEqual(first.map(shown).toSorted(), ["claude-code new", "opencode failed", "pi new"]);
  assert.match(first.find(({ status }) => status === "failed")?.reason ?? "", /opencode\.db.*cannot be read/);
  let writer: DatabaseSync | undefined;
  const locked = makeHome(t, (path, folder) => void (writer = lock(path, folder)));
  const second = await importAll({ tool: "auto", machine: locked.machine });
  assert.deepEqual(second.map(shown).toSorted(), ["claude-code new", "opencode failed", "pi new"]);
  assert.match(second.find(({ status }) => status === "failed")?.reason ?? "", /the database is locked/);
  const from = new LocalTranscripts({ from: "home", machine: locked.machine, now: Date.now });
  const { tools, failed } = await from.find({});
  assert.deepEqual(tools.map(({ tool }) => tool).toSorted(), ["claude-code", "pi"]);
  assert.deepEqual(failed, [
    { tool: "opencode", title: "opencode", reason: '"opencode.db": the database is locked' },
  ]);
  writer?.close();
});

test("a watch reports a locked database once, follows the others, and imports it once free", async (t) => {
  let writer: DatabaseSync | undefined;
  const { machine } = makeHome(t, (path, folder) => void (writer = lock(path, folder)));
  await using engine = await openEngine({ store: "memory:" });
  const end = new AbortController();
  const seen: string[] = [];
  const ready = (): void => {
    writer?.exec("ROLLBACK");
    writer?.close();
  };
  const signal = AbortSignal.any([end.signal, AbortSignal.timeout(30_000)]);
  for await (const one of watchTranscripts(engine, { tool: "auto", machine, signal, ready })) {
    seen.push(shown(one));
    if (shown(one) === "opencode new") end.abort();
  }
  assert.deepEqual(seen.toSorted(), ["claude-code new", "opencode failed", "opencode new", "pi new"]);
});

for (const [what, part] of [
  ["folder", "/projects/-closed"],
  ["file", transcriptId(2)],
] as const)
  test(`an unreadable ${what} is reported with its path and reason, and the rest is imported`, async (t) => {
    const { write, machine } = makeHome(t);
    const text = claudeText(transcriptId(2), "/b", "Which month?");
    write(`.claude/projects/-closed/${transcriptId(2)}.jsonl`, text);
    forbid(t, part);
    const options = { tool: "claude-code", machine };
    const check = (results: readonly ImportedTranscript[]): void => {
      assert.deepEqual(results.map(shown).toSorted(), ["claude-code failed", "claude-code new"]);
      const reason = results.find(({ status }) => status === "failed")?.reason ?? "";
      assert.match(reason, /-closed.*cannot be read: EACCES: permission denied$/);
    };
    check(await importAll(options));
    await using engine = await openEngine({ store: "memory:" });
    const end = new AbortController();
    const ready = (): void => end.abort();
    check(await Array.fromAsync(watchTranscripts(engine, { ...options, ready, signal: end.signal })));
    const found = await new LocalTranscripts({ from: "home", machine, now: Date.now }).find({});
    assert.ok(found.sessions.some(({ sourceId }) => sourceId === transcriptId(1)));
    assert.deepEqual(
      found.failed.map(({ reason }) => reason),
      what === "folder" ? ['"-closed" cannot be read: EACCES: permission denied'] : [],
    );
  });

test("a watch without any folder of a tool waits for one", async (t) => {
  const { home, write } = makeHome(t);
  const machine = { home: join(home, "new"), env: {}, nowMs: Date.now() };
  await using engine = await openEngine({ store: "memory:" });
  const end = new AbortController();
  const signal = AbortSignal.any([end.signal, AbortSignal.timeout(30_000)]);
  const ready = (): void => void write("new/.pi/agent/sessions/-a/2026_x.jsonl", golden.piOne);
  const seen: string[] = [];
  for await (const one of watchTranscripts(engine, { tool: "auto", machine, signal, ready })) {
    seen.push(shown(one));
    end.abort();
  }
  assert.deepEqual(seen, ["pi new"]);
});
