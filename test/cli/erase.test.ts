/** Holds and erasure on the command line: what it says before, what it asks, and what it refuses. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, skeinIn } from "./skein.ts";

/** A store with a session of five records and a fork at 4. */
async function spoken() {
  const folder = makeFolder();
  const skein = skeinIn(folder);
  const id = await skein.open("Find the sparrow");
  await skein.here("append", id, "a sparrow sings");
  await skein.here("append", id, "and a wren");
  await skein.here("record", id, "fact", "bird", "sparrow");
  const fork = (await skein.look("fork", id, "--at", "4"))[0]?.["id"];
  return { folder, skein, id, fork: String(fork) };
}

test("a hold is set, shown and lifted, and stops erase and delete until then", async () => {
  const { skein, id, fork } = await spoken();
  const set = await skein.here("hold", fork, "case 4711", "--reason", "asked for by the court");
  assert.deepEqual([set.code, set.stdout], [0, `set the hold "case 4711" at 6 of ${fork}\n`]);
  assert.match((await skein.here("show", fork)).stdout, /held by +case 4711/);
  const refused = await skein.here("erase", id, "--yes");
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    new RegExp(`${fork} is under legal hold "case 4711"\n  hint: nothing was erased`),
  );
  const lift = new RegExp(`under legal hold "case 4711"\n  hint: lift the hold first: skein hold ${fork}`);
  for (const words of [["--yes"], []]) {
    const kept = await skein.here("delete", fork, ...words);
    assert.deepEqual([kept.code, lift.test(kept.stderr)], [1, true], kept.stderr);
  }
  assert.equal((await skein.here("hold", fork, "--lift")).code, 0);
  const none = await skein.here("hold", fork, "--lift");
  assert.deepEqual([none.code, /has no hold/.test(none.stderr)], [3, true]);
  await skein.here("hold", fork);
  await skein.here("hold", fork, "b");
  const which = await skein.here("hold", fork, "--lift");
  assert.deepEqual([which.code, /name the one to lift: "b", "hold"/.test(which.stderr)], [2, true]);
  assert.equal((await skein.here("hold", fork, "c", "--lift")).code, 3);
});

test("it first shows what would be erased and where; without --yes nothing is erased", async () => {
  const { skein, id, fork } = await spoken();
  const asked = await skein.here("erase", id, "--seq", "3..4");
  assert.equal(asked.code, 1);
  assert.equal(
    asked.stdout,
    `2 contents of ${id} at 3..4 (101 bytes)\n1 fork loses it too:\n  ${fork}  2 contents\n`,
  );
  assert.match(
    asked.stderr,
    /2 contents would be erased permanently\n  hint: add --yes to confirm; nothing was erased/,
  );
  assert.equal((await skein.here("erase", id, "--seq", "3", "--json")).code, 1);
  const [verified] = await skein.look("verify");
  assert.equal(verified?.["erased"], 0);
  const [dry] = await skein.look("erase", id, "--seq", "3..4", "--dry-run");
  const done = await skein.here("erase", id, "--seq", "3..4", "--yes", "--reason", "asked for");
  assert.deepEqual([done.code, done.stdout.split("\n").at(-2)], [0, "erased 2 contents for good"]);
  const [after] = await skein.look("verify");
  assert.deepEqual([after?.["ok"], after?.["erased"], after?.["erasedBytes"]], [true, 2, 101]);
  assert.match((await skein.here("verify")).stdout, /2 erased \(101 bytes\)/);
  assert.deepEqual([dry?.["dryRun"], dry?.["records"], dry?.["bytes"]], [true, 2, 101]);
  const again = await skein.here("erase", id, "--seq", "3..4", "--yes");
  assert.deepEqual([again.code, again.stdout], [0, "nothing is left to erase\n"]);
});

test("a text is erased everywhere, and its copies only with --copies", async () => {
  const { folder, skein, id, fork } = await spoken();
  await skein.here("append", fork, "the fork heard the sparrow too");
  const first = await skein.here("erase", id, "--match", "sparrow", "--yes");
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /3 contents of .* at 1, 3, 5 /);
  assert.match(
    first.stdout,
    new RegExp(`1 copy stays \\(--copies takes them too\\):\n  ${fork}@6  input.received`),
  );
  const [report] = await skein.look("erase", id, "--match", "sparrow", "--copies", "--yes");
  const copies = report?.["copies"] as { session: string; seq: number }[];
  assert.deepEqual([report?.["records"], copies.map(({ session, seq }) => [session, seq])], [0, [[fork, 6]]]);
  for (const end of ["", "-wal"]) {
    const bytes = readFileSync(join(folder, `skein.db${end}`), { flag: "a+" });
    assert.equal(bytes.includes("sparrow"), false, `skein.db${end}`);
  }
  const none = await skein.here("erase", id, "--match", "sparrow", "--yes");
  assert.deepEqual([none.code, none.stdout], [0, "nothing is left to erase\n"]);
});

test("text in keys stays and is reported; a fork's shared records belong to its parent", async () => {
  const { skein, id, fork } = await spoken();
  await skein.here("record", id, "fact", "sparrow", "small");
  await skein.here("bind", id, "directory", "--path", "/tmp/sparrow");
  const none = await skein.here("erase", fork, "--match", "sings");
  assert.deepEqual(
    [none.code, none.stdout],
    [
      0,
      `0 contents of ${fork} (0 bytes)\n` +
        "1 content in the log of its parent stays (erase them there, or with --copies):\n" +
        `  ${id}@3  input.received\nnothing is left to erase here; what is listed above stays\n`,
    ],
  );
  assert.match((await skein.here("show", id)).stdout, /may use +directory \/tmp\/sparrow/);
  await skein.here("erase", id, "--match", "sparrow", "--copies", "--yes");
  const left = await skein.here("erase", id, "--match", "sparrow", "--yes");
  assert.equal(left.code, 0);
  assert.match(
    left.stdout,
    /2 records hold it in a key, label or name, which cannot be erased:\n.*@6 {2}item\S+\n.*@7 {2}res/,
  );
  assert.match(left.stdout, /nothing is left to erase here; what is listed above stays\n$/);
  const [report] = await skein.look("erase", id, "--match", "sparrow", "--yes");
  assert.deepEqual(
    (report!["kept"] as { seq: number }[]).map(({ seq }) => seq),
    [6, 7],
  );
  const shown = (await skein.here("show", id)).stdout;
  assert.match(shown, /bind again +directory: what it is was erased\n/);
  assert.doesNotMatch(shown, /may use/);
});

const wrong: readonly (readonly [words: readonly string[], code: number, said: RegExp])[] = [
  [
    ["--seq", "9..12"],
    3,
    /position 12 does not exist in .*, which ends at 5\n  hint: expected positions from 1 to 5/,
  ],
  [["--seq", "3..2"], 2, /3 is greater than 2\n  hint: swap them: 2 to 3/],
  [["--seq", "0"], 2, /--seq: expected a position or a range, got "0"\n  hint: for example 12/],
  [["--seq", "a..b"], 2, /--seq: .* got "a\.\.b"/],
  [["--seq", "1-2"], 2, /--seq: .* got "1-2"/],
  [["--match", ""], 2, /match: expected at least 1 character/],
  [["--match", " "], 2, /match: expected a text/],
  [["--reason", "r".repeat(2_001)], 2, /reason: expected at most 2000 characters/],
  [["--sequence", "1"], 2, /unknown option/],
];

test("invalid options are refused with a hint, and nothing is erased", async () => {
  const { skein, id, fork } = await spoken();
  for (const [words, code, said] of wrong) {
    const ended = await skein.here("erase", id, ...words, "--yes");
    assert.deepEqual([words, ended.code], [words, code]);
    assert.match(ended.stderr, said);
  }
  const parent = await skein.here("erase", fork, "--seq", "3..5", "--yes");
  assert.equal(parent.code, 1);
  assert.match(parent.stderr, new RegExp(`hint: erase them in the parent: skein erase ${id} --seq 3\\.\\.4`));
  const missing = await skein.here("erase", "ses_00000000000000000000000000", "--yes");
  assert.deepEqual([missing.code, /there is no session/.test(missing.stderr)], [3, true]);
  const [verified] = await skein.look("verify");
  assert.deepEqual([verified?.["ok"], verified?.["erased"], verified?.["records"]], [true, 0, 6]);
});
