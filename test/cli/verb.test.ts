/** Every verb once, as a program uses it: the real command line, and JSON. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { makeFolder, parseLines, skeinIn } from "./skein.ts";

type Answer = Record<string, unknown>;

suite("every verb answers in JSON", { concurrency: 4 }, () => {
  test("open makes a store and a session; ps, show and stats see it", async () => {
    const skein = skeinIn(makeFolder());
    const objective = ["--objective", "Fix login", "--agent", "coder", "--label", "team=web", "--usd", "2"];
    const opened = await skein.json("open", ...objective);
    assert.match(String(opened["id"]), /^ses_[0-9a-z]{26}$/);
    const [row, ...more] = await skein.lines(
      "ps",
      "--status",
      "open",
      "--label",
      "team=web",
      "--agent",
      "coder",
    );
    assert.deepEqual(more, []);
    assert.equal(row!["id"], opened["id"]);
    assert.equal(row!["objective"], "Fix login");
    assert.equal(row!["headSeq"], opened["headSeq"]);
    assert.deepEqual(await skein.lines("ps", "--text", "payroll"), []);
    const shown = await skein.json("show", String(opened["id"]).slice(-6));
    assert.equal(shown["id"], opened["id"]);
    assert.equal(shown["status"], "open");
    const types = (shown["events"] as Answer[]).map(({ type }) => type);
    assert.deepEqual(types, ["session.opened", "permission.set", "budget.set"]);
    assert.deepEqual((shown["budget"] as Answer)["limits"], { nanoUsd: 2_000_000_000 });
    const stats = await skein.json("stats");
    assert.equal(stats["sessions"], 1);
    assert.equal(stats["durability"], "disk");
  });

  test("append takes a text, standard input, lines, a key, an expectation and foreign records", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    assert.deepEqual(await skein.json("append", id, "text"), {
      session: id,
      seq: 3,
      headSeq: 3,
      duplicate: false,
    });
    const piped = await skein.run(["append", id, "--json"], { input: "täxt\nof two lines\n" });
    assert.equal(parseLines(piped.stdout)[0]!["seq"], 4);
    const lines = await skein.run(["append", id, "--lines", "--json"], { input: "one\r\n\ntwo" });
    assert.deepEqual(
      parseLines(lines.stdout).map(({ seq }) => seq),
      [5, 6],
    );
    assert.equal((await skein.json("append", id, "once", "--key", "k"))["seq"], 7);
    assert.equal((await skein.json("append", id, "once", "--key", "k"))["duplicate"], true);
    assert.equal((await skein.json("append", id, "-4.1", "--expect", "7"))["seq"], 8);
    const foreign = ["--type", "x.ci", "--body", '{"build":312}', "--content", '{"log":"green"}'];
    assert.equal((await skein.json("append", id, ...foreign))["seq"], 9);
    const events = await skein.look("log", id, "--from", "3");
    const texts = events
      .slice(0, 6)
      .map(({ content }) => (content as { blocks: Answer[] }).blocks[0]!["text"]);
    assert.deepEqual(texts, ["text", "täxt\nof two lines\n", "one", "two", "once", "-4.1"]);
    assert.deepEqual([events[6]!["body"], events[6]!["content"]], [{ build: 312 }, { log: "green" }]);
  });

  test("record, retract and scratch keep JSON as JSON and the rest as text", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    await skein.json("record", id, "fact", "base-rate", "4.1");
    await skein.json("record", id, "decision", "use-wal", "yes", "--because", "readers do not block");
    await skein.json("record", id, "task", "move", '{"tables":["a"]}', "--status", "done");
    await skein.json("record", id, "artifact", "zip", "1234", "--text");
    await skein.json("record", id, "fact", "gone", "null");
    await skein.json("retract", id, "fact", "gone", "--because", "it was wrong");
    await skein.json("scratch", id, "plan", '["read"]');
    await skein.json("scratch", id, "other", "x");
    await skein.json("scratch", id, "other", "--remove");
    const [state] = await skein.look("state", id);
    const items = (state!["items"] as Answer[]).map(({ kind, key, value, because, status }) => {
      return [kind, key, value, because, status];
    });
    assert.deepEqual(items, [
      ["artifact", "zip", "1234", null, null],
      ["decision", "use-wal", "yes", "readers do not block", null],
      ["fact", "base-rate", 4.1, null, null],
      ["task", "move", { tables: ["a"] }, null, "done"],
    ]);
    assert.deepEqual(state!["scratch"], { plan: ["read"] });
  });

  test("save, load, state, fork and rewind go by position and by name", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    await skein.json("record", id, "fact", "rate", "1");
    await skein.json("save", id, "good", "--note", "fine");
    await skein.json("record", id, "fact", "rate", "2");
    const rateAt = async (...words: string[]) =>
      ((await skein.look("state", ...words))[0]!["items"] as Answer[])[0]?.["value"];
    const then = (await skein.json("state", id, "--at", "3"))["items"] as Answer[];
    assert.equal(then[0]!["value"], 1);
    assert.equal(await rateAt(id, "--at", "good"), 1);
    assert.equal(await rateAt(id), 2);
    const loaded = await skein.json("load", id, "good");
    assert.deepEqual([loaded["id"], loaded["seq"]], [id, 3]);
    const fork = await skein.json("fork", id, "--at", "3", "--objective", "What if?", "--label", "try=1");
    assert.deepEqual([fork["parent"], fork["seq"]], [id, 3]);
    assert.equal(await rateAt(String(fork["id"])), 1);
    assert.equal((await skein.json("fork", id))["seq"], 5);
    assert.equal((await skein.json("rewind", id, "--to", "good", "--reason", "back"))["seq"], 6);
    assert.equal(await rateAt(id), 1);
    await skein.json("rewind", id, "--to", "5");
    assert.equal(await rateAt(id), 2);
    const forks = (await skein.look("show", id))[0]!["forks"] as Answer[];
    assert.deepEqual(new Set(forks.map(({ seq }) => seq)), new Set([3, 5]));
  });

  test("log slices by position, time, type and number, both ways", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    await skein.run(["append", id, "--lines"], {
      input: Array.from({ length: 24 }, (_, n) => `line ${n}`).join("\n"),
    });
    await skein.json("record", id, "fact", "a", "1");
    const seqs = async (...words: string[]) => (await skein.look("log", id, ...words)).map(({ seq }) => seq);
    const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
    const [first, ...rest] = await skein.lines("log", id, "--from", "10", "--to", "20");
    assert.deepEqual(
      [first, ...rest].map((event) => event!["seq"]),
      range(10, 20),
    );
    assert.deepEqual(await seqs("--reverse", "--limit", "3"), [27, 26, 25]);
    assert.deepEqual(await seqs("--type", "item.recorded", "--type", "session.opened"), [1, 27]);
    assert.deepEqual(await seqs("--since", "2026-11-01T00:00:00Z", "-n", "2"), [1, 2]);
    assert.deepEqual(await seqs("--until", "2001-01-01"), []);
    assert.deepEqual(await seqs("--since", "1h", "--from", "26"), [26, 27]);
    const [event] = await skein.look("log", id, "--from", "27");
    assert.deepEqual(await seqs("--since", String(event!["at"]), "--type", "item.recorded"), [27]);
  });

  test("the lifecycle runs through all statuses, and clear begins again", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    const status = async () => (await skein.look("state", id))[0]!["status"];
    const early = await skein.here("archive", id);
    assert.match(early.stderr, /cannot be archived\n {2}hint: close it first: "skein close ID"/);
    await skein.json("suspend", id, "--reason", "wait");
    assert.equal(await status(), "suspended");
    await skein.json("activate", id);
    const fromMs = Date.now();
    await skein.json("sleep", id, "--until", "2h");
    assert.equal(await status(), "sleeping");
    const [asleep] = await skein.look("log", id, "--type", "session.slept");
    const { untilMs } = asleep!["body"] as { readonly untilMs: number };
    const spanMs = 7_200_000;
    assert.ok(untilMs >= fromMs + spanMs && untilMs <= Date.now() + spanMs, String(untilMs - fromMs));
    await skein.json("close", id, "--outcome", "failed", "--reason", "no access");
    await skein.json("archive", id);
    assert.equal(await status(), "archived");
    await skein.json("reopen", id);
    assert.equal(await status(), "open");
    const next = await skein.json("clear", id, "--objective", "Again");
    assert.equal(next["from"], id);
    assert.equal(await status(), "closed");
    await skein.json("cancel", String(next["id"]));
    const refused = await skein.run(["interrupt", id, "--json"]);
    assert.equal(refused.code, 1);
  });

  test("clear and open --from list what carried over and what did not", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    writeFileSync(join(folder, "house.md"), "Say please.");
    const words = ["--file", join(folder, "house.md"), "--wake", "every:1h", "--steps", "20"];
    const [opened] = await skein.look("open", "Watch", ...words);
    const id = String(opened!["id"]);
    await skein.look("save", id, "here");
    const from = await skein.here("open", "--from", id);
    assert.match(from.stdout, /^ses_\w+\n$/);
    assert.match(from.stderr, /^carried over: .*budget 20 steps; files .*house\.md; handoff /m);
    assert.match(from.stderr, /^left: triggers every \(it stays with the earlier session; /m);
    const { stdout } = await skein.here("clear", id);
    assert.match(
      stdout,
      /^opened ses_\w+; ses_\w+ is closed\ncarried over: permissions unsafe; triggers every; budget 20 /,
    );
    assert.match(stdout, /^left: checkpoints here \(/m);
    const next = await skein.look("clear", String(/ses_\w+/.exec(stdout)?.[0]));
    const moved = (next[0]!["moved"] as { what: string }[]).map(({ what }) => what);
    assert.deepEqual([moved, next[0]!["left"]], [["permissions", "triggers", "budget", "files"], []]);
  });

  test("what describes a session and what it may use", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    await skein.json("rename", id, "Login");
    await skein.json("label", id, "team=web", "ticket=7");
    await skein.json("label", id, "--remove", "ticket");
    await skein.json("prioritize", id, "0");
    await skein.json("bind", id, "file", "--path", "rates.json");
    await skein.json(
      "bind",
      id,
      "mcp",
      "--name",
      "hr",
      "--command",
      "npx",
      "--command",
      "hr",
      "--secret",
      "HR_KEY",
    );
    await skein.json("unbind", id, "rates.json");
    await skein.json("grant", id, "shell", "ask", "--pattern", '{"command":"rm *"}');
    await skein.json("budget", id, "--steps", "40", "--wall", "30m");
    const [state] = await skein.look("state", id);
    assert.deepEqual([state!["name"], state!["labels"], state!["priority"]], ["Login", { team: "web" }, 0]);
    assert.deepEqual(state!["bindings"], [{ name: "hr", kind: "mcp", mode: "read" }]);
    assert.deepEqual(state!["permissions"], [
      { name: "shell", tool: "shell", rule: "ask" },
      { name: "unsafe", tool: "*", rule: "ask", effect: "unsafe" },
    ]);
    assert.deepEqual((state!["budget"] as Answer)["limits"], { steps: 40, wallMs: 1_800_000 });
    assert.equal((await skein.run(["delete", id, "--json"])).code, 1);
    assert.equal((await skein.json("delete", id, "--yes", "--reason", "asked for"))["deleted"], true);
    assert.deepEqual(await skein.lines("ps"), []);
  });
});

suite("every verb over the whole store answers in JSON", { concurrency: 4 }, () => {
  test("search finds words, query reads views, rebuild changes neither", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    await skein.json("append", id, "The base rate is four.");
    await skein.json("record", id, "decision", "use-wal", "yes", "--because", "readers do not block");
    const look = async () => ({
      hits: await skein.look("search", "base", "rate"),
      rows: await skein.look("query", "SELECT key, decision, because FROM decisions"),
    });
    const before = {
      hits: await skein.lines("search", "base", "rate"),
      rows: await skein.lines("query", "SELECT key, decision, because FROM decisions"),
    };
    assert.deepEqual(before.rows, [{ key: "use-wal", decision: "yes", because: "readers do not block" }]);
    assert.deepEqual(
      before.hits.map(({ session, seq, mind }) => [session, seq, mind]),
      [[id, 3, "live"]],
    );
    assert.equal((await skein.json("rebuild"))["sessions"], 1);
    assert.deepEqual(await look(), before);
  });

  test("verify is ok, holds a noted head, and finds a missing tail", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    await skein.json("append", id, "text");
    const report = await skein.json("verify", "--all");
    const { ok, sessions, records, firstBad } = report;
    assert.deepEqual([ok, sessions, records, firstBad], [true, 1, 3, null]);
    const { hash } = (await skein.look("show", id))[0]!["head"] as { hash: string };
    assert.equal((await skein.json("verify", id, "--head", `3:${hash}`))["ok"], true);
    const missing = await skein.run(["verify", id, "--head", `4:${hash}`, "--json"]);
    assert.equal(missing.code, 1);
    const found = parseLines(missing.stdout)[0]!;
    assert.deepEqual([found["ok"], (found["firstBad"] as Answer)["seq"]], [false, 4]);
  });

  test("the export of a fork is dense from its parent's first record", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    await skein.json("append", id, "text");
    const fork = String((await skein.json("fork", id))["id"]);
    const { stdout } = await skein.run(["export", fork, "--format", "jsonl"]);
    const records = parseLines(stdout);
    const fields = [
      "session",
      "seq",
      "at",
      "type",
      "v",
      "actor",
      "turn",
      "cause",
      "key",
      "body",
      "contentHash",
    ];
    for (const record of records) {
      assert.deepEqual(Object.keys(record), [...fields, "contentBytes", "hash", "salt", "content"]);
    }
    assert.deepEqual(
      records.map(({ session, seq }) => [session, seq]),
      [
        [id, 1],
        [id, 2],
        [id, 3],
        [fork, 4],
      ],
    );
    const { blocks } = JSON.parse(String(records[2]!["content"])) as { blocks: Answer[] };
    assert.equal(blocks[0]!["text"], "text");
  });

  test("doctor is content, with a store and without", async () => {
    const skein = skeinIn(makeFolder());
    assert.equal((await skein.json("doctor"))["ok"], true);
    await skein.open();
    const { ok, checks } = (await skein.json("doctor")) as { ok: boolean; checks: Answer[] };
    assert.equal(ok, true);
    assert.ok(checks.some(({ name }) => name === "durability"));
  });

  test("the store may be named before the verb, after it, or in the environment", async () => {
    const skein = skeinIn(makeFolder());
    const first = async (...given: Parameters<typeof skein.run>) =>
      parseLines((await skein.run(...given)).stdout)[0]!["id"];
    const id = await first(["--store", "a.db", "open", "One", "--json"]);
    assert.equal(typeof id, "string");
    assert.equal(await first(["ps", "--store=a.db", "--json"]), id);
    assert.equal(await first(["ps", "--json"], { env: { SKEIN_STORE: "a.db" } }), id);
  });

  test("the version comes at once", async () => {
    const skein = skeinIn(makeFolder());
    assert.match((await skein.run(["--version"])).stdout, /^skein \d+\.\d+\.\d+\n$/);
    const { stdout } = await skein.run(["--version", "--json"]);
    assert.equal(typeof parseLines(stdout)[0]!["version"], "string");
  });
});
