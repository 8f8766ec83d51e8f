/**
 * Several processes at one session: interrupts and cancellations that come from another process, runners that
 * meet, and runners that are stopped for longer than their lease and wake up when somebody else has gone on.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "../../src/runtime/engine/session.ts";
import { sliced, slicedEvery } from "../slice.ts";
import type { Child } from "./child.ts";
import { freshSeed } from "./random.ts";
import { endRunners, finishAll, finished, finishedAt, makePool } from "./turn-case.ts";
import { saidOfAll, startRunner, warmRunner } from "./turn-case.ts";
import { clear, engineAt, prepare, witnessOf, type Cast, type Place } from "./turn-place.ts";

const inPool = makePool(8);
let cache = "";

before(async () => {
  cache = await mkdtemp(join(tmpdir(), "skein-turn-cache-"));
  await warmRunner(cache);
});
after(async () => {
  await endRunners();
  await rm(cache, { recursive: true, force: true });
});

/** A runner in the middle of something that does not end by itself. */
async function inTheMiddle(
  endless: "stream" | "tool",
  diesAt?: string,
): Promise<{ place: Place; child: Child }> {
  const cast: Cast = { name: "long", turns: [[["read", "idempotent", "unsafe"]], [["unsafe"]]] };
  const places = await prepare(`long ${endless}`, [cast]);
  const [place] = places as [Place];
  const at = diesAt === undefined ? {} : { at: { point: diesAt, signal: "SIGKILL" } as const };
  const child = await startRunner({ do: "run", places, holder: "runner A", endless, ...at }, cache);
  await saidOfAll(child, places, `at in ${endless === "tool" ? "tool 3" : "stream 1"}`);
  await sleep(150);
  return { place, child };
}

/** Calls by tool, with what became of them. */
async function outcomes(session: Session): Promise<Record<string, string>> {
  const tools = new Map<number, string>();
  const found: Record<string, string> = {};
  for await (const { type, seq, body, cause } of session.events()) {
    const { tool, status } = body as { tool: string; status: string };
    if (type === "tool.requested") tools.set(seq, tool);
    if (type === "tool.settled") found[tools.get(cause ?? 0) ?? "?"] = status;
  }
  return found;
}

async function lastEvent(session: Session, type: string) {
  for await (const event of session.events({ types: [type], reverse: true, limit: 1 })) return event;
  return null;
}

async function until<T>(what: string, look: () => Promise<T | null> | T | null): Promise<T> {
  for (const untilMs = Date.now() + 10_000; Date.now() < untilMs; await sleep(5)) {
    const found = await look();
    if (found !== null) return found;
  }
  throw new Error(`not within ten seconds: ${what}`);
}

/** When the model or the last of the tools was told to stop, by its own word. */
const stoppedMs = (place: Place, endless: "stream" | "tool"): number | null => {
  const witness = witnessOf(place);
  const lines = endless === "stream" ? witness.models() : witness.tools();
  const aborted = lines.filter(({ say }) => say === "aborted");
  return aborted.length < (endless === "stream" ? 1 : 3) ? null : (aborted.at(-1)?.atMs ?? null);
};

const tellTimes = (t: TestContext, askedMs: number, times: Readonly<Record<string, number>>): void => {
  for (const [what, atMs] of Object.entries(times)) {
    t.diagnostic(`${what} ${atMs - askedMs} ms after it was asked for`);
    assert.ok(atMs - askedMs < 1_000, `${what} took ${atMs - askedMs} ms`);
  }
};

const expectedOutcomes = {
  stream: {},
  tool: { read: "skipped", idempotent: "unknown", unsafe: "unknown" },
} as const;

describe("from another process", { concurrency: 2 }, () => {
  for (const endless of ["stream", "tool"] as const) {
    test(`an interrupt in the middle of a ${endless} ends the turn, and the session continues`, async (t) => {
      const { place, child } = await inTheMiddle(endless);
      await using engine = await engineAt(place, { holder: "the test" });
      const session = await engine.session(place.session);
      const askedMs = Date.now();
      await session.interrupt({ reason: "enough" });
      const ended = await until("the turn has ended", () => lastEvent(session, "turn.ended"));
      const stopped = await until("it was told to stop", () => stoppedMs(place, endless));
      tellTimes(t, askedMs, { "the turn ended": ended.at, [`the ${endless} was stopped`]: stopped });
      assert.equal((ended.body as { outcome: string }).outcome, "interrupted");
      assert.deepEqual(await outcomes(session), expectedOutcomes[endless]);
      // The runner goes on with the next turn, whose stream or tool does not end by itself either.
      await saidOfAll(child, [place], `at in ${endless === "tool" ? "tool 4" : "stream 2"}`);
      child.process.kill("SIGKILL");
      await child.ended;
      await goesOn(place, session, endless === "stream" ? { unsafe: "ok" } : null);
    });

    test(`a cancellation in the middle of a ${endless} closes the session`, async (t) => {
      const { place, child } = await inTheMiddle(endless);
      await using engine = await engineAt(place, { holder: "the test" });
      const session = await engine.session(place.session);
      const askedMs = Date.now();
      await session.cancel({ reason: "not wanted" });
      const stopped = await until("it was told to stop", () => stoppedMs(place, endless));
      const { code } = await child.ended;
      tellTimes(t, askedMs, { [`the ${endless} was stopped`]: stopped, "the runner was gone": Date.now() });
      assert.equal(code, 0);
      assert.deepEqual(child.lines.at(-1), "long idle 0");
      const { standing } = await session.fold();
      assert.deepEqual([standing.status, standing.turn, standing.lease.held], ["closed", null, false]);
      assert.deepEqual(await outcomes(session), expectedOutcomes[endless]);
      await assertCharged(place, session);
      await clear(place.directory);
    });
  }

  test("running a session that already runs names its holder, and changes nothing", async () => {
    const { place, child } = await inTheMiddle("tool");
    await using engine = await engineAt(place, { holder: "runner B" });
    const session = await engine.session(place.session);
    const before = await session.head();
    await assert.rejects(session.run(), { code: "conflict", message: "the session is running on runner A" });
    assert.deepEqual(await session.head(), before);
    await session.cancel();
    assert.equal((await child.ended).code, 0);
    await clear(place.directory);
  });

  test("three processes that run one session at once take turns, and nothing is done twice", async () => {
    const cast: Cast = {
      name: "shared",
      turns: [[["unsafe", "read"], ["send"]], [["unsafe"]], [["idempotent", "fork"]]],
    };
    const places = await prepare("three", [cast]);
    const start = (holder: string) => startRunner({ do: "run", places, holder, paceMs: 20 }, cache);
    const children = await Promise.all(["runner A", "runner B", "runner C"].map(start));
    for (const child of children) {
      const { code, stderr } = await child.ended;
      assert.deepEqual([code, stderr], [0, ""]);
      // On a machine that is slower than a lease, one may lose it to another.
      assert.match(child.lines.at(-1) ?? "", /^shared (idle|failed fenced)/);
    }
    const reports = await finishAll(places);
    assert.deepEqual(
      reports.flatMap(({ problems }) => problems),
      [],
    );
  });
});

describe("an interrupt", { concurrency: 2 }, () => {
  for (const [endless, point] of [
    ["stream", "before model.failed 1"],
    ["stream", "after model.failed 1"],
    ["tool", "before turn.ended 1"],
    ["tool", "after turn.ended 1"],
  ] as const) {
    test(`holds when the process that handles it is killed ${point}`, async () => {
      const { place, child } = await inTheMiddle(endless, point);
      await using engine = await engineAt(place, { holder: "the test" });
      const session = await engine.session(place.session);
      await session.interrupt();
      const { signal } = await child.ended;
      assert.deepEqual([signal, child.lines.at(-1)], ["SIGKILL", `long at ${point}`]);
      await interruptedOnce(place, session, endless);
    });
  }

  for (const [when, waitMs] of [
    ["while the lease of the dead is in force", 0],
    ["when the lease of the dead has run out", 1_200],
  ] as const) {
    test(`reaches a session whose runner is dead, ${when}`, async () => {
      const { place, child } = await inTheMiddle("tool");
      child.process.kill("SIGKILL");
      await child.ended;
      await using engine = await engineAt(place, { holder: "the test" });
      const session = await engine.session(place.session);
      await sleep(waitMs);
      await session.interrupt();
      await interruptedOnce(place, session, "tool");
    });
  }
});

/** The first turn was interrupted, the second one goes as planned, and nobody is asked anything. */
async function interruptedOnce(place: Place, session: Session, endless: "stream" | "tool"): Promise<void> {
  const { unknowns } = await finished(place);
  const ends: string[] = [];
  for await (const { body } of session.events({ types: ["turn.ended"] }))
    ends.push((body as { outcome: string }).outcome);
  const first = endless === "tool" ? { read: "skipped", idempotent: "unknown" } : {};
  const unsafe = "ok";
  assert.deepEqual([ends, unknowns], [["interrupted", "completed"], 0]);
  assert.deepEqual(await outcomes(session), { ...first, unsafe });
  await assertCharged(place, session);
  await clear(place.directory);
}

/** What a cut-off session still does when somebody goes on with it. Null: it was in the middle of a call. */
async function goesOn(place: Place, session: Session, calls: Readonly<Record<string, string>> | null) {
  const { unknowns } = await finished(place);
  assert.equal(unknowns, calls === null ? 1 : 0);
  const told = await outcomes(session);
  if (calls !== null) assert.deepEqual(told, calls);
  const { standing, mind } = await session.fold();
  assert.deepEqual([standing.status, standing.turn, mind.calls.size], ["open", null, 0]);
  await assertCharged(place, session);
  await clear(place.directory);
}

async function assertCharged(place: Place, session: Session): Promise<void> {
  const { used } = (await session.fold()).standing;
  const asked = witnessOf(place)
    .models()
    .filter(({ say }) => say === "asked");
  assert.ok(asked.length > 0);
  const charged = asked.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0);
  assert.ok(used.nanoUsd >= charged, `${used.nanoUsd} of ${charged} are accounted for`);
  assert.equal((await session.verify()).ok, true);
}

describe("a runner that was stopped for longer than its lease", { concurrency: true }, () => {
  const casts: readonly Cast[] = (["idempotent", "unsafe", "probed", "record", "send", "fork"] as const).map(
    (effect) => ({ name: effect, turns: [[[effect]]] }),
  );

  test("writes nothing when it wakes up, at whatever point, and runs no unsafe call again", async (t) => {
    const places = await prepare("calm", casts);
    const calm = await finishAll(places);
    const points = [...new Set(calm.flatMap(({ passed }) => passed))];
    const tried = slicedEvery(points, 5, freshSeed());
    const woken = await Promise.all(tried.map((point) => inPool(() => stopAt(point, calm))));
    assert.deepEqual(
      woken.flatMap(({ problems }) => problems),
      [],
    );
    const fenced = woken.flatMap(({ lines }) => lines.filter((line) => / failed fenced /.test(line)));
    t.diagnostic(`${tried.length} of ${points.length} points, ${fenced.length} runners fenced`);
    assert.ok(fenced.length > sliced(1, 5) * casts.length, "hardly anybody was fenced");
  });

  test("continues unchanged when no process acted on it", async () => {
    const places = await prepare(
      "unfollowed",
      casts.filter(({ name }) => name === "unsafe"),
    );
    const at = { point: "after tool.started 1", signal: "SIGSTOP" } as const;
    const child = await startRunner({ do: "run", places, holder: "the sleeper", at }, cache);
    await saidOfAll(child, places, `at ${at.point}`);
    await sleep(1_300);
    child.process.kill("SIGCONT");
    assert.equal((await child.ended).code, 0);
    assert.equal(child.lines.at(-1), "unsafe idle 0");
    const [report] = await finishAll(places);
    const { problems, calls } = report ?? { problems: ["there is no report"], calls: [] };
    assert.deepEqual(problems, []);
    assert.deepEqual(
      calls.map(({ status, started, began }) => [status, started, began]),
      [["ok", 1, 1]],
    );
  });

  /** Stops a process with its sessions at a point, goes on with them here, and wakes it up. */
  async function stopAt(point: string, calm: Awaited<ReturnType<typeof finishAll>>) {
    const passing = calm.filter(({ passed }) => passed.includes(point)).map(({ name }) => name);
    // One that is inside the tool already does what it does; asked before that, it says that it has not.
    const wrong = point === "at tool 1" ? ["probed"] : [];
    const there = casts.filter(({ name }) => passing.includes(name) && !wrong.includes(name));
    const places = await prepare(`stopped ${point}`, there);
    const at = { point, signal: "SIGSTOP" } as const;
    const child = await startRunner({ do: "run", places, holder: "the sleeper", at }, cache);
    await saidOfAll(child, places, `at ${point}`);
    await sleep(1_100);
    const heads = await Promise.all(places.map(finishedAt));
    child.process.kill("SIGCONT");
    const { code, stderr } = await child.ended;
    const ended = code === 0 ? [] : [`${point}: the sleeper ended with ${code}: ${stderr}`];
    const late = await Promise.all(places.map((place, number) => writtenAfter(place, heads[number] ?? 0)));
    const wrote = late.flat().map((type) => `${point}: the sleeper wrote ${type}`);
    const reports = await finishAll(places, [...ended, ...wrote]);
    return { problems: reports.flatMap(({ problems }) => problems), lines: child.lines };
  }
});

/** The types of what was written after a position, but for leases that were taken and given back. */
async function writtenAfter(place: Place, seq: number): Promise<readonly string[]> {
  await using engine = await engineAt(place, { holder: "the test" });
  const types: string[] = [];
  for await (const { type } of (await engine.session(place.session)).events({ fromSeq: seq + 1 }))
    if (!type.startsWith("lease.")) types.push(type);
  return types;
}
