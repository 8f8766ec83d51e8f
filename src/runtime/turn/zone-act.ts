/**
 * What the agent's policy wants in the zone of the context, between two steps. Each action is one append with
 * its record, so that after a crash it is either done or due.
 */
import { dueZoneAction, modelHint, type ZoneAction } from "../../core/context/zone-policy.ts";
import { zoneReasons, zoneHint } from "../../core/context/zone.ts";
import { mayIn } from "../../core/session/lifecycle.ts";
import type { State } from "../../core/state.ts";
import type { Next } from "../../core/turn/next.ts";
import { readEvents } from "../read/event-reader.ts";
import { compactNow } from "./compact.ts";
import type { StepWorld } from "./step.ts";

/** The action that is due now; null with a call open, and where the next thing goes first. */
export function dueNow({ runContext }: StepWorld, state: State, next: Next): ZoneAction | null {
  const { turn, status, reserved } = state.standing;
  if (runContext.model.executor !== undefined || turn?.interrupted === true) return null;
  if (reserved !== null || state.mind.calls.size > 0 || !mayIn(status, "suspend")) return null;
  const action = dueZoneAction(state.standing, runContext.rules.zones);
  if (action !== "suspend") return next.next === "rest" ? null : action;
  // An answered turn ends first. A session that sleeps rests anyway.
  return next.next === "end" || status === "sleeping" ? null : action;
}

export async function actOnZone(step: StepWorld, state: State, action: ZoneAction): Promise<void> {
  const { drive } = step;
  const act = { do: "zone-act", action } as const;
  switch (action) {
    case "tell-person":
      await drive.change({ ...act, text: (await reasonsOf(step, state)).join(", ") });
      return;
    case "tell-model": {
      const text = modelHint(state.standing.zone, await reasonsOf(step, state));
      await drive.change({ ...act, text });
      return;
    }
    case "suspend": {
      const reason = zoneHint(state.standing.zone, await reasonsOf(step, state));
      await drive.change({ ...act, reason });
      return;
    }
    case "compress": {
      // Records the action itself; unless nothing was compacted.
      await compactNow({ ...step, byPolicy: true }, { reason: "policy" });
      const now = await drive.state();
      const isOpen = dueZoneAction(now.standing, step.runContext.rules.zones) === action;
      if (isOpen && mayIn(now.standing.status, "suspend") && now.standing.turn?.interrupted !== true)
        await drive.change({ ...act, outcome: "nothing" });
    }
  }
}

/** The causes with their figures, from the record of the crossing. */
async function reasonsOf({ deps, drive }: StepWorld, { standing }: State): Promise<readonly string[]> {
  const seq = standing.zoneCrossing?.seq ?? 0;
  for await (const { type, body } of readEvents(deps.store, drive.session, { fromSeq: seq, toSeq: seq }))
    if (type === "zone.crossed") return zoneReasons(body as Readonly<Record<string, unknown>>);
  return zoneReasons({ by: standing.zoneCauses });
}
