/** Decisions on the zone of the context: its crossings, and what is done about them. */
import type { CommandOf } from "../command.ts";
import { crossingAfter, isCrossing, isOpen, type ZoneAction } from "../context/zone-policy.ts";
import { zoneReasons } from "../context/zone.ts";
import { type Decision, type DraftEvent, accept, because, draft, forbidden, refuse } from "../decision.ts";
import { present } from "../present.ts";
import type { State } from "../state.ts";
import type { ZoneChange } from "./commands.ts";
import { causedBy, inTurn } from "./drafts.ts";

/**
 * The crossing, if the zone or its causes differ, and the notice for a person. `after`: how many records
 * of the same append stand before it.
 */
export function zoneDrafts(
  state: State,
  change: ZoneChange | undefined,
  after: number,
): readonly DraftEvent[] {
  if (change === undefined) return [];
  const { zone, by: causes = [], turns, ageMs, policy, ...body } = change;
  if (!isCrossing(state.standing, { zone, causes })) return [];
  const cause = causes.length === 0 ? {} : present({ by: [...causes], turns, ageMs });
  const crossed = draft("zone.crossed", { zone, ...body, ...cause }, undefined, inTurn(state));
  const seq = state.seq + after + 1;
  const zoneCrossing = crossingAfter(state.standing, { zone, causes }, seq);
  const standing = { ...state.standing, zone, zoneCauses: causes, zoneCrossing };
  const isTold =
    zone !== "smart" &&
    policy?.[zone].actions.includes("tell-person") === true &&
    zoneCrossing !== null &&
    isOpen(zoneCrossing, "tell-person");
  if (!isTold) return [crossed];
  const text = zoneReasons({ ...change }).join(", ");
  return [crossed, actedDraft({ ...state, standing }, "tell-person", text === "" ? {} : { text })];
}

/** True when it was not done since the context entered its zone. */
export const isZoneActionOpen = ({ standing: { zone, zoneCrossing } }: State, action: ZoneAction): boolean =>
  zone !== "smart" && zoneCrossing !== null && isOpen(zoneCrossing, action);

export function actedDraft(
  state: State,
  action: ZoneAction,
  { outcome, text }: { readonly outcome?: string | undefined; readonly text?: string | undefined } = {},
): DraftEvent {
  const { zone, zoneCauses, zoneCrossing } = state.standing;
  const by = zoneCauses.length === 0 ? {} : { by: [...zoneCauses] };
  const body = { action, zone: zone === "full" ? zone : "strained", ...by, ...present({ outcome }) } as const;
  const content = text === undefined ? undefined : { text };
  return draft("zone.acted", body, content, { ...inTurn(state), ...causedBy(zoneCrossing?.seq) });
}

export function actOnZone(state: State, { action, outcome, text, reason }: CommandOf<"zone-act">): Decision {
  const refusal = forbidden(state, action === "suspend" ? "suspend" : "compact", "act on its zone");
  if (refusal !== null) return refusal;
  if (!isZoneActionOpen(state, action))
    return refuse("conflict", `zone: ${action} was done already, or the context left the zone`);
  if (state.mind.calls.size > 0)
    return refuse("refused", `zone: ${state.mind.calls.size} calls have no outcome yet`, "settle them first");
  const acted = actedDraft(state, action, { outcome, text });
  if (action !== "suspend") return accept(acted);
  const on = [state.seq + 1];
  return accept(acted, draft("session.suspended", { by: "zone", on }, because(reason), inTurn(state)));
}
