/** Files that come along, from the command line: rewind, fork and diff with --files. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runWords } from "../../src/cli/command/run.ts";
import { collectingSurface } from "../../src/cli/command/screen.ts";
import { makeFolder } from "./skein.ts";

type Answer = Record<string, unknown>;

function place() {
  const folder = makeFolder();
  const work = join(folder, "work");
  mkdirSync(work);
  const say = async (...words: readonly string[]) => {
    const surface = collectingSurface(null);
    const untilStopped = () => new AbortController().signal;
    const code = await runWords(["--store", join(folder, "skein.db"), ...words], { surface, untilStopped });
    return { code, ...surface.collected };
  };
  const json = async (...words: readonly string[]): Promise<Answer> => {
    const { code, stdout, stderr } = await say(...words, "--json");
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Answer;
  };
  return { folder, work, say, json };
}

test("rewind, fork and diff include files, and list paths in the way", async () => {
  const { folder, work, say, json } = place();
  writeFileSync(join(work, "rates"), "base 4\ntop 9\n");
  const bound = ["--bind", `directory:${work}:write`, "--bind", `shell:${work}`];
  const model = ["--model", "offline/offline"];
  const id = String((await json("open", "--objective", "Rates", "--yes", ...model, ...bound))["id"]);
  await json("save", id, "before");
  await say("ask", id, "run sed -i s/4/5/ rates && echo new > extra");
  assert.deepEqual(readdirSync(work), ["extra", "rates"]);
  assert.match((await say("log", id)).stdout, /resource\.changed +\S+work changed: \+extra ~rates\n/);

  const shown = await say("diff", `${id}@before`, id, "--files");
  assert.match(shown.stdout, /^Files\n {2}\+ .*work: extra \(file 644\)\n {6}@@ -0,0 \+1,1 @@\n {6}\+new\n/m);
  assert.match(
    shown.stdout,
    /~ .*work: rates \(file 644\)\n {6}@@ .*\n {6}-base 4\n {6}\+base 5\n {7}top 9\n/,
  );

  const copy = join(folder, "copy");
  const fork = await say("fork", id, "--at", "before", "--files", copy);
  assert.match(fork.stdout, /^ses_\w+\n$/);
  assert.deepEqual(readdirSync(copy), ["rates"]);
  const copied = (await say("show", fork.stdout.trim())).stdout;
  assert.ok(copied.includes(`directory ${work} at ${copy} (write)`), copied);
  assert.ok(copied.includes(`shell at ${copy}`), copied);
  assert.ok((await say("show", id)).stdout.includes(`directory ${work} (write)`));
  assert.equal(readFileSync(join(copy, "rates"), "utf8"), "base 4\ntop 9\n");
  const again = await say("fork", id, "--at", "before", "--files", copy);
  assert.deepEqual([again.code === 0, /copy already exists/.test(again.stderr)], [false, true]);

  writeFileSync(join(work, "rates"), "mine\n");
  const refused = await say("rewind", id, "--to", "before", "--files");
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /cannot restore a file: .*work\/rates: another program changed it\n/);
  assert.deepEqual(readdirSync(work), ["extra", "rates"]);
  writeFileSync(join(work, "rates"), "base 5\ntop 9\n");
  const done = await say("rewind", id, "--to", "before", "--files");
  assert.match(done.stdout, /^rewound to before at \d+ of ses_\w+\n2 paths put back\n {2}\S+extra\n/);
  assert.deepEqual(readdirSync(work), ["rates"]);
  assert.equal(readFileSync(join(work, "rates"), "utf8"), "base 4\ntop 9\n");
  const nothing = await json("rewind", id, "--to", "before", "--files");
  assert.deepEqual(Object.keys(nothing).toSorted(), ["duplicate", "files", "headSeq", "seq", "session"]);
});
