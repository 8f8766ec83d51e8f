/** Exported sessions of every source, opened by the tools' own readers. They are hundreds of megabytes. */
// Process of its own: it sets a variable of the environment.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { ExportedTranscript } from "../../src/runtime/transfer/foreign-transcript.ts";
import { importTranscripts, installTranscript } from "../../src/transcripts/transcripts.ts";
import { inMemory } from "../runtime/place.ts";
import { longOnly } from "../slice.ts";
import { goldenFiles } from "./golden.ts";
import { installVendor, startCodex } from "./vendor.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-vendor-readers-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const home = join(folder, "home");
const cwd = join(folder, "project");
for (const made of [home, cwd]) mkdirSync(made);
const machine = { home, env: {}, nowMs: Date.UTC(2030, 0, 1) };
const options = { skip: longOnly, timeout: 600_000 };

/** The made sessions of every format, and the recorded ones where they are, written for a tool. */
async function exported(format: "claude-code" | "codex" | "opencode" | "pi"): Promise<ExportedTranscript[]> {
  await using place = inMemory();
  const sources = goldenFiles.map(({ format: tool, file, text }) => {
    const path = join(folder, file);
    writeFileSync(path, text);
    return { tool, path };
  });
  const recorded = ["claude-code", "codex", "opencode", "pi"]
    .map((tool) => ({ tool, path: join("/work/shared/samples", tool) }))
    .filter(({ path }) => existsSync(path));
  const made: ExportedTranscript[] = [];
  for (const source of [...sources, ...recorded])
    for await (const { session } of importTranscripts(place.engine, { ...source, machine }))
      if (session !== null)
        made.push(await (await place.engine.session(session)).exportTranscript({ format, cwd }));
  assert.ok(made.length >= goldenFiles.length);
  return made;
}

const idsOf = (made: readonly ExportedTranscript[]): string[] =>
  made.map(({ sessionId }) => sessionId ?? "").toSorted();

interface Line {
  readonly type: string;
  readonly subtype?: string;
  readonly isMeta?: boolean;
  readonly payload?: { readonly type?: string };
}

const linesOf = (text: string): Line[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

test("the Claude Agent SDK lists, reads and forks every session", options, async (t) => {
  const vendor = installVendor("claude-agent-sdk");
  if (typeof vendor === "string") return t.skip(vendor);
  const made = await exported("claude-code");
  for (const one of made) await installTranscript("claude-code", one, machine);
  process.env["CLAUDE_CONFIG_DIR"] = join(home, ".claude");
  const [entry] = globSync(join(vendor.modules, "@anthropic-ai/claude-agent-sdk/sdk.mjs"));
  const sdk = (await import(pathToFileURL(entry ?? "").href)) as {
    listSessions(where: object): Promise<{ readonly sessionId: string }[]>;
    getSessionMessages(id: string, where: object): Promise<object[]>;
    forkSession(id: string, where: object): Promise<{ readonly sessionId: string }>;
  };
  const listed = (await sdk.listSessions({ dir: cwd })).map(({ sessionId }) => sessionId);
  assert.deepEqual(listed.toSorted(), idsOf(made));
  for (const { sessionId, text } of made) {
    const id = sessionId ?? "";
    const messages = await sdk.getSessionMessages(id, { dir: cwd });
    // It stops at a compaction, and leaves out what the tool itself told the model.
    const lines = linesOf(text);
    const last = lines.findLastIndex(({ subtype }) => subtype === "compact_boundary");
    const said = lines
      .slice(last + 1)
      .filter(({ type, isMeta }) => (type === "user" || type === "assistant") && isMeta !== true);
    assert.equal(messages.length, said.length, id);
    const fork = await sdk.forkSession(id, { dir: cwd });
    assert.equal((await sdk.getSessionMessages(fork.sessionId, { dir: cwd })).length, said.length);
  }
  t.diagnostic(`${made.length} sessions`);
});

test("codex app-server lists, reads and forks every session", options, async (t) => {
  const vendor = installVendor("codex");
  if (typeof vendor === "string") return t.skip(vendor);
  const made = await exported("codex");
  for (const one of made) await installTranscript("codex", one, machine);
  const [program] = globSync(join(vendor.modules, "@openai/codex-*/vendor/*/bin/codex"));
  const codex = startCodex(program ?? "", join(home, ".codex"));
  const count = (text: string, type: RegExp): number =>
    linesOf(text).filter(({ payload }) => type.test(payload?.type ?? "")).length;
  try {
    await codex.call("initialize", { clientInfo: { name: "skein", version: "0" } });
    codex.notify("initialized");
    const { data } = (await codex.call("thread/list", { limit: 100 })) as { data: { id: string }[] };
    const withUser = made.filter(({ text }) => count(text, /^user_message$/) > 0);
    assert.deepEqual(data.map(({ id }) => id).toSorted(), idsOf(withUser));
    for (const { sessionId, text } of withUser) {
      const read = await codex.call("thread/read", { threadId: sessionId, includeTurns: true });
      const { turns } = read["thread"] as { turns: unknown[] };
      assert.ok(turns.length >= count(text, /^user_message$/), sessionId ?? "");
      const { thread } = (await codex.call("thread/fork", { threadId: sessionId })) as {
        thread: { path: string };
      };
      const fork = readFileSync(thread.path, "utf8");
      for (const type of [/_call$/, /_call_output$/]) assert.equal(count(fork, type), count(text, type));
    }
    t.diagnostic(`${withUser.length} sessions`);
  } finally {
    codex.stop();
  }
});

test("opencode imports every session, and exports it equal", options, async (t) => {
  const vendor = installVendor("opencode");
  if (typeof vendor === "string") return t.skip(vendor);
  const [program] = globSync(join(vendor.modules, "opencode-*/bin/opencode"));
  const place = join(folder, "opencode");
  const names = ["DATA", "CONFIG", "STATE", "CACHE"].map((name) => [`XDG_${name}_HOME`, join(place, name)]);
  const env = { PATH: process.env["PATH"], HOME: place, ...Object.fromEntries(names) } as NodeJS.ProcessEnv;
  mkdirSync(place);
  /** Into a file: what it writes to a pipe is cut off when it exits. */
  const run = (...words: string[]): string => {
    const path = join(folder, "opencode.out");
    const out = openSync(path, "w");
    execFileSync(program ?? "", words, { cwd, env, stdio: ["ignore", out, "ignore"] });
    closeSync(out);
    return readFileSync(path, "utf8");
  };
  const messagesOf = (text: string): unknown[] => {
    const { messages } = JSON.parse(text.slice(text.indexOf("{"))) as {
      readonly messages: readonly { readonly info: Record<string, unknown>; readonly parts: unknown[] }[];
    };
    return messages.map(({ info: { path: _path, ...info }, parts }) => ({ info, parts }));
  };
  const made = await exported("opencode");
  for (const { sessionId, text } of made) {
    const file = join(folder, "session.json");
    writeFileSync(file, text);
    run("import", file);
    assert.deepEqual(messagesOf(run("export", sessionId ?? "")), messagesOf(text));
  }
  t.diagnostic(`${made.length} sessions`);
});

test("pi's session manager reads every entry and rewrites nothing", options, async (t) => {
  const vendor = installVendor("pi");
  if (typeof vendor === "string") return t.skip(vendor);
  const entry = join(vendor.modules, "package/dist/bundle/index.js");
  const { SessionManager } = (await import(pathToFileURL(entry).href)) as {
    SessionManager: { open(path: string): { getEntries(): unknown[]; getBranch(): unknown[] } };
  };
  const made = await exported("pi");
  for (const one of made) {
    const copy = join(folder, "copy.jsonl");
    copyFileSync(await installTranscript("pi", one, machine), copy);
    const session = SessionManager.open(copy);
    const entries = linesOf(one.text).length - 1;
    assert.deepEqual([session.getEntries().length, session.getBranch().length], [entries, entries]);
    assert.equal(readFileSync(copy, "utf8"), one.text);
  }
  t.diagnostic(`${made.length} sessions`);
});
