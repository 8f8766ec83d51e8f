/** Triggers on Git: they fire when a ref moved, or when commits touch what was named. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { TriggerSpec } from "../../../src/core/trigger/trigger.ts";
import { openEngine, type SkeinError } from "../../../src/index.ts";
import { firedOf, makeFolder, pause, until, type Engine, type Session } from "./watched.ts";
import { kind } from "../../kind.ts";

const open = (): Promise<Engine> => openEngine({ store: kind().place() });

/** A repository with one commit on main, and the ways to change it. */
function makeRepository() {
  const folder = makeFolder();
  mkdirSync(folder.at("repo"));
  const env = {
    PATH: process.env["PATH"],
    HOME: folder.path,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "A",
    GIT_AUTHOR_EMAIL: "a@example.org",
    GIT_COMMITTER_NAME: "A",
    GIT_COMMITTER_EMAIL: "a@example.org",
  };
  const path = folder.at("repo");
  const git = (...args: string[]): string =>
    execFileSync("git", args, {
      cwd: path,
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  const commit = (file: string, text: string): string => {
    mkdirSync(folder.at(`repo/${file}/..`), { recursive: true });
    writeFileSync(folder.at(`repo/${file}`), text);
    git("add", ".");
    git("commit", "-qm", `${file}: ${text}`);
    return git("rev-parse", "HEAD");
  };
  git("init", "-q", "-b", "main");
  const first = commit("a", "1");
  return { folder, path, git, commit, first, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

async function watching(engine: Engine, path: string, given: Partial<TriggerSpec> = {}): Promise<Session> {
  const session = await engine.open({
    objective: "Watch",
    model: "offline/offline",
    bind: [{ kind: "directory", path }],
  });
  await session.trigger("moved", { kind: "git", path, ...given } as TriggerSpec);
  return session;
}

const short = (id: string): string => id.slice(0, 10);
const commits = async (session: Session): Promise<string[]> =>
  (await firedOf(session)).map(({ digest }) => digest.slice(0, 40));

test("a commit fires, on any branch; a move without a worker is found", async () => {
  using repository = makeRepository();
  const { path, git, commit, first } = repository;
  await using engine = await open();
  const session = await watching(engine, path);
  const second = commit("a", "2");
  {
    await using _ = await engine.work();
    await until(async () => (await session.fold()).standing.lastTurn === 1);
    assert.deepEqual(await commits(session), [second]);
    git("checkout", "-qb", "other");
    git("pack-refs", "--all");
    git("status");
    await pause(250);
    assert.deepEqual(await commits(session), [second]);
    const third = commit("b", "3");
    await until(async () => (await commits(session)).length === 2);
    assert.deepEqual(await commits(session), [second, third]);
  }
  const [told] = await firedOf(session);
  assert.equal(
    told?.text,
    `Trigger "moved" fired: refs/heads/main of ${path} moved, ${short(first)}..${short(second)}.\n` +
      `1 commit:\n  ${git("rev-parse", "--short", second)} a: 2`,
  );
  assert.deepEqual(told?.detail, { from: first, to: second, forced: false, commits: 1 });
});

test("a rebase of the checked-out branch fires once, at its end, as a forced move", async () => {
  using repository = makeRepository();
  const { path, git, commit } = repository;
  git("checkout", "-qb", "feature");
  for (const text of ["1", "2", "3"]) commit(`f${text}`, text);
  git("checkout", "-q", "main");
  commit("a", "2");
  git("checkout", "-q", "feature");
  await using engine = await open();
  const head = await watching(engine, path);
  const branch = await watching(engine, path, { ref: "feature" });
  const main = await watching(engine, path, { ref: "main" });
  await using _ = await engine.work();
  await pause(50);
  git("-c", "core.editor=true", "rebase", "-q", "--exec", "sleep 0.15", "main");
  const end = git("rev-parse", "HEAD");
  await until(async () => (await commits(head)).length > 0 && (await commits(branch)).length > 0);
  await pause(200);
  assert.deepEqual([await commits(head), await commits(branch), await commits(main)], [[end], [end], []]);
  assert.match((await firedOf(branch))[0]?.text ?? "", /by force.*\n4 commits:\n/);
});

test("checking out another branch is reported as a checkout, not as a forced move", async () => {
  using repository = makeRepository();
  const { path, git, commit } = repository;
  git("checkout", "-qb", "feature");
  const there = commit("f", "1");
  git("checkout", "-q", "main");
  const here = commit("a", "2");
  await using engine = await open();
  const session = await watching(engine, path);
  git("checkout", "-q", "feature");
  await using _ = await engine.work();
  await until(async () => (await commits(session)).length === 1);
  const [told] = await firedOf(session);
  assert.equal(
    told?.text,
    `Trigger "moved" fired: another branch is checked out: refs/heads/feature of ${path}, ` +
      `${short(here)}..${short(there)}.\n1 commit:\n  ${git("rev-parse", "--short", there)} f: 1`,
  );
  assert.deepEqual(told?.detail, { from: here, to: there, forced: false, switched: true, commits: 1 });
  // There and back, and rewritten then: that is by force.
  git("checkout", "-q", "main");
  git("checkout", "-q", "feature");
  git("commit", "-q", "--amend", "-m", "again");
  await until(async () => (await commits(session)).at(-1) === git("rev-parse", "HEAD"));
  assert.match((await firedOf(session)).at(-1)?.text ?? "", /feature of .* moved, .* by force/);
});

test("with paths only commits that touch them count, over any number and over a rewrite", async () => {
  using repository = makeRepository();
  const { path, git, commit } = repository;
  await using engine = await open();
  const session = await watching(engine, path, { ref: "main", paths: ["src", "docs/*.md"] });
  await using _ = await engine.work();
  commit("other/x", "1");
  await pause(300);
  assert.deepEqual(await commits(session), []);
  const touching = commit("src/deep/x", "1");
  await until(async () => (await commits(session)).length === 1);
  commit("other/x", "2");
  git("commit", "-q", "--amend", "-m", "reworded");
  await pause(300);
  git("reset", "-q", "--hard", `${touching}~1`);
  await until(async () => (await commits(session)).length === 2);
  const back = git("rev-parse", "HEAD");
  assert.deepEqual(await commits(session), [touching, back]);
});

test("a working tree beside the repository, a tag, and a branch that is taken away", async () => {
  using repository = makeRepository();
  const { folder, path, git, commit } = repository;
  git("worktree", "add", "-q", "-b", "side/branch", folder.at("tree"));
  git("tag", "v1");
  await using engine = await open();
  const tree = await watching(engine, folder.at("tree"));
  const tag = await watching(engine, path, { ref: "v1" });
  await using _ = await engine.work();
  await pause(50);
  git("-C", folder.at("tree"), "commit", "-q", "--allow-empty", "-m", "beside");
  await until(async () => (await commits(tree)).length === 1);
  commit("a", "2");
  git("tag", "-f", "v1");
  await until(async () => (await commits(tag)).length === 1);
  git("tag", "-d", "v1");
  await until(async () => (await commits(tag)).length === 2);
  assert.equal((await firedOf(tag)).at(-1)?.text, `Trigger "moved" fired: refs/tags/v1 of ${path} is gone.`);
  assert.equal((await commits(tree)).length, 1);
});

test("a missing repository, ref or path is refused when the trigger is set", async () => {
  using repository = makeRepository();
  const { folder, path } = repository;
  mkdirSync(folder.at("plain"));
  await using engine = await open();
  const session = await engine.open({
    objective: "Watch",
    bind: [
      { kind: "directory", path },
      { kind: "directory", path: folder.at("plain") },
    ],
  });
  const cases: readonly (readonly [Partial<TriggerSpec>, string, RegExp])[] = [
    [{ path: folder.at("plain") }, "invalid", /^trigger "t": .*plain is not a Git repository$/],
    [{ path: `${path}/a` }, "invalid", /^trigger "t": .*a is not a Git repository$/],
    [{ path: folder.path }, "invalid", /^trigger "t": .* is outside the bound directories$/],
    [{ path: `${path}/none` }, "not-found", /^trigger "t": .*none does not exist$/],
    [{ path, ref: "nowhere" }, "not-found", /^trigger "t": .* has no ref "nowhere"$/],
    [{ path, ref: "../../etc/passwd" }, "not-found", /^trigger "t": .* has no ref/],
    [{ path, ref: "--all" }, "not-found", /^trigger "t": .* has no ref/],
    [{ path, paths: ["../x"] }, "invalid", /^trigger "t": paths: "\.\.\/x" is outside the repository$/],
  ];
  for (const [given, code, message] of cases) {
    await assert.rejects(
      session.trigger("t", { kind: "git", ...given } as TriggerSpec),
      (error: SkeinError) => {
        assert.equal(error.code, code);
        assert.match(error.message, message);
        return true;
      },
    );
  }
});
