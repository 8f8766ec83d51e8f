/** `skein convert FROM TO FILE`: without a store, the same bytes twice, losses on standard error. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { transcriptTargets } from "../../src/transcripts/transcripts.ts";
import { goldenFiles } from "../transcripts/golden.ts";
import { makeFolder, skeinIn } from "./skein.ts";

function folderWithGolden() {
  const folder = makeFolder();
  const paths = goldenFiles.map(({ format, file, text }) => {
    writeFileSync(join(folder, file), text);
    return { format, path: join(folder, file) };
  });
  return { folder, paths, skein: skeinIn(folder) };
}

test("every format converts to every target, twice to the same bytes, and no store appears", async () => {
  const { folder, paths, skein } = folderWithGolden();
  for (const { format, path } of paths) {
    for (const target of transcriptTargets) {
      const words = ["convert", format, target, path, ...(format === "chatgpt" ? ["--session", "c-1"] : [])];
      const first = await skein.here(...words);
      assert.equal(first.code, 0, `${format} ${target}\n${first.stderr}`);
      assert.ok(first.stdout.length > 0);
      assert.equal((await skein.here(...words)).stdout, first.stdout);
    }
  }
  assert.ok(!existsSync(join(folder, "skein.db")));
});

test("the report is on standard error, and --out writes a file that reads back", async () => {
  const { folder, paths, skein } = folderWithGolden();
  const { path } = paths.find(({ format }) => format === "claude-code")!;
  const out = join(folder, "rollout.jsonl");
  const done = await skein.here("convert", "claude-code", "codex", path, "--out", out);
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, /^wrote .*rollout\.jsonl: \d+ entries, /);
  assert.match(done.stderr, /^not expressed in codex: /m);
  const back = await skein.here("convert", "codex", "openai", out);
  const roles = (JSON.parse(back.stdout) as { role: string }[]).map(({ role }) => role);
  assert.ok(roles.includes("tool") && roles.includes("assistant"), roles.join(" "));
  const refused = await skein.here("convert", "claude-code", "codex", path, "--out", out);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /already exists\n.*--force/);
  const json = await skein.here("convert", "claude-code", "pi", path, "--out", out, "--force", "--json");
  const { entries, left, report } = JSON.parse(json.stdout) as Record<string, unknown>;
  assert.ok(Number(entries) > 0 && Array.isArray(left) && typeof report === "object");
  assert.match(readFileSync(out, "utf8"), /^\{"type":"session","version":3,/);
});

test("a wrong format, target, file or session is an error that lists the choices", async () => {
  const { folder, paths, skein } = folderWithGolden();
  const { path } = paths.find(({ format }) => format === "codex")!;
  const wrong: [string[], RegExp][] = [
    [["codes", "pi", path], /did you mean "codex"/],
    [["codex", "pie", path], /transcript target: expected one of .*\n.*did you mean "pi"/],
    [["codex", "pi", join(folder, "none.jsonl")], /none\.jsonl/],
    [["codex", "pi", path, "--session", "0000"], /holds no codex session "0000"\n.*it has 22222222/],
  ];
  for (const [words, message] of wrong) {
    const { code, stderr } = await skein.here("convert", ...words);
    assert.notEqual(code, 0, words.join(" "));
    assert.match(stderr, message);
  }
});

test("a file without messages is an error, and nothing is written", async () => {
  const { folder, skein } = folderWithGolden();
  const garbage: [string, string, string][] = [
    ["claude-code", "garbage.jsonl", "not json\n\u0000\u0001 at all\n"],
    ["codex", "rollout-2026-11-10T10-00-00-22222222-2222-4222-8222-222222222229.jsonl", "not json\n"],
    ["pi", "other.jsonl", '{"a":1}\n{"b":2}\n'],
    ["claude-code", "empty.jsonl", ""],
  ];
  for (const [format, name, text] of garbage) {
    const path = join(folder, name);
    const out = join(folder, "out.md");
    writeFileSync(path, text);
    const { code, stdout, stderr } = await skein.here("convert", format, "markdown", path, "--out", out);
    assert.notEqual(code, 0, `${format} ${name}: ${stdout}`);
    assert.match(stderr, /convert: .*(no messages of|holds no)/, name);
    assert.ok(!existsSync(out), name);
  }
});
