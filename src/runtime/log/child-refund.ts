/**
 * Giving back: what a session has left of what another gave it returns when it ends, however it ends. Both
 * shares are in the append that closes it, so that it never returns twice, and never only half.
 */
import type { Command } from "../../core/command.ts";
import type { Returned } from "../../core/budget/commands.ts";
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
import type { Sealed } from "./seal.ts";
import { isFree } from "../read/lease-status.ts";

type Place = Pick<Deps, "store" | "world">;
type Current = (session: SessionId) => Promise<State>;

export interface Payback {
  readonly returned: Returned;
  /** Who gets something back: the one that paid, and if that is over, the one that paid for it. */
  readonly ups: readonly { readonly session: SessionId; readonly state: State; readonly command: Command }[];
}

/**
 * What the end of a session gives back; null when nothing is left, or when the one that paid cannot be
 * written to, because it was deleted, archived, or lives elsewhere.
 */
export async function paybackOf(place: Place, current: Current, state: State): Promise<Payback | null> {
  if (state.standing.payer === null) return null;
  const read = writableIn(place, current);
  const first = leftToReturn(state, await workedUntil(place, state));
  if (first === null) return null;
  const ups: { session: SessionId; state: State; command: Command }[] = [];
  let [returned, from] = [first as Returned, state.standing.session];
  for (let steps = 0; steps <= limit.childDepthMax; steps++) {
    const payer = await read(returned.to as SessionId);
    if (payer === null || !mayIn(payer.standing.status, "describe") || payer.standing.newer !== null) break;
    const passed = payer.standing.status === "closed" ? passedOn(payer, returned.amounts) : null;
    const command: Command = { do: "regain", from, amounts: returned.amounts };
    const step = { session: returned.to as SessionId, state: payer };
    const above = passed === null ? null : await read(passed.to as SessionId);
    const goesUp = passed !== null && above !== null && mayIn(above.standing.status, "describe");
    ups.push({ ...step, command: goesUp ? { ...command, returned: passed } : command });
    if (!goesUp) break;
    [from, returned] = [payer.standing.session, passed];
  }
  return ups.length === 0 ? null : { returned: first, ups };
}

/** Reads the state of a session that can be written in this store; null when there is none. */
const writableIn =
  ({ store }: Place, current: Current) =>
  async (session: SessionId): Promise<State | null> => {
    const head = await store.head(session);
    return head === undefined || head.copy === true ? null : current(session);
  };

/** Up to when it was at work, by the clock of its records: the last of them if its holder is gone, or now. */
export async function workedUntil(place: Place, { standing: { session, workedTo } }: State): Promise<number> {
  if (workedTo === null) return 0;
  const head = await place.store.head(session as SessionId);
  return isFree(place, head?.lease ?? null) ? workedTo : place.store.now();
}

interface Decided {
  readonly state: State;
  readonly command: Command;
  readonly decision: Sealed | { readonly refusal: Refusal };
}

/** Whether a change ends the session, and so may give something back. */
export const isEnding = (decision: Decided["decision"]): boolean =>
  "events" in decision && decision.events.some(({ type }) => type === "session.closed");

/**
 * A change as it was decided; if it ends the session, with what is given back, and the shares of those that
 * get it. When one of them takes nothing, nothing is given back at all.
 */
export async function withPayback(
  { state, command, decision }: Decided,
  decide: (state: State, command: Command, whole: boolean) => Decided["decision"],
  place: Place,
  current: Current,
): Promise<{ readonly decision: Decided["decision"]; readonly ups: readonly Part[] }> {
  const plain = { decision, ups: [] };
  if (!isEnding(decision)) return plain;
  const payback = await paybackOf(place, current, state);
  if (payback === null) return plain;
  const ups: Part[] = [];
  for (const { session, state: payer, command: regain } of payback.ups) {
    const sealed = decide(payer, regain, false);
    if ("refusal" in sealed) return plain;
    ups.push({ session, expect: expectAt(payer), drafts: sealed.drafts });
  }
  const { returned } = payback;
  return { decision: decide(state, { ...command, returned } as Command, true), ups };
}

/** What a session that is over passes on of what it gets back. */
function passedOn(payer: State, amounts: Amounts): Returned | null {
  const allotted = plus(payer.standing.allotted, amounts, -1);
  return leftToReturn({ ...payer, standing: { ...payer.standing, allotted } }, 0);
}
