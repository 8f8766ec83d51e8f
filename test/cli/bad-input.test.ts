/** Whatever is wrong with what was given: it has a code, a message and a hint, and it changes nothing. */
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, suite, test, type TestContext } from "node:test";
import type { ErrorCode } from "../../src/core/error.ts";
import { limit } from "../../src/core/limit.ts";
import { exitCodeOf } from "../../src/cli/command/exit-code.ts";
import { makeFolder, skeinIn, type Ended } from "./skein.ts";

interface Refusal {
  readonly code: ErrorCode;
  readonly message: RegExp;
  readonly hint: RegExp;
}

/** One line of JSON on standard error, nothing on standard output, and the exit code for its code. */
function assertRefused({ code, stdout, stderr }: Omit<Ended, "signal">, refusal: Refusal): void {
  assert.equal(stdout, "");
  assert.match(stderr, /^\{.*\}\n$/, stderr);
  const { error } = JSON.parse(stderr) as { error: { code: string; message: string; hint: string } };
  assert.equal(error.code, refusal.code, stderr);
  assert.match(error.message, refusal.message);
  assert.match(error.hint ?? "", refusal.hint);
  assert.equal(code, exitCodeOf(refusal.code));
}

const folder = makeFolder();
const skein = skeinIn(folder);

suite("bad input changes nothing", { concurrency: 4 }, () => {
  let id = "";
  let twice = "";
  let untouched: unknown;
  const heads = async () => [await skein.look("ps", "--all"), await skein.look("verify", "--all")];
  before(async () => {
    id = await skein.open();
    // With more sessions than there are letters, two ids end alike.
    const seen = new Set([id.slice(-1)]);
    while (twice === "") {
      const [opened] = await skein.look("open", "Another");
      const last = String(opened!["id"]).slice(-1);
      if (seen.has(last)) twice = last;
      seen.add(last);
    }
    untouched = await heads();
  });
  after(async () => assert.deepEqual(await heads(), untouched));

  interface Case extends Refusal {
    readonly name: string;
    readonly words: () => readonly string[];
    readonly input?: string | Uint8Array;
  }
  const long = "a".repeat(limit.contentBytesMax + 1);
  const deep = `${"[".repeat(limit.jsonDepthMax)}1${"]".repeat(limit.jsonDepthMax)}`;
  const body = JSON.stringify({ note: "a".repeat(limit.bodyBytesMax) });
  const cases: readonly Case[] = [
    {
      name: "a wrong id",
      words: () => ["show", "ses_00000000000000000000000000"],
      code: "not-found",
      message: /no session/,
      hint: /skein ps/,
    },
    {
      name: "what is no id",
      words: () => ["show", "../etc"],
      code: "invalid",
      message: /expected a session id/,
      hint: /26 characters/,
    },
    {
      name: "an ending that fits none",
      words: () => ["append", "uuuuuu", "text"],
      code: "not-found",
      message: /no session id ends in/,
      hint: /skein ps/,
    },
    {
      name: "an ending that fits two",
      words: () => ["append", twice, "text"],
      code: "invalid",
      message: /more than one/,
      hint: /use a longer suffix: ses_\w+, ses_/,
    },
    {
      name: "a state past the end",
      words: () => ["state", id, "--at", "99"],
      code: "not-found",
      message: /position 99 does not exist/,
      hint: /from 1 to 2/,
    },
    {
      name: "a fork past the end",
      words: () => ["fork", id, "--at", "99"],
      code: "not-found",
      message: /position 99 does not exist/,
      hint: /from 1 to 2/,
    },
    {
      name: "a rewind past the end",
      words: () => ["rewind", id, "--to", "99"],
      code: "not-found",
      message: /position 99 does not exist/,
      hint: /from 1 to 2/,
    },
    {
      name: "a checkpoint past the end",
      words: () => ["save", id, "x", "--at", "99"],
      code: "not-found",
      message: /position 99 does not exist/,
      hint: /./,
    },
    {
      name: "a checkpoint that is not there",
      words: () => ["load", id, "nix"],
      code: "not-found",
      message: /no checkpoint "nix"/,
      hint: /save creates one/,
    },
    {
      name: "no position to go back to",
      words: () => ["rewind", id],
      code: "invalid",
      message: /rewind: --to is required/,
      hint: /--to 12/,
    },
    {
      name: "position 0",
      words: () => ["state", id, "--at", "0"],
      code: "invalid",
      message: /position: expected an integer, got "0"/,
      hint: /from 1/,
    },
    {
      name: "a content over its limit",
      words: () => ["append", id],
      input: long,
      code: "invalid",
      message: /the input: longer than 1048576 bytes/,
      hint: /split it/,
    },
    {
      name: "a line over its limit",
      words: () => ["append", id, "--lines"],
      input: long,
      code: "invalid",
      message: /a line: longer than 1048576 bytes/,
      hint: /split it/,
    },
    {
      name: "a body over its limit",
      words: () => ["append", id, "--type", "x.a", "--body", body],
      code: "invalid",
      message: /x\.a body: expected at most 4096 bytes, got 4107/,
      hint: /shorten it/,
    },
    {
      name: "depth over the limit",
      words: () => ["record", id, "fact", "deep", deep],
      code: "invalid",
      message: /deeper than 64/,
      hint: /flatten/,
    },
    {
      name: "invalid UTF-8 on standard input",
      words: () => ["append", id, "-"],
      input: Uint8Array.of(0x61, 0xff, 0x62),
      code: "invalid",
      message: /invalid UTF-8/,
      hint: /iconv/,
    },
    {
      name: "invalid UTF-8 in a line",
      words: () => ["append", id, "--lines"],
      input: Uint8Array.of(0xed, 0xa0, 0x80, 10),
      code: "invalid",
      message: /invalid UTF-8/,
      hint: /iconv/,
    },
    {
      name: "a lone surrogate",
      words: () => ["record", id, "fact", "half", String.raw`"\ud800"`],
      code: "invalid",
      message: /surrogate/,
      hint: /toWellFormed/,
    },
    {
      name: "a NUL",
      words: () => ["append", id],
      input: "a\0b",
      code: "invalid",
      message: /NUL/,
      hint: /remove it/,
    },
    {
      name: "a number that JSON cannot keep",
      words: () => ["record", id, "fact", "n", "12345678901234567890"],
      code: "invalid",
      message: /12345678901234567890 would lose precision/,
      hint: /--text/,
    },
    { name: "an empty input", words: () => ["append", id], code: "invalid", message: /empty/, hint: /pipe/ },
    {
      name: "an unknown option",
      words: () => ["log", id, "--form", "3"],
      code: "invalid",
      message: /unknown option "--form"/,
      hint: /--from/,
    },
    {
      name: "an unknown option before the verb",
      words: () => ["--stroe", "x", "ps"],
      code: "invalid",
      message: /--stroe/,
      hint: /--store/,
    },
    {
      name: "an unknown verb",
      words: () => ["opne", "x"],
      code: "invalid",
      message: /unknown command "opne"/,
      hint: /skein open/,
    },
    {
      name: "another tool's verb",
      words: () => ["pause", id],
      code: "invalid",
      message: /unknown command "pause"/,
      hint: /skein suspend/,
    },
    {
      name: "an unknown kind",
      words: () => ["record", id, "fcat", "a", "1"],
      code: "invalid",
      message: /fcat/,
      hint: /fact/,
    },
    {
      name: "an option without its value",
      words: () => ["log", id, "--from"],
      code: "invalid",
      message: /value missing/,
      hint: /after --from/,
    },
    {
      name: "a range that ends before it begins",
      words: () => ["log", id, "--from", "9", "--to", "2"],
      code: "invalid",
      message: /is greater than/,
      hint: /--reverse/,
    },
    {
      name: "a day that is none",
      words: () => ["log", id, "--since", "2026-02-31"],
      code: "invalid",
      message: /expected a date or time/,
      hint: /2026-11-01/,
    },
    {
      name: "one argument too many",
      words: () => ["append", id, "two", "words"],
      code: "invalid",
      message: /append: unexpected argument "words"/,
      hint: /usage: skein append ID \[TEXT\]; quote a text with spaces/,
    },
    {
      name: "a foreign type that is none",
      words: () => ["append", id, "--type", "session.opened"],
      code: "invalid",
      message: /reserved for the engine/,
      hint: /x\.name/,
    },
    {
      name: "an expectation that does not hold",
      words: () => ["append", id, "text", "--expect", "7"],
      code: "conflict",
      message: /at 2, not at 7/,
      hint: /read the new events/,
    },
    {
      name: "what the status forbids",
      words: () => ["activate", id],
      code: "refused",
      message: /cannot be activated/,
      hint: /./,
    },
    {
      name: "a query that would write",
      words: () => ["query", "DELETE FROM records"],
      code: "invalid",
      message: /^query: /,
      hint: /SELECT/,
    },
  ];
  for (const { name, words, input, ...refusal } of cases) {
    test(name, async () => {
      const given = [...words(), "--json"];
      // A process of its own only for what comes from standard input.
      assertRefused(
        input === undefined ? await skein.here(...given) : await skein.run(given, { input }),
        refusal,
      );
    });
  }

  test("invalid UTF-8 on the command line", async (t) => {
    if (process.platform !== "linux") return t.skip("only Linux tells the bytes of a command line");
    const through = ["sh", "-c", String.raw`exec "$0" append "$1" "$(printf 'a\377b')" --json`];
    const ended = await skein.run([id], { through });
    assertRefused(ended, { code: "invalid", message: /invalid UTF-8/, hint: /iconv/ });
  });

  test("without --json an error is two lines, without a stack trace", async () => {
    const { code, stdout, stderr } = await skein.run(["show", "uuuuuu"]);
    assert.deepEqual([code, stdout], [3, ""]);
    assert.match(stderr, /^skein: no session id ends in "uuuuuu"\n {2}hint: .*\n$/);
    const debug = await skein.run(["show", "uuuuuu"], { env: { SKEIN_DEBUG: "1" } });
    assert.match(debug.stderr, /\n {4}at /);
  });
});

suite("a file that cannot be used is left as it is", { concurrency: 4 }, () => {
  const made = makeFolder();
  const path = join(made, "skein.db");
  before(async () => {
    await skeinIn(made).look("open", "Something to keep");
  });

  /** Tries to read and to write; both are refused alike, and no byte of the file is another. */
  async function assertLeft(at: string, refusal: Refusal): Promise<void> {
    const bytes = () => (statSync(at).isFile() ? readFileSync(at, "hex") : "");
    const untouched = bytes();
    for (const words of [["ps"], ["open", "New"]]) {
      assertRefused(await skein.run([...words, "--store", at, "--json"]), refusal);
    }
    assert.equal(bytes(), untouched);
  }

  test("a text", async () => {
    const at = join(folder, "text.db");
    writeFileSync(at, "dear diary, this is no database\n".repeat(100));
    await assertLeft(at, { code: "invalid", message: /not a Skein store/, hint: /the file is unchanged/ });
  });

  test("another program's SQLite file", async () => {
    const at = join(folder, "other.db");
    const database = new DatabaseSync(at);
    database.exec("CREATE TABLE a (b)");
    database.close();
    await assertLeft(at, { code: "invalid", message: /not a Skein store/, hint: /the file is unchanged/ });
  });

  test("a store of a newer version", async () => {
    const at = join(folder, "newer.db");
    copyFileSync(path, at);
    const database = new DatabaseSync(at);
    database.exec("PRAGMA user_version=99; PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    await assertLeft(at, { code: "refused", message: /layout 99/, hint: /update Skein/ });
  });

  test("a directory", async () => {
    const at = join(folder, "directory.db");
    mkdirSync(at);
    await assertLeft(at, { code: "invalid", message: /is a directory/, hint: /skein\.db/ });
  });

  test("a missing store, for every verb but open", async () => {
    const at = join(folder, "none.db");
    for (const words of [["ps"], ["append", "abc", "text"], ["verify", "--all"]]) {
      const ended = await skein.run([...words, "--store", at, "--json"]);
      assertRefused(ended, { code: "not-found", message: /no store at/, hint: /skein open/ });
    }
    assert.equal(statSync(at, { throwIfNoEntry: false }), undefined);
  });

  test("a new store, by a session that is refused, is not made", async () => {
    const at = join(folder, "never.db");
    for (const words of [
      ["open", " "],
      ["open", "New", "--label", "Not=Good"],
      ["open", "New", "--from", "abc"],
    ]) {
      const { code } = await skein.run([...words, "--store", at, "--json"]);
      assert.ok(code === 2 || code === 3, words.join(" "));
    }
    assert.equal(statSync(at, { throwIfNoEntry: false }), undefined);
  });

  test("a directory that is none", async () => {
    const at = join(folder, "text-2.db", "skein.db");
    writeFileSync(join(folder, "text-2.db"), "a file where a directory is named");
    const ended = await skein.run(["open", "New", "--store", at, "--json"]);
    assertRefused(ended, { code: "unavailable", message: /directory .* does not exist/, hint: /mkdir/ });
  });

  test("a directory that is read-only", async (t) => {
    const at = makeFolder();
    const through = await asOrdinaryUser(t);
    if (through === undefined) return;
    chmodSync(at, 0o555);
    const ended = await skein.run(["open", "New", "--store", join(at, "skein.db"), "--json"], { through });
    assertRefused(ended, {
      code: "unavailable",
      message: /cannot be (opened|written)/,
      hint: /permissions|writable/,
    });
  });

  test("a store that another program has locked", async () => {
    const locked = makeFolder();
    const [opened] = await skeinIn(locked).look("open", "Something to keep");
    const other = new DatabaseSync(join(locked, "skein.db"));
    other.exec("BEGIN EXCLUSIVE");
    const words = ["append", String(opened!["id"]), "text", "--json"];
    const ended = await skeinIn(locked).run(words, { env: { SKEIN_LOCK_WAIT_MS: "100" } });
    other.exec("ROLLBACK");
    other.close();
    assertRefused(ended, {
      code: "unavailable",
      message: /locked by another program/,
      hint: /nothing was written|retry/,
    });
    assert.equal((await skeinIn(locked).look("ps"))[0]!["headSeq"], opened!["headSeq"]);
  });

  test("a store with a damaged byte is not ok, and says where", async () => {
    const damaged = makeFolder();
    const [opened] = await skeinIn(damaged).look("open", "Something to damage");
    const database = new DatabaseSync(join(damaged, "skein.db"));
    database.exec("UPDATE records SET content = replace(content, 'damage', 'dammage')");
    database.close();
    const { code, stdout } = await skeinIn(damaged).run(["verify", "--all", "--json"]);
    const report = JSON.parse(stdout) as { ok: boolean; firstBad: { session: string; seq: number } };
    assert.deepEqual([code, report.ok], [1, false]);
    assert.deepEqual([report.firstBad.session, report.firstBad.seq], [opened!["id"], 1]);
  });
});

/** Permissions do not bind root, so root becomes nobody for the length of a command. */
async function asOrdinaryUser(t: TestContext): Promise<readonly string[] | undefined> {
  if (process.getuid?.() !== 0) return [];
  const through = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
  const able = await skein.run(["--version"], { through }).catch(() => null);
  if (able?.code === 0) return through;
  t.skip("root cannot run the command line as somebody else here");
  return undefined;
}
