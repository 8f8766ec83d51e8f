/** Triggers on the command line, as a program and as people use them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { suite, test } from "node:test";
import { runWords } from "../../src/cli/run.ts";
import { collectingSurface } from "../../src/cli/screen.ts";
import { parseComing, parseWake, specText } from "../../src/cli/trigger-word.ts";
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
  return { say, json, open };
}

suite("trigger", { concurrency: true }, () => {
  test("says when the secret of a webhook is not set", async () => {
    const { say, open } = place();
    const id = await open("Hooked");
    const add = async (secret: string) => {
      const words = ["trigger", "add", id, secret, "--webhook", "--secret", secret];
      return (await say(...words)).stderr;
    };
    assert.match(await add("SKEIN_NO_SUCH_SECRET"), /SKEIN_NO_SUCH_SECRET is not set here/);
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

  test("is refused with what is wrong, and where", async () => {
    const { say, open } = place();
    const id = await open("Payroll");
    const wrong = async (message: RegExp, ...words: readonly string[]) => {
      const { code, stderr } = await say("trigger", ...words);
      assert.match(stderr, message);
      assert.equal(code, 2);
    };
    await wrong(/nothing says when it fires/, "add", id, "t");
    await wrong(/--at and --cron are both given/, "add", id, "t", "--at", "2h", "--cron", "* * * * *");
    await wrong(/how often is to be looked/, "add", id, "t", "--check", "date");
    await wrong(/trigger "t": not a cron line: "61 \* \* \* \*"/, "add", id, "t", "--cron", "61 * * * *");
    await wrong(/no time zone "Mars\/Base"/, "add", id, "t", "--cron", "0 9 * * *", "--zone", "Mars/Base");
    await wrong(/2020-01-01T00:00:00.000Z is past/, "add", id, "t", "--at", "2020-01-01");
    await wrong(/on which session/, "add", "t", "--every", "1m");
    await wrong(/add takes ID NAME/, "add");
    const { stderr } = await say("open", "x", "--wake", "corn:0 9 * * *");
    assert.match(stderr, /--wake: there is no "corn"/);
  });

  test("is read from one word, and told in one line", () => {
    const nowMs = Date.parse("2026-11-15T12:00Z");
    assert.equal(parseComing("--at", "90m", nowMs), nowMs + 5_400_000);
    assert.equal(parseComing("--at", "2026-12-01", nowMs), Date.parse("2026-12-01"));
    const words: readonly (readonly [string, unknown, string])[] = [
      [
        "at:2026-12-01T09:00Z",
        { kind: "at", at: Date.parse("2026-12-01T09:00Z") },
        "2026-12-01T09:00:00.000Z",
      ],
      ["every:10m", { kind: "every", everyMs: 600_000 }, "every 10 m"],
      ["cron:0 9 1 * *", { kind: "cron", cron: "0 9 1 * *" }, "0 9 1 * *, UTC"],
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
