/** What is done when a context enters a zone: by the agent's policy, each action once. Pure. */
import type { Standing } from "../state.ts";
import type { Zone } from "./zone.ts";

/**
 * `tell-person`: an event that webhooks, the CLI and the console show. `tell-model`: a note in the context.
 * `compress`: a compaction. `rollover`: the work goes on in a new session. `suspend`: until a person
 * activates the session.
 */
export const zoneActions = ["tell-person", "tell-model", "compress", "rollover", "suspend"] as const;
export type ZoneAction = (typeof zoneActions)[number];

/** The actions of each zone, in their order. */
export interface ZonePolicy {
  readonly strained: { readonly actions: readonly ZoneAction[] };
  readonly full: { readonly actions: readonly ZoneAction[] };
}

/** Actions that a new cause in the same zone makes due again. */
const tells: readonly string[] = ["tell-person", "tell-model"] satisfies ZoneAction[];
const ranks: Readonly<Record<Zone, number>> = { smart: 0, strained: 1, full: 2 };

type Crossing = NonNullable<Standing["zoneCrossing"]>;
type ZoneStanding = Pick<Standing, "zone" | "zoneCauses" | "zoneCrossing">;

/** True when a reading differs from what the state holds: another zone, or other causes. */
export function isCrossing({ zone, zoneCauses }: ZoneStanding, now: ZoneNow): boolean {
  if (zone !== now.zone || zoneCauses.length !== now.causes.length) return true;
  return now.causes.some((cause) => !zoneCauses.includes(cause));
}

interface ZoneNow {
  readonly zone: Zone;
  readonly causes: readonly string[];
}

/**
 * The crossing after a `zone.crossed` at this position, and what is done for it already. Into a worse zone
 * everything is due; with a new cause in the same zone it is announced again; into a better one nothing is.
 */
export function crossingAfter(
  { zone, zoneCauses, zoneCrossing }: ZoneStanding,
  now: ZoneNow,
  seq: number,
): Standing["zoneCrossing"] {
  const worse = ranks[now.zone] - ranks[zone];
  if (worse > 0) return { seq, done: [] };
  if (worse < 0 || now.zone === "smart") return null;
  if (now.causes.every((cause) => zoneCauses.includes(cause))) return zoneCrossing;
  if (zoneCrossing === null) return { seq, done: [], onlyTells: true };
  return { ...zoneCrossing, seq, done: zoneCrossing.done.filter((action) => !tells.includes(action)) };
}

/** The first action that the policy wants and that is not done; null if there is none. */
export function dueZoneAction({ zone, zoneCrossing }: ZoneStanding, policy: ZonePolicy): ZoneAction | null {
  if (zone === "smart" || zoneCrossing === null) return null;
  return policy[zone].actions.find((action) => isOpen(zoneCrossing, action)) ?? null;
}

/** True when the crossing makes the action due, and it is not done. */
export const isOpen = ({ done, onlyTells }: Crossing, action: ZoneAction): boolean =>
  !done.includes(action) && (onlyTells !== true || tells.includes(action));

/** For the model: the state of its context, and what it can do. */
export function modelHint(zone: Zone, why: readonly string[]): string {
  const reasons = why.length === 0 ? "" : ` (${why.join(", ")})`;
  return (
    `the context is ${zone}${reasons}. Record what matters as items, finish or hand over the current step, ` +
    "and do not repeat what failed or was already read"
  );
}
