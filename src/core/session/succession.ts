/** Decisions of a session that goes on as another one, and what that one takes over. */
import type { CommandOf } from "../command.ts";
import {
  type Decision,
  type Decisions,
  type DraftEvent,
  accept,
  because,
  draft,
  forbidden,
  refuse,
} from "../decision.ts";
import { itemKey } from "../item/fold.ts";
import { limit } from "../limit.ts";
import { present } from "../present.ts";
import { isUnreviewed } from "../govern/review.ts";
import { count } from "../text/number-format.ts";
import { count as countOf } from "../range.ts";
import type { State } from "../state.ts";
import { endTurn, inputDraft } from "../turn/drafts.ts";
import { actedDraft, isZoneActionOpen } from "../turn/zone-drafts.ts";
import type { CopiedItem, OpenRequest, Succession, TakenInput } from "./commands.ts";

/** Why a session cannot go on as another one now; null if it can. */
export function continueRefusal(
  state: State,
  { whole, epoch }: { readonly whole: boolean; readonly epoch?: number | undefined },
): Decision | null {
  const { status, why, inbox } = state.standing;
  const waiting = countOf(inbox.waiting);
  if (waiting > limit.successionInputsMax) {
    const most = count(limit.successionInputsMax);
    return refuse(
      "refused",
      `${count(waiting)} inputs wait, and at most ${most} go over`,
      "run the session first",
    );
  }
  const refusal = forbidden(state, "continue", whole ? "be rolled over" : "be cleared");
  if (refusal !== null) return refusal;
  if (status === "running" && epoch === undefined)
    return refuse(
      "conflict",
      "a turn is in progress",
      'wait until it ends, or interrupt it: "skein interrupt ID"',
    );
  if (!whole) return null;
  const open = openCall(state);
  if (open !== null) return refuse("conflict", `rollover: ${open} is open`, "settle or answer it first");
  if (status !== "suspended") return null;
  const by = why?.by ?? "";
  // A new context is in its best zone.
  const may = by === "zone" || carriedStops.some((one) => one === by);
  if (may && !isUnreviewed(state)) return null;
  return refuse(
    "refused",
    `the session is suspended (${by || "no reason"})`,
    'activate it first: "skein activate ID"',
  );
}

/** Suspensions that go over; the others are about the log itself, or wait for an answer. */
const carriedStops = ["person", "budget", "error"] as const;

export const carriedStop = ({ standing: { status, why } }: State): (typeof carriedStops)[number] | null =>
  status === "suspended" ? (carriedStops.find((by) => by === why?.by) ?? null) : null;

function openCall({ mind, standing: { reserved } }: State): string | null {
  const [call] = mind.calls.keys();
  if (call !== undefined) return `call ${call}`;
  return reserved === null ? null : `a call of ${reserved.model}`;
}

export const successionDecisions: Decisions<"continue" | "point" | "split"> = {
  split: (state, { to, items, inputs, objective, reason }) => {
    const body = { to, items: [...items], inputs: [...inputs] };
    return (
      forbidden(state, "describe", "be split") ??
      accept(draft("session.split", body, present({ objective, reason })))
    );
  },
  continue: (state, command, { digest }) =>
    continueRefusal(state, command) ??
    zoneRefusal(state, command) ??
    accept(...continueDrafts(state, command, digest)),
  point: (state, { to }) => {
    if (state.standing.next === null) return refuse("conflict", "the session did not go on elsewhere");
    return forbidden(state, "govern", "go on elsewhere") ?? accept(draft("session.continued", { to }));
  },
};

function zoneRefusal(state: State, { zone }: CommandOf<"continue">): Decision | null {
  if (zone === undefined || isZoneActionOpen(state, "rollover")) return null;
  return refuse("conflict", "rollover: it was done already, or the context left the zone");
}

function continueDrafts(
  state: State,
  { to, reason, handoff, handedOver, whole, epoch, zone }: CommandOf<"continue">,
  digest: Parameters<typeof endTurn>[1],
): readonly DraftEvent[] {
  const { text, ...about } = handoff ?? { text: "" };
  const written = handoff === undefined ? [] : [draft("handoff.written", present(about) as never, { text })];
  const acted = zone === undefined ? [] : [actedDraft(state, "rollover", { text: zone })];
  const now = { ...state, seq: state.seq + acted.length + written.length };
  const { triggers, limits } = handedOver;
  return [
    ...acted,
    ...written,
    ...endTurn(now, digest, whole ? "completed" : "cancelled"),
    ...triggers.map((name) => draft("trigger.removed", { name })),
    ...(limits === undefined ? [] : [draft("budget.set", { limits })]),
    draft("session.closed", { outcome: "completed" }, because(reason)),
    // Last, so that the last of these records says what became of the session.
    draft("session.continued", { to }),
    ...(epoch === undefined ? [] : [draft("lease.released", { epoch })]),
  ];
}

/** What a successor takes over, after what it is opened with. `seq`: the position of the first of these. */
export function takenDrafts(takes: Succession | undefined, seq: number): readonly DraftEvent[] {
  if (takes === undefined) return [];
  const { contracts, holds, items, requests, inputs, goesOn, sleep, suspended } = takes;
  const first =
    goesOn === undefined ? [] : [inputDraft({ type: "input.received", from: "system", text: goesOn }, 1)];
  return [
    ...contracts.map(({ schema, ...body }) => draft("contract.declared", body, { schema: schema as never })),
    ...holds.map(({ name, reason }) => draft("hold.set", { name }, because(reason))),
    ...itemDrafts(items, seq + contracts.length + holds.length),
    ...first,
    ...inputs.map((one, place) => takenInput(one, first.length + place + 1)),
    ...requests.map(requestDraft),
    ...(sleep === undefined
      ? []
      : [
          draft(
            "session.slept",
            present({ untilMs: sleep.untilMs ?? undefined, triggers: [...sleep.triggers] }),
          ),
        ]),
    ...(suspended === undefined
      ? []
      : [draft("session.suspended", { by: suspended.by }, because(suspended.reason))]),
  ];
}

/** Each with its pin, if it has one. `seq`: the position of the first. */
export function itemDrafts(items: readonly CopiedItem[], seq: number): readonly DraftEvent[] {
  const drafts: DraftEvent[] = [];
  const seen = new Set<string>();
  for (const { kind, key, value, because: why, status, confidence, evidence, origin, isPinned } of items) {
    if (seen.has(itemKey(kind, key))) continue;
    seen.add(itemKey(kind, key));
    const body = present({ kind, key, status, confidence, origin });
    const content = present({ value, because: why, evidence: evidence && [...evidence] });
    const item = seq + drafts.length;
    drafts.push(draft("item.recorded", body, content as never));
    if (isPinned) drafts.push(draft("item.pinned", { kind, key, item }));
  }
  return drafts;
}

const takenInput = ({ type, actor, body, content }: TakenInput, input: number): DraftEvent => ({
  type,
  actor,
  body: { ...body, input },
  content,
});

function requestDraft({ place, ...body }: OpenRequest): DraftEvent {
  return draft("request.inherited", present(body), place === undefined ? undefined : { place });
}
