/** The command line as a process among others: following, breaking pipes, signals, two writers at once. */
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { suite, test } from "node:test";
import { endOf, makeFolder, parseLines, skeinIn } from "./skein.ts";

suite("processes", { concurrency: 2 }, () => {
  test("log -f shows what another process appends within 50 ms, and ends with Ctrl-C", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    const opening = (await skein.look("log", id)).map(({ seq }) => seq);
    const follower = skein.start(["log", id, "-f", "--json"]);
    const appender = skein.start(["append", id, "--lines", "--json"]);
    const seen = createInterface({ input: follower.stdout })[Symbol.asyncIterator]();
    const acknowledged = createInterface({ input: appender.stdout })[Symbol.asyncIterator]();
    for (const seq of opening) assert.equal(seqIn((await seen.next()).value), seq);
    const delaysMs: number[] = [];
    const first = opening.length + 1;
    for (let number = first; number < first + 30; number++) {
      const next = seen.next().then(({ value }) => ({ seq: seqIn(value), atMs: performance.now() }));
      appender.stdin.write(`line ${number}\n`);
      assert.equal(seqIn((await acknowledged.next()).value), number);
      const acknowledgedMs = performance.now();
      const { seq, atMs } = await next;
      assert.equal(seq, number);
      delaysMs.push(atMs - acknowledgedMs);
    }
    appender.stdin.end();
    const median = delaysMs.toSorted((a, b) => a - b)[delaysMs.length >> 1]!;
    assert.ok(median <= 50, `median ${median} ms`);
    const ended = endOf(follower);
    follower.kill("SIGINT");
    assert.deepEqual(await ended, { code: 130, signal: null, stdout: "", stderr: "" });
  });

  test("log -f ends at its limit or at its last position", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    const follower = endOf(skein.start(["log", id, "-f", "--to", "4", "--json"]));
    await skein.run(["append", id, "--lines"], { input: "one\ntwo\nthree\n" });
    const { code, stdout } = await follower;
    assert.deepEqual([code, parseLines(stdout).map(({ seq }) => seq)], [0, [1, 2, 3, 4]]);
  });

  test("a broken pipe is not an error", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    const input = `${"long ".repeat(10_000)}\n`.repeat(8);
    assert.equal((await skein.run(["append", id, "--lines"], { input })).code, 0);
    const through = ["sh", "-c", '"$0" "$@" | head -c 10'];
    const { code, stdout, stderr } = await skein.run(["log", id, "--json"], { through });
    assert.deepEqual([code, stdout.length, stderr], [0, 10, ""]);
  });

  test("export to a reader that stops early is not an error, in every format", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    const input = `${"long ".repeat(10_000)}\n`.repeat(8);
    assert.equal((await skein.run(["append", id, "--lines"], { input })).code, 0);
    // What the verb itself ends with, and not head.
    const through = ["bash", "-c", '"$0" "$@" | head -c 10 | wc -c; echo "${PIPESTATUS[0]}"'];
    for (const format of ["bundle", "jsonl", "markdown", "html"]) {
      const { stdout, stderr } = await skein.run(["export", id, "--format", format], { through });
      assert.deepEqual([format, stdout.trim().split(/\s+/), stderr], [format, ["10", "0"], ""]);
    }
  });

  test("a verb that changes something finishes its work when its output is closed", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    const through = ["bash", "-c", '"$0" "$@" | true; echo "${PIPESTATUS[0]}"'];
    const lines = Array.from({ length: 50 }, (_, number) => `line ${number}\n`).join("");
    const appended = await skein.run(["append", id, "--lines"], { through, input: lines });
    assert.deepEqual([appended.stdout.trim(), appended.stderr], ["0", ""]);
    assert.equal((await skein.look("log", id, "--type", "input.received")).length, 50);
    const closed = ["bash", "-c", '"$0" "$@" 2>&1 | true; echo "${PIPESTATUS[0]}"'];
    const asked = await skein.run(["ask", id, "remember rate is 4"], { through: closed });
    assert.equal(asked.stdout.trim(), "0");
    const ended = await skein.look("log", id, "--type", "turn.ended");
    assert.deepEqual(
      ended.map(({ body }) => (body as { outcome: string }).outcome),
      ["completed"],
    );
  });

  test("two processes append at once and lose nothing", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    const write = (name: string) =>
      skein.run(["append", id, "--lines", "--json"], {
        input: Array.from({ length: 100 }, (_, number) => `${name} ${number}\n`).join(""),
      });
    const writers = ["a", "b"];
    const first = (await skein.look("log", id)).length + 1;
    const answers = await Promise.all(writers.map((name) => write(name)));
    const texts = new Map<unknown, unknown>();
    for (const { seq, content } of await skein.look("log", id, "--from", String(first))) {
      texts.set(seq, (content as { blocks: { text: string }[] }).blocks[0]?.text);
    }
    assert.deepEqual(
      [...texts.keys()],
      Array.from({ length: 200 }, (_, number) => number + first),
    );
    for (const [place, { code, stdout }] of answers.entries()) {
      assert.equal(code, 0);
      const said = parseLines(stdout).map(({ seq }) => texts.get(seq));
      assert.deepEqual(
        said,
        Array.from({ length: 100 }, (_, number) => `${writers[place]!} ${number}`),
      );
    }
  });

  test("the tour kills, resumes and verifies, and leaves nothing behind", async () => {
    const folder = makeFolder();
    const skein = skeinIn(folder);
    const { code, stdout, stderr } = await skein.run(["tour", "--json"], { env: { TMPDIR: folder } });
    const result = JSON.parse(stdout) as {
      ok: boolean;
      acknowledged: number;
      found: number;
      missing: number;
    };
    assert.deepEqual([code, stderr, result.ok, result.missing], [0, "", true, 0]);
    assert.ok(result.acknowledged > 0 && result.found === result.acknowledged);
    const left = await skein.run([], { through: ["sh", "-c", "ls -A | grep -v '^\\.'; true"] });
    assert.equal(left.stdout, "");
  });
});

const seqIn = (line: unknown): number => (JSON.parse(String(line)) as { seq: number }).seq;
