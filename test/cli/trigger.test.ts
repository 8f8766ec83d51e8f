/** Triggers on the command line, as a program and as people use them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { suite, test } from "node:test";
import { runWords } from "../../src/cli/command/run.ts";
import { collectingSurface } from "../../src/cli/command/screen.ts";
import { specText } from "../../src/core/trigger/spec-text.ts";
import { parseComing } from "../../src/cli/format/moment.ts";
import { parseWake } from "../../src/cli/format/trigger-word.ts";
import { makeFolder, parseLines } from "./skein.ts";

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
  /** As a wrong use of the verb, with these words. */
  const wrong = async (message: RegExp, ...words: readonly string[]) => {
    const { code, stderr } = await say("trigger", ...words);
    assert.match(stderr, message);
    assert.equal(code, 2);
  };
  return { say, json, open, wrong };
}

suite("trigger", { concurrency: true }, () => {
  test("says when the secret of a webhook is not set", async () => {
    const { say, open } = place();
    const id = await open("Hooked");
    const add = async (secret: string) => {
      const words = ["trigger", "add", id, secret, "--webhook", "--secret", secret];
      return (await say(...words)).stderr;
    };
    assert.match(await add("SKEIN_NO_SUCH_SECRET"), /SKEIN_NO_SUCH_SECRET is not set/);
    assert.equal(await add("PATH"), "");
  });

  test("is set with open, added, listed, fired and removed", async () => {
    const { say, json, open } = place();
    const id = await open("Payroll", "--wake", "cron@Europe/Berlin:0 9 1 * *", "--wake", "every:10m");
    await json("trigger", "add", id, "soon", "--at", "2h", "--missed", "skip");
    const [hook] = await json("trigger", "add", id, "push", "--webhook", "--secret", "HOOK_SECRET");
    assert.match(String(hook?.["token"]), new RegExp(`^${id}\\.`));
    const list = await json("trigger", "list", id);
    assert.deepEqual(
      list.map(({ name, kind, missed }) => [name, kind, missed]),
      [
        ["cron", "cron", "once"],
        ["every", "every", "once"],
        ["push", "webhook", "once"],
        ["soon", "at", "skip"],
      ],
    );
    const { stdout } = await say("trigger", "list", id);
    assert.match(stdout, /^NAME +KIND +WHAT +NEXT +LAST FIRED/);
    assert.match(stdout, /push +webhook +by its token, signed by HOOK_SECRET +never/);
    assert.equal((await say("trigger", "fire", id, "cron", "--text", "Now.")).code, 0);
    assert.match(
      (await say("trigger", "list", id)).stdout,
      /cron +cron +0 9 1 \* \*, Europe\/Berlin +\S+Z +(now|\d+ s ago)/,
    );
    assert.equal((await say("trigger", "remove", id, "push")).code, 0);
    assert.equal((await json("trigger", "list", id)).length, 3);
  });

  test("of a template opens sessions", async () => {
    const { say, json } = place();
    const add = ["trigger", "add", "--open", "Read the news", "--label", "kind=news", "--usd", "1"];
    const [set] = await json(...add, "news", "--cron", "0 7 * * 1-5");
    assert.deepEqual(set?.["open"], {
      objective: "Read the news",
      budget: { usd: 1 },
      labels: { kind: "news" },
    });
    const [fired] = await json("trigger", "fire", "news");
    const rows = await json("ps");
    assert.deepEqual(
      rows.map((row) => row["session"] ?? row["id"]),
      [fired?.["opened"]],
    );
    assert.match((await say("trigger")).stdout, /OPENS\nnews +cron +0 7 \* \* 1-5, UTC .* Read the news/);
    assert.equal((await say("trigger", "remove", "news")).stdout, "removed news\n");
    assert.match((await say("trigger", "remove", "news")).stderr, /there is no template "news"/);
  });

  test("a rejected trigger names the field and the reason", async () => {
    const { say, open, wrong } = place();
    const id = await open("Payroll");
    await wrong(/specify the kind/, "add", id, "t");
    await wrong(/specify only one of --at, --cron/, "add", id, "t", "--at", "2h", "--cron", "* * * * *");
    await wrong(/--every is required/, "add", id, "t", "--check", "date");
    await wrong(
      /trigger "t": cron: invalid expression "61 \* \* \* \*" \(minute: 61 is out of range\)/,
      "add",
      id,
      "t",
      "--cron",
      "61 * * * *",
    );
    await wrong(
      /unknown time zone "Mars\/Base"/,
      "add",
      id,
      "t",
      "--cron",
      "0 9 * * *",
      "--zone",
      "Mars/Base",
    );
    await wrong(
      /at: expected a future time, got 2020-01-01T00:00:00.000Z/,
      "add",
      id,
      "t",
      "--at",
      "2020-01-01",
    );
    await wrong(/ID and NAME are required/, "add", "t", "--every", "1m");
    await wrong(
      /trigger add: expected ID NAME, or NAME with --open OBJECTIVE\n {2}hint: skein trigger add/,
      "add",
    );
    const { stderr } = await say("open", "x", "--wake", "corn:0 9 * * *");
    assert.match(stderr, /--wake: unknown kind "corn"/);
  });

  test("takes a time of a zone for --at, as clocks there show it", async () => {
    const { say, json, open } = place();
    const id = await open("Payroll");
    const at = async (time: string, zone: string) => {
      const words = ["trigger", "add", id, "t", "--at", time, "--zone", zone];
      await json(...words);
      const [set] = await json("trigger", "list", id);
      return new Date(Number(set?.["nextMs"])).toISOString();
    };
    assert.equal(await at("2036-12-01T09:00", "America/New_York"), "2036-12-01T14:00:00.000Z");
    assert.equal(await at("2036-07-01", "Europe/Berlin"), "2036-06-30T22:00:00.000Z");
    assert.equal(await at("2036-03-30T02:30", "Europe/Berlin"), "2036-03-30T01:00:00.000Z");
    assert.equal(await at("2036-10-26T02:30:15.5", "Europe/Berlin"), "2036-10-26T00:30:15.500Z");
    const wrong = async (message: RegExp, ...words: readonly string[]) => {
      const { code, stderr } = await say("trigger", "add", id, "t", "--at", ...words);
      assert.match(stderr, message);
      assert.equal(code, 2);
    };
    await wrong(/has a fixed zone/, "2036-12-01T09:00Z", "--zone", "America/New_York");
    await wrong(/has a fixed zone/, "2h", "--zone", "America/New_York");
    await wrong(/unknown time zone "Mars\/Base"/, "2036-12-01T09:00", "--zone", "Mars/Base");
    await wrong(/2h for two hours from now/, "9:00");
  });

  test("refuses options of another kind or another action by name", async () => {
    const { open, wrong } = place();
    const id = await open("Payroll");
    const every = ["add", id, "t", "--every", "1m"];
    for (const word of ["zone", "glob", "topic", "ref", "item", "path", "secret", "from"])
      await wrong(new RegExp(`--${word} is not allowed with --every`), ...every, `--${word}=x`);
    await wrong(/--debounce is not allowed .*\n.*is for --file, --resource/, ...every, "--debounce", "1s");
    await wrong(/--on is not allowed .*\n.*is for --session/, ...every, "--on", "end");
    await wrong(/--give is not allowed/, ...every, "--give", "facts");
    await wrong(/--all is not allowed/, ...every, "--all");
    await wrong(
      /--secret is not allowed with --cron/,
      "add",
      id,
      "t",
      "--cron",
      "0 9 * * *",
      "--secret",
      "X",
    );
    await wrong(
      /--item is not allowed with --on end/,
      "add",
      id,
      "t",
      "--session",
      id,
      "--on=end",
      "--item=fact/x",
    );
    for (const word of ["agent=x", "label=a=b", "priority=3", "usd=1", "wall=1h"])
      await wrong(/ requires --open\n.*--open/, ...every, `--${word}`);
    await wrong(/trigger add: unexpected --text\n.*--text is for fire/, ...every, "--text", "x");
    await wrong(/trigger fire: unexpected --at\n.*--at is for add/, "fire", id, "t", "--at", "2h");
    await wrong(/trigger remove: unexpected --cron/, "remove", id, "t", "--cron", "0 9 * * *");
    await wrong(/trigger list: unexpected --zone/, "list", id, "--zone", "UTC");
  });

  test("a check that would write is rejected: checks only read", async () => {
    const { say, json } = place();
    const file = join(makeFolder(), "o.db");
    const database = new DatabaseSync(file);
    database.exec("CREATE TABLE orders (id)");
    database.close();
    const [opened] = await json("open", "Orders", "--bind", `database:${file}:write`);
    // A binding without a name goes by its path.
    const name = file;
    const add = (sql: string) =>
      say("trigger", "add", String(opened?.["id"]), "w", "--sql", sql, "--resource", name, "--every", "1s");
    const { code, stderr } = await add("INSERT INTO orders VALUES (1)");
    assert.equal(code, 2);
    assert.match(stderr, /sql: a check is read-only; the database is unchanged/);
    assert.doesNotMatch(stderr, /--mode write/);
    // What it is, and not what the words of an error are, decides that.
    const missing = await add('SELECT * FROM "is bound for reading only"');
    assert.match(missing.stderr, /no such table: is bound for reading only/);
    assert.equal((await add("SELECT count(*) FROM orders")).code, 0);
  });

  test("refuses a glob with a bracket that is left open", async () => {
    const { say, json } = place();
    const folder = makeFolder();
    const [opened] = await json("open", "Rates", "--bind", `directory:${folder}`);
    const add = (glob: string) =>
      say("trigger", "add", String(opened?.["id"]), "g", "--file", folder, "--glob", glob);
    for (const glob of ["[a-", "src/[a", "[a/b]", "{a,b", "x["])
      assert.match((await add(glob)).stderr, /unclosed bracket in/, glob);
    for (const glob of ["[a-z]*", "{a,b}/*.ts", "\\[a", "[]]", "[{]"])
      assert.equal((await add(glob)).code, 0, glob);
  });

  test("is read from one word, and printed on one line", () => {
    const nowMs = Date.parse("2026-11-15T12:00Z");
    assert.equal(parseComing("--at", "90m", nowMs), nowMs + 5_400_000);
    assert.equal(parseComing("--at", "2026-12-01", nowMs), Date.parse("2026-12-01T00:00"));
    const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const words: readonly (readonly [string, unknown, string])[] = [
      [
        "at:2026-12-01T09:00Z",
        { kind: "at", at: Date.parse("2026-12-01T09:00Z") },
        "2026-12-01T09:00:00.000Z",
      ],
      ["every:10m", { kind: "every", everyMs: 600_000 }, "every 10 m"],
      ["cron:0 9 1 * *", { kind: "cron", cron: "0 9 1 * *", zone: here }, `0 9 1 * *, ${here}`],
      ["file:C:\\rates", { kind: "file", path: "C:\\rates" }, "C:\\rates"],
      ["git:.", { kind: "git", path: "." }, "."],
      ["message", { kind: "message" }, "any"],
      ["message:rates", { kind: "message", topic: "rates" }, "on rates"],
      ["resource:rates.json", { kind: "resource", binding: "rates.json" }, "rates.json"],
    ];
    for (const [word, spec, text] of words) {
      assert.deepEqual(parseWake(word, nowMs), spec);
      assert.equal(specText(parseWake(word, nowMs)), text);
    }
    for (const word of ["", "cron", "every@UTC:1m", "every:", "webhook:x"])
      assert.throws(() => parseWake(word, nowMs), { code: "invalid" });
  });
});
