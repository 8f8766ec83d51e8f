/** Memory on the command line, as a program and as people use it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { suite, test } from "node:test";
import { runWords } from "../../src/cli/command/run.ts";
import { collectingSurface } from "../../src/cli/command/screen.ts";
import { makeFolder, parseLines } from "./skein.ts";

/** The command line in this process, on a store of its own. */
function place() {
  const folder = makeFolder();
  const say = async (...words: readonly string[]) => {
    const surface = collectingSurface(null);
    const untilStopped = () => new AbortController().signal;
    const code = await runWords(["--store", join(folder, "skein.db"), ...words], { surface, untilStopped });
    return { code, ...surface.collected };
  };
  const json = async (...words: readonly string[]) => {
    const { code, stdout, stderr } = await say(...words, "--json");
    assert.equal(code, 0, stderr);
    return parseLines(stdout);
  };
  const open = async (...words: readonly string[]) => String((await json("open", ...words))[0]?.["id"]);
  return { say, json, open };
}

suite("memory", { concurrency: true }, () => {
  test("is promoted, listed, shown, carried and forgotten", async () => {
    const { say, json, open } = place();
    const id = await open("Payroll");
    await json("record", id, "decision", "base-rate", "4.1", "--because", "the council");
    const done = await say("memory", "promote", id, "decision", "base-rate", "--scope", "workspace");
    assert.equal(done.stdout, "remembered decision base-rate, for the workspace\n");
    const told = await say("memory", "remember", "fact", "tone", "be brief", "--scope", "user");
    assert.equal(told.stdout, "remembered fact tone, for the user\n");
    await json("memory", "remember", "fact", "layout", '{"columns":2}', "--agent", "web");
    const { stdout } = await say("memory");
    assert.match(
      stdout,
      /^SCOPE +KIND +KEY +SINCE +FROM +VALUE\nagent web +fact +layout .* \{"columns":2\}\nuser/,
    );
    assert.match(stdout, new RegExp(`workspace +decision +base-rate +\\S+ +${id}@3 +4\\.1\n$`));
    const shown = await say("memory", "show", "decision", "base-rate");
    assert.match(
      shown.stdout,
      /^decision base-rate\nscope +workspace\nfrom +ses_\w+@3\nsince .* by person, user:prn_/,
    );
    assert.match(shown.stdout, /because +the council\n\n4\.1\n\ncarried by none of \d+ looked at\n$/);
    const keys = async (...words: readonly string[]) =>
      (await json("memory", "list", ...words)).map((one) => one["key"]);
    assert.deepEqual(await keys(), ["layout", "tone", "base-rate"]);
    assert.deepEqual(await keys("--agent", "web"), ["layout"]);
    assert.deepEqual(await keys("--scope", "user"), ["tone"]);
    assert.deepEqual(await keys("--match", "council"), ["base-rate"]);
    assert.match((await say("memory", "list", "--match", "nowhere")).stderr, /no memory entry matches/);
    const next = await open("Raise the base rate");
    const { stdout: log } = await say("log", next);
    assert.match(log, /memory\.carried +Loaded 2 memory entries, about \d+ tokens: tone, base-rate\n/);
    const carried = await say("memory", "show", "decision", "base-rate");
    assert.match(carried.stdout, /\n\ncarried by 1 session of \d+ looked at\n {2}\w+@\d+\n$/);
    const [page] = await json("memory", "carriers", "decision", "base-rate", "--scope", "workspace");
    const carriers = (page?.["carriers"] ?? []) as readonly { readonly current: boolean }[];
    assert.equal(carriers[0]?.current, true);
    const asked = await say(
      "ask",
      await open("Raise the base rate", "--model", "offline/offline"),
      "what is base-rate?",
    );
    assert.match(asked.stdout, /decision base-rate: 4\.1\.\n/);
    const bare = await open("Raise the base rate", "--no-memory");
    const bareTypes = (await json("log", bare)).map(({ type }) => type);
    assert.deepEqual(bareTypes, ["session.opened", "memory.carried", "permission.set"]);
    assert.match((await say("log", bare)).stdout, /memory\.carried +Carries no memory\n/);
    const gone = await say("memory", "forget", "base-rate", "--because", "last year's");
    assert.equal(gone.stdout, "forgotten decision base-rate, for the workspace\n");
    assert.deepEqual(await keys(), ["layout", "tone"]);
  });

  test("is forgotten for good with --erase and --yes, and lists remaining copies", async () => {
    const { say, json, open } = place();
    const id = await open("Payroll");
    await json("record", id, "fact", "phone", "fortytwo");
    await json("memory", "promote", id, "fact", "phone", "--scope", "workspace");
    const unsure = await say("memory", "forget", "phone", "--erase");
    assert.deepEqual(
      [unsure.code, /all versions of fact "phone" .*\n {2}hint: add --yes/.test(unsure.stderr)],
      [1, true],
    );
    assert.equal((await json("memory")).length, 1);
    const gone = await say("memory", "forget", "phone", "--erase", "--yes");
    assert.deepEqual(
      [gone.code, gone.stdout],
      [
        0,
        "forgotten fact phone, for the workspace\nerased 1 content for good\n" +
          "it still stands elsewhere; to take it out there too:\n" +
          `  skein erase ${id} --seq 3  (item.recorded, it came from here)\n`,
      ],
    );
    await json("memory", "remember", "fact", "tone", "brief", "--scope", "user");
    for (const words of [["phone"], ["fact", "phone"], ["phone", "--scope", "workspace"]]) {
      const vague = await say("memory", "forget", ...words, "--erase", "--yes");
      assert.equal(vague.code, 3);
      assert.match(
        vague.stderr,
        /no entry "phone"\n {2}hint: .* kind and scope: .*forget fact phone --scope/,
      );
    }
    const again = await say("memory", "forget", "fact", "phone", "--scope", "workspace", "--erase", "--yes");
    assert.match(again.stdout, /nothing is left to erase in memory/);
    const wrong = await say("erase", `wsp_${"0".repeat(26)}`, "--yes");
    assert.match(wrong.stderr, /got the workspace id .*\n {2}hint: .*skein memory forget KEY --erase/);
  });

  test("impossible requests are refused with a hint that helps", async () => {
    const { say, json, open } = place();
    const id = await open("Payroll");
    await json("record", id, "fact", "rate", "1");
    const refused = async (code: number, said: RegExp, ...words: readonly string[]) => {
      const { code: ended, stderr, stdout } = await say("memory", ...words);
      assert.match(stderr, said);
      assert.deepEqual([ended, stdout], [code, ""]);
    };
    await refused(3, /memory: no entry "rate"\n {2}hint: "skein memory list"/, "show", "rate");
    await refused(3, /memory: no entry "rate"/, "forget", "rate");
    await refused(3, /no fact "rats" to promote\n {2}hint: did you mean "rate"/, ...promote(id, "rats"));
    await refused(
      2,
      /--scope: expected one of .*, got "all"/,
      "promote",
      id,
      "fact",
      "rate",
      "--scope",
      "all",
    );
    await refused(2, /--scope or --agent is required\n {2}hint: use --scope/, "promote", id, "fact", "rate");
    await refused(
      2,
      /memory promote: KEY is required\n {2}hint: usage: skein memory promote ID KIND KEY/,
      "promote",
      id,
      "rate",
    );
    await refused(
      2,
      /ACTION: expected one of .*, got "frget"\n {2}hint: did you mean forget/,
      "frget",
      "rate",
    );
    await refused(2, /kind: .*"idea"/, "remember", "idea", "x", "1", "--scope", "user");
    await refused(2, /--agent is not allowed with --scope user/, "list", "--agent", "web", "--scope", "user");
    await refused(
      2,
      /is not a session of "web"\n {2}hint: it has no agent/,
      ...promote(id, "rate").slice(0, 4),
      "--agent",
      "web",
    );
    await refused(
      1,
      /scope: the session has no agent\n {2}hint: .*"workspace"/,
      ...promote(id, "rate").slice(0, 4),
      "--scope",
      "agent",
    );
    await refused(
      2,
      /memory list: unexpected --erase, --yes\n.*--erase is for forget/,
      "list",
      "--erase",
      "--yes",
    );
    await refused(2, /memory show: unexpected --match/, "show", "rate", "--match", "x");
    await json("memory", "remember", "fact", "rate", "1", "--scope", "user");
    await json("memory", "remember", "fact", "rate", "2", "--scope", "workspace");
    await refused(2, /2 entries match "rate"\n {2}hint: specify/, "forget", "rate");
    await json("memory", "forget", "fact", "rate", "--scope", "user");
    assert.equal((await json("memory")).length, 1);
  });

  test("without anything remembered, the list says so", async () => {
    const { say, open, json } = place();
    await open("o");
    assert.match((await say("memory")).stderr, /no memory entries/);
    assert.deepEqual(await json("memory"), []);
  });

  test("what waits for approval is listed, approved and rejected, whatever it is called", async () => {
    const { say, json } = place();
    assert.equal((await say("open", "Begin")).code, 0);
    const none = await say("memory", "pending");
    assert.deepEqual([none.stdout, none.stderr], ["", "nothing waits for approval\n"]);
    const hostile = "<img src=x onerror=alert(1)>";
    const add = (key: string) =>
      say("memory", "remember", "fact", key, "Evil\u001b[31m\nvalue", "--scope", "workspace", "--propose");
    const added = await add(hostile);
    assert.equal(added.code, 0, added.stderr);
    assert.match(
      added.stdout,
      /^proposed fact [^\u001b]*\nit waits for approval: skein memory approve (\d+)\n$/,
    );
    await add("other");
    const { stdout } = await say("memory", "pending");
    assert.doesNotMatch(stdout, /\u001b\[(2J|31m)/);
    assert.match(stdout, /value +Evil/);
    assert.match(stdout, /may be +a program that proposed it\n/);
    assert.deepEqual(await json("memory", "list"), []);
    const [page] = (await json("memory", "pending")) as unknown as { proposals: { seq: number }[] }[];
    const [first, second] = page!.proposals.map(({ seq }) => String(seq));
    const rejected = await say("memory", "reject", first!, "--because", "markup");
    assert.match(rejected.stdout, /^rejected fact .*; it is not proposed again\n$/);
    const approved = await say("memory", "approve", second!, "--because", "fine");
    assert.equal(approved.stdout, "remembered fact other, for the workspace\n");
    const [entry] = await json("memory", "list");
    assert.equal(entry!["approvedBy"], entry!["actor"]);
    assert.match((await say("memory", "show", "other")).stdout, /approved +by user:prn_/);
    const again = await say("memory", "approve", second!);
    assert.equal(again.code, 3, again.stderr);
    assert.match(again.stderr, /no memory entry \d+ waits for approval/);
    const bad = await say("memory", "approve", "first");
    assert.equal(bad.code, 2, bad.stderr);
  });

  test("a review lists contradictions, and says when there are none", async () => {
    const { say } = place();
    await say("memory", "remember", "fact", "db", "sqlite", "--scope", "workspace");
    assert.match((await say("memory", "review")).stderr, /nothing contradicts/);
    await say("memory", "remember", "fact", "database", "postgres", "--scope", "workspace");
    const { stdout, code } = await say("memory", "review");
    assert.equal(code, 0);
    assert.equal(
      stdout,
      "contradiction  database\n    fact database of the workspace: postgres\n" +
        "    fact db of the workspace: sqlite\n",
    );
  });
});

const promote = (id: string, key: string): string[] => ["promote", id, "fact", key, "--scope", "workspace"];
