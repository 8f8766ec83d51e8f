/**
 * The merge queue is killed before and after its Git commands, and run again: the base never has a commit
 * whose checks did not pass, and in the end it has everything once.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openEngine } from "../../src/index.ts";
import { parsePlan, runPlan, type MergeRow } from "../../src/tickets/tickets.ts";
import { all } from "../runtime/place.ts";
import { isLong, sliced } from "../slice.ts";
import type { MergeOrder } from "./merge-runner.ts";
import { newRepository, type Repository } from "./ticket-place.ts";

const runner = join(import.meta.dirname, "merge-runner.ts");
const text = [
  "accept: command (clean): ! grep -qsE '^(<<<<|====|>>>>)' note.txt",
  '## a: A\nwrite "alpha" to note.txt',
  '## b: B\nwrite "beta" to note.txt',
  '## c: C\nafter: a\nwrite "gamma" to c.txt',
].join("\n");
const plan = parsePlan(text, { file: "plan.md" });

const realGit = spawnSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).stdout.trim();

/** A Git that counts how often it is run, and kills whoever runs it at one of them. */
const killerGit = (folder: string) => `#!/bin/sh
count=$(($(cat ${folder}/count 2>/dev/null || echo 0) + 1))
echo $count > ${folder}/count
echo "$*" >> ${folder}/commands
[ "before $count" = "$(cat ${folder}/point 2>/dev/null)" ] && kill -9 $(cat ${folder}/pid) && exit 1
${realGit} "$@"
code=$?
[ "after $count" = "$(cat ${folder}/point 2>/dev/null)" ] && kill -9 $(cat ${folder}/pid)
exit $code
`;

class Place implements Disposable {
  readonly repository: Repository = newRepository();
  readonly folder = mkdtempSync(join(tmpdir(), "skein-merge-"));
  readonly bin = join(this.folder, "bin");

  async prepare(): Promise<void> {
    mkdirSync(this.bin);
    writeFileSync(join(this.bin, "git"), killerGit(this.folder));
    chmodSync(join(this.bin, "git"), 0o755);
    writeFileSync(join(this.folder, "plan.md"), text);
    const store = join(this.folder, "before", "skein.db");
    mkdirSync(join(this.folder, "before"));
    await using engine = await openEngine({ store, durability: "process" });
    const { top } = this.repository;
    const how = {
      directory: top,
      worktrees: true,
      bind: [{ kind: "shell" }],
      model: "offline/offline",
    } as const;
    const rows = await runPlan(engine, plan, how);
    assert.ok(
      rows.every(({ status }) => status === "done"),
      JSON.stringify(rows),
    );
  }

  /** As it was when the plan had run. */
  reset(point: string): MergeOrder["store"] {
    const { repository, folder } = this;
    const now = join(folder, "now");
    rmSync(now, { recursive: true, force: true });
    cpSync(join(folder, "before"), now, { recursive: true });
    rmSync(join(repository.top, ".skein", "merge"), { recursive: true, force: true });
    repository.git("worktree", "prune");
    const kept = repository.git("for-each-ref", "--format=%(refname)", "refs/skein").split("\n");
    for (const ref of kept) if (ref !== "") repository.git("update-ref", "-d", ref);
    repository.git("branch", "--force", "integration", "main");
    for (const name of ["count", "commands"]) rmSync(join(folder, name), { force: true });
    writeFileSync(join(folder, "point"), point);
    return join(now, "skein.db");
  }

  /** Runs the queue; null when it was killed. */
  run(store: string, method: MergeOrder["method"]): MergeRow[] | null {
    const { folder, repository } = this;
    const order = {
      top: repository.top,
      plan: join(folder, "plan.md"),
      store,
      method,
      pidFile: join(folder, "pid"),
    };
    const { NODE_TEST_CONTEXT: _, ...rest } = process.env;
    const env = { ...rest, PATH: `${this.bin}:${process.env["PATH"] ?? ""}` };
    const ended = spawnSync(process.execPath, [runner, JSON.stringify(order)], { env, encoding: "utf8" });
    if (ended.signal === "SIGKILL") return null;
    assert.equal(ended.status, 0, ended.stderr);
    return JSON.parse(ended.stdout) as MergeRow[];
  }

  [Symbol.dispose](): void {
    this.repository[Symbol.dispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Commits on which all checks of a landing passed. */
async function passedIn(store: string): Promise<Set<string>> {
  await using engine = await openEngine({ store, create: false });
  const passed = new Set<string>();
  const { rows } = await engine.sessions({ labels: { plan: "plan" } });
  for (const { session: id } of rows) {
    const session = await engine.session(id);
    for (const { body } of await all(session.events({ types: ["check.ran"] }))) {
      const { status, commit = "" } = body as { status: string; commit?: string };
      if (status === "passed") passed.add(commit);
    }
    const conflicts = await all(session.events({ types: ["input.received"] }));
    const told = conflicts.filter(({ content }) => JSON.stringify(content).includes("conflicts with"));
    assert.ok(told.length <= 1, "a conflict is told once");
  }
  return passed;
}

/** What must hold at any time, and once the queue has come to its end. */
async function judge(
  place: Place,
  store: string,
  rows: readonly MergeRow[] | null,
  at: string,
): Promise<void> {
  const { git } = place.repository;
  const passed = await passedIn(store);
  const head = git("rev-parse", "integration");
  assert.ok(head === git("rev-parse", "main") || passed.has(head), `${at}: the base has what did not pass`);
  if (rows === null) return;
  const statuses = rows.map(({ ticket, status, why }) => `${ticket} ${status} ${why ?? ""}`);
  assert.deepEqual(statuses, ["a merged ", "b merged ", "c merged "], at);
  assert.equal(git("show", "integration:note.txt"), "alpha\nbeta", at);
  assert.equal(git("show", "integration:c.txt"), "gamma", at);
  const subjects = git("log", "--format=%s", "main..integration").split("\n");
  for (const { id } of plan.tickets)
    assert.equal(
      subjects.filter((line) => line.startsWith(`ticket ${id}:`)).length,
      1,
      `${at}: ${subjects.join()}`,
    );
  assert.equal(git("for-each-ref", "refs/skein"), "", at);
  assert.equal(git("status", "--porcelain"), "", at);
  assert.equal(git("worktree", "list").includes(join(".skein", "merge")), false, at);
}

/** In the slice a few points; a long run tries every second one, before and after it in turns. */
const points = sliced(4, 95);

for (const method of ["merge", "rebase"] as const) {
  if (method === "rebase" && !isLong) continue;
  test(`killed between Git commands, the base has only what passed (${method})`, async (context) => {
    using place = new Place();
    await place.prepare();
    const first = place.reset("never");
    await judge(place, first, place.run(first, method), "without a kill");
    const commands = readFileSync(join(place.folder, "commands"), "utf8").trim().split("\n");
    assert.ok(commands.length > 50);
    const step = Math.ceil(commands.length / points);
    let kills = 0;
    const seed = Number(process.env["SKEIN_TEST_SEED"] ?? commands.length);
    for (let count = 1 + (seed % step), tried = 0; count <= commands.length; count += step, tried++) {
      const when = tried % 2 === 0 ? "after" : "before";
      const at = `${when} ${count} (git ${commands[count - 1]})`;
      const store = place.reset(`${when} ${count}`);
      if (place.run(store, method) !== null) continue;
      kills += 1;
      await judge(place, store, null, at);
      writeFileSync(join(place.folder, "point"), "never");
      await judge(place, store, place.run(store, method), at);
    }
    context.diagnostic(`${kills} kills, ${commands.length} Git commands`);
    assert.ok(kills >= points - 2, `only ${kills} kills`);
  });
}
