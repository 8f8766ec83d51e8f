/**
 * One simulated life: a store, people, and several processes that work, in one thread and in virtual time.
 * First everything goes wrong that the climate has; then it is calm, and one last worker must bring every
 * session to rest. The seed decides all of it: one seed is one trace.
 */
import { createHash } from "node:crypto";
import { makeWorkspaceId, type SessionId } from "../../src/core/ids.ts";
import type { State } from "../../src/core/state.ts";
import { dueOf, type RunLimit } from "../../src/core/trigger/schedule.ts";
import { nextOf } from "../../src/core/turn/next.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { makeStateReader, unread, type KnownState } from "../../src/runtime/read/state-reader.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { makeRandom, type Random } from "../crash/random.ts";
import { calm, drawClimate, type Climate } from "./climate.ts";
import { judge } from "./judge.ts";
import { lineTo, type Line } from "./network.ts";
import { makeOutside, type Outside } from "./outside.ts";
import { makePeople, type People } from "./people.ts";
import { makeProcess, type SimProcess } from "./process.ts";
import { leaseMs, startRunner } from "./runner.ts";
import { drawTimed } from "./schedule.ts";
import { makeTimeline, startOfTime, type Timeline } from "./timeline.ts";
import { makeWitness, type Problem, type Witness } from "./witness.ts";
import { startWorker, type SimWorker } from "./worker.ts";

/** A bug, planted on purpose: below the witness, or between a runner and its line. */
export interface Plant {
  readonly below?: (store: Store, now: () => number) => Store;
  readonly above?: (store: Store) => Store;
}

export interface SimReport {
  readonly seed: number;
  readonly problems: readonly Problem[];
  readonly trace: readonly string[];
  /** Of the trace, in which the hash of every log stands. */
  readonly traceHash: string;
  readonly counts: ReadonlyMap<string, number>;
  readonly events: number;
  readonly virtualMs: number;
}

/** How long a last worker may take, of virtual time: leases must run out, and calls that hang be given up. */
const restMsMax = 900_000;
const workspace = makeWorkspaceId({ nowMs: 1, random: new Uint8Array(10) });

interface Sim {
  readonly seed: number;
  readonly random: Random;
  readonly timeline: Timeline;
  readonly store: Store;
  readonly witness: Witness;
  readonly outside: Outside;
  readonly line: Line;
  readonly plant: Plant;
  readonly trace: (line: string) => void;
  /** Those that are there, and how each is stopped; null for one that is no worker, but runs by itself. */
  readonly runners: Map<SimProcess, SimWorker | null>;
  readonly limits: readonly RunLimit[];
  /** The state of a session as it is now, whatever the lines are like. */
  readonly look: (session: SessionId) => Promise<State>;
  /** Whether processes see that another has ended, and those that have. */
  readonly sees: boolean;
  readonly gone: Set<string>;
  climate: Climate;
  born: number;
}

export async function simulate(seed: number, plant: Plant = {}): Promise<SimReport> {
  const lines: string[] = [];
  const sim = makeSim(seed, plant, lines);
  const { timeline, witness, trace } = sim;
  trace(`climate ${JSON.stringify(sim.climate)}`);
  const people = await begin(sim);
  await storm(sim, people);
  await comeToRest(sim, people);
  const world = makeProcess("judge", { timeline, random: sim.random, skewMs: 0 }).world;
  await judge({ store: sim.store, world, witness, given: people.given });
  for (const session of witness.sessions) {
    const head = await sim.store.head(session);
    trace(`${session} ends at ${head?.seq} ${head?.hash}`);
  }
  return {
    seed,
    problems: witness.problems,
    trace: lines,
    traceHash: createHash("sha256").update(lines.join("\n")).digest("hex"),
    counts: witness.counts,
    events: timeline.count(),
    virtualMs: timeline.now() - startOfTime,
  };
}

function makeSim(seed: number, plant: Plant, lines: string[]): Sim {
  const random = makeRandom(seed * 2_654_435_761);
  const timeline = makeTimeline(random);
  const trace = (line: string): void => void lines.push(`${timeline.now() - startOfTime} ${line}`);
  const witness = makeWitness(trace);
  const { world } = makeProcess("store", { timeline, random, skewMs: 0 });
  const memory = memoryStore({ world, workspace });
  const climate = (): Climate => sim.climate;
  const fell = (process: SimProcess, how: "ended" | "paused"): void => follow(sim, process, how);
  const place = { seed, timeline, random, climate, witness, trace };
  const store = plant.below?.(memory, timeline.now) ?? memory;
  const sim: Sim = {
    ...place,
    climate: drawClimate(random),
    store,
    look: makeLook(store),
    outside: makeOutside(place),
    line: { ...place, fell },
    plant,
    runners: new Map(),
    limits: random.chance(0.3) ? [{ agent: "worker", running: random.pick([1, 2]) }] : [],
    sees: random.chance(0.3),
    gone: new Set(),
    born: 0,
  };
  return sim;
}

function makeLook(store: Store): (session: SessionId) => Promise<State> {
  const reader = makeStateReader(store);
  const known = new Map<SessionId, KnownState>();
  return async (session) => {
    const before = known.get(session) ?? unread();
    const now = await reader.advance(session, before, (await store.head(session))?.seq ?? 0);
    known.set(session, now);
    return now.state;
  };
}

/** An agent and two sessions, before anything goes wrong. */
async function begin(sim: Sim): Promise<People> {
  const { random, timeline, line, witness, trace, look } = sim;
  const stormy = sim.climate;
  sim.climate = calm;
  const skewMs = skew(sim);
  const process = makeProcess("people", { timeline, random, skewMs });
  const store = lineTo(sim.store, process, line, false);
  const above = sim.plant.above?.(store) ?? store;
  const engine = new Engine({ store: above, world: process.world, holder: "people", leaseMs });
  const permissions = random.chance(0.4) ? [{ tool: "pay", rule: "ask" as const }] : [];
  const limits = random.pick([{}, {}, { tokens: 20_000 }, { steps: 8 }, { toolCalls: 5 }, { usd: 0.02 }]);
  const opening = (async () => {
    const onUnknown = random.pick(["ask", "tell"] as const);
    // In some lives long work goes on in a next session, in the middle of a turn too.
    const zones = random.chance(0.3)
      ? { zones: { strained: { tokens: random.pick([1_500, 3_000]), actions: ["rollover" as const] } } }
      : {};
    const more = { permissions, onUnknown, stepsMax: 12, ...zones };
    await engine.addAgent({ name: "worker", instructions: "Work.", ...more });
    for (const objective of ["One", "Two"]) {
      const { spec, ...rule } = drawTimed(random, process.world.now());
      const wake = random.chance(0.7) ? { wake: [{ ...spec, ...rule, name: "one" }] } : {};
      const priority = random.below(5);
      await engine.open({ agent: "worker", objective, budget: limits, priority, ...wake });
    }
  })();
  let opened = false;
  void opening.then(() => void (opened = true));
  await timeline.run(60_000, () => opened);
  await opening;
  sim.climate = stormy;
  return makePeople({ engine, process, random, witness, trace, look });
}

const skew = ({ random, climate }: Sim): number => random.below(2 * climate.skewMs + 1) - climate.skewMs;

/** Most are workers; some are people's own programs, which run what they find. */
function spawn(sim: Sim, as: "worker" | "any" = "any"): SimProcess {
  const { random, outside, witness, trace, line, limits } = sim;
  sim.born += 1;
  const isGone = (name: string): boolean => sim.sees && sim.gone.has(name);
  const options = { timeline: sim.timeline, random, skewMs: skew(sim), isGone };
  const process = makeProcess(`p${sim.born}`, options);
  process.atEnd(() => sim.gone.add(process.name));
  const near = lineTo(sim.store, process, line, true);
  const store = sim.plant.above?.(near) ?? near;
  trace(`${process.name} begins`);
  const place = { process, store, outside, random, witness, trace };
  if (as === "worker" || random.chance(0.85)) {
    const concurrency = random.pick([1, 2, 4]);
    sim.runners.set(process, startWorker({ ...place, limits, concurrency }));
    return process;
  }
  sim.runners.set(process, null);
  const isAtRest = async (session: SessionId): Promise<boolean> => {
    const state = await sim.look(session);
    const { status, sleep } = state.standing;
    const wakes = status === "sleeping" && (sleep?.untilMs ?? Infinity) <= sim.timeline.now();
    return !wakes && hasNothingToDo(state);
  };
  startRunner({ ...place, isAtRest });
  return process;
}

/** One that has ended is followed by another; one that stands still goes on, often without its lease. */
function follow(sim: Sim, process: SimProcess, how: "ended" | "paused"): void {
  const { timeline, random, trace } = sim;
  if (how === "ended") {
    sim.runners.delete(process);
    timeline.after(random.below(4_000), () => void (sim.climate === calm || spawn(sim)));
    return;
  }
  timeline.after(100 + random.below(random.pick([3, 6]) * leaseMs), () => {
    if (process.standing() === "paused") trace(`${process.name} goes on`);
    process.resume();
  });
}

async function storm(sim: Sim, people: People): Promise<void> {
  const { timeline, random, witness, trace } = sim;
  const { crashMs, pauseMs, jumpMs } = sim.climate;
  const again = (mostMs: number, work: () => void): void => {
    if (mostMs === Infinity) return;
    timeline.after(random.below(mostMs), () => {
      if (sim.climate === calm) return;
      work();
      again(mostMs, work);
    });
  };
  const strike = (work: (process: SimProcess) => void, also?: "paused"): void => {
    const isThere = ({ standing }: SimProcess): boolean => standing() === "up" || standing() === also;
    const up = [...sim.runners.keys()].filter(isThere);
    if (up.length > 0) work(random.pick(up));
  };
  const fell = (process: SimProcess, how: "ended" | "paused"): void => {
    trace(`${process.name} ${how === "ended" ? "ends" : "stands still"}`);
    witness.note(how === "ended" ? "crash" : "pause");
    if (how === "ended") process.end();
    else process.pause();
    follow(sim, process, how);
  };
  for (let count = random.pick([1, 2, 3, 3]); count > 0; count--) spawn(sim);
  people.act();
  again(2_500, () => people.act());
  again(4_000, () => people.attend());
  again(crashMs, () => strike((process) => fell(process, "ended")));
  again(pauseMs, () => strike((process) => fell(process, "paused")));
  again(jumpMs, () => strike((process) => jump(sim, process), "paused"));
  if (random.chance(0.5)) again(12_000, () => strike((process) => void stop(sim, process)));
  await timeline.run(8_000 + random.below(12_000));
  sim.climate = calm;
  trace("calm");
  for (const process of sim.runners.keys()) process.setClock(0);
  if (random.chance(0.5)) for (const process of sim.runners.keys()) process.end();
}

/** A clock is set, forward or back. */
function jump({ random, witness, trace, climate }: Sim, process: SimProcess): void {
  const byMs = random.below(2 * climate.jumpByMs) - climate.jumpByMs;
  trace(`the clock of ${process.name} jumps to ${byMs}`);
  witness.note("jump");
  process.setClock(byMs);
}

/** A worker is asked to stop: what it holds it gives back. */
async function stop(sim: Sim, process: SimProcess): Promise<void> {
  const worker = sim.runners.get(process) ?? null;
  if (worker === null) return;
  sim.trace(`${process.name} is asked to stop`);
  sim.witness.note("stop");
  await worker.stop();
  if (process.standing() === "ended") return;
  sim.trace(`${process.name} has stopped`);
  process.end();
  follow(sim, process, "ended");
}

async function comeToRest(sim: Sim, people: People): Promise<void> {
  const { timeline, witness, trace, look } = sim;
  const last = spawn(sim, "worker");
  await timeline.run(8_000);
  people.quietTemplates();
  const until = timeline.now() + restMsMax;
  while (timeline.now() < until) {
    await timeline.run(1_000);
    const states = await Promise.all(witness.sessions.map(look));
    if (people.waiting() > 0) continue;
    for (const state of states) people.quiet(state.standing.session as SessionId, state);
    if (people.waiting() > 0 || !states.every(hasNothingToDo)) continue;
    for (const state of states) checkWhy(state, witness);
    const standing = states.filter(
      ({ standing: { status } }) => status === "suspended" || status === "sleeping",
    );
    for (const state of standing) people.help(state.standing.session as SessionId, state);
    if (standing.length > 0 || states.some((state) => dueOf(state) !== null)) continue;
    await checkReleased(sim, last);
    return trace("rest");
  }
  for (const session of witness.sessions) {
    const { standing, mind, seq } = await look(session);
    const { status, why, turn, reserved } = standing;
    const rest = JSON.stringify({ status, why, turn, reserved, calls: mind.calls.size });
    witness.blame("rest", `${session}@${seq} is not at rest after ${restMsMax} ms: ${rest}`);
  }
}

/** Who has nothing to run holds nothing. */
async function checkReleased({ timeline, store, witness }: Sim, { name }: SimProcess): Promise<void> {
  await timeline.run(2_000);
  for (const session of witness.sessions) {
    const { lease } = (await store.head(session)) ?? { lease: null };
    if (lease?.holder === name) witness.blame("release", `${session} is at rest, and ${name} holds it`);
  }
}

const hasNothingToDo = (state: State): boolean =>
  nextOf(state, { steered: false, stepsMax: Infinity }).next === "rest" &&
  state.standing.status !== "running";

function checkWhy({ standing: { session, status, why } }: State, { blame }: Witness): void {
  if (status === "suspended" && why === null) blame("rest", `${session} is suspended and does not say why`);
}
