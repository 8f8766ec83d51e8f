/** The command line as a process among others: following, breaking pipes, signals, two writers at once. */
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { suite, test } from "node:test";
import { endOf, makeFolder, parseLines, skeinIn } from "./skein.ts";

suite("processes", { concurrency: 2 }, () => {
  test("log -f shows what another process appends within 50 ms, and ends with Ctrl-C", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    const follower = skein.start(["log", id, "-f", "--json"]);
    const appender = skein.start(["append", id, "--lines", "--json"]);
    const seen = createInterface({ input: follower.stdout })[Symbol.asyncIterator]();
    const acknowledged = createInterface({ input: appender.stdout })[Symbol.asyncIterator]();
    await seen.next();
    const delaysMs: number[] = [];
    for (let number = 2; number < 32; number++) {
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

  test("log -f ends by itself at its limit or its last position", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    const follower = endOf(skein.start(["log", id, "-f", "--to", "3", "--json"]));
    await skein.run(["append", id, "--lines"], { input: "one\ntwo\nthree\n" });
    const { code, stdout } = await follower;
    assert.deepEqual([code, parseLines(stdout).map(({ seq }) => seq)], [0, [1, 2, 3]]);
  });

  test("a pipe that breaks is no error", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    const input = `${"long ".repeat(10_000)}\n`.repeat(8);
    assert.equal((await skein.run(["append", id, "--lines"], { input })).code, 0);
    const through = ["sh", "-c", '"$0" "$@" | head -c 10'];
    const { code, stdout, stderr } = await skein.run(["log", id, "--json"], { through });
    assert.deepEqual([code, stdout.length, stderr], [0, 10, ""]);
  });

  test("two processes append at once and lose nothing", async () => {
    const skein = skeinIn(makeFolder());
    const id = await skein.open();
    const write = (name: string) =>
      skein.run(["append", id, "--lines", "--json"], {
        input: Array.from({ length: 100 }, (_, number) => `${name} ${number}\n`).join(""),
      });
    const writers = ["a", "b"];
    const answers = await Promise.all(writers.map((name) => write(name)));
    const texts = new Map<unknown, unknown>();
    for (const { seq, content } of await skein.look("log", id, "--from", "2")) {
      texts.set(seq, (content as { blocks: { text: string }[] }).blocks[0]?.text);
    }
    assert.deepEqual(
      [...texts.keys()],
      Array.from({ length: 200 }, (_, number) => number + 2),
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
