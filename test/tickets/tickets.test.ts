/** Plans are run: one session a ticket, each after those it waits for, in worktrees of their own. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openEngine, SkeinError, type Engine } from "../../src/index.ts";
import { listTickets, parsePlan, runPlan, type TicketRow } from "../../src/tickets/tickets.ts";
import { ModelError, type ModelCall } from "../../src/model/port.ts";
import { newRepository } from "./ticket-place.ts";
import { scripted, use, type Line } from "../runtime/turn/scripted.ts";
import { kind } from "../kind.ts";

const planOf = (text: string) => parsePlan(text, { file: "plan.md" });
const short = (rows: readonly TicketRow[]) => rows.map(({ ticket, status, why }) => [ticket, status, why]);
const statuses = (rows: readonly TicketRow[]) => rows.map(({ ticket, status }) => `${ticket} ${status}`);
/** The sessions of a plan by their tickets, as often as there are. */
const opened = async (engine: Engine): Promise<string[]> => {
  const { rows } = await engine.sessions({ labels: { plan: "plan" } });
  return rows.map(({ labels }) => `${labels["ticket"]}${labels["attempt"] ?? ""}`).toSorted();
};

/** A model that answers by what the ticket's objective is. */
const answering = (by: Readonly<Record<string, Line>>) => {
  const line = (call: ModelCall): Line => {
    const said = JSON.stringify(call.parts);
    const found = Object.entries(by).find(([word]) => said.includes(word));
    return found?.[1] ?? "Done.";
  };
  return scripted([line]);
};
/** First one line, then the other. */
const then = (...lines: readonly Line[]): Line => {
  let asked = 0;
  return () => lines[Math.min(asked++, lines.length - 1)] ?? "";
};
const refusal: Line = { blocks: [], finish: "refusal" };

const refused = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => null,
    (one: unknown) => one,
  );
  assert.ok(error instanceof SkeinError, String(error));
  return `${error.code}: ${error.message}`;
};

describe("a plan without worktrees", () => {
  test("is run in order, each ticket with the handoffs of those before it and nothing else", async () => {
    using repository = newRepository();
    const { models, calls } = answering({});
    await using engine = await openEngine({ store: kind().place(), models });
    const plan = planOf(
      "## a: First thing\nThe text of a.\n## b: Second thing\nafter: a\nlabels: team=web\n" +
        "## c: Third thing\n",
    );
    const seen: string[] = [];
    const tell = (rows: readonly TicketRow[]): void => {
      const now = statuses(rows).join(", ");
      if (seen.at(-1) !== now) seen.push(now);
    };
    const rows = await runPlan(engine, plan, { directory: repository.top, tell });
    assert.deepEqual(statuses(rows), ["a done", "b done", "c done"]);
    assert.equal(seen[0], "a ready, b waiting, c ready");
    assert.ok(
      !seen.some((line) => line.includes("a running") && line.includes("c running")),
      "one at a time",
    );
    const [a, b] = rows;
    const session = await engine.session(b?.session ?? "");
    const { labels, status, objective, name } = await session.state();
    assert.deepEqual([status, objective, name], ["closed", "Second thing", "b: Second thing"]);
    assert.partialDeepStrictEqual(labels, { plan: "plan", ticket: "b", team: "web" });
    const told = calls.map(({ parts }) => JSON.stringify(parts));
    const ofB = told.find((text) => text.includes("Second thing")) ?? "";
    assert.ok(ofB.includes(`Handoff of ${a?.session}`) && !ofB.includes("Third thing"));
    const ofA = told.find((text) => text.includes("The text of a.")) ?? "";
    assert.ok(!ofA.includes("Second thing") && ofA.includes("ticket a of the plan plan"));
    assert.ok((a?.nanoUsd ?? 0) > 0);
    // Once more: nothing is left to do.
    assert.deepEqual(await runPlan(engine, plan, { directory: repository.top }), rows);
    assert.deepEqual([await opened(engine), calls.length], [["a", "b", "c"], 3]);
  });

  test("a failed ticket stops only those after it, and starts again on request", async () => {
    using repository = newRepository();
    const { models } = answering({ Alpha: then(refusal, "Now it is done.") });
    await using engine = await openEngine({ store: kind().place(), models });
    const plan = planOf("## a: Alpha\n## b: Beta\nafter: a\n## c: Gamma\n## d: Delta\nafter: b\n");
    const options = { directory: repository.top };
    const rows = await runPlan(engine, plan, options);
    assert.deepEqual(short(rows), [
      ["a", "failed", "the model refused"],
      ["b", "skipped", "after a, which failed"],
      ["c", "done", null],
      ["d", "skipped", "after b, which is skipped"],
    ]);
    assert.deepEqual(await runPlan(engine, plan, options), rows);
    assert.deepEqual(await opened(engine), ["a", "c"]);
    const again = await runPlan(engine, plan, { ...options, retry: true });
    assert.deepEqual(statuses(again), ["a done", "b done", "c done", "d done"]);
    assert.deepEqual(await opened(engine), ["a", "a2", "b", "c", "d"]);
    assert.deepEqual(await listTickets(engine, plan), again);
  });

  test("a ticket that waits for approval is reported as blocked, and continues once answered", async () => {
    using repository = newRepository();
    const read = then([use("read_file", { path: "readme.txt" })], "I have read it.");
    const { models } = answering({ Alpha: read });
    await using engine = await openEngine({ store: kind().place(), models });
    const permissions = [{ tool: "read_file", rule: "ask" }] as const;
    await engine.addAgent({ name: "careful", instructions: "Ask.", permissions });
    const plan = planOf("## a: Alpha\nagent: careful\n## b: Beta\nafter: a\n## c: Gamma\n");
    const options = { directory: repository.top, parallel: 2 };
    const rows = await runPlan(engine, plan, options);
    assert.deepEqual(short(rows), [
      ["a", "blocked", "approval: a tool call waits for approval"],
      ["b", "waiting", "after a (blocked)"],
      ["c", "done", null],
    ]);
    await (await engine.session(rows[0]?.session ?? "")).answer({ allow: true });
    assert.deepEqual(statuses(await runPlan(engine, plan, options)), ["a done", "b done", "c done"]);
  });

  test("a ticket suspended by an error resumes on request, and no other session runs", async () => {
    using repository = newRepository();
    const broken = new ModelError("invalid", "there is no such thing");
    const { models, calls } = answering({ Alpha: then(broken, "Done.") });
    await using engine = await openEngine({ store: kind().place(), models });
    const other = await engine.open({ objective: "Something else" });
    await other.input("Wait for whoever runs all of them.");
    const plan = planOf("## a: Alpha\n");
    const rows = await runPlan(engine, plan, { directory: repository.top });
    assert.deepEqual(short(rows), [["a", "blocked", "error: test/scripted: there is no such thing"]]);
    const again = await runPlan(engine, plan, { directory: repository.top, retry: true });
    assert.deepEqual(statuses(again), ["a done"]);
    assert.deepEqual([await opened(engine), calls.length], [["a"], 2]);
    assert.equal((await other.fold()).standing.lastTurn, 0);
  });

  test("a budget is that of each ticket, and one that is used up blocks it", async () => {
    using repository = newRepository();
    const { models } = answering({ Alpha: [use("read_file", { path: "readme.txt" })] });
    await using engine = await openEngine({ store: kind().place(), models });
    const plan = planOf("## a: Alpha\nbudget: steps=2\n## b: Beta\n");
    const rows = await runPlan(engine, plan, { directory: repository.top, budget: { steps: 1 } });
    assert.deepEqual(statuses(rows), ["a blocked", "b done"]);
    assert.match(rows[0]?.why ?? "", /^budget/);
    const of = async (place: number) =>
      (await (await engine.session(rows[place]?.session ?? "")).fold()).standing.limits;
    assert.deepEqual([await of(0), await of(1)], [{ steps: 2 }, { steps: 1 }]);
  });

  test("changes in the plan apply to tickets not started; others keep theirs", async () => {
    using repository = newRepository();
    const { models, calls } = answering({});
    await using engine = await openEngine({ store: kind().place(), models });
    const options = { directory: repository.top };
    await runPlan(engine, planOf("## a: Alpha\nOld.\n"), options);
    const later = planOf("## a: Alpha\nNew.\n## b: Beta\nNew too.\n");
    const rows = await runPlan(engine, later, options);
    assert.deepEqual(
      rows.map(({ ticket, status, changed }) => [ticket, status, changed]),
      [
        ["a", "done", true],
        ["b", "done", false],
      ],
    );
    assert.equal(calls.length, 2);
  });

  test("an opened session without input gets it, and a ticked-off ticket counts as done", async () => {
    using repository = newRepository();
    const { models } = answering({});
    await using engine = await openEngine({ store: kind().place(), models });
    // As a process leaves it that is killed between the two.
    const labels = { plan: "plan", ticket: "a" };
    const half = await engine.open({ objective: "Alpha", labels });
    const plan = planOf("- [ ] a: Alpha\n- [x] b: Beta\n- [ ] c: Gamma (after: b)\n");
    const rows = await runPlan(engine, plan, { directory: repository.top });
    assert.deepEqual(short(rows), [
      ["a", "done", null],
      ["b", "done", "ticked off in the plan"],
      ["c", "done", null],
    ]);
    assert.equal(rows[0]?.session, half.id);
    assert.deepEqual(await opened(engine), ["a", "c"]);
  });

  test("two that run the same plan at once do every ticket once", async () => {
    using repository = newRepository();
    const { models, calls } = answering({});
    await using engine = await openEngine({ store: kind().place(), models });
    const plan = planOf(Array.from({ length: 6 }, (_, n) => `## t${n}: Thing ${n}\n`).join(""));
    const options = { directory: repository.top, parallel: 2 };
    const [one, two] = await Promise.all([runPlan(engine, plan, options), runPlan(engine, plan, options)]);
    assert.ok(
      [...one, ...two].every(({ status }) => status === "done"),
      JSON.stringify([one, two]),
    );
    assert.deepEqual([(await opened(engine)).length, calls.length], [6, 6]);
    for (const { session } of one) {
      let inputs = 0;
      const found = await engine.session(session ?? "");
      for await (const _ of found.events({ types: ["input.received"] })) inputs += 1;
      assert.equal(inputs, 1);
    }
  });

  test("a stopped run leaves its started tickets, and the next run resumes them", async () => {
    using repository = newRepository();
    const stop = new AbortController();
    const wait: Line = async () => {
      stop.abort();
      return [use("read_file", { path: "readme.txt" })];
    };
    const { models } = answering({ Alpha: then(wait, "Done.") });
    await using engine = await openEngine({ store: kind().place(), models });
    const plan = planOf("## a: Alpha\n## b: Beta\n");
    const options = { directory: repository.top };
    const rows = await runPlan(engine, plan, { ...options, signal: stop.signal });
    assert.deepEqual(statuses(rows), ["a running", "b ready"]);
    assert.deepEqual(statuses(await runPlan(engine, plan, options)), ["a done", "b done"]);
    assert.deepEqual(await opened(engine), ["a", "b"]);
  });
});

describe("a plan with worktrees", () => {
  const write = (path: string, text: string): Line => then([use("write_file", { path, text })], "Written.");

  test("a ticket's branch begins with the work before it, and leftovers are committed", async () => {
    using repository = newRepository();
    const by = {
      Alpha: write("a.txt", "alpha\n"),
      Beta: write("b.txt", "beta\n"),
      Gamma: "Nothing to write.",
    };
    await using engine = await openEngine({ store: kind().place(), models: answering(by).models });
    const plan = planOf("## a: Alpha\n## b: Beta\n## c: Gamma\nafter: a, b\n");
    const options = { directory: repository.top, worktrees: true };
    const rows = await runPlan(engine, plan, options);
    assert.deepEqual(
      rows.map(({ status, branch }) => [status, branch]),
      ["a", "b", "c"].map((id) => ["done", `skein/plan/${id}`]),
    );
    assert.deepEqual(repository.subjects("skein/plan/a"), ["ticket a: Alpha"]);
    assert.equal(repository.git("log", "-1", "--format=%an", "skein/plan/a"), "Ada");
    const merged = repository.worktree("plan", "c");
    assert.deepEqual(
      ["a.txt", "b.txt"].map((name) => readFileSync(join(merged, name), "utf8")),
      ["alpha\n", "beta\n"],
    );
    assert.equal(repository.git("status", "--porcelain"), "", "the checkout itself is as it was");
    assert.equal(repository.git("branch", "--show-current"), "main");
  });

  test("an agent's directory and shell are those of the worktree", async () => {
    using repository = newRepository();
    const by = { Alpha: then([use("shell", { command: "pwd > where.txt" })], "Done.") };
    await using engine = await openEngine({ store: kind().place(), models: answering(by).models });
    const bind = [{ kind: "directory", path: repository.top, mode: "write" }, { kind: "shell" }] as const;
    await engine.addAgent({ name: "coder", instructions: "Code.", bind });
    const options = { directory: repository.top, worktrees: true, agent: "coder", commit: false };
    const rows = await runPlan(engine, planOf("## a: Alpha\n"), options);
    assert.deepEqual(statuses(rows), ["a done"]);
    const tree = repository.worktree("plan", "a");
    assert.equal(readFileSync(join(tree, "where.txt"), "utf8").trim(), tree);
    assert.ok(!existsSync(join(repository.top, "where.txt")));
    assert.deepEqual(
      repository.subjects("skein/plan/a"),
      [],
      "and nothing is committed when that is not wanted",
    );
  });

  test("a merge conflict fails the ticket; merged by hand, it continues", async () => {
    using repository = newRepository();
    const by = { Alpha: write("x.txt", "alpha\n"), Beta: write("x.txt", "beta\n") };
    await using engine = await openEngine({ store: kind().place(), models: answering(by).models });
    const plan = planOf("## a: Alpha\n## b: Beta\n## c: Gamma\nafter: a, b\n## d: Delta\nafter: c\n");
    const options = { directory: repository.top, worktrees: true };
    const rows = await runPlan(engine, plan, options);
    assert.deepEqual(statuses(rows), ["a done", "b done", "c failed", "d skipped"]);
    assert.match(rows[2]?.why ?? "", /^merge conflict with skein\/plan\/b in x\.txt/);
    const tree = repository.worktree("plan", "c");
    repository.git("-C", tree, "merge", "-q", "-X", "ours", "skein/plan/b");
    assert.deepEqual(statuses(await runPlan(engine, plan, options)).slice(2), ["c done", "d done"]);
  });

  test("files in the way are reported, and left unchanged", async () => {
    using repository = newRepository();
    await using engine = await openEngine({ store: kind().place(), models: answering({}).models });
    const options = { directory: repository.top, worktrees: true };
    repository.git("branch", "skein/plan/a");
    const [row] = await runPlan(engine, planOf("## a: Alpha\n"), options);
    assert.match(row?.why ?? "", /^branch skein\/plan\/a already exists, and belongs to no ticket/);
    assert.equal(row?.status, "failed");
    assert.deepEqual(await opened(engine), []);
    repository.git("branch", "-D", "skein/plan/a");
    // A worktree whose making was cut off, as Git leaves it.
    repository.git("config", "branch.skein/plan/a.skein", "ticket");
    const tree = repository.worktree("plan", "a");
    repository.git("worktree", "add", "-q", "-b", "skein/plan/a", tree);
    repository.git("worktree", "lock", "--reason", "initializing", tree);
    writeFileSync(join(tree, "half.txt"), "half");
    assert.deepEqual(statuses(await runPlan(engine, planOf("## a: Alpha\n"), options)), ["a done"]);
    assert.ok(!existsSync(join(tree, "half.txt")));
  });
});

test("invalid options are refused before anything is created", async () => {
  using repository = newRepository();
  await using engine = await openEngine({ store: kind().place(), models: answering({}).models });
  const plan = planOf("## a: Alpha\n");
  const run = (options: object) => refused(runPlan(engine, plan, { directory: repository.top, ...options }));
  assert.equal(await run({ paralel: 2 }), 'invalid: tickets: unknown option "paralel"');
  assert.equal(await run({ parallel: 0 }), "invalid: tickets: parallel: expected 1 to 1000, got 0");
  assert.match(await run({ directory: "/nowhere/at/all" }), /^not-found: .*\/nowhere\/at\/all/);
  assert.match(await run({ directory: "/", worktrees: true }), /^invalid: "\/" is not in a Git repository/);
  assert.match(await run({ worktrees: true, base: "nothing" }), /^not-found: .* has no commit "nothing"/);
  assert.match(await run({ base: "main" }), /^invalid: tickets: base: requires worktrees/);
  assert.match(await run({ agent: "nobody@3" }), /^not-found: /);
  assert.match(await run({ budget: { usd: -1 } }), /^invalid: budget: usd: expected a limit, got -1/);
  assert.deepEqual(await opened(engine), []);
  assert.deepEqual(statuses(await runPlan(engine, plan, { directory: repository.top, dryRun: true })), [
    "a ready",
  ]);
  assert.ok(!existsSync(join(repository.top, ".skein")));
});
