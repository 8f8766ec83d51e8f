/**
 * What the agent's policy wants in the zone of the context, between two steps. Each action is one append with
 * its record, so that after a crash it is either done or due.
 */
import { dueZoneAction, modelHint, type ZoneAction } from "../../core/context/zone-policy.ts";
import { zoneReasons, zoneHint } from "../../core/context/zone.ts";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import { mayIn } from "../../core/session/lifecycle.ts";
import { continueRefusal } from "../../core/session/succession.ts";
import type { State } from "../../core/state.ts";
import type { Next } from "../../core/turn/next.ts";
import { readEvents } from "../read/event-reader.ts";
import { compactNow } from "./compact.ts";
import type { StepWorld } from "./step.ts";

/** The action that is due now; null with a call open, and where the next thing goes first. */
export function dueNow({ runContext, drive }: StepWorld, state: State, next: Next): ZoneAction | null {
  const { turn, status, reserved } = state.standing;
  if (runContext.model.executor !== undefined || turn?.interrupted === true) return null;
  if (reserved !== null || state.mind.calls.size > 0 || !mayIn(status, "suspend")) return null;
  const action = dueZoneAction(state.standing, runContext.rules.zones);
  if (action === "rollover") return mayRollOver(state, next, drive.lease.epoch) ? action : null;
  if (action !== "suspend") return next.next === "rest" ? null : action;
  // An answered turn ends first. A session that sleeps rests anyway.
  return next.next === "end" || status === "sleeping" ? null : action;
}

/**
 * With something to go on with: an answered turn ends first, and its session waits for the next input. What
 * would refuse it now is checked here, or the loop would try again for ever.
 */
function mayRollOver(state: State, { next }: Next, epoch: number): boolean {
  if (next !== "begin" && next !== "request") return false;
  if (state.standing.used.steps < limit.rolloverStepsMin) return false;
  return continueRefusal(state, { whole: true, epoch }) === null;
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
    case "rollover":
      return rollOver(step, state);
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

/** One append for the record, the end of this session and the next one. */
async function rollOver(step: StepWorld, state: State): Promise<void> {
  const { deps, drive } = step;
  const zone = (await reasonsOf(step, state)).join(", ");
  const because = `the context is ${state.standing.zone}${zone === "" ? "" : `: ${zone}`}`;
  try {
    const { rolloverRun } = await import("./rollover-run.ts");
    await rolloverRun(deps, drive, { because, zone });
  } catch (error) {
    const cannotBe = error instanceof SkeinError && lasting.includes(error.code);
    if (!cannotBe) throw error;
    const now = await drive.state();
    if (dueZoneAction(now.standing, step.runContext.rules.zones) !== "rollover") throw error;
    const { message } = error;
    await drive.change({ do: "zone-act", action: "rollover", outcome: "refused", text: message });
  }
}

/** Refusals that another attempt would get again: an erased objective, a project that was closed. */
const lasting: readonly string[] = ["refused", "not-found", "invalid"];

/** The causes with their figures, from the record of the crossing. */
async function reasonsOf({ deps, drive }: StepWorld, { standing }: State): Promise<readonly string[]> {
  const seq = standing.zoneCrossing?.seq ?? 0;
  for await (const { type, body } of readEvents(deps.store, drive.session, { fromSeq: seq, toSeq: seq }))
    if (type === "zone.crossed") return zoneReasons(body as Readonly<Record<string, unknown>>);
  return zoneReasons({ by: standing.zoneCauses });
}
