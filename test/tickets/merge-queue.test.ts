/** The merge queue: branches of finished tickets come to a base, each after its checks on the merged tree. */
import assert from "node:assert/strict";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openEngine } from "../../src/index.ts";
import { mergePlan, parsePlan, runPlan, type MergeRow } from "../../src/tickets/tickets.ts";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import type { ModelCall } from "../../src/model/port.ts";
import { all } from "../runtime/place.ts";
import { scripted, use, type Line } from "../runtime/turn/scripted.ts";
import { kind } from "../kind.ts";
import { newRepository, type Repository } from "./ticket-place.ts";

/** Checks run without a sandbox, as a person who binds a shell wants. */
const bind = [{ kind: "shell" }] as const;
const short = (rows: readonly MergeRow[]) => rows.map(({ ticket, status, why }) => [ticket, status, why]);
const write = (path: string, text: string): Line => [use("write_file", { path, text })];

/** Does what the last input asks: `write TEXT to FILE`. In a conflict, what `resolve` says. */
function engineOf(resolve: (call: ModelCall) => Line = () => "I cannot."): Promise<Engine> {
  const line = (call: ModelCall): Line => {
    const last = call.parts.findLast((part) => part.part === "message");
    const text = JSON.stringify(last);
    if (last?.part === "message" && last.role !== "user") return "Done.";
    if (/conflicts with|not accepted yet|conflict markers/.test(text)) return resolve(call);
    const found = /write (\S+) to (\S+?)[\\"]/.exec(text);
    return found === null ? "Done." : write(found[2] ?? "", `${found[1]}\n`);
  };
  return openEngine({ store: kind().place(), models: scripted([line]).models });
}

const planOf = (...lines: readonly string[]) => parsePlan(lines.join("\n"), { file: "plan.md" });
const accept = "accept: command (words): test ! -e bad.txt";

async function ranPlan(engine: Engine, repository: Repository, plan: ReturnType<typeof planOf>) {
  const rows = await runPlan(engine, plan, { directory: repository.top, worktrees: true, bind });
  assert.ok(
    rows.every(({ status }) => status === "done"),
    JSON.stringify(rows.map(({ why }) => why)),
  );
  repository.git("branch", "--force", "integration");
  return rows;
}

const filesOn = ({ git }: Repository, ref: string) =>
  git("ls-tree", "-r", "--name-only", ref).split("\n").toSorted();

test("tickets land in the order of their dependencies, and the checkout stays as it is", async () => {
  using repository = newRepository();
  await using engine = await engineOf();
  const plan = planOf(
    accept,
    "## c: C",
    "after: a, b",
    "write gamma to c.txt",
    "## a: A",
    "write alpha to a.txt",
    "## b: B",
    "write beta to b.txt",
  );
  await ranPlan(engine, repository, plan);
  writeFileSync(join(repository.top, "mine.txt"), "mine\n");
  const before = repository.git("rev-parse", "main");
  const how = { base: "integration", directory: repository.top, bind };
  const rehearsed = await mergePlan(engine, plan, { ...how, dryRun: true });
  assert.deepEqual(short(rehearsed), [
    ["c", "ready", "would be merged"],
    ["a", "ready", "would be merged"],
    ["b", "ready", "would be merged"],
  ]);
  assert.equal(repository.git("rev-parse", "integration"), before, "a dry run moves nothing");
  assert.equal(existsSync(join(repository.top, ".skein", "merge")), false);
  const seen: string[] = [];
  const tell = (rows: readonly MergeRow[]): void => {
    const landing = rows.find(({ status }) => status === "landing")?.ticket;
    if (landing !== undefined && seen.at(-1) !== landing) seen.push(landing);
  };
  const rows = await mergePlan(engine, plan, { ...how, tell });
  assert.deepEqual(seen, ["a", "b", "c"]);
  assert.deepEqual(short(rows), [
    ["c", "merged", null],
    ["a", "merged", null],
    ["b", "merged", null],
  ]);
  assert.deepEqual(filesOn(repository, "integration"), ["a.txt", "b.txt", "c.txt", "readme.txt"]);
  assert.equal(repository.git("rev-parse", "main"), before);
  assert.equal(repository.git("status", "--porcelain"), "?? mine.txt");
  // Each move of the base is to a commit on which the checks passed.
  const passed = new Set<string>();
  const { rows: sessions } = await engine.sessions({ labels: { plan: "plan" } });
  for (const { session: id, labels } of sessions) {
    if (labels["merge"] === undefined) continue;
    const session = await engine.session(id);
    assert.equal((await session.fold()).standing.status, "closed");
    for (const { body } of await all(session.events({ types: ["check.ran"] }))) {
      const { status, commit = "" } = body as { status: string; commit?: string };
      if (status === "passed") passed.add(commit);
    }
  }
  const moves = repository.git("reflog", "--format=%H %gs", "integration").split("\n");
  const landed = moves.filter((line) => line.includes("skein merge: ticket"));
  assert.equal(landed.length, 3);
  for (const line of landed) assert.ok(passed.has(line.slice(0, 40)), line);
  assert.deepEqual(short(await mergePlan(engine, plan, how)), short(rows), "again it is the same");
  assert.equal(repository.git("worktree", "list").split("\n").length, 4, "no worktree of the queue is left");
});

test("a base that is checked out, is a ticket's, or does not exist is refused", async () => {
  using repository = newRepository();
  await using engine = await engineOf();
  const plan = planOf(accept, "## a: A", "write alpha to a.txt");
  await ranPlan(engine, repository, plan);
  const merge = (base: string) => mergePlan(engine, plan, { base, directory: repository.top, bind });
  await assert.rejects(merge("main"), {
    code: "refused",
    message: /^merge: base: main is checked out in \S+$/,
  });
  writeFileSync(join(repository.top, "readme.txt"), "changed\n");
  await assert.rejects(merge("main"), { message: /with changes$/ });
  await assert.rejects(merge("skein/plan/a"), { code: "invalid" });
  await assert.rejects(merge("nowhere"), { code: "not-found", hint: /git branch nowhere/ });
  await assert.rejects(merge(""), { code: "invalid", message: "merge: base is required" });
  repository.git("symbolic-ref", "refs/heads/alias", "refs/heads/main");
  await assert.rejects(merge("alias"), { code: "refused", message: /only points to/ });
});

test("a check that fails on the merged tree keeps the base where it is; others land", async () => {
  using repository = newRepository();
  await using engine = await engineOf();
  const plan = planOf(
    "## a: A",
    "accept: command (alone): test ! -e b.txt",
    "write alpha to a.txt",
    "## b: B",
    "accept: command (any): true",
    "write beta to b.txt",
    "## d: D",
    "after: a",
    "accept: command (any): true",
    "write delta to d.txt",
    "## e: E",
    "write epsilon to e.txt",
  );
  await ranPlan(engine, repository, plan);
  repository.git("update-ref", "refs/heads/integration", "skein/plan/b");
  const how = { base: "integration", directory: repository.top, bind } as const;
  const rows = await mergePlan(engine, plan, how);
  assert.deepEqual(short(rows), [
    ["a", "failed", "not accepted on integration: alone (exit code 1)"],
    ["b", "merged", null],
    ["d", "waiting", "after a"],
    ["e", "blocked", "it has no check of a command or file: --accept, or --unchecked"],
  ]);
  assert.deepEqual(filesOn(repository, "integration"), ["b.txt", "readme.txt"]);
  const all = await mergePlan(engine, plan, { ...how, accept: ["file: e.txt"] });
  assert.deepEqual(
    all.map(({ status }) => status),
    ["failed", "merged", "waiting", "merged"],
  );
});

const conflicting = planOf(
  "accept: command (both): ! grep -qE '^(<<<<|====|>>>>)' note.txt",
  "## a: A",
  "write alpha to note.txt",
  "## b: B",
  "write beta to note.txt",
);

test("a conflict goes to a person, or to a session; markers that are left go back", async () => {
  using repository = newRepository();
  let told = "";
  let times = 0;
  await using engine = await engineOf((call) => {
    told = JSON.stringify(call.parts.at(-1));
    times += 1;
    return times === 1 ? "I think it is fine." : write("note.txt", "alpha\nbeta\n");
  });
  await ranPlan(engine, repository, conflicting);
  const how = { base: "integration", directory: repository.top, bind };
  const rows = await mergePlan(engine, conflicting, how);
  assert.deepEqual(short(rows), [
    ["a", "merged", null],
    [
      "b",
      "conflict",
      "skein/plan/b conflicts with integration in note.txt: merge integration into skein/plan/b by hand; " +
        "or run it with --agent NAME",
    ],
  ]);
  assert.equal(repository.git("show", "integration:note.txt"), "alpha");
  const solved = await mergePlan(engine, conflicting, { ...how, agent: "solver" });
  assert.deepEqual(
    solved.map(({ status, why }) => [status, why]),
    [
      ["merged", null],
      ["merged", null],
    ],
  );
  assert.equal(repository.git("show", "integration:note.txt"), "alpha\nbeta");
  assert.match(told, /still have conflict markers: note\.txt/);
  assert.equal(repository.git("rev-list", "--parents", "-1", "integration").split(" ").length, 3, "a merge");
  assert.equal(repository.git("for-each-ref", "refs/skein"), "");
});

test("a session that cannot resolve a conflict ends at a person, with the base as it was", async () => {
  using repository = newRepository();
  await using engine = await engineOf();
  await ranPlan(engine, repository, conflicting);
  const how = { base: "integration", directory: repository.top, bind, agent: "solver", tries: 2 };
  const [a, b] = await mergePlan(engine, conflicting, how);
  assert.deepEqual([a?.status, b?.status], ["merged", "conflict"]);
  assert.equal(repository.git("show", "integration:note.txt"), "alpha");
  assert.equal((await mergePlan(engine, conflicting, how))[1]?.status, "conflict");
  // A person does it by hand.
  const tree = repository.worktree("plan", "b");
  repository.git("-C", tree, "merge", "-s", "ours", "-m", "by hand", "integration");
  assert.equal((await mergePlan(engine, conflicting, how))[1]?.status, "merged");
  assert.equal(repository.git("show", "integration:note.txt"), "beta");
});

test("a session that does nothing about failed checks ends as failed after its tries", async () => {
  using repository = newRepository();
  let asked = 0;
  await using engine = await engineOf(() => {
    asked += 1;
    return "I cannot.";
  });
  const plan = planOf("## a: A", "accept: command (alone): test ! -e b.txt", "write alpha to a.txt");
  await ranPlan(engine, repository, plan);
  repository.git("checkout", "-q", "-b", "other");
  writeFileSync(join(repository.top, "b.txt"), "b\n");
  repository.git("add", ".");
  repository.git("commit", "-qm", "b");
  repository.git("checkout", "-q", "main");
  repository.git("branch", "--force", "integration", "other");
  const how = { base: "integration", directory: repository.top, bind, agent: "solver", tries: 2 };
  const [row] = await mergePlan(engine, plan, how);
  assert.deepEqual([row?.status, asked], ["failed", 2]);
  assert.equal(row?.why, "not accepted on integration: alone (exit code 1)");
  assert.equal(repository.git("rev-parse", "integration"), repository.git("rev-parse", "other"));
});

test("with rebase the base stays linear; what conflicts is merged", async () => {
  using repository = newRepository();
  await using engine = await engineOf(() => write("note.txt", "alpha\nbeta\n"));
  const plan = planOf(
    "accept: command (ok): true",
    "## a: A",
    "write alpha to note.txt",
    "## c: C",
    "write gamma to c.txt",
    "## b: B",
    "write beta to note.txt",
  );
  await ranPlan(engine, repository, plan);
  const how = { base: "integration", directory: repository.top, bind, method: "rebase" } as const;
  const [a, c] = await mergePlan(engine, plan, how);
  assert.deepEqual([a?.status, c?.status], ["merged", "merged"]);
  assert.equal(repository.git("rev-list", "--merges", "--count", "integration"), "0");
  assert.deepEqual(repository.subjects("integration"), ["ticket c: C", "ticket a: A"]);
  const rows = await mergePlan(engine, plan, { ...how, agent: "solver" });
  assert.deepEqual(
    rows.map(({ status }) => status),
    ["merged", "merged", "merged"],
  );
  assert.equal(repository.git("rev-list", "--merges", "--count", "integration"), "1");
});

test("a base that moves while checks run is checked again; a branch that vanished is reported", async () => {
  using repository = newRepository();
  await using engine = await engineOf();
  const move = `git -C ${repository.top} branch -f integration other`;
  const plan = planOf(
    `accept: command (ok): test -e m || { touch m; ${move}; }`,
    "## a: A",
    "write alpha to a.txt",
    "## b: B",
    "accept: command (ok2): true",
    "write beta to b.txt",
  );
  repository.git("checkout", "-q", "-b", "other");
  writeFileSync(join(repository.top, "other.txt"), "other\n");
  repository.git("add", ".");
  repository.git("commit", "-qm", "other");
  repository.git("checkout", "-q", "main");
  await ranPlan(engine, repository, plan);
  repository.git("worktree", "remove", "--force", repository.worktree("plan", "b"));
  repository.git("branch", "-D", "skein/plan/b");
  const how = { base: "integration", directory: repository.top, bind };
  const [a, b] = await mergePlan(engine, plan, how);
  assert.equal(a?.status, "merged", a?.why ?? "");
  assert.deepEqual(filesOn(repository, "integration").includes("other.txt"), true, "nothing of it is lost");
  assert.equal(b?.status, "failed");
  assert.match(b?.why ?? "", /its branch skein\/plan\/b is missing: git branch skein\/plan\/b [0-9a-f]{40}/);
});

test("a check that never ends is killed at its limit; the next run continues a stopped landing", async () => {
  using repository = newRepository();
  await using engine = await engineOf();
  const slow = join(repository.top, "slow");
  const plan = planOf(
    `accept: command (slow, within 1s): test ! -e ${slow} || sleep 60`,
    "## a: A",
    "write alpha to a.txt",
  );
  await ranPlan(engine, repository, plan);
  writeFileSync(slow, "");
  const how = { base: "integration", directory: repository.top, bind };
  const [late] = await mergePlan(engine, plan, how);
  assert.equal(late?.status, "failed");
  assert.match(late?.why ?? "", /slow/);
  const stop = new AbortController();
  const tell = ([row]: readonly MergeRow[]): void => {
    if (row?.status === "landing") setTimeout(() => stop.abort(), 400);
  };
  const [stopped] = await mergePlan(engine, plan, { ...how, signal: stop.signal, tell });
  assert.deepEqual([stopped?.status, stopped?.why], ["ready", "stopped"]);
  rmSync(slow);
  rmSync(join(repository.top, ".skein", "merge"), { recursive: true, force: true });
  assert.equal((await mergePlan(engine, plan, how))[0]?.status, "merged");
});
