/** Anchors on the command line: exit codes of verify after a cut, a restore and an acceptance. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { noFile } from "../kind.ts";
import { makeFolder, skeinIn } from "./skein.ts";

async function filled() {
  const folder = makeFolder();
  const skein = skeinIn(folder);
  const [opened] = await skein.look("open", "--objective", "Fix login");
  const id = String(opened?.["id"]);
  for (const text of ["one", "two", "three"]) await skein.here("append", id, text);
  return { folder, skein, id, heads: join(folder, "heads.json"), store: join(folder, "skein.db") };
}

test("a cut tail makes verify exit with 1, until it is accepted", { skip: noFile() }, async () => {
  const { skein, id, heads, store } = await filled();
  assert.match((await skein.here("verify")).stdout, /no heads were listed yet/);
  assert.match(
    (await skein.here("anchor")).stdout,
    /^root [0-9a-f]{64}\nrecord \d+ of wsp_\w+, not signed\n/,
  );
  assert.match((await skein.here("verify")).stdout, /checked against the heads of 1 log, .* not signed/);
  const raw = new DatabaseSync(store);
  raw.exec(`DELETE FROM records WHERE log = (SELECT id FROM logs WHERE session = '${id}') AND seq > 2`);
  raw.close();
  const cut = await skein.here("verify");
  assert.equal(cut.code, 1);
  assert.match(cut.stdout, new RegExp(`${id} at 3: the tail is missing: the noted head is 5`));
  const one = await skein.here("verify", id);
  assert.equal(one.code, 1, one.stdout);
  assert.match(one.stdout, new RegExp(`${id} at 3: the tail is missing: the noted head is 5`));
  const refused = await skein.here("anchor", "--to", heads);
  assert.deepEqual([refused.code, existsSync(heads)], [5, false]);
  assert.match(refused.stderr, new RegExp(`1 log no longer holds its listed head: ${id}`));
  assert.equal((await skein.here("anchor", "accept")).code, 2);
  const accepted = await skein.here("anchor", "accept", "--reason", "cut on purpose");
  assert.deepEqual([accepted.code, accepted.stdout], [0, `accepted 1 log as they are now\n  ${id}\n`]);
  assert.equal((await skein.here("verify")).code, 0);
  assert.equal((await skein.here("verify", id)).code, 0);
  assert.equal((await skein.here("anchor", "--to", heads)).code, 0);
});

test("a restored copy is found by its anchor, which is not written over", { skip: noFile() }, async () => {
  const { skein, id, heads, store, folder } = await filled();
  await skein.here("anchor");
  copyFileSync(store, join(folder, "backup.db"));
  await skein.here("append", id, "later");
  assert.equal((await skein.here("anchor", "--to", heads)).code, 0);
  assert.equal((await skein.here("verify", "--anchor", heads)).code, 0);
  copyFileSync(join(folder, "backup.db"), store);
  assert.equal((await skein.here("verify")).code, 0);
  const found = await skein.here("verify", "--anchor", heads);
  assert.equal(found.code, 1);
  assert.match(found.stdout, /the tail is missing: the anchor is at/);
  const before = readFileSync(heads, "utf8");
  const refused = await skein.here("anchor", "--to", heads);
  assert.deepEqual([refused.code, readFileSync(heads, "utf8")], [1, before]);
  assert.match(refused.stderr, /is missing from the store/);
  assert.equal((await skein.here("anchor", "accept", "--reason", "restored", "--anchor", heads)).code, 0);
  assert.equal((await skein.here("verify", "--anchor", heads)).code, 0);
  assert.equal((await skein.here("anchor", "--to", heads)).code, 0);
  assert.notEqual(readFileSync(heads, "utf8"), before);
});

test("an anchor is stored as a git note, and a changed one is refused", { skip: noFile() }, async () => {
  const { skein, folder, heads } = await filled();
  const config = { XDG_CONFIG_HOME: join(folder, "config") };
  assert.equal((await skein.run(["keys", "new"], { env: config })).code, 0);
  const git = (...words: readonly string[]): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], { cwd: folder }).toString();
  git("init", "-q");
  git("commit", "-q", "--allow-empty", "-m", "first");
  const who = {
    GIT_AUTHOR_NAME: "a",
    GIT_AUTHOR_EMAIL: "a@b",
    GIT_COMMITTER_NAME: "a",
    GIT_COMMITTER_EMAIL: "a@b",
  };
  const env = { ...config, ...who };
  const kept = await skein.run(["anchor", "--to", "git"], { env });
  assert.equal(kept.code, 0, kept.stderr);
  assert.match(git("notes", "--ref=skein", "show"), /"format":"skein-anchor"/);
  const verified = await skein.run(["verify", "--anchor", "git"], { env });
  assert.equal(verified.code, 0, verified.stderr);
  assert.match(verified.stdout, /signed by your key/);
  assert.equal((await skein.run(["anchor", "--to", heads], { env })).code, 0);
  const anchor = JSON.parse(readFileSync(heads, "utf8")) as { root: string };
  writeFileSync(heads, JSON.stringify({ ...anchor, root: "0".repeat(64) }));
  const changed = await skein.run(["verify", "--anchor", heads], { env });
  assert.deepEqual([changed.code, /signature .* does not match/.test(changed.stderr)], [2, true]);
  const local = await skein.run(["anchor", "--to", "http://127.0.0.1:1/x"], { env });
  assert.deepEqual([local.code, /a private address/.test(local.stderr)], [1, true]);
});
