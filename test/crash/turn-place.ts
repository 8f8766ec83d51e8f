/** Where a crash test of turns takes place: one store, sessions with their plans, who goes on with them. */
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SkeinError } from "../../src/core/error.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { newPlace, openPlace } from "./store-place.ts";
import { makePoints, pointedStore, type Reached } from "./turn-point.ts";
import { inputOf, outerEffects, plannedCall, plannedModels, plannedTools } from "./turn-script.ts";
import type { EffectName, Pace, Plan } from "./turn-script.ts";
import { openWitness, type Witness } from "./turn-witness.ts";

/** What a session is to do: the effects of the calls of each step of each turn. */
export interface Cast {
  readonly name: string;
  readonly turns: readonly (readonly (readonly EffectName[])[])[];
  /** By default `ask`. */
  readonly onUnknown?: "ask" | "tell";
}

/** One session. It has a folder of its own for its witness, and shares the store with the others. */
export interface Place {
  readonly directory: string;
  /** Where the store is. */
  readonly store: string;
  readonly name: string;
  readonly session: string;
  /** The session that messages are sent to. */
  readonly receiver: string;
  readonly plan: Plan;
}

export interface Runner extends Partial<Pace> {
  readonly holder: string;
  /** Told every point that is passed. */
  readonly reached?: Reached;
  /** By default the shortest there is: those that die are waited for. */
  readonly leaseMs?: number;
}

const leaseMsMin = 1_000;
/** Of a runner that does not die: on a busy machine it is not renewed within a second. */
export const lastingLeaseMs = 60_000;

/** The same engine in every process: only the holder's name and what happens at the points differ. */
export async function engineAt(place: Place, runner: Runner): Promise<Engine> {
  const { holder, reached = () => undefined, paceMs = 0, leaseMs = leaseMsMin, ...pace } = runner;
  const points = makePoints(reached);
  const script = { points, witness: witnessOf(place), paceMs, ...pace };
  const world = realWorld();
  const tools = plannedTools(script);
  return new Engine({
    store: pointedStore(await openPlace(place.store), points),
    world,
    holder,
    leaseMs,
    models: async () => plannedModels(place.plan, script),
    tools: async () => makeToolSource({ world, tools }),
  });
}

export const witnessOf = ({ directory, name }: Place): Witness => openWitness(join(directory, name));

/** Sessions that have been given their first input and have not run yet, all in one new store. */
export async function prepare(name: string, casts: readonly Cast[]): Promise<readonly Place[]> {
  const directory = await freshDirectory(name);
  const store = await newPlace(directory);
  await using engine = new Engine({ store: await openPlace(store), world: realWorld() });
  for (const onUnknown of ["ask", "tell"] as const)
    await engine.addAgent({ name: onUnknown, instructions: "Do as planned.", onUnknown });
  const receiver = await engine.open({ objective: "Take messages" });
  const places: Place[] = [];
  for (const cast of casts) {
    const session = await engine.open({
      agent: cast.onUnknown ?? "ask",
      objective: "Do what is planned",
      bind: outerEffects.map((tool) => ({ kind: "tool", name: tool })),
      budget: { usd: 100, tokens: 10_000_000, toolCalls: 10_000 },
    });
    await session.append(inputOf(1));
    const plan = planOf(cast, receiver.id);
    await mkdir(join(directory, cast.name));
    places.push({ directory, store, name: cast.name, session: session.id, receiver: receiver.id, plan });
  }
  return places;
}

const freshDirectory = (name: string): Promise<string> =>
  mkdtemp(join(tmpdir(), `skein-turn-${name.replace(/[^a-z0-9]+/gi, "-")}-`));

/** As everything lies there while nobody is at it, once more. Only a store that is a file can be copied. */
export async function copyOf(name: string, places: readonly Place[]): Promise<readonly Place[]> {
  const directory = await freshDirectory(name);
  await cp(places[0]?.directory ?? "", directory, { recursive: true });
  const store = await newPlace(directory);
  return places.map((place) => ({ ...place, directory, store }));
}

const planOf = ({ turns, name }: Cast, receiver: string): Plan =>
  turns.map((steps, turn) =>
    steps.map((calls, step) =>
      calls.map((effect, call) =>
        plannedCall(effect, `${name}-${turn + 1}.${step + 1}.${call + 1}`, receiver),
      ),
    ),
  );

export const clear = (directory: string): Promise<void> => rm(directory, { recursive: true, force: true });

/**
 * Runs a session to the end of its plan: waits for leases to run out, gives each turn its input, and answers
 * when the outcome of a call is unknown, unless somebody closes the session. Any process may do it, and any
 * may go on with it. Gives how often it was asked about an unknown outcome.
 */
export async function finish(engine: Engine, place: Place, forMs = 60_000): Promise<number> {
  const session = await engine.session(place.session);
  const untilMs = Date.now() + forMs;
  let unknowns = 0;
  for (;;) {
    if (Date.now() > untilMs) throw new Error(`${place.session} is not idle after ${forMs} ms`);
    try {
      const ran = await session.run();
      if (ran.status === "suspended" && ran.by === "unknown") {
        unknowns += 1;
        await session.answer({ allow: true, reason: "it was looked at" });
        continue;
      }
      if (ran.status === "suspended") {
        // Nobody knows whether it is the model that kills whoever asks it, so a person is asked in the end.
        const { why } = await session.state();
        if (why?.reason?.startsWith("model call failed after ") !== true)
          throw new Error(`suspended: ${why?.reason}`);
        await session.answer({ allow: true });
        continue;
      }
      const { lastTurn, turn, inbox, status } = (await session.fold()).standing;
      if (status === "closed") return unknowns;
      if (status !== "open" || turn !== null || inbox.waiting.length > 0) continue;
      if (lastTurn >= place.plan.length) return unknowns;
      await session.append(inputOf(lastTurn + 1), { key: inputOf(lastTurn + 1) });
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
      await sleep(30);
    }
  }
}
