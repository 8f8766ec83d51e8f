/** `skein import TOOL`: what another tool has on this machine becomes sessions here. */
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, skeinIn } from "./skein.ts";

const id = "0b6f9f5e-3a0c-4e0a-9d5e-111111111111";

/** A conversation of Claude Code with one call; more turns make it grow. */
function transcript(turns: number): string {
  const lines: object[] = [];
  let parentUuid: string | null = null;
  const add = (type: string, message: object): void => {
    const uuid = `u${lines.length}`;
    const timestamp = new Date(1_760_000_000_000 + lines.length * 1_000).toISOString();
    const place = { cwd: "/home/ann/payroll", version: "2.1.39", gitBranch: "main", isSidechain: false };
    lines.push({ type, uuid, parentUuid, timestamp, sessionId: id, ...place, userType: "external", message });
    parentUuid = uuid;
  };
  const usage = { input_tokens: 100, output_tokens: 20 };
  const answer = (name: string, block: object) => ({
    id: name,
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5-20250929",
    content: [block],
    usage,
  });
  for (let turn = 0; turn < turns; turn++) {
    add("user", {
      role: "user",
      content: `Which rate in month ${turn}? key sk-ant-api03-${"a1B2".repeat(22)}AA`,
    });
    const call = {
      type: "tool_use",
      id: `toolu_${turn}`,
      name: "Bash",
      input: { command: "cat rates.json" },
    };
    add("assistant", answer(`msg_${turn}a`, call));
    add("user", {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: `toolu_${turn}`, content: `base: 4.${turn}` }],
    });
    add("assistant", answer(`msg_${turn}b`, { type: "text", text: `It is 4.${turn}.` }));
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

function homeWith(turns: number): {
  readonly folder: string;
  readonly file: string;
  readonly env: Record<string, string>;
} {
  const folder = makeFolder();
  const projects = join(folder, "claude", "projects", "-home-ann-payroll");
  mkdirSync(projects, { recursive: true });
  const file = join(projects, `${id}.jsonl`);
  writeFileSync(file, transcript(turns));
  return { folder, file, env: { CLAUDE_CONFIG_DIR: join(folder, "claude"), HOME: folder } };
}

interface Answer {
  readonly sessions: readonly {
    readonly session: string | null;
    readonly status: string;
    readonly added: number;
    readonly redactions: { readonly kinds: object } | null;
  }[];
}

test("a session is listed, imported, updated when it grows, and continues with a model here", async () => {
  const { folder, file, env } = homeWith(1);
  const skein = skeinIn(folder);
  const run = async (...words: string[]): Promise<Answer> => {
    const ended = await skein.run([...words, "--json"], { env });
    assert.equal(ended.code, 0, ended.stderr);
    return JSON.parse(ended.stdout) as Answer;
  };
  await skein.open();
  // A folder that is named like the tool changes nothing.
  mkdirSync(join(folder, "claude-code"));
  const listed = await run("import", "claude-code", "--dry-run");
  assert.deepEqual(
    listed.sessions.map(({ session, status }) => [session, status]),
    [[null, "found"]],
  );
  const asked = await skein.run(["import", "claude-code", "--verbatim"], { env });
  assert.match(asked.stderr, /--verbatim would store secrets[^]*--yes/);
  assert.notEqual(asked.code, 0);
  const first = (await run("import", "claude-code")).sessions[0]!;
  assert.deepEqual(first.redactions?.kinds, { "anthropic-key": 1 });
  assert.deepEqual([first.status, first.added], ["new", 3]);
  assert.deepEqual((await run("import", "auto")).sessions[0]?.status, "same");
  writeFileSync(file, transcript(2));
  const grown = (await run("import", "claude-code")).sessions[0]!;
  assert.deepEqual([grown.session, grown.status, grown.added], [first.session, "grown", 3]);
  assert.deepEqual((await run("import", "claude-code", "--project", "elsewhere")).sessions, []);
  const session = String(first.session);
  const shown = await skein.here("show", session);
  assert.match(shown.stdout, /^status +suspended/m);
  assert.match(shown.stdout, /^imported +4 model calls, 480 tokens, cost unknown, in another tool$/m);
  const secret = await skein.here("search", "a1B2a1B2");
  assert.doesNotMatch(secret.stdout, /a1B2a1B2/);
  const waiting = await skein.run(["ask", session, "remember rate is 4.1"], { env });
  assert.equal(waiting.code, 7, waiting.stderr);
  await skein.here("activate", session);
  const answered = await skein.run(["ask", session, "remember rate is 4.1"], { env });
  assert.equal(answered.code, 0, answered.stderr);
  const exported = await skein.here("export", session, "--format", "markdown");
  assert.match(exported.stdout, /base: 4\.1/);
  assert.equal((await skein.here("verify")).code, 0);
});

test("a tool without sessions, a wrong name and a damaged file are errors with a hint", async () => {
  const { folder, file, env } = homeWith(1);
  const skein = skeinIn(folder);
  await skein.open();
  const none = await skein.run(["import", "codex"], {
    env: { HOME: folder, CODEX_HOME: join(folder, "none") },
  });
  assert.match(none.stderr, /no sessions of codex found[^]*looked in .*none[^]*skein import codex PATH/);
  const wrong = await skein.here("import", "claud-code", folder);
  assert.match(wrong.stderr, /expected one of claude-code, codex/);
  const unknown = await skein.here("import", "cursor");
  assert.match(unknown.stderr, /"cursor" cannot be read[^]*or name a tool: claude-code, codex/);
  writeFileSync(file, `${transcript(1)}{"type":"user","uuid":"torn`);
  const torn = await skein.run(["import", "claude-code"], { env });
  assert.equal(torn.code, 0, torn.stderr);
  assert.match(torn.stdout, /1 damaged record/);
});

test("a dry run needs no store, a path without sessions is an error, auto reads a file once", async () => {
  const { folder, file, env } = homeWith(1);
  const skein = skeinIn(folder);
  const dry = await skein.run(["import", "claude-code", "--dry-run"], { env });
  assert.equal(dry.code, 0, dry.stderr);
  assert.match(dry.stdout, /1 session: 1 found/);
  const empty = join(folder, "empty");
  mkdirSync(empty);
  writeFileSync(join(folder, "none.jsonl"), "");
  writeFileSync(join(folder, "notes.txt"), "a note\n");
  for (const name of ["empty", "none.jsonl", "notes.txt"]) {
    const ended = await skein.here("import", "claude-code", join(folder, name), "--dry-run");
    assert.notEqual(ended.code, 0, name);
    assert.match(ended.stderr, new RegExp(`${name}.*no sessions of claude-code found[^]*SESSION\\.jsonl`));
  }
  const other = await skein.here("import", "codex", join(folder, "notes.txt"), "--dry-run");
  assert.equal(other.code, 1);
  assert.match(other.stderr, /notes\.txt.*no messages of Codex.*expected rollout-/);
  const auto = await skein.here("import", "auto", file);
  assert.equal(auto.code, 0, auto.stderr);
  assert.match(auto.stdout, /^1 session: 1 new$/m);
  const unknown = await skein.here("import", "auto", join(folder, "notes.txt"));
  assert.match(unknown.stderr, /notes\.txt.*no transcript of a known tool/);
  const missing = await skein.here("import", "claude-code", join(folder, "missing"), "--watch");
  assert.notEqual(missing.code, 0);
  assert.match(missing.stderr, /missing.*cannot be read: ENOENT/);
});

test("chat offers the directory of an imported session: commands without a terminal", async () => {
  const { folder, file, env } = homeWith(1);
  const project = join(folder, "it's a project");
  mkdirSync(project);
  writeFileSync(file, transcript(1).replaceAll("/home/ann/payroll", project));
  const skein = skeinIn(folder);
  await skein.open();
  const imported = await skein.run(["import", "claude-code", "--json"], { env });
  const session = String((JSON.parse(imported.stdout) as Answer).sessions[0]?.session);
  await skein.here("activate", session);
  const chat = await skein.run(["chat", session], { env });
  assert.equal(chat.code, 0, chat.stderr);
  assert.match(chat.stderr, /> Which rate in month 0/);
  assert.match(chat.stderr, /It is 4\.0\./);
  const [, command = ""] = /skein( bind \w+ directory --path .* --mode write)$/m.exec(chat.stderr) ?? [];
  assert.match(command, /'/);
  assert.match(chat.stderr, /bind \w+ shell --sandbox --path /);
  const [state] = await skein.look("state", session);
  assert.deepEqual(state!["bindings"], [], "nothing is bound");
});

test("files without messages are counted, not failed; a file of unknown records fails", async () => {
  const { folder, env } = homeWith(1);
  const projects = join(folder, "claude", "projects", "-home-ann-payroll");
  const write = (name: string, line: object): void =>
    writeFileSync(join(projects, `${id.replace(/1+$/, name)}.jsonl`), `${JSON.stringify(line)}\n`);
  write("222222222222", { type: "file-history-snapshot", messageId: "m", snapshot: {} });
  symlinkSync("/etc/passwd", join(projects, "linked.jsonl"));
  const skein = skeinIn(folder);
  // An empty variable counts as none.
  const started = await skein.run(["import", "auto"], { env: { ...env, XDG_DATA_HOME: "", CODEX_HOME: "" } });
  assert.equal(started.code, 0, started.stderr);
  assert.match(started.stdout, /^3 sessions: 1 new, 2 excluded$/m);
  assert.match(started.stdout, /^1 excluded session: no messages$/m);
  assert.match(started.stdout, /^1 excluded session: links and devices are not followed$/m);
  assert.match(started.stdout, / \/home\/ann\/payroll +Which rate in month 0/);
  const lower = await skein.run(["import", "auto", "--project", "PAYROLL"], { env });
  assert.match(lower.stdout, /^3 sessions: 1 same, 2 excluded$/m);
  write("333333333333", { type: "turn-of-2031", uuid: "u1", sessionId: id });
  const newer = await skein.run(["import", "auto"], { env });
  assert.equal(newer.code, 1, newer.stdout);
  assert.match(newer.stdout, /failed .*no messages; only records of unknown kinds: "turn-of-2031"/);
  // A name is shown without the terminal's control codes.
  writeFileSync(join(projects, "a\u001b[31m\nb.jsonl"), transcript(1));
  const named = await skein.run(["import", "auto"], { env });
  assert.match(named.stderr, /^\d: claude-code a.*b: same$/m);
  assert.doesNotMatch(named.stderr + named.stdout, /\u001b\[31m/);
});

test("cost says what an imported session used elsewhere", async () => {
  const { folder, env } = homeWith(1);
  const skein = skeinIn(folder);
  const imported = await skein.run(["import", "claude-code", "--json"], { env });
  const session = String((JSON.parse(imported.stdout) as Answer).sessions[0]?.session);
  const cost = await skein.here("cost", session);
  assert.match(cost.stderr, /^imported: 2 model calls, 240 tokens, cost unknown, in another tool$/m);
});

test("auto finds each file of a mixed folder once, as the tool's that wrote it", async () => {
  const folder = makeFolder();
  const mixed = join(folder, "mixed");
  mkdirSync(mixed);
  const write = (name: string, ...lines: object[]): void =>
    writeFileSync(join(mixed, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  writeFileSync(join(mixed, `${id}.jsonl`), transcript(1));
  const said = { role: "user", content: "hello" };
  write(
    "2026-01-01_aaaa.jsonl",
    { type: "session", version: 3, id: "aaaa", timestamp: "2026-01-01T00:00:00Z", cwd: "/p" },
    { type: "message", id: "b", parentId: null, timestamp: "2026-01-01T00:00:00Z", message: said },
  );
  const item = { type: "message", role: "user", content: [{ type: "input_text", text: "hello" }] };
  write(
    "rollout-2026-01-01T00-00-00-019c8a70-0000-7f33-98ea-00000000000c.jsonl",
    { type: "session_meta", payload: { id: "019c8a70-0000-7f33-98ea-00000000000c", cwd: "/p" } },
    { type: "response_item", payload: item },
  );
  const ended = await skeinIn(folder).here("import", "auto", mixed, "--json");
  assert.equal(ended.code, 0, ended.stderr);
  const { sessions } = JSON.parse(ended.stdout) as {
    readonly sessions: readonly { readonly tool: string; readonly status: string }[];
  };
  assert.deepEqual(
    sessions.map(({ tool, status }) => [tool, status]),
    [
      ["claude-code", "new"],
      ["codex", "new"],
      ["pi", "new"],
    ],
  );
});
