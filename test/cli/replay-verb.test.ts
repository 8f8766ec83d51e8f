/** Replay as a program and as people use it. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { replayHtml } from "../../src/cli/format/replay-html.ts";
import { runWords } from "../../src/cli/command/run.ts";
import { collectingSurface } from "../../src/cli/command/screen.ts";
import type { ReplayReport, ReplayTurn } from "../../src/core/turn/run-comparison.ts";
import { makeFolder } from "./skein.ts";

/** A session with two turns, and the command line in this process. */
async function lived() {
  const folder = makeFolder();
  const say = async (words: readonly string[], columns: number | null = null) => {
    const surface = collectingSurface(columns);
    const untilStopped = () => new AbortController().signal;
    const code = await runWords(["--store", join(folder, "skein.db"), ...words], { surface, untilStopped });
    return { code, ...surface.collected };
  };
  const opened = await say(["open", "--objective", "o", "--model", "offline/offline", "--json"]);
  const { id } = JSON.parse(opened.stdout) as { id: string };
  await say(["ask", id, "remember that base rate is 4"]);
  await say(["ask", id, "what is <script>alert(1)</script>?"]);
  return { folder, say, id };
}

suite("replay", { concurrency: true }, () => {
  test("without a position it checks the log", async () => {
    const { say, id } = await lived();
    const { code, stdout } = await say(["replay", id]);
    assert.equal(code, 0);
    assert.match(stdout, /^ok: \d+ records, 2 turns, 3 contexts; all match the log\n$/);
    const json = JSON.parse((await say(["replay", id, "--json"])).stdout) as Record<string, unknown>;
    assert.deepEqual([json["ok"], json["turns"], json["requests"]], [true, 2, 3]);
  });

  test("from a position it runs again, shows both, and saves a page or a value", async () => {
    const { folder, say, id } = await lived();
    const [page, value] = [join(folder, "x.html"), join(folder, "x.json")];
    const shown = await say(["replay", `${id}@1`, "--save", page, "--instructions", "Be brief."], 80);
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(shown.stdout, /^replayed ses_\w+ from 5 in ses_\w+\nall the same in 2 turns\n/);
    assert.match(shown.stdout, /\nTurn 1: same, 1 of 1 call the same {2}remember that base rate is 4\n/);
    assert.ok(shown.stdout.split("\n").every((line) => line.length <= 80 || line.startsWith("wrote ")));
    const html = readFileSync(page, "utf8");
    assert.ok(html.includes("&lt;script&gt;alert(1)") && !html.includes("<script"));
    const { code, stdout } = await say(["replay", id, "--from", "1", "--save", value, "--json"]);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(readFileSync(value, "utf8")), JSON.parse(stdout));
    const { fork, same } = JSON.parse(stdout) as ReplayReport;
    assert.equal(same, true);
    assert.match((await say(["lineage", id])).stdout, new RegExp(fork.slice(-8)));
  });

  test("a replay that a limit stops ends with 7", async () => {
    const { say, id } = await lived();
    const { code, stdout } = await say(["replay", id, "--from", "1", "--turns", "1"]);
    assert.equal(code, 7);
    assert.match(stdout, /it stopped early \(budget: /);
    assert.match(stdout, /\nTurn 2: missing /);
  });

  test("invalid options are refused before anything runs", async () => {
    const { folder, say, id } = await lived();
    const wrong: readonly (readonly [number, readonly string[]])[] = [
      [2, [id, "--from", "1", "--save", "x.pdf"]],
      [2, [id, "--save", join(folder, "y.html")]],
      [2, [id, "--model", "offline/offline"]],
      [2, [`${id}@1`, "--from", "1"]],
      [3, [id, "--from", "99"]],
      [2, [id, "--from", "1", "--model", "nobody/none"]],
      [4, [id, "--from", "1", "--save", join(folder, "no", "x.html")]],
    ];
    for (const [code, words] of wrong) {
      const ended = await say(["replay", ...words]);
      assert.deepEqual([ended.code, ended.stdout], [code, ""], `${words.join(" ")}: ${ended.stderr}`);
      assert.match(ended.stderr, /hint: /);
    }
    assert.equal(existsSync(join(folder, "y.html")), false);
    assert.equal((await say(["ps", "--json"])).stdout.trim().split("\n").length, 1);
  });
});

test("a page shows everything that comes from a log escaped", () => {
  const evil = `<script>alert("1")</script>'\u202e`;
  const call = { seq: 1, tool: evil, input: { [evil]: evil }, status: "ok" } as const;
  const turn: ReplayTurn = {
    turn: 1,
    startedSeq: 1,
    endedSeq: null,
    outcome: evil,
    inputs: [evil],
    answer: evil,
    calls: [call],
    steps: 1,
    inputTokens: 1,
    outputTokens: 1,
    nanoUsd: 0,
    unpriced: 1,
  };
  const total = { ...turn, turns: 1, calls: 1 };
  const item = { kind: "fact", key: evil, value: evil, because: evil, status: null, erased: false } as const;
  const html = replayHtml({
    session: evil,
    from: 1,
    fork: evil,
    model: { original: evil, replay: evil },
    instructions: evil,
    same: false,
    turns: [
      {
        match: "different",
        original: turn,
        replay: null,
        calls: [{ match: "missing", tool: evil, original: call, replay: null }],
      },
    ],
    totals: { original: total, replay: total },
    items: [{ change: "changed", kind: "fact", key: evil, from: item, to: null }],
    scores: [{ name: evil, original: null, replay: 1 }],
    unrecorded: 1,
    stopped: { by: evil, reason: evil },
  });
  assert.ok(!html.includes("<script") && !html.includes("\u202e") && !html.includes(`alert("`));
  assert.ok(html.split("&lt;script&gt;").length > 10);
  assert.match(html, /default-src 'none'/);
});
