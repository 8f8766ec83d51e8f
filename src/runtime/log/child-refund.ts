/**
 * Refunds: when a session ends, however it ends, the rest of a budget that another session gave it returns.
 * Both parts are in the append that closes it, so that nothing returns twice or only half.
 */
import type { Command } from "../../core/command.ts";
import type { Refund } from "../../core/budget/commands.ts";
import { plus } from "../../core/budget/fold.ts";
import { leftToReturn } from "../../core/budget/budget.ts";
import type { Refusal } from "../../core/decision.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { mayIn } from "../../core/session/lifecycle.ts";
import type { Amounts, State } from "../../core/state.ts";
import type { Part } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { expectAt } from "../read/known-heads.ts";
import { liveSession } from "../read/successor.ts";
import type { SealedDrafts } from "./seal.ts";
import { isFree } from "../read/lease-status.ts";

type RefundDeps = Pick<Deps, "store" | "world">;
type Current = (session: SessionId) => Promise<State>;

export interface Payback {
  readonly returned: Refund;
  /** The sessions that get a refund: the payer, and if that one has ended, its payer. */
  readonly refunds: readonly {
    readonly session: SessionId;
    readonly state: State;
    readonly command: Command;
  }[];
}

/**
 * The refund at the end of a session; null when nothing is left, or when the payer cannot be written to,
 * because it was deleted, archived, or lives elsewhere.
 */
export async function paybackOf(place: RefundDeps, current: Current, state: State): Promise<Payback | null> {
  if (state.standing.payer === null) return null;
  const read = writableIn(place, current);
  const first = leftToReturn(state, await workedUntil(place, state));
  if (first === null) return null;
  const refunds: { session: SessionId; state: State; command: Command }[] = [];
  let [returned, from] = [first as Refund, state.standing.session];
  for (let steps = 0; steps <= limit.childDepthMax; steps++) {
    const to = await liveOf(place, current, returned.to as SessionId);
    const payer = await read(to);
    if (payer === null || !mayIn(payer.standing.status, "describe") || payer.standing.newer !== null) break;
    const passed = payer.standing.status === "closed" ? passedOn(payer, returned.amounts) : null;
    const command: Command = { do: "regain", from, amounts: returned.amounts };
    const step = { session: to, state: payer };
    const above = passed === null ? null : await read(passed.to as SessionId);
    const goesUp = passed !== null && above !== null && mayIn(above.standing.status, "describe");
    refunds.push({ ...step, command: goesUp ? { ...command, returned: passed } : command });
    if (!goesUp) break;
    [from, returned] = [payer.standing.session, passed];
  }
  return refunds.length === 0 ? null : { returned: first, refunds };
}

/** The payer, or the session that it went on as. */
async function liveOf(place: RefundDeps, current: Current, payer: SessionId): Promise<SessionId> {
  const head = await place.store.head(payer);
  if (head === undefined || head.copy === true) return payer;
  return liveSession({ store: place.store, writer: { current } }, payer).catch(() => payer);
}

/** Reads the state of a session that this store can write; null otherwise. */
const writableIn =
  ({ store }: RefundDeps, current: Current) =>
  async (session: SessionId): Promise<State | null> => {
    const head = await store.head(session);
    return head === undefined || head.copy === true ? null : current(session);
  };

/**
 * The end of its running time, by the clock of its records: the last of them if its holder is gone, or now.
 */
export async function workedUntil(
  place: RefundDeps,
  { standing: { session, workedTo } }: State,
): Promise<number> {
  if (workedTo === null) return 0;
  const head = await place.store.head(session as SessionId);
  return isFree(place, head?.lease ?? null) ? workedTo : place.store.now();
}

interface RefundDecision {
  readonly state: State;
  readonly command: Command;
  readonly decision: SealedDrafts | { readonly refusal: Refusal };
}

/** True when a change ends the session, and so may refund something. */
export const isEnding = (decision: RefundDecision["decision"]): boolean =>
  "events" in decision && decision.events.some(({ type }) => type === "session.closed");

/**
 * A decided change; if it ends the session, with the refund and the parts of its receivers. When one of them
 * refuses, nothing is refunded at all.
 */
export async function withPayback(
  { state, command, decision }: RefundDecision,
  decide: (state: State, command: Command, whole: boolean) => RefundDecision["decision"],
  place: RefundDeps,
  current: Current,
): Promise<{ readonly decision: RefundDecision["decision"]; readonly refunds: readonly Part[] }> {
  const plain = { decision, refunds: [] };
  if (!isEnding(decision)) return plain;
  const payback = await paybackOf(place, current, state);
  if (payback === null) return plain;
  const refunds: Part[] = [];
  for (const { session, state: payer, command: regain } of payback.refunds) {
    const sealed = decide(payer, regain, false);
    if ("refusal" in sealed) return plain;
    refunds.push({ session, expect: expectAt(payer), drafts: sealed.drafts });
  }
  const { returned } = payback;
  return { decision: decide(state, { ...command, returned } as Command, true), refunds };
}

/** The part of a refund that an ended session passes on to its payer. */
function passedOn(payer: State, amounts: Amounts): Refund | null {
  const allotted = plus(payer.standing.allotted, amounts, -1);
  return leftToReturn({ ...payer, standing: { ...payer.standing, allotted } }, 0);
}
