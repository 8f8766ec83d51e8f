/**
 * Killed everywhere: whole turns with calls of each effect, in a process that is killed at each named point.
 * Another process goes on, and the log is held against what the tools and the model witnessed.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { killedAt, makePool, warmRunner, type CaseReport } from "./turn-case.ts";
import type { Cast } from "./turn-place.ts";
import { effects, outerEffects } from "./turn-script.ts";

const inPool = makePool(5);
let cache = "";

before(async () => {
  cache = await mkdtemp(join(tmpdir(), "skein-turn-cache-"));
  await warmRunner(cache);
});
after(() => rm(cache, { recursive: true, force: true }));

/** One call of one effect each. */
const solos: readonly Cast[] = [
  ...effects.map((effect): Cast => ({ name: effect, turns: [[[effect]]] })),
  { name: "told", turns: [[["unsafe"]]], onUnknown: "tell" },
];
/** All effects, side by side and one after the other, and a second turn. */
const ensemble: Cast = {
  name: "ensemble",
  turns: [[[...outerEffects], ["record", "scratch", "send", "fork"]], [["unsafe", "unsafe", "send"]]],
};

/** Kills the sessions of the casts at each point that they pass, those that pass it in one process. */
async function killEverywhere(casts: readonly Cast[], first: readonly string[], wanted = () => true) {
  const calm = await inPool(() => killedAt({ cache, casts, points: first }));
  const points = new Set(calm.flatMap(({ passed }) => passed.filter(wanted)));
  const reports = await Promise.all(
    [...points].map(async (point) => {
      const there = casts.filter((cast) =>
        calm.some(({ name, passed }) => name === cast.name && passed.includes(point)),
      );
      const told = await inPool(() => killedAt({ cache, casts: there, points: [...first, point] }));
      return told.map((report) => ({ ...report, point }));
    }),
  );
  return { calm, points: [...points], reports: reports.flat() };
}

const problemsOf = (reports: readonly CaseReport[]): readonly string[] =>
  reports.flatMap(({ problems }) => problems);

describe("killed at every point", { concurrency: true }, () => {
  test("of a turn with one call, for each effect", async (t) => {
    const { calm, reports } = await killEverywhere(solos, []);
    assert.deepEqual(problemsOf([...calm, ...reports]), []);
    const told = reports.map((report) => [report.name, report.point, storyOf(report)]);
    const rules = reports.map(({ name, point }) => [name, point, expected(name, point)]);
    assert.deepEqual(told, rules);
    t.diagnostic(
      `${reports.length} sessions killed at ${new Set(reports.map(({ point }) => point)).size} points`,
    );
    assert.equal(reports.length, 5 * 24 + 4 * 20);
  });

  test("of two turns with calls of every effect, side by side", async (t) => {
    const { calm, reports } = await killEverywhere([ensemble], []);
    assert.deepEqual(problemsOf([...calm, ...reports]), []);
    t.diagnostic(`${reports.length} points`);
  });
});

/** What became of the one call of the turn. */
interface Story {
  readonly status: string;
  readonly started: number;
  readonly began: number;
  readonly ended: number;
  readonly unknowns: number;
  /** Calls of the model that were lost with whoever made them: by the log, and by its own word. */
  readonly lost: readonly [requested: number, asked: number];
}

function storyOf({ calls, unknowns, requested, asked }: CaseReport): Story {
  const [call] = calls;
  const { status = "", started = 0, began = 0, ended = 0 } = call ?? {};
  return { status, started, began, ended, unknowns, lost: [requested - 2, asked - 2] };
}

/** By the rules: what had started and is unsafe is not known, unless it can be asked; all else runs again. */
function expected(name: string, point: string): Story {
  const place = point.replace(/ \d+$/, "");
  const isOuter = name === "told" || (outerEffects as readonly string[]).includes(name);
  const runs = isOuter ? 1 : 0;
  const calm = { status: "ok", started: runs, began: runs, ended: runs, unknowns: 0, lost: lostAt(place) };
  if (!isOuter || !/^(after tool.started|at tool|in tool|before tool.settled)$/.test(place)) return calm;
  const began = place === "in tool" || place === "before tool.settled" ? 1 : 0;
  const ended = place === "before tool.settled" ? 1 : 0;
  if (name === "read" || name === "idempotent")
    return { ...calm, started: 2, began: began + 1, ended: ended + 1 };
  if (name === "probed" && began === 0) return { ...calm, started: 2 };
  if (name === "probed" && ended === 1) return calm;
  return { ...calm, status: "unknown", began, ended, unknowns: name === "told" ? 0 : 1 };
}

function lostAt(place: string): Story["lost"] {
  if (place === "after model.requested") return [1, 0];
  return place === "in stream" || place === "before model.responded" ? [1, 1] : [0, 0];
}
