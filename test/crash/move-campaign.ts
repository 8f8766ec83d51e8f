/**
 * The campaign of whole moves: `node test/crash/move-campaign.ts [THERE [BACK [FROM]]] [--sessions 10000]
 * [--records 100] [--kills 2]`. A store is filled, moved there and then back, each way killed on the way and
 * gone on with; every hash is compared. What is not given is a file of its own. Ends with 1 when anything
 * differs, or was slower than `--least` records a second.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { SessionId } from "../../src/core/ids.ts";
import { openEngine } from "../../src/index.ts";
import type { MigrateAllReport } from "../../src/runtime/transfer/move-all.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sessions: { type: "string", default: "10000" },
    records: { type: "string", default: "100" },
    kills: { type: "string", default: "2" },
    least: { type: "string", default: "20000" },
  },
});
const [sessions, records, kills, least] = [values.sessions, values.records, values.kills, values.least].map(
  Number,
) as [number, number, number, number];
const folder = mkdtempSync(join(tmpdir(), "skein-move-"));
const [there = join(folder, "there.db"), back = join(folder, "back.db"), from = join(folder, "from.db")] =
  positionals;
const problems: string[] = [];

try {
  await fill();
  const before = await hashesIn(from);
  await journey("there", from, there, before);
  await journey("back", there, back, before);
  for (const problem of problems) console.log(`problem: ${problem}`);
  console.log(problems.length === 0 ? "no problems" : `${problems.length} problems`);
  if (problems.length > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function fill(): Promise<void> {
  await using engine = await openEngine({ store: from });
  const text = "what was said in about three hundred bytes, as people and tools do. ".repeat(5).slice(0, 280);
  const startedMs = performance.now();
  for (let done = 0; done < sessions; done += 200) {
    const some = Array.from({ length: Math.min(200, sessions - done) }, async (_, place) => {
      const session = await engine.open({ objective: `number ${done + place}` });
      const more = records - (await session.fold()).seq;
      await session.append(
        Array.from({ length: more }, (__, at) => ({ type: "x.note", content: { text: `${at} ${text}` } })),
      );
    });
    await Promise.all(some);
  }
  console.log(`filled: ${sessions} sessions of ${records} records, ${perSecond(startedMs)}`);
}

/** The last position and the digest of all hashes up to it, of every session. */
async function hashesIn(store: string, upTo?: ReadonlyMap<SessionId, { seq: number }>) {
  await using engine = await openEngine({ store });
  const found = new Map<SessionId, { seq: number; digest: string }>();
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: Awaited<ReturnType<typeof engine.sessions>> = await engine.sessions({
      limit: 500,
      ...(cursor === "" ? {} : { cursor }),
    });
    for (const { session, headSeq } of page.rows) {
      const seq = upTo?.get(session)?.seq ?? headSeq;
      const sum = createHash("sha256");
      for await (const record of (await engine.session(session)).records()) {
        if (record.seq > seq) break;
        sum.update(record.hash);
      }
      found.set(session, { seq, digest: sum.digest("hex") });
    }
    ({ cursor } = page);
  }
  return found;
}

/** Killed whenever a further part of the sessions has left, which go in order of their ids. */
async function journey(
  name: string,
  source: string,
  target: string,
  before: Awaited<ReturnType<typeof hashesIn>>,
): Promise<void> {
  const ids = [...before.keys()].toSorted();
  const startedMs = performance.now();
  let killed = 0;
  let report: MigrateAllReport | null = null;
  while (report === null) {
    const child = start(source, target);
    const mark = killed < kills ? ids[Math.floor((ids.length * (killed + 1)) / (kills + 1))] : undefined;
    const over = new AbortController();
    const first = await Promise.race([
      child.ended,
      ...(mark === undefined ? [] : [hasLeft(source, mark, over.signal)]),
    ]);
    over.abort();
    if (first === undefined) {
      child.kill();
      await child.ended;
      killed++;
      continue;
    }
    if (first.code !== 0) problems.push(`${name}: ended with ${first.code}: ${first.stderr}${first.stdout}`);
    report = JSON.parse(first.stdout) as MigrateAllReport;
  }
  const rate = perSecond(startedMs);
  const { moved, before: earlier, left, records: sent, verified, ms } = report;
  console.log(
    `${name}: killed ${killed} times; the last run moved ${moved}, ${earlier} were there, ` +
      `${left.length} left, ${sent} records sent, ${verified} verified in ${ms} ms; all in all ${rate}`,
  );
  if (killed < kills) console.log(`${name}: it was over before it could be killed again`);
  if (moved + earlier !== sessions) problems.push(`${name}: ${moved + earlier} of ${sessions} sessions`);
  const after = await hashesIn(target, before);
  for (const [session, { digest }] of before) {
    if (after.get(session)?.digest !== digest) problems.push(`${name}: the hashes of ${session} differ`);
  }
  await using engine = await openEngine({ store: source });
  const { rows } = await engine.sessions({ status: ["open", "suspended", "sleeping", "closed"], limit: 1 });
  if (rows.length > 0) problems.push(`${name}: ${rows[0]!.session} lives in both stores, or was left`);
  if (Number(/^[\d]+/.exec(rate)?.[0]) < least)
    problems.push(`${name}: ${rate}, at least ${least} are wanted`);
}

/** Once the session has left its store. */
async function hasLeft(store: string, id: SessionId, signal: AbortSignal): Promise<undefined> {
  await using engine = await openEngine({ store });
  const session = await engine.session(id);
  while (!signal.aborted && (await session.fold()).standing.status !== "moved") await sleep(100);
}

function start(source: string, target: string) {
  const bin = join(import.meta.dirname, "..", "..", "bin", "skein");
  const words = ["migrate", "--all", "--to", target, "--store", source, "--json"];
  const child = spawn(bin, words, { stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => void (said.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (said.stderr += text));
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    child.once("close", (code) => resolve({ code, ...said }));
  });
  return { ended, kill: () => child.kill("SIGKILL") };
}

function perSecond(startedMs: number): string {
  return `${Math.round((sessions * records * 1_000) / (performance.now() - startedMs))} records/s`;
}
