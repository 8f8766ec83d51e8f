/** Where a crash test of turns takes place: one store, a session with its plan, and who goes on with it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SkeinError } from "../../src/core/error.ts";
import { makeWorkspaceId } from "../../src/core/ids.ts";
import { Engine } from "../../src/runtime/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { sqliteStore } from "../../src/store/sqlite.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { makePoints, pointedStore } from "./turn-point.ts";
import { inputOf, outerEffects, plannedModels, plannedTools, type Pace, type Plan } from "./turn-script.ts";
import { openWitness } from "./turn-witness.ts";

export interface Place {
  readonly directory: string;
  readonly session: string;
  /** The session that messages are sent to. */
  readonly receiver: string;
  readonly plan: Plan;
}

export interface Runner extends Partial<Pace> {
  readonly holder: string;
  /** Told every point that is passed. */
  readonly reached?: (name: string) => void;
}

/** The shortest lease there is, so that nobody waits long for the dead. */
const leaseMs = 1_000;

/** The same engine in every process: only the holder's name and what happens at the points differ. */
export async function engineAt(place: Pick<Place, "directory" | "plan">, runner: Runner): Promise<Engine> {
  const { holder, reached = () => undefined, paceMs = 0, ...pace } = runner;
  const world = realWorld();
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const path = join(place.directory, "skein.db");
  // Processes are killed here, not machines.
  const store = await sqliteStore({ path, world, workspace, durability: "process" });
  const points = makePoints(reached);
  const script = { points, witness: openWitness(place.directory), paceMs, ...pace };
  const tools = plannedTools(script);
  return new Engine({
    store: pointedStore(store, points),
    world,
    holder,
    leaseMs,
    models: async () => plannedModels(place.plan, script),
    tools: async () => makeToolSource({ world, tools }),
  });
}

export interface PrepareOptions {
  readonly name: string;
  readonly plan: (receiver: string) => Plan;
  readonly onUnknown?: "ask" | "tell";
}

/** A session that has been given all its input and has not run yet. */
export async function prepare({ name, plan, onUnknown = "ask" }: PrepareOptions): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), `skein-turn-${name.replace(/[^a-z0-9]+/gi, "-")}-`));
  await using engine = await engineAt({ directory, plan: [] }, { holder: "the test" });
  await engine.addAgent({ name: "doer", instructions: "Do as planned.", onUnknown });
  const receiver = await engine.open({ objective: "Take messages" });
  const session = await engine.open({
    agent: "doer",
    objective: "Do what is planned",
    bind: outerEffects.map((tool) => ({ kind: "tool", name: tool })),
    budget: { usd: 100, tokens: 10_000_000, toolCalls: 10_000 },
  });
  const turns = plan(receiver.id);
  await session.append(inputOf(1));
  return { directory, session: session.id, receiver: receiver.id, plan: turns };
}

export const clear = ({ directory }: Place): Promise<void> => rm(directory, { recursive: true, force: true });

/** How often a session stood still because of an unknown outcome, until it was idle. */
export interface Finished {
  readonly unknowns: number;
}

/**
 * Runs the session to the end of its plan: waits for leases to run out, gives each turn its input, and
 * answers when the outcome of a call is unknown. Any process may do it, and any may go on with it.
 */
export async function finish(engine: Engine, place: Place, forMs = 60_000): Promise<Finished> {
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
      } else if (ran.status === "suspended" && ran.by === "error") {
        const { why } = await session.state();
        if (!/in vain$/.test(why?.reason ?? "")) throw new Error(`suspended: ${why?.reason}`);
        await session.answer({ allow: true });
      } else {
        const { standing } = await session.fold();
        const { lastTurn, turn, inbox, status } = standing;
        if (status !== "open" || turn !== null || inbox.waiting.length > 0) continue;
        if (lastTurn >= place.plan.length) return { unknowns };
        await session.append(inputOf(lastTurn + 1), { key: inputOf(lastTurn + 1) });
      }
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
      await sleep(30);
    }
  }
}
