/** What a new user types on the first day: each slip is answered, and nothing happens in silence. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { makeFolder, parseLines, skeinIn } from "./skein.ts";

const folder = makeFolder();
const skein = skeinIn(folder);
const offline = ["--model", "offline/offline"] as const;

async function openOffline(...more: readonly string[]): Promise<string> {
  const [opened] = await skein.lines("open", "Track rates", ...offline, ...more);
  return String(opened!["id"]);
}

async function refused(words: readonly string[], message: RegExp, hint: RegExp): Promise<void> {
  const { code, stdout, stderr } = await skein.here(...words, "--json");
  assert.notEqual(code, 0, words.join(" "));
  assert.equal(stdout, "");
  const { error } = JSON.parse(stderr) as { error: { message: string; hint: string } };
  assert.match(error.message, message);
  assert.match(error.hint, hint);
}

suite("the first day", { concurrency: 4 }, () => {
  test("allow and deny are refused while no call waits, and the session stays as it is", async () => {
    const id = await openOffline();
    await refused(
      ["answer", id, "allow"],
      /^answer: allow: no tool call waits for approval$/,
      /is not suspended.*skein input/,
    );
    await skein.lines("suspend", id, "--reason", "later");
    await refused(["answer", id, "deny"], /no tool call waits/, /skein activate \w+/);
    assert.equal((await skein.look("state", id))[0]!["status"], "suspended");
  });

  test("search shows no definitions of tools, and refuses a search for nothing", async () => {
    const id = await openOffline();
    await skein.here("ask", id, "remember base-rate is 4.1");
    const bound = await skein.lines("log", id, "--type", "tools.bound");
    assert.ok(bound.length > 0);
    const types = (await skein.look("search", "remember", "--session", id)).map(({ type }) => type);
    assert.deepEqual(types, ["input.received"]);
    for (const nothing of ["", " ", "…"])
      await refused(
        ["search", nothing],
        /^search: text: expected at least one letter or digit$/,
        /help search/,
      );
  });

  test("an empty name is refused in plain words by every verb that gives one", async () => {
    const id = await openOffline();
    const empty = /name: expected a text, got an empty one/;
    await refused(["rename", id, ""], /^rename: name: expected a text/, /./);
    await refused(["open", "Other", "--name", ""], empty, /./);
    await refused(["fork", id, "--name", ""], empty, /./);
    await refused(["project", "open", "Big", "--name", ""], /^project open: name: expected a text/, /./);
    await refused(["scratch", id, "", "1"], /^scratch: key: a name or key cannot be empty/, /./);
  });

  test("options of one name in two actions of a verb have the choices of each", async () => {
    const [{ project }] = (await skein.lines("project", "open", "Write it down")) as [{ project: string }];
    const near = project.slice(-6);
    await skein.lines("project", "record", near, "task", "docs", "write them", "--status", "done");
    const [{ items }] = (await skein.lines("project", "show", near)) as unknown as [
      { items: { status: string }[] },
    ];
    assert.deepEqual(
      items.map(({ status }) => status),
      ["done"],
    );
    await refused(
      ["project", "list", "--status", "done"],
      /expected one of open, closed, archived/,
      /one of/,
    );
    await refused(
      ["project", "record", near, "task", "t", "1", "--status", "fine"],
      /expected one of/,
      /done/,
    );
    await refused(["project", "record", near, "fact", "", "1"], /^project record: key: /, /help project/);
  });

  test("the budget of a project is shown without options, and removed only when asked", async () => {
    const [{ project }] = (await skein.lines("project", "open", "Spend little")) as [{ project: string }];
    const budget = async (...more: readonly string[]): Promise<string> =>
      (await skein.here("project", "budget", project, ...more)).stdout;
    const limited = "budget: $0.00 of $20.00 used or set aside\n";
    assert.equal(await budget("--usd", "20"), limited);
    assert.equal(await budget(), limited);
    assert.equal(await budget(), limited);
    await refused(["project", "budget", project, "--usd", "2", "--unlimited"], /not both/, /remove one/);
    await refused(["project", "budget", project, "--reason", "x"], /--reason requires limits/, /--usd 20/);
    assert.equal(await budget("--unlimited"), "budget: unlimited\n");
    assert.equal(await budget(), "budget: unlimited\n");
  });

  test("a project's note takes a suffix of a session's id, and lists tell closed from archived", async () => {
    const id = await openOffline();
    const [{ project }] = (await skein.lines("project", "open", "Keep notes")) as [{ project: string }];
    await skein.lines("project", "note", project.slice(-6), "Begun.", "--session", id.slice(-6));
    const [{ journal }] = (await skein.lines("project", "show", project)) as unknown as [
      { journal: { session: string }[] },
    ];
    assert.equal(journal[0]!.session, id);
    await refused(
      ["project", "note", project, "x", "--session", "uuuuuu"],
      /no session id ends in/,
      /skein ps/,
    );
    await refused(
      ["project", "close", project.slice(-1)],
      /more than one|at least 4 characters/,
      /longer|for example/,
    );
    const lineOf = async (): Promise<string> =>
      (await skein.here("project")).stdout.split("\n").find((line) => line.startsWith(project)) ?? "";
    await skein.lines("project", "close", project);
    assert.match(await lineOf(), / closed \(completed\) /);
    await skein.lines("project", "archive", project);
    assert.match(await lineOf(), / archived \(completed\) /);
  });

  test("a check says when its result is an old one, and show lists the checks", async () => {
    const id = await openOffline("--bind", `directory:${folder}`, "--accept", "file (made): made.txt");
    const first = await skein.here("check", id);
    assert.deepEqual([first.code, first.stdout], [1, "failed made: made.txt does not exist\n"]);
    writeFileSync(join(folder, "made.txt"), "");
    const second = await skein.here("check", id);
    assert.match(second.stdout, /^failed made: made\.txt does not exist \(.+; it did not run again\)\n$/);
    assert.match(second.stderr, /to run it again: skein .*check \w+ --again/);
    assert.match((await skein.here("show", id)).stdout, /^checks +made: failed \(file\)$/m);
    const [{ checks }] = (await skein.lines("check", id, "--again")) as unknown as [
      { checks: { ran: boolean; status: string; at: number }[] },
    ];
    assert.deepEqual([checks[0]!.ran, checks[0]!.status], [true, "passed"]);
    const [again] = (await skein.lines("check", id)) as unknown as [
      { checks: { ran: boolean; at: number }[] },
    ];
    assert.deepEqual([again.checks[0]!.ran, again.checks[0]!.at], [false, checks[0]!.at]);
  });

  test("a check of a file outside of its directory is refused when it is set", async () => {
    const id = await openOffline();
    for (const path of ["../secret", "a/../../b", "/etc/passwd", String.raw`C:\x`])
      await refused(
        ["accept", id, "--check", `file: ${path}`],
        /^accept: path: expected a path relative to the bound directory, and inside it/,
        /./,
      );
    await skein.lines("accept", id, "--check", "file: a/../b/./c.txt");
  });

  test("ask and run of a continued session say where the answer is", async () => {
    const id = await openOffline();
    await skein.here("ask", id, "hello");
    const [cleared] = await skein.lines("clear", id);
    const next = String(cleared!["id"]);
    const { code, stderr } = await skein.here("ask", id, "hello again");
    assert.equal(code, 0);
    assert.match(stderr, new RegExp(`${id.slice(-8)} continues as ${next.slice(-8)}: it was answered there`));
    const { stderr: direct } = await skein.here("ask", next, "hello once more");
    assert.doesNotMatch(direct, /continues as/);
  });

  test("a checkpoint cannot be named like a time", async () => {
    const id = await openOffline();
    for (const name of ["yesterday", "2026-11-16", "2026-11-16T09:00", "2026-11-16T09:00Z"])
      await refused(
        ["save", id, name],
        /^checkpoint: name: expected a word, got the time ".*"$/,
        /before-deploy/,
      );
    await skein.lines("save", id, "day-2026-11-16");
  });

  test("an unknown provider is noted when a session is opened", async () => {
    const opened = await skein.here("open", "Other", "--model", "nope/nope");
    assert.equal(opened.code, 0);
    assert.match(opened.stderr, /unknown provider "nope"; known providers: .*it can run elsewhere/);
    const { stderr } = await skein.here("open", "Other", ...offline);
    assert.doesNotMatch(stderr, /provider/);
  });

  test("a bound path that does not exist, and an unknown type of event, are noted", async () => {
    const note = /nowhere does not exist here; no turn begins until it does/;
    const opened = await skein.here("open", "Read", "--bind", "directory:nowhere");
    assert.match(opened.stderr, note);
    const id = opened.stdout.trim();
    assert.match((await skein.here("bind", id, "file", "--path", "./nowhere", "--name", "n")).stderr, note);
    assert.doesNotMatch((await skein.here("bind", id, "file", "--path", folder)).stderr, /not exist/);
    const unknown = /no event type is named "turn\.start"; did you mean turn\.started\?/;
    assert.match((await skein.here("log", id, "--type", "turn.start")).stderr, unknown);
    assert.doesNotMatch((await skein.here("log", id, "--type", "x.mine")).stderr, /no event type/);
    await refused(["ps", "x"], /unexpected argument "x"/, /^usage: skein ps \[options\]$/);
  });

  test("no hint suggests the word that was typed", async () => {
    await skein.lines(
      "memory",
      "remember",
      "decision",
      "tone",
      "brief",
      "--scope",
      "user",
      "--because",
      "asked",
    );
    await refused(["memory", "forget", "fact", "tone"], /^memory: no fact "tone"$/, /^"tone" is a decision$/);
  });
});

suite("times without a zone are in the zone of the person", { concurrency: 4 }, () => {
  const env = { TZ: "Pacific/Kiritimati" }; // 14 hours before UTC, the whole year
  const inZone = (...words: readonly string[]) => skein.run(words, { env });

  test("options and positions read one time alike, and show it with its zone", async () => {
    const id = await openOffline();
    const local = new Date(Date.now() + 14 * 3_600_000 + 60_000).toISOString().slice(0, 16);
    const seen = await inZone("log", `${id}@${local}`);
    assert.equal(seen.code, 0, seen.stderr);
    assert.match(seen.stderr, /position \d+, of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+14:00/);
    const [opening] = parseLines((await inZone("log", id, "--until", local, "--json")).stdout);
    assert.equal(opening!["seq"], 1);
    const none = await inZone("log", id, "--since", local);
    assert.equal(none.stdout, "");
    assert.match(none.stderr, new RegExp(`--since ${local}: ${local.replace("T", " ")}:00 \\+14:00`));
    const zoned = await inZone("log", id, "--until", "2001-01-01T00:00Z");
    assert.doesNotMatch(zoned.stderr, /--until/);
  });

  test("a deadline is converted from that zone to UTC", async () => {
    const id = await openOffline();
    const labelsIn = async (...typed: readonly string[]): Promise<unknown> => {
      assert.equal((await inZone("label", id, ...typed)).code, 0);
      return (await skein.look("state", id))[0]!["labels"];
    };
    assert.deepEqual(await labelsIn("deadline=2099-11-20T17:00", "at=2099-11-20"), {
      at: "2099-11-20",
      deadline: "2099-11-20T03:00Z",
    });
    for (const [typed, deadline] of [
      ["2099-11-20", "2099-11-19T10:00Z"],
      ["2099-11-20T17:00:30", "2099-11-20T03:00:30Z"],
      ["2099-11-20T17:00+01:00", "2099-11-20T16:00Z"],
      ["2099-11-20T17:00Z", "2099-11-20T17:00Z"],
    ])
      assert.deepEqual(await labelsIn(`deadline=${typed}`), { at: "2099-11-20", deadline });
    assert.match((await inZone("label", id, "deadline=2099-02-31")).stderr, /expected a date or time/);
  });

  test("load takes a time in that zone, and a trigger's cron expression is in it", async () => {
    const id = await openOffline();
    const local = new Date(Date.now() + 14 * 3_600_000 + 60_000).toISOString().slice(0, 16);
    const loaded = await inZone("load", id, local, "--json");
    assert.equal(loaded.code, 0, loaded.stderr);
    await inZone("trigger", "add", id, "monthly", "--cron", "0 9 1 * *");
    await inZone("trigger", "add", id, "once", "--at", "2099-01-01T09:00");
    const listed = parseLines((await inZone("trigger", "list", id, "--json")).stdout);
    const specs = listed.map(({ spec }) => spec as Record<string, unknown>);
    assert.deepEqual(
      specs.map(({ cron, zone, at }) => [cron, zone, at]),
      [
        ["0 9 1 * *", env.TZ, undefined],
        [undefined, undefined, Date.parse("2099-01-01T09:00+14:00")],
      ],
    );
  });
});
