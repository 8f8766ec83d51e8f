/** `skein export --format TOOL`: files that other tools open, and `--install`, which replaces nothing. */
// Process of its own: it moves the home folder.
import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { exportFormats } from "../../src/call/field.ts";
import { goldenFiles } from "../transcripts/golden.ts";
import { makeFolder, skeinIn } from "./skein.ts";

/** A store with one imported session of Claude Code. */
async function folderWithImport() {
  const folder = makeFolder();
  const { file, text } = goldenFiles.find(({ format }) => format === "claude-code")!;
  writeFileSync(join(folder, file), text);
  // Not in progress: the last call stays without a result.
  utimesSync(join(folder, file), 1_700_000_000, 1_700_000_000);
  const skein = skeinIn(folder);
  await skein.open();
  const home = join(folder, "home");
  mkdirSync(home);
  // The tools' folders of this process are those of the test.
  process.env["HOME"] = home;
  const imported = await skein.here("import", "claude-code", join(folder, file), "--json");
  assert.equal(imported.code, 0, imported.stderr);
  const [one] = (JSON.parse(imported.stdout) as { sessions: { session: string }[] }).sessions;
  return { folder, home, skein, id: one!.session };
}

test("every format goes to standard output or a file, with the losses on standard error", async () => {
  const { folder, skein, id } = await folderWithImport();
  for (const format of exportFormats) {
    const { code, stdout, stderr } = await skein.here("export", id, "--format", format);
    assert.equal(code, 0, stderr);
    assert.match(stderr, new RegExp(`^not expressed in ${format}: .*call without a result`, "m"));
    const file = join(folder, `${format}.out`);
    const written = await skein.here("export", id, "--format", format, "-o", file);
    assert.equal(written.code, 0, written.stderr);
    assert.equal(readFileSync(file, "utf8"), stdout);
  }
  const answer = await skein.here(
    "export",
    id,
    "--format",
    "opencode",
    "-o",
    join(folder, "o.json"),
    "--json",
  );
  const { resume, left, entries } = JSON.parse(answer.stdout) as Record<string, unknown>;
  assert.match(String(resume), /^opencode import \S+o\.json && opencode --session ses_\w+$/);
  assert.ok(Array.isArray(left) && Number(entries) > 0);
  const outputOf = async (format: string): Promise<string> =>
    (await skein.here("export", id, "--format", format, "-o", join(folder, `of-${format}`))).stdout;
  assert.match(await outputOf("codex"), /^--install puts it where codex finds it$/m);
  assert.match(await outputOf("pi"), /&& pi --session \/\S+of-pi$/m);
  assert.doesNotMatch(await outputOf("openai"), /to continue|--install/);
});

test("--install asks, writes once under the tool's folder, and replaces nothing", async () => {
  const { home, skein, id } = await folderWithImport();
  const install = (tool: string, ...more: string[]) =>
    skein.here("export", id, "--format", tool, "--install", ...more);
  const refused = await install("claude-code");
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /would be written\n.*--yes/);
  assert.ok(!existsSync(join(home, ".claude")));
  const commands: Readonly<Record<string, RegExp>> = {
    "claude-code": /^to continue: cd \S+ && claude --resume [0-9a-f-]{36}$/m,
    codex: /^to continue: cd \S+ && codex resume [0-9a-f-]{36}$/m,
    pi: /^to continue: cd \S+ && pi --session \S+\.jsonl$/m,
  };
  for (const [tool, command] of Object.entries(commands)) {
    const done = await install(tool, "--yes");
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, command);
    const path = /^wrote (\S+): /m.exec(done.stdout)?.[1] ?? "";
    assert.ok(path.startsWith(home), path);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal((await install(tool, "--yes")).code, 0, "the same again");
    appendFileSync(path, "{}\n");
    const text = readFileSync(path, "utf8");
    const again = await install(tool, "--yes");
    assert.match(again.stderr, /exists, and its content differs/);
    assert.deepEqual([readFileSync(path, "utf8"), readdirSync(dirname(path)).length], [text, 1]);
  }
  const found = await skein.here("import", "auto", "--dry-run", "--json");
  const { sessions } = JSON.parse(found.stdout) as { sessions: { tool: string; status: string }[] };
  assert.deepEqual(sessions.map(({ tool }) => tool).toSorted(), ["claude-code", "codex", "pi"]);
});

test("options that do not fit are errors, before anything is written", async () => {
  const { folder, skein, id } = await folderWithImport();
  const wrong: [string[], RegExp][] = [
    [["--install"], /--install requires the format of another tool/],
    [["--format", "html", "--cwd", "/tmp"], /--cwd requires the format of another tool/],
    [["--format", "openai", "--install"], /--install: expected claude-code, codex or pi, got openai/],
    [["--format", "opencode", "--install"], /opencode imports a file[^]*opencode import FILE/],
    [["--format", "codex", "--install", "-o", join(folder, "x")], /--install or --output, not both/],
    [["--format", "codex", "--yes"], /--yes requires --install/],
    [["--format", "codex", "--move"], /--move requires a bundle/],
    [["--format", "word"], /--format/],
  ];
  for (const [words, message] of wrong) {
    const { code, stderr } = await skein.here("export", id, ...words);
    assert.deepEqual([words, code], [words, 2]);
    assert.match(stderr, message);
  }
  assert.ok(!existsSync(join(folder, "x")));
});
