/** Where a crash test of workers takes place: one store, many sessions with one plan, one witness. */
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { openPlace } from "./store-place.ts";
import { makePoints } from "./turn-point.ts";
import { inputOf, outerEffects, plannedCall, plannedModels, plannedTools } from "./turn-script.ts";
import type { EffectName, Plan } from "./turn-script.ts";
import { openWitness } from "./turn-witness.ts";

/** Two turns, with a call of each effect that matters to a witness. */
const turns: readonly (readonly (readonly EffectName[])[])[] = [
  [["read"], ["unsafe", "record"], ["idempotent"]],
  [["unsafe"], ["probed", "scratch"]],
];

export const planOf = (): Plan =>
  turns.map((steps, turn) =>
    steps.map((calls, step) =>
      calls.map((effect, call) => plannedCall(effect, `${turn + 1}.${step + 1}.${call + 1}`, "")),
    ),
  );

/** The store, and the folder of the witness. */
export interface WorkPlace {
  readonly store: string;
  readonly directory: string;
}

/** The shortest there is. */
export const leaseMs = 1_000;

interface Script {
  readonly plan: Plan;
  readonly paceMs: number;
  /** As on another machine: nobody can look whether its process is there, nor it at others. */
  readonly elsewhere?: boolean;
}

export async function engineIn(
  { store, directory }: WorkPlace,
  { plan, paceMs, elsewhere = false }: Script,
): Promise<Engine> {
  const { self, isGone, ...rest } = realWorld();
  const world = { ...rest, ...(elsewhere || self === undefined ? {} : { self, ...(isGone && { isGone }) }) };
  const script = { points: makePoints(() => undefined), witness: openWitness(directory), paceMs };
  const tools = plannedTools(script);
  return new Engine({
    store: await openPlace(store),
    world,
    leaseMs,
    models: async () => plannedModels(plan, script),
    tools: async () => makeToolSource({ world, tools }),
  });
}

/**
 * Sessions of several agents and priorities, each with the input of its first turn. Those that wait have none
 * yet, and nobody limits how many of them are run.
 */
export async function openSessions(engine: Engine, count: number, wait = false): Promise<string[]> {
  for (const [place, name] of ["a", "b", "c"].entries()) {
    const more = place === 0 && !wait ? { concurrency: 5 } : {};
    await engine.addAgent({ name, instructions: "Do as planned.", onUnknown: "tell", ...more });
  }
  const ids: string[] = [];
  for (let number = 0; number < count; number++) {
    const session = await engine.open({
      agent: ["a", "b", "c"][number % 3] ?? "a",
      objective: `Do what is planned, ${number}`,
      priority: 3 + (number % 4),
      bind: outerEffects.map((tool) => ({ kind: "tool", name: tool })),
    });
    if (!wait) await session.append(inputOf(1));
    ids.push(session.id);
  }
  return ids;
}
