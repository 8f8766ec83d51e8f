/**
 * Follow-ups: further commands in the same append, each decided on the state after the previous one. All of
 * them are written or none, so that a crash finds no state in between.
 */
import type { Command } from "../../core/command.ts";
import type { DraftEvent, Refusal } from "../../core/decision.ts";
import { trustEvent } from "../../core/event.ts";
import { fold } from "../../core/fold.ts";
import type { LogId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Part } from "../../store/port.ts";
import type { SealedDrafts } from "./seal.ts";
import { noRecall, recordOf } from "./writer-errors.ts";

export interface FollowUp {
  readonly command: Command;
  /** Defaults to the actor of the change. */
  readonly actor?: string;
}

/** Returns the next follow-up; null ends the append. Called again after each one. */
export type NextFollowUp = (state: State) => FollowUp | null | Promise<FollowUp | null>;

export interface FollowUpDecision {
  readonly decision: SealedDrafts | { readonly refusal: Refusal };
  /** Refunds to paying sessions. */
  readonly refunds: readonly Part[];
}

/** A change with its follow-ups. A refused follow-up is left out: it is retried on its own. */
export async function withFollowUps(
  session: LogId,
  state: State,
  first: { readonly decision: SealedDrafts; readonly refunds: readonly Part[] },
  how: {
    readonly next: NextFollowUp;
    readonly decide: (state: State, followUp: FollowUp) => Promise<FollowUpDecision>;
  },
): Promise<FollowUpDecision> {
  let { decision, refunds } = first;
  let between = foldDrafts(session, state, decision);
  for (;;) {
    const followUp = await how.next(between);
    if (followUp === null) return { decision, refunds };
    const more = await how.decide(between, followUp);
    if ("refusal" in more.decision) return { decision, refunds };
    between = foldDrafts(session, between, more.decision);
    decision = join(decision, more.decision);
    refunds = [...refunds, ...more.refunds];
  }
}

/** The lease that the events of an append take or release. */
export function leaseMove(events: readonly DraftEvent[]): Part["lease"] {
  for (const { type, body } of events) {
    if (type === "lease.released") return "release";
    if (type === "lease.taken") return body as { readonly holder: string; readonly leaseMs: number };
  }
  return undefined;
}

/** The state after drafts. Their time is not known yet: running time counts up to the record before. */
function foldDrafts(session: LogId, state: State, { drafts }: SealedDrafts): State {
  return drafts.reduce((before, draft) => {
    const record = recordOf(session, draft, { seq: before.seq + 1, at: before.at, hash: "" });
    return fold(before, trustEvent(record), noRecall);
  }, state);
}

/** Only the first draft of an append carries the key by which a lost answer is found. */
const join = (first: SealedDrafts, more: SealedDrafts): SealedDrafts => ({
  drafts: [...first.drafts, ...more.drafts.map((draft) => ({ ...draft, key: null }))],
  blobs: [...first.blobs, ...more.blobs],
  events: [...first.events, ...more.events],
  redacted: first.redacted || more.redacted,
});
