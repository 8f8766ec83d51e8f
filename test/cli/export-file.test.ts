/** What export writes to: files, links, pipes and devices; and what it must not write over. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runWords } from "../../src/cli/command/run.ts";
import { collectingSurface } from "../../src/cli/command/screen.ts";
import { endOf, makeFolder, skeinIn } from "./skein.ts";
import { modeOf } from "../file-mode.ts";

async function folderWithSession() {
  const folder = makeFolder();
  const skein = skeinIn(folder);
  const id = await skein.open("November payroll run");
  const status = async () => (await skein.look("show", id))[0]!["status"];
  const at = (name: string) => join(folder, name);
  return { folder, skein, id, at, status };
}

const isBundle = (path: string) => readFileSync(path, "latin1").startsWith("skein-bundle 2\n");

test("export writes over no store, by whatever name and even when forced", async () => {
  const { skein, id, at, status } = await folderWithSession();
  const other = makeFolder();
  await skeinIn(other).open("Another one");
  copyFileSync(at("skein.db"), at("backup"));
  linkSync(at("skein.db"), at("hard"));
  symlinkSync("skein.db", at("soft"));
  const names = ["skein.db", "skein.db-wal", "skein.db-shm", "skein.db-journal", "backup", "hard", "soft"];
  for (const file of [...names.map(at), join(other, "skein.db"), join(other, "skein.db-wal")]) {
    for (const more of [[], ["--force"], ["--move", "--force"], ["--format", "html", "--force"]]) {
      const { code, stderr } = await skein.here("export", id, "-o", file, ...more);
      assert.deepEqual([file, code, /is a store, or belongs to one/.test(stderr)], [file, 2, true]);
    }
  }
  assert.equal(await status(), "open");
  const checked = await skein.look("verify");
  assert.equal(checked[0]!["ok"], true);
});

test("an existing file is replaced only with --force", async () => {
  const { folder, skein, id, at } = await folderWithSession();
  writeFileSync(at("x"), "mine");
  const refused = await skein.here("export", id, "-o", at("x"));
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /already exists\n.*--force/);
  assert.equal(readFileSync(at("x"), "utf8"), "mine");
  assert.equal((await skein.here("export", id, "-o", at("x"), "--force")).code, 0);
  assert.equal(isBundle(at("x")), true);
  assert.equal(modeOf(at("x"), 0o600), 0o600);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith(".part")),
    [],
  );
});

test("export follows links, writes straight into pipes, and refuses directories", async () => {
  const { folder, skein, id, at } = await folderWithSession();
  mkdirSync(at("sub"));
  symlinkSync(join("sub", "new"), at("dangling"));
  assert.equal((await skein.here("export", id, "-o", at("dangling"))).code, 0);
  assert.equal(isBundle(at("sub/new")), true);
  assert.equal((await skein.here("export", id, "-o", at("dangling"))).code, 2);
  assert.equal((await skein.here("export", id, "-o", at("dangling"), "--force")).code, 0);
  symlinkSync("circle", at("circle"));
  assert.equal((await skein.here("export", id, "-o", at("circle"))).code, 2);

  execFileSync("mkfifo", [at("pipe")]);
  const [came, piped] = await Promise.all([
    readFile(at("pipe"), "latin1"),
    skein.run(["export", id, "-o", "pipe"]),
  ]);
  assert.equal(piped.code, 0, piped.stderr);
  assert.match(came, /^skein-bundle 2\n/);
  assert.equal(statSync(at("pipe")).isFIFO(), true);
  assert.equal((await skein.here("export", id, "-o", "/dev/null")).code, 0);
  assert.equal(statSync("/dev/null").isCharacterDevice(), true);
  for (const out of ["-", "/dev/stdout"]) {
    const { stdout } = await skein.here("export", id, "-o", out);
    assert.match(stdout, /^skein-bundle 2\n/);
    assert.equal(stdout.includes("wrote"), false);
  }

  const refused = await skein.here("export", id, "-o", at("sub"), "--force", "--move");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /is a directory/);
  assert.equal(existsSync(join(folder, "-")), false);
});

test("an export that is stopped leaves nothing behind", async () => {
  const { folder, id, at } = await folderWithSession();
  const surface = collectingSurface(null);
  const untilStopped = () => AbortSignal.abort("SIGINT");
  const words = ["export", id, "-o", at("x"), "--store", at("skein.db")];
  assert.equal(await runWords(words, { surface, untilStopped }), 4);
  assert.match(surface.collected.stderr, /.*x: interrupted, the file is incomplete/);
  assert.deepEqual(readdirSync(folder), ["skein.db"]);
});

test("two exports to one file at once both end well, and the file is whole", async () => {
  const { folder, skein, id, at } = await folderWithSession();
  const ends = await Promise.all([1, 2, 3].map(() => skein.here("export", id, "-o", at("x"), "--force")));
  assert.deepEqual(
    ends.map(({ code }) => code),
    [0, 0, 0],
  );
  const names = readdirSync(folder).filter((name) => name.includes(".part"));
  assert.deepEqual(names, []);
  assert.equal((await skeinIn(makeFolder()).here("import", at("x"))).code, 0);
});

test("a session does not move when the bundle cannot be begun", async () => {
  const { skein, id, at, status } = await folderWithSession();
  writeFileSync(at("taken"), "mine");
  for (const file of [at("no/such/folder"), at("taken"), "/proc/no-file-here"]) {
    const { code } = await skein.here("export", id, "--move", "-o", file);
    assert.notEqual(code, 0);
    assert.equal(await status(), "open");
  }
});

test("a bundle that breaks off is an error, and a move is finished by the same again", async () => {
  const { skein, id, at, status } = await folderWithSession();
  const again = /the session is already moved; run the same command again to write the bundle/;
  const full = await skein.here("export", id, "-o", "/dev/full");
  assert.equal(full.code, 4);
  assert.equal(again.test(full.stderr), false);
  const broken = await skein.here("export", id, "--move", "-o", "/dev/full");
  assert.equal(broken.code, 4);
  assert.match(broken.stderr, /ENOSPC/);
  assert.match(broken.stderr, again);
  assert.equal(await status(), "moved");

  const child = skein.start(["export", id, "--move"]);
  child.stdin.end();
  child.stdout.destroy();
  const closed = await endOf(child);
  assert.equal(closed.code, 4);
  assert.match(closed.stderr, /EPIPE/);
  assert.match(closed.stderr, again);

  assert.equal((await skein.here("export", id, "--move", "-o", at("x"))).code, 0);
  const there = skeinIn(makeFolder());
  assert.match((await there.here("import", at("x"))).stdout, /it lives here now/);
});

test("errors name the options of the command line", async () => {
  const { skein, id } = await folderWithSession();
  const said = async (...words: readonly string[]) => {
    const { code, stderr } = await skein.here(...words);
    return [code, ...stderr.trimEnd().split(/\n +hint: /)];
  };
  assert.deepEqual(await said("export", id, "--to", "wsp_x"), [
    2,
    "skein: export: --to requires --move",
    "add --move",
  ]);
  assert.deepEqual(await said("export", id, "--move", "--with-forks"), [
    2,
    "skein: export: specify --move or --with-forks, not both",
    "a bundle moves one session; export its forks separately",
  ]);
  assert.deepEqual(await said("migrate", id, "--to", ""), [
    2,
    "skein: migrate: --to: the path is empty",
    "pass the path of the other store: --to PATH",
  ]);
  for (const [option, value] of [
    ["--model", "offline/offline"],
    ["--tools", "live"],
    ["--tool-calls", "3"],
    ["--name", "again"],
  ] as const) {
    assert.deepEqual(await said("replay", id, option, value), [
      2,
      `skein: replay: ${option} requires --from`,
      "add --from SEQ|NAME",
    ]);
  }
});

test("fork prints the id alone, for scripts", async () => {
  const { skein, id } = await folderWithSession();
  const { code, stdout, stderr } = await skein.run(["fork", id]);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /^ses_\w+\n$/);
  assert.equal((await skein.here("append", stdout.trim(), "hello")).code, 0);
});

test("a rejected import leaves no new store behind", async () => {
  const { folder, skein, id, at } = await folderWithSession();
  await skein.here("export", id, "-o", at("x"));
  const bundle = readFileSync(at("x"));
  writeFileSync(at("cut"), bundle.subarray(0, -9));
  writeFileSync(at("text"), "no bundle at all");
  const fresh = makeFolder();
  const take = async (file: string, ...more: readonly string[]) =>
    (await skein.here("import", file, "--store", join(fresh, "new.db"), ...more)).code;
  assert.equal(await take(at("cut")), 2);
  assert.equal(await take(at("text")), 2);
  assert.equal(await take(at("no-such-file")), 3);
  assert.equal(await take(at("x"), "--signed"), 1);
  assert.deepEqual(readdirSync(fresh), []);
  assert.equal(await take(at("x")), 0);
  const copy = await skein.here("migrate", id, "--store", join(fresh, "new.db"), "--to", join(fresh, "b.db"));
  assert.notEqual(copy.code, 0);
  await skein.here("export", id, "--move", "-o", at("moved"));
  assert.equal((await skein.here("migrate", id, "--to", join(fresh, "b.db"))).code, 1);
  assert.deepEqual(readdirSync(fresh), ["new.db"]);
  // A store that was there before stays, also when it is empty of this.
  assert.equal(await take(at("cut")), 2);
  assert.deepEqual(readdirSync(fresh), ["new.db"]);
  assert.equal(existsSync(join(folder, "skein.db")), true);
});

test("a damaged bundle is wrong input, and no damage of the store", async () => {
  const { skein, id, at } = await folderWithSession();
  await skein.here("append", id, "hello");
  await skein.here("export", id, "-o", at("x"));
  const bundle = readFileSync(at("x"));
  const there = skeinIn(makeFolder());
  await there.here("open", "Something else");
  const codes = new Set<number | null>();
  for (let offset = 20; offset < bundle.length; offset += 37) {
    const bad = Buffer.from(bundle);
    bad[offset] = (bad[offset] ?? 0) ^ 1;
    writeFileSync(at("bad"), bad);
    const { code, stderr } = await there.here("import", at("bad"));
    codes.add(code);
    assert.match(
      stderr,
      /^skein: (the bundle is damaged: |expected a session id)/,
      `byte ${offset}: ${stderr}`,
    );
    assert.equal(/verify/.test(stderr), false, stderr);
  }
  assert.deepEqual([...codes], [2]);
});
