/** Workers on the command line: up, workers, ps, top and the policies that limit them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { SessionId } from "../../src/core/ids.ts";
import { runWords } from "../../src/cli/command/run.ts";
import { collectingSurface } from "../../src/cli/command/screen.ts";
import { limitOf } from "../../src/cli/verb/up.ts";
import { frameOf, sorted } from "../../src/cli/format/top-frame.ts";
import type { SessionSummary } from "../../src/runtime/read/session-list.ts";
import { endOf, makeFolder, parseLines, skeinIn, type Skein } from "./skein.ts";

type Answer = Record<string, unknown>;

/** Resolves once a line of its output tells of this. */
function tells(child: Skein, isIt: (line: Answer) => boolean): Promise<Answer> {
  let rest = "";
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (text: Buffer | string) => {
      const lines = `${rest}${String(text)}`.split("\n");
      rest = lines.pop() ?? "";
      const found = lines
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Answer)
        .find(isIt);
      if (found !== undefined) resolve(found);
    });
    child.once("close", () => reject(new Error("it ended before")));
  });
}

suite("up, workers, ps and top", { concurrency: 3 }, () => {
  test("up says so when it makes a new store", async () => {
    const words = ["up", "--store", join(makeFolder(), "typo.db")];
    const said = async (): Promise<string> => {
      const surface = collectingSurface(null);
      assert.equal(await runWords(words, { surface, untilStopped: () => AbortSignal.abort() }), 0);
      return surface.collected.stderr;
    };
    assert.match(await said(), /created a new store: .*typo\.db\n/);
    assert.doesNotMatch(await said(), /new store/);
  });

  test("up runs queued sessions, prints events, and releases everything on Ctrl-C", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open("Remember");
    await skein.here("input", id, "remember base-rate is 4.1");
    const [before] = await skein.look("ps");
    assert.deepEqual([before!["runnable"], before!["waitingFor"]], [true, "a worker"]);
    const child = skein.start(["up", "--concurrency", "2", "--name", "w1", "--json"]);
    const ended = endOf(child);
    const began = await tells(child, ({ type }) => type === "began");
    assert.deepEqual([began["session"], began["by"]], [id, "input"]);
    const done = await tells(child, ({ type }) => type === "ended");
    assert.deepEqual(
      [done["session"], done["outcome"], (done["ran"] as Answer)["status"], done["nanoUsd"]],
      [id, "completed", "open", 0],
    );
    const [worker] = await skein.look("workers");
    assert.deepEqual([worker!["name"], worker!["concurrency"], worker!["gone"]], ["w1", 2, false]);
    child.kill("SIGINT");
    const { code } = await ended;
    assert.equal(code, 130);
    assert.deepEqual(await skein.look("workers"), []);
    const [after] = await skein.look("ps");
    assert.deepEqual([after!["runnable"], after!["waitingFor"], after!["runBy"]], [false, "input", null]);
  });

  test("ps shows what each session waits for: a limit, a time, a person", async () => {
    const skein = skeinIn(makeFolder());
    const waits = async () => {
      const rows = await skein.look("ps");
      return new Map(rows.map(({ objective, waitingFor }) => [objective, waitingFor]));
    };
    const open = async (objective: string) =>
      parseLines(
        (await skein.here("open", "--objective", objective, "--agent", "coder", "--json")).stdout,
      )[0]!["id"];
    const [held, slept, still] = [await open("Held"), await open("Slept"), await open("Still")] as string[];
    await skein.here("input", held!, "go on");
    await skein.here("sleep", slept!, "--until", "2100-01-01");
    await skein.here("suspend", still!);
    await skein.here("policy", "set", "none", "--do", "limit", "--agent", "coder", "--running", "0");
    const child = skein.start(["up", "--json"]);
    const ended = endOf(child);
    for (let tries = 0; tries < 200 && (await skein.look("workers")).length === 0; tries++)
      await new Promise((resolve) => setTimeout(resolve, 25));
    assert.deepEqual(
      await waits(),
      new Map([
        ["Held", "agent limit (0 of 0)"],
        ["Slept", "time until 2100-01-01T00:00:00.000Z"],
        ["Still", "person"],
      ]),
    );
    const shown = await skein.here("ps");
    assert.match(shown.stdout, /queued, waiting for agent limit \(0 of 0\)/);
    assert.match((await skein.here("top")).stdout, /^3 sessions: 0 run, 1 could be run/);
    assert.equal((await skein.look("top", "--sort", "status")).length, 3);
    child.kill("SIGTERM");
    assert.equal((await ended).code, 143);
  });

  test("invalid options are refused before anything is opened", async () => {
    const skein = skeinIn(makeFolder());
    for (const words of [
      ["up", "--limit", "coder=2"],
      ["up", "--limit", "label:team=2"],
      ["up", "--limit", "agent:coder=two"],
      ["up", "--concurrency", "0"],
      ["up", "--concurrency", "5000"],
      ["top", "--sort", "colour"],
    ])
      assert.equal((await skein.here(...words)).code, 2, words.join(" "));
    assert.equal((await skein.here("workers")).code, 3);
    const limit = ["policy", "set", "x", "--do", "limit", "--running", "2"];
    assert.equal((await skein.here(...limit)).code, 2);
    const set = await skein.here(...limit, "--model", "openai/gpt-5", "--label", "team=web");
    assert.equal(set.stdout, "set x: 2 at once, of model openai/gpt-5, with team=web\n");
  });
});

test("limits are read as they are typed", () => {
  assert.deepEqual(limitOf("agent:coder=2"), { agent: "coder", running: 2 });
  assert.deepEqual(limitOf("model:openai/gpt-5=4"), { model: "openai/gpt-5", running: 4 });
  assert.deepEqual(limitOf("label:team=web=1"), { labels: { team: "web" }, running: 1 });
});

test("a frame of top shows the selection, in order, and fits the screen", () => {
  const row = (number: number, more: Partial<SessionSummary> = {}): SessionSummary => ({
    session: `ses_${String(number).padStart(26, "0")}` as SessionId,
    status: "open",
    agent: null,
    name: null,
    objective: `Job ${number}`,
    priority: 5,
    labels: {},
    headSeq: 1,
    openedAt: 0,
    activeAt: number,
    parent: null,
    zone: "smart",
    unconfirmedNanoUsd: 0,
    unpriced: 0,
    nanoUsd: 0,
    model: null,
    runnable: false,
    waitingFor: "input",
    runBy: null,
    triggers: null,
    deadlineMs: null,
    dueMs: null,
    ...more,
  });
  const rows = [row(1, { nanoUsd: 5e9 }), row(2, { priority: 1 }), row(3, { runBy: "h:1" })];
  const ids = (list: readonly SessionSummary[]) => list.map(({ activeAt }) => activeAt);
  assert.deepEqual(ids(sorted(rows, "active", false)), [3, 2, 1]);
  assert.deepEqual(ids(sorted(rows, "priority", false)), [2, 3, 1]);
  assert.deepEqual(ids(sorted(rows, "cost", true)), [2, 3, 1]);
  const plain = (text: string): string => text;
  const out = { columns: 80, bold: plain, dim: plain, green: plain, yellow: plain };
  const many = Array.from({ length: 50 }, (_, place) => row(place + 1));
  const state = { rows: many, sort: "active", turned: false, chosen: many[40]!.session, says: "" } as const;
  const frame = frameOf(state, out, { nowMs: 1_000, height: 15 });
  assert.equal(frame.length, 15);
  assert.equal(frame.filter((line) => line.startsWith("> ")).length, 1);
  assert.ok(frame.some((line) => line.startsWith("> ") && line.includes("Job 41")));
  for (const line of frame) assert.ok(line.length <= 80, line);
});
