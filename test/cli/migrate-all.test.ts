/** A whole store moves on the command line, is killed on the way, and goes on. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";
import { movingText } from "../../src/cli/format/move-text.ts";
import { openEngine } from "../../src/index.ts";
import { endOf, makeFolder, skeinIn } from "./skein.ts";

async function fill(folder: string, count: number): Promise<void> {
  await using engine = await openEngine({ store: join(folder, "skein.db"), durability: "process" });
  await engine.addAgent({ name: "payroll", instructions: "Count." });
  const opening = Array.from({ length: count }, async (_, place) => {
    const session = await engine.open({ objective: `number ${place}` });
    await session.append(Array.from({ length: 20 }, () => ({ type: "x.note", body: {} })));
  });
  await Promise.all(opening);
}

test("a whole store moves, and the report lists moved, verified and remaining sessions", async () => {
  const [here, there] = [makeFolder(), makeFolder()];
  await fill(here, 5);
  const skein = skeinIn(here);
  const to = join(there, "team.db");
  const dry = await skein.here("migrate", "--all", "--to", to, "--dry-run");
  assert.deepEqual([dry.code, dry.stdout], [0, `5 sessions would go to ${to}\n  records    105\n`]);
  const other = await openEngine({ store: join(here, "skein.db") });
  const { rows } = await other.sessions();
  const lease = await (await other.session(rows[0]!.session)).lease({ holder: "somebody" });
  const some = await skein.here("migrate", "--all", "--to", to);
  assert.equal(some.code, 1);
  assert.match(some.stdout, /^4 sessions moved to .*team\.db in \d+ s\n/);
  assert.match(
    some.stdout,
    /\n {2}records {4}88 sent, [\d,]+\/s\n {2}verified {3}88 records read back there/,
  );
  assert.match(some.stdout, /\n {2}carried {4}1 version of agents\n/);
  const left = `left here: 1\n  ${rows[0]!.session}  the session is running on somebody; `;
  assert.ok(some.stdout.includes(left), some.stdout);
  await lease.release();
  await other.close();
  const [report] = await skein.look("migrate", "--all", "--to", to);
  const { ms: _, workspace: __, carried: ___, ...counts } = report!;
  const none = { copied: 0, elsewhere: 0, left: [], blobs: 0, projects: 0, stopped: false, dryRun: false };
  // The lease was taken and given back: two records more.
  assert.deepEqual(counts, { ...none, moved: 1, before: 4, records: 24, verified: 24 });
  const verified = await skein.here("verify", "--all", "--store", to);
  assert.equal(verified.code, 0, verified.stdout);
  const listed = await skein.here("ps", "--json", "--store", to);
  assert.equal(listed.stdout.trim().split("\n").length, 5);
});

test("a move of a whole store that is killed repeatedly resumes, and sends nothing twice", async () => {
  const [here, there] = [makeFolder(), makeFolder()];
  await fill(here, 400);
  const skein = skeinIn(here);
  const to = join(there, "team.db");
  const words = ["migrate", "--all", "--to", to, "--json"];
  let kills = 0;
  for (let waitMs = 250; kills < 2; waitMs += 90) {
    const child = skein.start(words);
    const ended = endOf(child);
    await Promise.race([sleep(waitMs), ended]);
    child.kill("SIGKILL");
    if ((await ended).signal !== "SIGKILL") break;
    kills++;
  }
  const { code, stdout, stderr } = await skein.run(words);
  assert.equal(code, 0, stderr);
  const { moved, before, left } = JSON.parse(stdout) as Record<string, unknown>;
  assert.deepEqual([Number(moved) + Number(before), left], [400, []]);
  await using engine = await openEngine({ store: to });
  const { ok, records } = await engine.verify();
  // 21 of each session, its two ends, and one version of an agent.
  assert.deepEqual([ok, records], [true, 400 * 23 + 1]);
});

test("invalid options are refused, with the valid form", async () => {
  const skein = skeinIn(makeFolder());
  await skein.here("open", "--objective", "x");
  const said = async (...words: readonly string[]): Promise<string> =>
    (await skein.here("migrate", ...words)).stderr.split("\n")[0] ?? "";
  const which = "skein: migrate: specify the ID of a session, or --all and --to";
  assert.equal(await said(), which);
  assert.equal(await said("--all"), which);
  assert.equal(await said("--all", "x", "--to", "y.db"), which);
  assert.equal(
    await said("x", "--to", "y.db", "--dry-run"),
    "skein: migrate: --dry-run and --wait require --all",
  );
  const same = await skein.here("migrate", "--all", "--to", "memory:");
  assert.equal(same.code, 2);
});

test("the progress says how far it is, how fast, and how long it will take", () => {
  const at = { sessions: 1_200, sessionsAll: 10_000, records: 120_000, recordsAll: 1_000_000, ms: 6_000 };
  assert.equal(movingText(at), "1,200 of 10,000 sessions, 120,000 records, 20,000/s, 44 s left");
  const slow = { ...at, ms: 60_000 };
  assert.equal(movingText(slow), "1,200 of 10,000 sessions, 120,000 records, 2,000/s, 7 min 20 s left");
  const early = { ...at, records: 0, sessions: 0, ms: 10 };
  assert.equal(movingText(early), "0 of 10,000 sessions, 0 records");
});
