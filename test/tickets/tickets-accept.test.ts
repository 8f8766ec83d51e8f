/** Tickets with accept checks: done only when they pass on the commit; else tried again, then failed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { test } from "node:test";
import { openEngine } from "../../src/index.ts";
import { listTickets, parsePlan, runPlan, type TicketRow } from "../../src/tickets/tickets.ts";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import { all, newPath } from "../runtime/place.ts";
import { scripted, use, type Line } from "../runtime/turn/scripted.ts";
import { kind } from "../kind.ts";
import { noBubblewrap } from "../tool/bubblewrap.ts";
import { newRepository } from "./ticket-place.ts";

const planOf = (text: string) => parsePlan(text, { file: "plan.md" });
const short = (rows: readonly TicketRow[]) => rows.map(({ ticket, status, why }) => [ticket, status, why]);
/** Checks run without a sandbox, as a person who binds a shell wants. */
const bind = [{ kind: "shell" }] as const;

const engineSaying = (...lines: readonly Line[]) => {
  const script = scripted(lines);
  return openEngine({ store: kind().place(), models: script.models }).then((engine) => ({ engine, script }));
};

const write = (path: string, content: string): Line => [use("write_file", { path, text: content })];

async function ranOf(engine: Engine, { session }: TicketRow): Promise<string[]> {
  const events = (await engine.session(session ?? "")).events({ types: ["check.ran"] });
  return (await all(events)).map(({ body }) => {
    const { check, status, try: tried } = body as { check: string; status: string; try: number };
    return `${check} ${status} ${tried}`;
  });
}

test("a ticket is done only when its checks pass; what failed goes back as input", async () => {
  using repository = newRepository();
  const { engine, script } = await engineSaying("I do not understand.", write("a.txt", "ok\n"), "Done.");
  await using _ = engine;
  const plan = planOf("accept: file: readme.txt\n\n## a: Make a\naccept: command (grep): grep ok a.txt\n");
  const rows = await runPlan(engine, plan, { directory: repository.top, worktrees: true, bind });
  assert.deepEqual(short(rows), [["a", "done", null]]);
  assert.deepEqual(await ranOf(engine, rows[0]!), [
    "file passed 1",
    "grep failed 1",
    "file passed 2",
    "grep passed 2",
  ]);
  assert.deepEqual(repository.subjects("skein/plan/a"), ["ticket a: Make a"]);
  const head = repository.git("rev-parse", "skein/plan/a");
  const session = await engine.session(rows[0]?.session ?? "");
  const last = (await all(session.events({ types: ["check.ran"] }))).at(-1)?.body as { commit: string };
  assert.equal(last.commit, head, "the checks ran on the commit");
  const first = JSON.stringify(script.calls[0]?.parts);
  assert.match(first, /accepted only when/);
  const second = JSON.stringify(script.calls[1]?.parts);
  assert.match(second, /not accepted yet \(try 1 of 3\)/);
  assert.match(second, /grep: a\.txt: No such file/);
});

test('"make all tests pass", answered "I do not understand", fails after its tries', async () => {
  using repository = newRepository();
  const { engine, script } = await engineSaying("I do not understand.");
  await using _ = engine;
  const plan = planOf(
    "## a: Make all tests pass\naccept: command (tests): echo 3 fail; exit 7\n\n## b: Next\nafter: a\n",
  );
  const options = { directory: repository.top, worktrees: true, bind, tries: 2 };
  const rows = await runPlan(engine, plan, options);
  assert.deepEqual(short(rows), [
    ["a", "failed", "not accepted after 2 tries: tests (exit code 7)"],
    ["b", "skipped", "after a, which failed"],
  ]);
  assert.equal(script.calls.length, 2);
  assert.deepEqual(short(await runPlan(engine, plan, options)), short(rows), "a later run says the same");
  assert.equal(script.calls.length, 2);
});

test("a person's check blocks the ticket with the command to type; then it is done", async () => {
  using repository = newRepository();
  const { engine } = await engineSaying("Done.");
  await using _ = engine;
  const plan = planOf("## a: Page\naccept: person (looks): Does it look right?\n");
  const options = { directory: repository.top, worktrees: true };
  const [row] = await runPlan(engine, plan, options);
  const { session = "" } = row ?? {};
  assert.equal(row?.status, "blocked");
  assert.equal(row?.why, `a person decides looks: skein check ${session?.slice(-8)} --pass looks`);
  await (await engine.session(session ?? "")).check({ pass: "looks" });
  assert.deepEqual(short(await runPlan(engine, plan, options)), [["a", "done", null]]);
});

test("a ticket that edits the plan changes nothing about its checks", async () => {
  using repository = newRepository();
  const text = "## a: Make it\naccept: command (c): false\n";
  writeFileSync(join(repository.top, "plan.md"), text);
  repository.git("add", ".");
  repository.git("commit", "-qm", "plan");
  const { engine } = await engineSaying(write("plan.md", "## a: Make it\n"), "Done.");
  await using _ = engine;
  const options = { directory: repository.top, worktrees: true, bind, tries: 2 };
  const rows = await runPlan(engine, planOf(text), options);
  assert.match(repository.git("show", "skein/plan/a:plan.md"), /^## a: Make it$/);
  assert.deepEqual(short(rows), [["a", "failed", "not accepted after 2 tries: c (exit code 1)"]]);
  const later = await listTickets(engine, planOf("## a: Make it\n"));
  assert.deepEqual([later[0]?.status, later[0]?.changed], ["failed", true]);
});

test("a check that changes files of the commit fails, and they are restored", async () => {
  using repository = newRepository();
  const { engine } = await engineSaying("Done.");
  await using _ = engine;
  const plan = planOf("## a: Format\naccept: command (fmt): echo more >> readme.txt; touch built\n");
  const rows = await runPlan(engine, plan, { directory: repository.top, worktrees: true, bind, tries: 1 });
  assert.match(rows[0]?.why ?? "", /the check changed files of the commit, which were restored: readme\.txt/);
  const tree = repository.worktree("plan", "a");
  assert.equal(readFileSync(join(tree, "readme.txt"), "utf8"), "first\n");
});

test("checks of tickets run in a sandbox by default", { skip: await noBubblewrap() }, async () => {
  using repository = newRepository();
  const { engine } = await engineSaying("Done.");
  await using _ = engine;
  const plan = planOf(
    `## a: Look\naccept: command: test -f readme.txt && test ! -e ${process.cwd()}/package.json\n`,
  );
  const rows = await runPlan(engine, plan, { directory: repository.top, worktrees: true });
  assert.deepEqual(short(rows), [["a", "done", null]]);
});

test("a check that cannot run blocks its ticket, and runs again with the next run", async () => {
  using repository = newRepository();
  const { engine } = await engineSaying("Done.");
  await using _ = engine;
  const plan = planOf("## a: Look\naccept: command (in later): true\n");
  const options = { directory: repository.top, worktrees: true };
  const [row] = await runPlan(engine, plan, options);
  assert.equal(row?.status, "blocked");
  assert.match(row?.why ?? "", /cannot be checked: .*is bound as "later"/);
  const session = await engine.session(row?.session ?? "");
  await session.bind({ kind: "shell", name: "later", path: repository.worktree("plan", "a") });
  assert.deepEqual(short(await runPlan(engine, plan, options)), [["a", "done", null]]);
});

test("wrong checks are reported with file and line", () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ["## a: A\naccept: npm test\n", /^plan\.md:2: accept: expected command, file/],
    [
      "accept: file (x): a\n\n## a: A\naccept: file (x): b\n",
      /^plan\.md:3: accept: two checks are named "x"/,
    ],
    ['[{ "id": "a", "title": "A", "accept": [{ "kind": "query" }] }]', /kind: expected one of/],
  ];
  for (const [text, message] of wrong) assert.throws(() => planOf(text), { code: "invalid", message });
  const json =
    '{ "accept": ["file: a"], "tickets": [{ "id": "a", "title": "A", "accept": ["command: b"] }] }';
  assert.deepEqual(planOf(json).tickets[0]?.accept, [
    { kind: "file", path: "a" },
    { kind: "command", command: "b" },
  ]);
});

async function until(found: () => boolean): Promise<void> {
  for (let count = 0; count < 2_000 && !found(); count++) await setTimeout(10);
  assert.ok(found());
}

test("kill -9 while a check runs, and between its result and the end: nothing counts twice", async () => {
  using repository = newRepository();
  const place = newPath();
  const out = join(repository.top, "..", `witness-${process.pid}-${Date.now()}`);
  mkdirSync(out);
  try {
    const text =
      `## a: Look\naccept: command (slow): echo run >> ${out}/runs; ` +
      `while ! test -e ${out}/go; do echo x >> ${out}/alive; sleep 0.05; done\n`;
    const file = join(out, "plan.md");
    writeFileSync(file, text);
    const runner = new URL("ticket-runner.ts", import.meta.url).pathname;
    const child = spawn(process.execPath, [runner, repository.top, file, place.path, "shell"], {
      stdio: "inherit",
    });
    await until(() => existsSync(join(out, "alive")));
    child.kill("SIGKILL");
    await setTimeout(300);
    const size = readFileSync(join(out, "alive")).length;
    await setTimeout(300);
    assert.equal(readFileSync(join(out, "alive")).length, size, "the command died with its process");
    writeFileSync(join(out, "go"), "");
    await using engine = await openEngine({ store: place.path });
    const [row] = await listTickets(engine, planOf(text));
    assert.equal((await ranOf(engine, row!)).length, 0, "no result without an end");
    const session = await engine.session(row?.session ?? "");
    // As if the process had died after the result: it is written, and the session is not closed.
    const commit = repository.git("rev-parse", "skein/plan/a");
    await session.check({ commit });
    const runs = () => readFileSync(join(out, "runs"), "utf8").split("\n").length - 1;
    assert.equal(runs(), 2);
    const options = { directory: repository.top, worktrees: true, model: "offline/offline", bind };
    assert.deepEqual(short(await runPlan(engine, planOf(text), options)), [["a", "done", null]]);
    assert.equal(runs(), 2, "what passed on this commit does not run again");
    assert.deepEqual(await ranOf(engine, row!), ["slow passed 1"]);
  } finally {
    place.remove();
    (await import("node:fs")).rmSync(out, { recursive: true, force: true });
  }
});
