/**
 * Killed everywhere: whole turns with a call of each effect, in a process that is killed at each named point.
 * Another process goes on, and the log is held against what the tools and the model witnessed.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { killedAt, makePool, warmRunner, type CaseReport } from "./turn-case.ts";
import { effects, outerEffects, plannedCall, type EffectName, type Plan } from "./turn-script.ts";

const inPool = makePool(8);
let cache = "";

before(async () => {
  cache = await mkdtemp(join(tmpdir(), "skein-turn-cache-"));
  await warmRunner(cache);
});
after(() => rm(cache, { recursive: true, force: true }));

describe("killed at every point", { concurrency: true }, () => {
  for (const effect of effects) {
    test(`of a turn with one call: ${effect}`, async (t) => {
      const plan = (receiver: string): Plan => [[[plannedCall(effect, `the-${effect}`, receiver)]]];
      const run = (points: readonly string[]): Promise<CaseReport> =>
        inPool(() => killedAt({ name: effect, plan, cache, points }));
      const calm = await run([]);
      assert.deepEqual(calm.problems, []);
      const reports = await Promise.all(
        calm.passed.map(async (point) => [point, await run([point])] as const),
      );
      assert.deepEqual(
        reports.flatMap(([point, { problems }]) => problems.map((text) => `${point}: ${text}`)),
        [],
      );
      const told = Object.fromEntries(reports.map(([point, report]) => [point, storyOf(report)]));
      assert.deepEqual(
        told,
        Object.fromEntries(calm.passed.map((point) => [point, expected(effect, point)])),
      );
      t.diagnostic(`${reports.length} points`);
    });
  }
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
function expected(effect: EffectName, point: string): Story {
  const place = point.replace(/ \d+$/, "");
  const isOuter = (outerEffects as readonly string[]).includes(effect);
  const runs = isOuter ? 1 : 0;
  const calm = { status: "ok", started: runs, began: runs, ended: runs, unknowns: 0 };
  const lost: readonly [number, number] =
    place === "after model.requested"
      ? [1, 0]
      : /in stream|before model.responded/.test(place)
        ? [1, 1]
        : [0, 0];
  const began = place === `in ${effect}` ? 1 : point === "before tool.settled 1" ? 1 : 0;
  const ended = point === "before tool.settled 1" ? 1 : 0;
  const isCutOff = isOuter && (/^after tool.started/.test(place) || place === `at ${effect}` || began === 1);
  if (!isCutOff) return { ...calm, lost };
  if (effect === "read" || effect === "idempotent")
    return { ...calm, started: 2, began: began + 1, ended: ended + 1, lost };
  if (effect === "probed" && began === 0) return { ...calm, started: 2, lost };
  if (effect === "probed" && ended === 1) return { ...calm, lost };
  return { ...calm, status: "unknown", began, ended, unknowns: 1, lost };
}
