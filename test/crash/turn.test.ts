/**
 * Killed everywhere: whole turns with calls of each effect, in a process that is killed at each named point.
 * Another process goes on, and the log is held against what the tools and the model witnessed.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { endRunners, finishAll, killAt, makePool, warmRunner, type CaseReport } from "./turn-case.ts";
import { clear, copyOf, prepare, type Cast } from "./turn-place.ts";
import { effects, outerEffects } from "./turn-script.ts";
import { freshSeed } from "./random.ts";
import { longOnly, sliced, slicedEvery } from "../slice.ts";

const inPool = makePool(5);
let cache = "";

before(async () => {
  cache = await mkdtemp(join(tmpdir(), "skein-turn-cache-"));
  await warmRunner(cache);
});
after(async () => {
  await endRunners();
  await rm(cache, { recursive: true, force: true });
});

/** One call of one effect each. */
const solos: readonly Cast[] = [
  ...effects.map((effect): Cast => ({ name: effect, turns: [[[effect]]] })),
  { name: "told", turns: [[["unsafe"]]], onUnknown: "tell" },
];
/** All effects, side by side and one after the other. */
const ensemble: Cast = {
  name: "ensemble",
  turns: [
    [
      [...outerEffects, "unsafe"],
      ["record", "scratch", "send", "fork"],
    ],
  ],
};

interface Everywhere {
  readonly casts: readonly Cast[];
  /** Where a process died before. */
  readonly first?: string;
  /** Of the points that a session passes after that, those to die at. */
  readonly wanted?: (passed: readonly string[]) => readonly string[];
  /** Where a slice runs, one point in so many: each takes a process. */
  readonly step: number;
}

const seed = freshSeed();

/** Kills sessions at each point that they pass, those that pass it in one process. */
async function killEverywhere({ casts, first, wanted = (passed) => passed, step }: Everywhere) {
  const places = await prepare(first ?? "start", casts);
  const deaths = first === undefined ? [] : await killAt(first, places, cache);
  const calm = await finishAll(await copyOf("calm", places), deaths);
  const passing = new Map(calm.map(({ name, passed }) => [name, wanted(passed)]));
  const all = [...new Set([...passing.values()].flat())];
  const points = slicedEvery(all, step, seed);
  const killed = points.map((point) =>
    inPool(async () => {
      const there = places.filter(({ name }) => passing.get(name)?.includes(point));
      const copies = await copyOf(point, there);
      const reports = await finishAll(copies, await killAt(point, copies, cache));
      return reports.map((report) => ({ ...report, point }));
    }),
  );
  const reports = (await Promise.all(killed)).flat();
  await clear(places[0]?.directory ?? "");
  return { reports, all, points, problems: [...calm, ...reports].flatMap(({ problems }) => problems) };
}

/** After the next model call nothing is different from a turn in which nobody has died. */
const untilAsked = (passed: readonly string[]): readonly string[] =>
  passed.slice(0, passed.indexOf("after model.requested 1") + 1);

describe("killed at every point", { concurrency: true }, () => {
  test("of a turn with one call, for each effect", async (t) => {
    const { reports, all, points, problems } = await killEverywhere({ casts: solos, step: 4 });
    assert.deepEqual(problems, []);
    const told = reports.map((report) => `${report.name}, ${report.point}: ${storyOf(report)}`);
    const rules = reports.map(({ name, point }) => `${name}, ${point}: ${expected(name, point)}`);
    assert.deepEqual(
      told.filter((story) => !rules.includes(story)),
      [],
    );
    t.diagnostic(`${reports.length} sessions killed at ${points.length} points`);
    // An answer without calls ends its turn in the same append: nobody dies in between.
    assert.equal(all.length, 22);
    assert.ok(points.length >= sliced(5, 22), points.join(", "));
    // Five effects pass all points, four the 18 without the start of a tool.
    const whole = 5 * 22 + 4 * 18;
    assert.ok(sliced(reports.length > whole / 6, reports.length === whole), `${reports.length} sessions`);
  });

  test("of the calls of a step that run side by side, and of those that follow one another", async (t) => {
    const later = /tool(\.settled)? [2-9]$/;
    const wanted = (passed: readonly string[]) => passed.filter((point) => later.test(point));
    const { all, points, problems } = await killEverywhere({ casts: [ensemble], wanted, step: 6 });
    assert.deepEqual(problems, []);
    t.diagnostic(`${points.length} points of ${all.length}`);
    assert.equal(all.length, 2 * 4 + 2 * 8);
  });

  for (const [first, casts] of [
    ["in tool 1", [...solos.filter(({ name }) => isOuter(name)), ensemble]],
    ["in stream 1", solos],
  ] as const) {
    const skip = first === "in stream 1" && longOnly;
    test(`of what another process does after one was killed ${first}`, { skip }, async (t) => {
      const { reports, points, problems } = await killEverywhere({
        casts,
        first,
        wanted: untilAsked,
        step: 4,
      });
      assert.deepEqual(problems, []);
      t.diagnostic(`${reports.length} sessions killed again at ${points.length} points`);
      assert.ok(points.length > sliced(1, 5), points.join(", "));
    });
  }
});

/** What became of the one call of the turn, and of calls of the model that were lost with their process. */
function storyOf({ calls, unknowns, requested, asked }: CaseReport): string {
  const [call = { status: "missing", started: 0, began: 0, ended: 0 }] = calls;
  return words({ ...call, unknowns, requested, asked });
}

type Story = Readonly<
  Record<"started" | "began" | "ended" | "unknowns" | "requested" | "asked", number> & { status: string }
>;

const words = ({ status, started, began, ended, unknowns, requested, asked }: Story): string =>
  `${status}; started ${started}, began ${began}, ended ${ended}, asked about ${unknowns}; ` +
  `model calls ${requested} written, ${asked} made`;

/** By the rules: what had started and is unsafe is not known, unless it can be asked; all else runs again. */
function expected(name: string, point: string): string {
  const place = point.replace(/ \d+$/, "");
  const runs = isOuter(name) ? 1 : 0;
  const calm = { status: "ok", started: runs, began: runs, ended: runs, unknowns: 0, ...modelCalls(place) };
  if (!isOuter(name) || !/^(after tool.started|at tool|in tool|before tool.settled)$/.test(place))
    return words(calm);
  const began = place === "in tool" || place === "before tool.settled" ? 1 : 0;
  const ended = place === "before tool.settled" ? 1 : 0;
  if (name === "read" || name === "idempotent")
    return words({ ...calm, started: 2, began: began + 1, ended: ended + 1 });
  if (name === "probed" && began === 0) return words({ ...calm, started: 2 });
  if (name === "probed" && ended === 1) return words(calm);
  return words({ ...calm, status: "unknown", began, ended, unknowns: name === "told" ? 0 : 1 });
}

function isOuter(name: string): boolean {
  return name === "told" || (outerEffects as readonly string[]).includes(name);
}

function modelCalls(place: string): { readonly requested: number; readonly asked: number } {
  if (place === "after model.requested") return { requested: 3, asked: 2 };
  const isLost = place === "in stream" || place === "before model.responded";
  return isLost ? { requested: 3, asked: 3 } : { requested: 2, asked: 2 };
}
