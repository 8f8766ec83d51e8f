/** Merge, lineage, diff, score and the cost of a family, as a program and as people use them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { suite, test } from "node:test";
import { runWords } from "../../src/cli/command/run.ts";
import { collectingSurface } from "../../src/cli/command/screen.ts";
import { makeFolder } from "./skein.ts";

type Answer = Record<string, unknown>;

/** The command line in this process, on a store of its own. */
function place() {
  const folder = makeFolder();
  const say = async (words: readonly string[], columns: number | null = null) => {
    const surface = collectingSurface(columns);
    const untilStopped = () => new AbortController().signal;
    const code = await runWords(["--store", join(folder, "skein.db"), ...words], { surface, untilStopped });
    return { code, ...surface.collected };
  };
  const json = async (...words: readonly string[]): Promise<Answer> => {
    const { code, stdout, stderr } = await say([...words, "--json"]);
    assert.ok(code === 0 || stdout !== "", stderr);
    return { ...(JSON.parse(stdout) as Answer), code };
  };
  const model = ["--model", "offline/offline"];
  const open = async (objective: string) =>
    String((await json("open", "--objective", objective, ...model))["id"]);
  const fork = async (id: string, ...more: readonly string[]) =>
    String((await json("fork", id, ...more))["id"]);
  return { say, json, open, fork };
}

suite("branching and coming back together", { concurrency: true }, () => {
  test("merge shows conflicts, ends with 1, and applies resolutions", async () => {
    const { say, json, open, fork } = place();
    const a = await open("Payroll");
    await json("record", a, "fact", "base=rate", "4");
    const b = await fork(a);
    await json("record", a, "fact", "base=rate", "5", "--because", "the council");
    await json("record", b, "fact", "base=rate", "6");
    await json("record", b, "decision", "when", "may");
    const refused = await say(["merge", a, b]);
    assert.equal(refused.code, 1);
    assert.match(refused.stdout, /was not merged into .*: 1 conflict\n {2}\+ decision when = may\n/);
    assert.match(refused.stdout, /conflict {2}fact\/base=rate\n {2}base {4}4 .*\n {2}ours {4}5, because the/);
    assert.match(refused.stdout, /--resolve 'fact\/base=rate'=ours\n$/);
    const dry = await json("merge", a, b, "--dry-run", "--resolve", "fact/base=rate=both");
    assert.deepEqual([dry["ok"], dry["written"], dry["code"]], [true, null, 0]);
    const words = ["--resolve", "fact/base=rate=theirs", "--because", "newer", "--summary", "In short."];
    const done = await say(["merge", a, b, ...words]);
    assert.match(done.stdout, /^merged ses_\w+@4-6 at 7 of ses_\w+\n.*\n {2}\* fact\/base=rate: theirs\n$/);
    const again = await say(["merge", a, b]);
    assert.deepEqual([again.code, /nothing was written/.test(again.stdout)], [0, true]);
    const log = await say(["log", a]);
    assert.match(log.stdout, /session\.merged +Merged \w{8}@4–6: 1 item taken, 1 conflict resolved\n$/);
    await json("record", b, "fact", "early", "1");
    await json("record", b, "fact", "late", "2");
    const early = await say(["merge", a, `${b}@7`]);
    assert.match(early.stdout, /^merged ses_\w+@7-7 at /);
    await json("record", b, "fact", "early", "3");
    const changed = await say(["merge", a, b, "--dry-run"]);
    assert.match(changed.stdout, /\n {2}~ fact early = 1 → 3\n {2}\+ fact late = 2\n$/);
    const late = await json("merge", a, b, "--dry-run");
    assert.deepEqual(late["range"], { fromSeq: 8, toSeq: 9 });
  });

  test("merge accepts a value given on the command line, and rejects contradictions", async () => {
    const { say, json, open, fork } = place();
    const a = await open("o");
    const b = await fork(a);
    await json("record", a, "fact", "x", "1");
    await json("record", b, "fact", "x", "2");
    for (const [words, message] of [
      [[a, a], /from: expected another session/],
      [[a, b, "--resolve", "fact/x"], /--resolve: expected .* got "fact\/x"/],
      [[a, b, "--resolve", "fact/x=mine"], /expected KIND\/KEY=VALUE/],
      [[a, b, "--value", "fact/x"], /--value: expected .* got "fact\/x"/],
      [[a, b, "--value", "fact/x=1", "--resolve", "fact/x=ours"], /resolved twice/],
    ] as const) {
      const { code, stderr } = await say(["merge", ...words]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    }
    assert.equal((await say(["merge", a, b, "--resolve", "fact/y=ours"])).code, 3);
    assert.equal((await say(["merge", a, "zzzzzz"])).code, 3);
    await json("merge", a, b, "--value", 'fact/x={"mean":1.5}', "--because", "both were guesses");
    const items = (await json("state", a))["items"] as Answer[];
    assert.deepEqual(
      items.map(({ key, value, because }) => [key, value, because]),
      [["x", { mean: 1.5 }, "both were guesses"]],
    );
  });

  test("lineage draws the family, with lines on a terminal", async () => {
    const { say, json, open, fork } = place();
    const root = await open("Payroll");
    await json("record", root, "fact", "x", "1");
    const early = await fork(root, "--at", "2", "--name", "early");
    const late = await fork(root, "--objective", "What if?");
    const leaf = await fork(late, "--name", "leaf");
    await json("record", leaf, "fact", "x", "2");
    await json("merge", root, leaf);
    const tail = (id: string) => id.slice(-8);
    assert.deepEqual((await say(["lineage", late])).stdout.split("\n"), [
      `${tail(root)}  Payroll  open at 5; merged ${tail(leaf)}@6`,
      `|- ${tail(early)}  early  fork at 2, open at 3`,
      `\`- ${tail(late)} *  What if?  fork at 3, open at 4`,
      `   \`- ${tail(leaf)}  leaf  fork at 4, open at 6`,
      "",
    ]);
    const drawn = (await say(["lineage", leaf], 50)).stdout.split("\n");
    assert.equal(drawn[1], `├─ ${tail(early)}  early  fork at 2, open at 3`);
    assert.ok(drawn.every((line) => line.length <= 62));
    assert.deepEqual(
      ((await json("lineage", leaf))["nodes"] as Answer[]).map(({ session }) => session),
      [root, early, late, leaf],
    );
  });

  test("lineage and cost show successors with forks, and say which is which", async () => {
    const { say, json, open, fork } = place();
    const root = await open("Payroll");
    await say(["ask", root, "Remember that the rate is 4"]);
    const next = String((await json("clear", root, "--name", "next"))["id"]);
    const later = String((await json("open", "--from", next, "--name", "later"))["id"]);
    const branch = await fork(later, "--name", "branch");
    const tail = (id: string) => id.slice(-8);
    for (const asked of [root, next, branch]) {
      const { stdout } = await say(["lineage", asked]);
      assert.match(stdout, new RegExp(`^${tail(root)}.*  Payroll  closed at \\d+\n`));
      assert.match(stdout, new RegExp(`- ${tail(next)}.*  next  successor at \\d+, `));
      assert.match(stdout, new RegExp(`\\n {3}\`- ${tail(later)}.*  later  successor at \\d+, open`));
      assert.match(stdout, new RegExp(`\\n {6}\`- ${tail(branch)}.*  branch  fork at \\d+, open`));
    }
    const nodes = (await json("lineage", later))["nodes"] as Answer[];
    assert.deepEqual(
      nodes.map(({ session, relation }) => [session, relation]),
      [
        [root, null],
        [next, "successor"],
        [later, "successor"],
        [branch, "fork"],
      ],
    );
    const ofFamily = await say(["cost", branch, "--family"]);
    assert.match(ofFamily.stdout, new RegExp(`^${tail(root)} `, "m"));
  });

  test("diff takes two places, one place, or two sessions", async () => {
    const { say, json, open, fork } = place();
    const a = await open("o");
    await json("record", a, "fact", "x", "1");
    await json("save", a, "before");
    await json("record", a, "fact", "x", "2", "--because", "b");
    await json("label", a, "team=web");
    const text = (await say(["diff", `${a}@before`])).stdout;
    assert.deepEqual(text.split("\n"), [
      `from    ${a}@3`,
      `to      ${a}@6`,
      `common  ${a}@3`,
      "",
      "State",
      "  labels.team: (none) → web",
      "  checkpoints.before: (none) → 3",
      "",
      "Items",
      "  ~ fact x = 1 → 2, because b",
      "",
      "Transcript",
      "  no difference",
      "",
    ]);
    const b = await fork(a, "--at", "2");
    const items = await json("diff", a, b, "--items");
    assert.deepEqual(
      [Object.keys(items), (items["items"] as Answer[])[0]!["change"]],
      [["from", "to", "common", "items", "code"], "removed"],
    );
    const context = await json("diff", `${a}@2`, `${a}@6`, "--context");
    assert.deepEqual(Object.keys(context["context"] as Answer), ["from", "to", "shared", "removed", "added"]);
    assert.match((await say(["diff", a, b, "--context"])).stdout, /Context \(2 parts the same/);
    assert.equal((await say(["diff", `${a}@9`])).code, 3);
    assert.equal((await say(["diff", `${a}@`])).code, 2);
  });

  test("score judges a session or a position", async () => {
    const { say, json, open } = place();
    const id = await open("o");
    const words = ["score", `${id}@1`, "accuracy", "0.8", "--because", "8 of 10"];
    assert.deepEqual(await json(...words), { session: id, seq: 3, headSeq: 3, duplicate: false, code: 0 });
    await json("score", id, "tone", "-1");
    assert.deepEqual((await json("state", id))["scores"], {
      accuracy: { value: 0.8, seq: 3 },
      tone: { value: -1, seq: 4 },
    });
    assert.match((await say(["log", id])).stdout, /Score accuracy = 0\.8 at 1: 8 of 10/);
    for (const value of ["high", "", "Infinity"])
      assert.equal((await say(["score", id, "n", value])).code, 2, value);
    assert.equal((await say(["score", `${id}@7`, "n", "1"])).code, 3);
  });

  test("cost --family adds up all that was forked", async () => {
    const { say, json, open, fork } = place();
    const root = await open("o");
    const middle = await fork(root);
    const leaf = await fork(middle);
    const stranger = await open("other");
    for (const id of [root, leaf, stranger]) assert.equal((await say(["ask", id, "hello"])).code, 0);
    await json("delete", middle, "--yes");
    const lines = (await say(["cost", leaf, "--family", "--json"])).stdout.trim().split("\n");
    const found = lines.map((line) => JSON.parse(line) as Answer);
    assert.deepEqual(new Set(found.map(({ session }) => session)), new Set([leaf, root]));
    assert.equal((await say(["cost", "--family"])).code, 2);
  });
});
