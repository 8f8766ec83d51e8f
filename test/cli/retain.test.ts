/** `skein policy`, `retain` and `archive`: what they print, what they refuse, and how they end. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openEngine } from "../../src/index.ts";
import { makeFolder, skeinIn } from "./skein.ts";

/** A folder with a store of sessions that were closed or not. */
async function withSessions(...kinds: readonly ("open" | "closed")[]) {
  const folder = makeFolder();
  await using engine = await openEngine({ store: join(folder, "skein.db"), durability: "process" });
  const ids: string[] = [];
  for (const kind of kinds) {
    const session = await engine.open({ objective: kind, labels: { kind } });
    await session.append("some words");
    if (kind === "closed") await session.close();
    ids.push(session.id);
  }
  return { folder, skein: skeinIn(folder), ids };
}

test("policies are set from options or a file, listed, shown and removed", async () => {
  const { folder, skein } = await withSessions();
  const match = { agent: "payroll", labels: { env: "test" }, status: ["open"] };
  const words = ["--agent", "payroll", "--label", "env=test", "--status", "open"];
  const [set] = await skein.look("policy", "set", "stale", "--do", "expire", "--after", "90d", ...words);
  assert.deepEqual(set?.["policy"], { do: "expire", after: "90d", match });
  writeFileSync(join(folder, "p.yaml"), "do: delete\nafter: 12h\nmatch:\n  labels: { env: test }\n");
  const [file] = await skein.look("policy", "set", "trash", join(folder, "p.yaml"));
  assert.deepEqual(file?.["policy"], { do: "delete", after: "12h", match: { labels: { env: "test" } } });
  const listed = (await skein.look("policy")).map(({ name, everything }) => [name, everything]);
  assert.deepEqual(listed, [
    ["default", false],
    ["stale", false],
    ["trash", false],
  ]);
  const { stdout } = await skein.here("policy", "list");
  assert.match(stdout, /default +built in +pack after 7d, or before the last compaction/);
  assert.match(stdout, /stale .* expire after 90d, of agent payroll, with env=test, that are open/);
  assert.match(
    (await skein.here("policy", "show", "trash")).stdout,
    /^trash: delete after 12h, with env=test\n/,
  );
  assert.deepEqual(await skein.look("policy", "remove", "trash"), [{ name: "trash", removed: true }]);
  assert.equal((await skein.look("policy")).length, 2);
});

test("a dry run lists what would be done and why; the run does it", async () => {
  const { skein, ids } = await withSessions("open", "closed", "closed");
  const [open, first, second] = ids;
  await skein.here("policy", "set", "stale", "--do", "expire", "--after", "0d", "--label", "kind=open");
  await skein.here("policy", "set", "trash", "--do", "delete", "--after", "0d", "--label", "kind=closed");
  await skein.here("hold", second!, "audit");
  const dry = (await skein.here("retain", "--dry-run")).stdout;
  assert.match(
    dry,
    new RegExp(`^would expire: 1\n {2}${open}  policy stale: idle for \\d+s, and 0d are enough\n`),
  );
  assert.match(
    dry,
    new RegExp(`would be deleted: 1, 3 records, \\d+ bytes to 0 bytes\n {2}${first}  3 records, `),
  );
  assert.match(
    dry,
    new RegExp(`left as they are: 1\n {2}${second}  policy trash, delete: it is under legal hold`),
  );
  assert.equal((await skein.look("ps")).length, 3);
  const [report] = await skein.look("retain");
  const done = report?.["done"] as { session: string; do: string }[];
  assert.deepEqual(
    new Set(done.map((one) => `${one.do} ${one.session}`)),
    new Set([`expire ${open}`, `delete ${first}`]),
  );
  assert.deepEqual([report?.["dryRun"], report?.["sessions"], report?.["swept"]], [false, 3, true]);
  assert.deepEqual(
    new Map((await skein.look("ps")).map(({ id, status }) => [id, status])),
    new Map([
      [open, "closed"],
      [second, "closed"],
    ]),
  );
  assert.match((await skein.here("log", open!)).stdout, /expired/);
});

test("a policy for all sessions asks first, with their number", async () => {
  const { skein } = await withSessions("open", "open");
  const wide = ["policy", "set", "all", "--do", "expire", "--after", "0d"];
  const refused = await skein.here(...wide);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /"all" would in time expire every session; the store has 2 sessions/);
  assert.equal((await skein.here(...wide, "--yes")).code, 0);
  const asked = await skein.here("retain");
  assert.equal(asked.code, 1);
  assert.match(asked.stderr, /"all" match every session; a run would now change 2 sessions\n.*--yes/);
  assert.deepEqual(new Set((await skein.look("ps")).map(({ status }) => status)), new Set(["open"]));
  assert.equal((await skein.here("retain", "--yes")).code, 0);
  assert.deepEqual(new Set((await skein.look("ps")).map(({ status }) => status)), new Set(["closed"]));
});

test("an archived session is packed, and nothing is due for it then", async () => {
  const { skein, ids } = await withSessions("closed");
  assert.match((await skein.here("archive", ids[0]!)).stdout, /^archived at 4 of ses_/);
  const { stdout } = await skein.here("retain");
  assert.equal(stdout, "nothing is due for 1 session\n");
  assert.match((await skein.here("log", ids[0]!)).stdout, /some words/);
});

test("mistakes print the correct form, and leave no policy behind", async () => {
  const { folder, skein } = await withSessions("open");
  const bad = join(folder, "bad.yaml");
  writeFileSync(bad, "do: delete\naftr: 3d\n");
  const cases: readonly [readonly string[], number, RegExp][] = [
    [["policy", "sett", "x"], 2, /ACTION: expected one of .*, got "sett"\n.*did you mean set/],
    [["policy", "set"], 2, /policy set: NAME is required/],
    [
      ["policy", "set", "x", "--do", "pak"],
      2,
      /policy "x": do: expected one of pack, .*, got "pak"\n.*did you mean "pack"/,
    ],
    [["policy", "set", "x", "--do", "delete"], 2, /after: missing/],
    [["policy", "set", "x", "--do", "delete", "--after=-3d"], 2, /after: expected a number and a unit/],
    [
      ["policy", "set", "x", "--do", "delete", "--after", "1d", "--status", "gone"],
      2,
      /expected one of .*, got "gone"/,
    ],
    [["policy", "set", "x"], 2, /do: missing/],
    [["policy", "set", "x", bad], 2, /bad\.yaml, line 2: unknown field "aftr"\n.*did you mean "after"/],
    [["policy", "set", "x", bad, "--do", "pack"], 2, /a file or options, not both/],
    [["policy", "set", "x", join(folder, "none.yaml")], 3, /cannot be read/],
    [["policy", "show", "x"], 3, /there is no policy "x"/],
    [["policy", "remove", "x"], 3, /there is no policy "x"/],
    [["policy", "remove", "default"], 3, /policy "default" is built in/],
    [["policy", "list", "x"], 2, /unexpected argument "x"/],
    [["policy", "show", "default", "--do", "pack"], 2, /policy show: unexpected --do\n.*--do is for set/],
    [["retain", "--dryrun"], 2, /did you mean --dry-run/],
  ];
  for (const [words, code, message] of cases) {
    const ended = await skein.here(...words);
    assert.deepEqual([ended.code, ended.stdout], [code, ""], words.join(" "));
    assert.match(ended.stderr, message, words.join(" "));
  }
  assert.deepEqual(
    (await skein.look("policy")).map(({ name }) => name),
    ["default"],
  );
});
