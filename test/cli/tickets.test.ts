/** The command line runs plans: a table, exit codes, JSON, and mistakes with their place. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { newRepository } from "../tickets/ticket-place.ts";
import { makeFolder, parseLines, skeinIn } from "./skein.ts";

const statuses = (rows: readonly Record<string, unknown>[]) =>
  rows.map(({ ticket, status }) => `${String(ticket)} ${String(status)}`);

describe("tickets", () => {
  test("shows a plan, runs it, and names what blocks it", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    const plan = join(folder, "plan.md");
    writeFileSync(
      plan,
      '## a: Make A\nwrite "one" to a.txt\n## b: List\nrun ls\n## c: Read\nafter: a, b\nread a.txt\n',
    );
    const words = ["--directory", folder, "--agent", "coder", "--parallel", "2"];
    const dry = await skein.here("tickets", "run", plan, "--dry-run", "--directory", folder);
    assert.equal(dry.code, 0, dry.stderr);
    assert.match(dry.stdout, /^TICKET +STATUS +COST +TIME +SESSION +ABOUT\na +ready +Make A\n/);
    assert.match(dry.stdout, /\nc +waiting +Read: after a, b\n$/);
    assert.ok(!existsSync(join(folder, "skein.db")), "no store is made for it");

    const agent = join(folder, "coder.md");
    const head =
      "---\nname: coder\nmodel: offline/offline\n" +
      "bind:\n  - { kind: directory, path: ., mode: write }\n  - { kind: shell }\n";
    writeFileSync(agent, `${head}permissions:\n  - tool: shell\n    rule: ask\n---\nCode.\n`);
    assert.equal((await skein.here("agents", "add", agent)).code, 0);
    const first = await skein.here("tickets", "run", plan, ...words);
    assert.equal(first.code, 7, first.stderr);
    assert.match(first.stdout, /\na +done +\$0\.00 +\d+ s +\w{8} +Make A\nb +blocked .*approval/);
    assert.match(first.stderr, /a running \(\w{8}\)\n/);
    assert.match(
      first.stderr,
      /b is blocked: approval: .*\n +shell .*\n +command: ls.*\n(?: .*\n)*allow it: skein answer \w{8} allow/,
    );
    assert.match(first.stderr, /then run the plan again: skein tickets run /);
    assert.equal(readFileSync(join(folder, "a.txt"), "utf8").trim(), "one");

    const stands = await skein.look("tickets", "status", plan);
    assert.deepEqual(statuses(stands), ["a done", "b blocked", "c waiting"]);
    const id = String(stands[1]?.["session"]);
    assert.equal((await skein.here("answer", id, "allow")).code, 0);
    const second = await skein.here("tickets", "run", plan, ...words, "--json");
    assert.equal(second.code, 0, second.stderr);
    const rows = parseLines(second.stdout);
    assert.deepEqual(statuses(rows), ["a done", "b done", "c done"]);
    assert.partialDeepStrictEqual(rows[1], {
      session: id,
      branch: null,
      attempt: 1,
      after: [],
      changed: false,
    });
    assert.equal(second.stderr, "");
  });

  test("with worktrees the table names the branches, and the exit code a failure", async () => {
    using repository = newRepository();
    const skein = skeinIn(makeFolder());
    const plan = join(repository.top, "plan.json");
    const tickets = [
      { id: "a", title: "Make A", text: 'write "one" to x.txt' },
      { id: "b", title: "Make B", text: 'write "two" to x.txt' },
      { id: "c", title: "Both", after: ["a", "b"] },
    ];
    writeFileSync(plan, JSON.stringify({ name: "release", tickets }));
    const words = ["--directory", repository.top, "--worktrees", "--model", "offline/offline"];
    const { code, stdout, stderr } = await skein.here("tickets", "run", plan, ...words);
    assert.equal(code, 1, stderr);
    assert.match(stdout, /\na +done .* skein\/release\/a +\w{8} +Make A\n/);
    assert.match(stdout, /\nc +failed .*Both: merge conflict with skein\/release\/b in x\.txt/);
    assert.match(stderr, /\(merge it by hand into skein\/release\/c, in .*, then run the plan again\)\n/);
    assert.match(
      stderr,
      /2 done, 1 failed; \$0\.00\nc could not start: fix the cause, then run again: skein /,
    );
    assert.ok(!stderr.includes("--retry"), "which would not help");
    assert.deepEqual(repository.subjects("skein/release/a"), ["ticket a: Make A"]);
  });

  test("a repository that Git rejects for its owner fails with Git's message", async () => {
    const folder = makeFolder();
    const plan = join(folder, "plan.md");
    writeFileSync(plan, "## a: A\n");
    const way = `git config --global --add safe.directory ${folder}`;
    const said = `fatal: detected dubious ownership in repository at '${folder}'`;
    writeFileSync(
      join(folder, "git"),
      `#!/bin/sh\nprintf '%s\\n\\n\\t%s\\n' "${said}" "${way}" >&2\nexit 128\n`,
      { mode: 0o755 },
    );
    const words = ["tickets", "run", plan, "-w", "--model", "offline/offline"];
    const env = { PATH: `${folder}:${process.env["PATH"]}` };
    const { code, stderr } = await skeinIn(folder).run(words, { env });
    assert.equal(code, 1, stderr);
    assert.match(stderr, /git fails in ".*": detected dubious ownership in repository at/);
    assert.ok(stderr.includes(`hint: ${way}\n`), stderr);
  });

  test("an undefined agent is an error with its line in the plan", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    const plan = join(folder, "plan.md");
    writeFileSync(plan, "## a: A\n\n## b: B\nagent: nope\n");
    const words = ["--directory", folder, "--model", "offline/offline", "--agent", "nobody"];
    const told = [
      /^agent nobody is not defined: it has no instructions; skein agents add defines it\n/,
      /plan\.md:3: agent nope is not defined: it has no instructions; skein agents add defines it\n/,
    ];
    for (const more of [["--dry-run"], []]) {
      const { code, stderr } = await skein.here("tickets", "run", plan, ...words, ...more);
      assert.equal(code, 0, stderr);
      for (const one of told) assert.match(stderr, one);
    }
  });

  test("an invalid plan is an error with file and line, and creates nothing", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    const plan = join(folder, "plan.md");
    const wrong = async (text: string): Promise<string> => {
      writeFileSync(plan, text);
      const { code, stderr } = await skein.here("tickets", "run", plan, "--directory", folder);
      assert.equal(code, 2, stderr);
      return stderr;
    };
    assert.match(await wrong("## a: A\nafter: b\n## b: B\nafter: a\n"), /plan\.md:1: .*a after b after a/);
    assert.match(await wrong("nothing\n"), /plan\.md:1: the plan has no tickets/);
    assert.match(await wrong("## a: A\n\n## a: B\n"), /plan\.md:3: id: duplicate ticket "a"/);
    assert.match(
      await wrong("## a: A\n\nagent: NOPE\n"),
      /plan\.md:3: agent: invalid agent name "NOPE"\n.*lower-case/,
    );
    assert.match(
      await wrong('[{"id":"a","title":"A"},\n{"id":"b","title":"B","agent":"N O"}]'),
      /plan\.md:2: agent: invalid agent name "N O"\n.*lower-case/,
    );
    writeFileSync(plan, "## a: A\n");
    const nobody = await skein.here("tickets", "run", plan, "--agent", "NO PE");
    assert.match(nobody.stderr, /tickets: agent: invalid agent name "NO PE"/);
    assert.equal(nobody.code, 2);
    const missing = await skein.here("tickets", "run", join(folder, "no.md"));
    assert.equal(missing.code, 3);
    writeFileSync(plan, "## a: A\n");
    const away = await skein.here("tickets", "run", plan, "--worktrees", "--directory", "/");
    assert.match(away.stderr, /is not in a Git repository\n +hint: create one with "git init"/);
    assert.equal((await skein.here("tickets", "stop", plan)).code, 2);
    const lost = await skein.here("tickets", "status", plan, "--retry", "--dry-run");
    assert.deepEqual(
      [lost.code, /tickets status: unexpected --retry, --dry-run\n.*--retry is for run/.test(lost.stderr)],
      [2, true],
    );
    assert.ok(!existsSync(join(folder, "skein.db")));
  });

  test("merges branches into a base that is not checked out, and says what it lacks", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    using repository = newRepository();
    const plan = join(folder, "plan.md");
    writeFileSync(plan, 'accept: file: a.txt\n\n## a: Make A\nwrite "one" to a.txt\n');
    const words = ["--directory", repository.top];
    const model = ["--model", "offline/offline"];
    const ran = await skein.here("tickets", "run", plan, "--worktrees", ...words, ...model);
    assert.equal(ran.code, 0, ran.stderr);
    const merge = (...more: readonly string[]) => skein.here("tickets", "merge", plan, ...words, ...more);
    const none = await merge();
    assert.deepEqual([none.code, none.stderr.split("\n")[0]], [2, "skein: merge: base is required"]);
    const taken = await merge("--base", "main");
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /base: main is checked out in .*\n.*git branch integration main/);
    assert.equal((await merge("--base", "x", "--method", "squash")).code, 2);
    assert.equal((await merge("--base", "x", "--parallel", "2")).code, 2);
    repository.git("branch", "integration");
    const dry = await merge("--base", "integration", "--dry-run");
    assert.match(
      dry.stdout,
      /^TICKET +STATUS +COMMIT +BRANCH +SESSION +ABOUT\na +ready .*would be merged\n$/,
    );
    const done = await merge("--base", "integration", "--json");
    assert.equal(done.code, 0, done.stderr);
    const commit = repository.git("rev-parse", "integration");
    assert.partialDeepStrictEqual(parseLines(done.stdout)[0], { ticket: "a", status: "merged", commit });
    assert.equal(repository.git("show", "integration:a.txt"), "one");
    const again = await merge("--base", "integration");
    assert.match(again.stderr, /1 ticket: 1 in integration\n/);
  });
});
