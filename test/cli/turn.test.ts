/** Turns on the command line, with the offline model: ask, run, answer, interrupt, and who runs what. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { endOf, makeFolder, parseLines, skeinIn } from "./skein.ts";

type Fields = Record<string, unknown>;

/** A session with a folder of files and a shell in it; the store lies beside the folder. */
async function makeSession(...options: readonly string[]) {
  const place = makeFolder();
  const skein = skeinIn(place);
  const folder = join(place, "work");
  mkdirSync(folder);
  writeFileSync(join(folder, "rates.txt"), "base-rate: 4.1\n");
  const bound = ["--bind", `directory:${folder}:write`, "--bind", `shell:${folder}`];
  const [opened] = await skein.look("open", "Try it", "--yes", ...bound, ...options);
  const id = String(opened!["id"]);
  const typesOf = async () => (await skein.look("log", id)).map(({ type }) => String(type));
  const bodiesOf = async (type: string) =>
    (await skein.look("log", id, "--type", type)).map(({ body }) => body as Fields);
  /** Resolves when the session's log has an event of a type. */
  const untilThereIs = async (type: string): Promise<void> => {
    while (!(await typesOf()).includes(type)) await pause(20);
  };
  return { folder, skein, id, typesOf, bodiesOf, untilThereIs };
}

suite("ask", { concurrency: 4 }, () => {
  test("prints the answer on standard output, and tool calls on standard error", async () => {
    const { skein, id } = await makeSession();
    const asked = await skein.here("ask", id, "list", "files", "and then", "read", "rates.txt");
    assert.equal(asked.code, 0, asked.stderr);
    assert.match(asked.stdout, /^I am the offline model.*rates\.txt says:\n\nbase-rate: 4\.1\n$/s);
    assert.match(asked.stderr, /^→ list_files \n← list_files ok in \d+ ms: .*rates\.txt/);
    assert.match(asked.stderr, /→ read_file path=rates\.txt\n← read_file ok in \d+ ms: base-rate: 4\.1\n$/);
  });

  test("gives programs every event and delta as a line, and how it ended", async () => {
    const { skein, id } = await makeSession();
    const lines = await skein.look("ask", id, "remember base-rate is 4.1");
    const types = lines.map(({ type }) => type);
    assert.deepEqual(
      types.filter((type) => type !== "delta").filter((type) => !String(type).startsWith("lease.")),
      [
        "input.received",
        "session.migrated",
        "tools.bound",
        "turn.started",
        "context.planned",
        "model.requested",
        "model.responded",
        "tool.requested",
        "item.recorded",
        "tool.settled",
        "model.requested",
        "model.responded",
        "turn.ended",
        "ran",
      ],
    );
    const [, requested] = lines.filter(({ type }) => type === "model.requested");
    const deltas = lines.filter(
      ({ type, requestSeq }) => type === "delta" && requestSeq === requested!["seq"],
    );
    const heard = deltas.map(({ delta }) => (delta as { text: string }).text).join("");
    const [, responded] = lines.filter(({ type }) => type === "model.responded");
    assert.equal(heard, (responded!["content"] as { blocks: { text: string }[] }).blocks[0]!.text);
    const { seq, ...ran } = lines.at(-1)!;
    assert.deepEqual(ran, { type: "ran", session: id, status: "open", by: null, outcome: "completed" });
    assert.equal(typeof seq, "number");
  });

  test("reads standard input, and takes a key once", async () => {
    const { skein, id, bodiesOf } = await makeSession();
    const piped = await skein.run(["ask", id, "-"], { input: "remember a is 1\nremember b is 2\n" });
    assert.equal(piped.code, 0, piped.stderr);
    for (let time = 0; time < 2; time++) {
      const once = await skein.here("ask", id, "remember c is 3", "--key", "k");
      assert.equal(once.code, 0, once.stderr);
    }
    const items = (await skein.look("state", id))[0]!["items"] as Fields[];
    assert.deepEqual(
      items.map(({ key, value }) => [key, value]),
      [
        ["a", 1],
        ["b", 2],
        ["c", 3],
      ],
    );
    assert.equal((await bodiesOf("turn.started")).length, 2);
  });
});

suite("input and run", { concurrency: 4 }, () => {
  test("queued input is processed by the next run, and a run without work does nothing", async () => {
    const { skein, id, bodiesOf } = await makeSession();
    await skein.look("input", id, "remember a is 1");
    await skein.look("input", id, "--steer", "remember b is 2");
    assert.deepEqual(await bodiesOf("input.received"), [{ input: 1 }, { input: 2, mode: "steer" }]);
    const ran = await skein.here("run", id);
    assert.deepEqual([ran.code, /Recorded/.test(ran.stdout)], [0, true], ran.stderr);
    assert.deepEqual(await skein.here("run", id), { code: 0, stdout: "", stderr: "" });
    assert.equal((await bodiesOf("turn.started")).length, 1);
  });

  test("a message is one append in both logs, and the receiver's next run takes it up", async () => {
    const { skein, id } = await makeSession();
    const [other] = await skein.look("open", "Another");
    const to = String(other!["id"]);
    const [sent] = await skein.look("send", id, to.slice(-8), "remember", "rate", "is", "5");
    assert.deepEqual([sent!["session"], sent!["to"]], [id, to]);
    assert.equal((await skein.here("run", to)).code, 0);
    const items = (await skein.look("state", to))[0]!["items"] as Fields[];
    assert.deepEqual([items[0]!["key"], items[0]!["value"]], ["rate", 5]);
  });

  test("a sleeping session is waited for and woken when its time has come", async () => {
    const { skein, id, bodiesOf } = await makeSession();
    const { id: asleep } = (await skein.look("open", "Sleeps on"))[0]!;
    await skein.look("sleep", String(asleep), "--for", "1h");
    assert.deepEqual(await skein.here("run", String(asleep)), { code: 0, stdout: "", stderr: "" });
    // On a busy machine the time comes before the run begins: the result is the same.
    await skein.look("sleep", id, "--for", "1s");
    const ran = await skein.here("run", id, "--wait");
    assert.equal(ran.code, 0, ran.stderr);
    assert.deepEqual(await bodiesOf("session.woken"), [{ by: "time" }]);
    assert.equal((await bodiesOf("turn.started")).length, 1);
  });

  test("of two runs of one session the second names the first, or waits", async () => {
    const { skein, id, untilThereIs } = await makeSession();
    const first = skein.start(["ask", id, "--", "run sleep 2"]);
    const ended = endOf(first);
    await untilThereIs("tool.started");
    const second = await skein.here("run", id, "--json");
    const { error } = JSON.parse(second.stderr) as { error: Record<"code" | "message" | "hint", string> };
    assert.equal(error.hint, `to wait for them: skein run ${id.slice(-8)} --wait`);
    assert.deepEqual([second.code, second.stdout, error.code], [1, "", "conflict"]);
    assert.match(error.message, new RegExp(`:${first.pid}\\b`));
    const third = await skein.here("run", id, "--wait");
    assert.equal(third.code, 0, third.stderr);
    assert.match(third.stderr, new RegExp(`:${first.pid}\\b.* runs it; waiting`));
    assert.equal((await ended).code, 0);
  });

  test("the process that runs a session answers input from elsewhere", async () => {
    const { skein, id, untilThereIs } = await makeSession();
    const first = endOf(skein.start(["ask", id, "--", "run sleep 0.8"]));
    await untilThereIs("tool.started");
    const asked = await skein.here("ask", id, "remember a is 1");
    assert.equal(asked.code, 0, asked.stderr);
    // The answer was made elsewhere, so that no delta of it was heard here.
    assert.match(asked.stdout, /Recorded the fact a: 1\./);
    assert.match(asked.stderr, /:\d+.* runs it; your input is queued/);
    assert.doesNotMatch(asked.stdout, /sleep/);
    // Each has the answer to its own input.
    const { stdout } = await first;
    assert.match(stdout, /sleep/);
    assert.doesNotMatch(stdout, /Recorded/);
  });
});

suite("approvals", { concurrency: 4 }, () => {
  test("a call that needs approval suspends, and runs once allowed; the exit codes say so", async () => {
    const { folder, skein, id } = await makeSession();
    await skein.look("grant", id, "shell", "ask");
    const asked = await skein.here("ask", id, "--", "run echo yes > made.txt");
    assert.equal(asked.code, 7, asked.stderr);
    assert.match(asked.stderr, /suspended: a tool call waits for approval/);
    assert.match(asked.stderr, new RegExp(`skein answer ${id.slice(-8)} allow`));
    const [question] = await skein.look("answer", id);
    const calls = question!["calls"] as Fields[];
    assert.deepEqual([question!["session"], question!["by"]], [id, "approval"]);
    assert.deepEqual(
      calls.map(({ tool, input }) => [tool, (input as Fields)["command"]]),
      [["shell", "echo yes > made.txt"]],
    );
    assert.equal(existsSync(join(folder, "made.txt")), false);
    await skein.look("answer", id, "allow", "--reason", "fine");
    const ran = await skein.here("run", id);
    assert.equal(ran.code, 0, ran.stderr);
    assert.equal(readFileSync(join(folder, "made.txt"), "utf8"), "yes\n");
    const [none] = await skein.look("answer", id);
    assert.deepEqual(none, { session: id, by: null, reason: null, calls: [] });
  });

  test("the model receives a denial; of two calls one may be allowed", async () => {
    const { folder, skein, id } = await makeSession();
    await skein.look("grant", id, "shell", "ask");
    assert.equal((await skein.here("ask", id, "--", "run touch one and run touch two")).code, 7);
    const [question] = await skein.look("answer", id);
    const [one, two] = (question!["calls"] as Fields[]).map(({ call }) => String(call));
    await skein.look("answer", id, "deny", "--call", two!, "--reason", "not on Fridays");
    const still = await skein.here("run", id);
    assert.equal(still.code, 7, still.stderr);
    await skein.look("answer", id, "allow", "--call", one!);
    const ran = await skein.here("run", id);
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.stdout, /not on Fridays/);
    assert.deepEqual([existsSync(join(folder, "one")), existsSync(join(folder, "two"))], [true, false]);
  });

  test("a rule that denies needs no question", async () => {
    const { folder, skein, id } = await makeSession();
    await skein.look("grant", id, "shell", "deny", "--pattern", '{"command":"touch *"}');
    const asked = await skein.here("ask", id, "--", "run touch one");
    assert.equal(asked.code, 0, asked.stderr);
    assert.match(asked.stderr, /← shell skipped: not allowed/);
    assert.equal(existsSync(join(folder, "one")), false);
  });
});

suite("interrupts", { concurrency: 2 }, () => {
  test("an interrupt from another process stops the tool and all it started", async (t) => {
    const { folder, skein, id, untilThereIs } = await makeSession();
    const ended = endOf(skein.start(["ask", id, "--", "run echo $$ > pid && sleep 5 && touch late"]));
    await untilThereIs("tool.started");
    while (!existsSync(join(folder, "pid"))) await pause(10);
    await pause(50);
    await skein.look("interrupt", id, "--reason", "wrong file");
    const { code, stderr } = await ended;
    assert.equal(code, 0, stderr);
    assert.match(stderr, /interrupted: wrong file\n← shell unknown/);
    const events = await skein.look("log", id, "--type", "session.interrupted,turn.ended");
    const [asked, over] = events.map(({ at }) => Number(at));
    t.diagnostic(`from the interrupt to the end of the turn: ${over! - asked!} ms`);
    assert.ok(over! - asked! < 1_000, `${over! - asked!} ms`);
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
    const again = await skein.here("ask", id, "read rates.txt");
    assert.deepEqual([again.code, /4\.1/.test(again.stdout)], [0, true], again.stderr);
  });

  test("Ctrl-C interrupts the turn that runs here, also in the middle of an answer", async () => {
    const { skein, id, untilThereIs } = await makeSession();
    const env = { SKEIN_OFFLINE_PACE_MS: "300" };
    const child = skein.start(["ask", id, "hello", "--json"], { env });
    const ended = endOf(child);
    await untilThereIs("model.requested");
    await pause(100);
    child.kill("SIGINT");
    const { code, stdout, stderr } = await ended;
    assert.equal(code, 130, stderr);
    const { outcome, status } = parseLines(stdout).at(-1)!;
    assert.deepEqual([outcome, status], ["interrupted", "open"]);
  });

  test("SIGTERM leaves the turn to the next runner", async () => {
    const { skein, id, untilThereIs, bodiesOf } = await makeSession();
    const child = skein.start(["ask", id, "--", "run sleep 0.5"]);
    const ended = endOf(child);
    await untilThereIs("tool.started");
    child.kill("SIGTERM");
    assert.equal((await ended).code, 143);
    assert.deepEqual(await bodiesOf("turn.ended"), []);
    const ran = await skein.here("run", id);
    assert.equal(ran.code, 0, ran.stderr);
    assert.deepEqual(
      (await bodiesOf("turn.ended")).map(({ outcome }) => outcome),
      ["completed"],
    );
  });
});

suite("budgets", () => {
  test("at a limit the session is suspended and shows its use; a higher limit resumes it", async () => {
    const { skein, id } = await makeSession("--steps", "1");
    const asked = await skein.here("ask", id, "list files");
    assert.equal(asked.code, 7);
    assert.match(asked.stderr, /step budget exhausted: 1 of 1/);
    const [shown] = await skein.look("budget", id);
    assert.deepEqual([shown!["limits"], shown!["left"]], [{ steps: 1 }, { steps: 0 }]);
    assert.equal((shown!["used"] as Fields)["steps"], 1);
    assert.match(
      asked.stderr,
      new RegExp(`such as: skein budget ${id.slice(-8)} --steps 2 --store \\S+; then: `),
    );
    const given = await skein.here("budget", id, "--steps", "1", "--usd", "2", "--wall", "2h");
    assert.match(given.stdout, /^budget set at \d+ of ses_\w+: money \$2\.00, steps 1, active time 2 h$/m);
    const tiny = await skein.here("budget", id, "--usd", "0.0000000001");
    assert.deepEqual([tiny.code, /usd: expected 0 or at least 0\.000000001/.test(tiny.stderr)], [2, true]);
    const again = await skein.here("run", id);
    assert.match(again.stderr, /skein budget \w+ --steps 2 --usd 2 --wall 7200s --store \S+; then: /);
    const [set] = await skein.look("budget", id, "--steps", "5");
    assert.deepEqual(set!["limits"], { steps: 5 });
    const ran = await skein.here("run", id);
    assert.deepEqual([ran.code, /rates\.txt/.test(ran.stdout)], [0, true], ran.stderr);
    assert.match((await skein.here("budget", id)).stdout, /^steps +2 +5 +3$/m);
  });
});
