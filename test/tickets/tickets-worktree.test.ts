/** Worktrees of tickets: made by one at a time, and made again when they are gone. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openEngine } from "../../src/index.ts";
import { parsePlan, runPlan, type TicketRow } from "../../src/tickets/tickets.ts";
import { locked } from "../../src/tickets/plan-lock.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { newRepository } from "./ticket-place.ts";
import { scripted, use } from "../runtime/turn/scripted.ts";
import { kind } from "../kind.ts";

const planOf = (text: string) => parsePlan(text, { file: "plan.md" });
const short = (rows: readonly TicketRow[]) => rows.map(({ ticket, status, why }) => [ticket, status, why]);

describe("the lock over worktrees", () => {
  test("is held by one process at a time, and one process takes it over from a dead one", async () => {
    using place = newRepository();
    const world = realWorld();
    const path = join(place.top, "lock");
    const gone = spawnSync("true").pid;
    symlinkSync(`${(world.self ?? "").replace(`:${process.pid}`, `:${gone}`)} 00`, path);
    let inside = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      await world.sleep(2);
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 8 }, () => locked(world, path, work)));
    assert.equal(most, 1);
    assert.equal(lstatSync(path, { throwIfNoEntry: false }), undefined);
  });

  test("one that an earlier process of the same number left is taken over too", async () => {
    using place = newRepository();
    const world = realWorld();
    const path = join(place.top, "lock");
    symlinkSync(`${world.self} 00`, path);
    assert.equal(await locked(world, path, async () => "mine"), "mine");
  });
});

test("two that run a plan with worktrees at once leave each other's alone", async () => {
  using repository = newRepository();
  const { models, calls } = scripted([() => "Done."]);
  await using engine = await openEngine({ store: kind().place(), models });
  const plan = planOf(Array.from({ length: 4 }, (_, n) => `## t${n}: Thing ${n}\n`).join(""));
  const options = { directory: repository.top, worktrees: true, parallel: 2 };
  const runs = await Promise.all([runPlan(engine, plan, options), runPlan(engine, plan, options)]);
  const done = plan.tickets.map(({ id }) => [id, "done", null]);
  assert.deepEqual(runs.map(short), [done, done]);
  assert.equal(calls.length, 4);
});

describe("a started ticket whose worktree is missing", () => {
  const interrupted = async (repository: ReturnType<typeof newRepository>) => {
    const stop = new AbortController();
    // An interrupted run may or may not have asked again: what comes next is told by what has been done.
    const { models } = scripted([
      ({ parts }) => {
        const said = JSON.stringify(parts);
        if (said.includes("b.txt")) return "Done.";
        if (said.includes("a.txt")) return [use("write_file", { path: "b.txt", text: "beta\n" }, "second")];
        stop.abort();
        return [use("write_file", { path: "a.txt", text: "alpha\n" }, "first")];
      },
    ]);
    const engine = await openEngine({ store: kind().place(), models });
    const plan = planOf("## a: Alpha\n");
    const options = { directory: repository.top, worktrees: true };
    const rows = await runPlan(engine, plan, { ...options, signal: stop.signal });
    assert.deepEqual(short(rows), [["a", "running", null]]);
    rmSync(repository.worktree("plan", "a"), { recursive: true });
    return { engine, run: (more: object = {}) => runPlan(engine, plan, { ...options, ...more }) };
  };

  for (const retry of [false, true])
    test(`gets it back from its branch, and continues${retry ? ", with retry too" : ""}`, async () => {
      using repository = newRepository();
      const { engine, run } = await interrupted(repository);
      await using _ = engine;
      assert.deepEqual(short(await run({ retry })), [["a", "done", null]]);
      const tree = repository.worktree("plan", "a");
      assert.equal(readFileSync(join(tree, "b.txt"), "utf8"), "beta\n");
      assert.deepEqual(repository.subjects("skein/plan/a"), ["ticket a: Alpha"]);
    });

  test("is blocked when its branch is missing or its worktree incomplete; nothing is removed", async () => {
    using repository = newRepository();
    const { engine, run } = await interrupted(repository);
    await using _ = engine;
    const tree = repository.worktree("plan", "a");
    repository.git("worktree", "prune");
    repository.git("branch", "-D", "skein/plan/a");
    const [row] = await run();
    assert.equal(row?.status, "blocked");
    assert.match(row?.why ?? "", /^its worktree and its branch skein\/plan\/a are missing/);
    repository.git("worktree", "add", "-q", "-b", "skein/plan/a", tree);
    repository.git("worktree", "lock", "--reason", "initializing", tree);
    const [half] = await run();
    assert.deepEqual([half?.status, existsSync(tree)], ["blocked", true]);
    assert.match(half?.why ?? "", /is incomplete/);
    repository.git("worktree", "unlock", tree);
    assert.deepEqual(short(await run()), [["a", "done", null]]);
  });

  test("a folder that is not a worktree any more is not used as one", async () => {
    using repository = newRepository();
    const { engine, run } = await interrupted(repository);
    await using _ = engine;
    mkdirSync(repository.worktree("plan", "a"));
    assert.deepEqual(short(await run()), [["a", "done", null]]);
    assert.deepEqual(repository.subjects("skein/plan/a"), ["ticket a: Alpha"]);
  });
});
