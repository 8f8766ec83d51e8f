/**
 * Money in the logs, held against what the simulated provider charged. What is confirmed and what is not are
 * checked apart: confirmed money never goes down; an upper bound goes down only when the call that it stands
 * for is settled; and both together cover every charge, of each call and of the whole session.
 */
import type { StoredRecord } from "../../src/core/chain.ts";
import type { SessionId } from "../../src/core/ids.ts";
import type { Amounts, State } from "../../src/core/state.ts";
import type { Charge, Witness } from "./witness.ts";

type Blame = (text: string) => void;

const both = ["tokens", "nanoUsd"] as const;
const limited = [...both, "steps", "turns", "toolCalls"] as const;

export function judgeMoney(
  session: SessionId,
  states: readonly State[],
  records: readonly StoredRecord[],
  { charges, calls }: Pick<Witness, "charges" | "calls">,
  blame: Blame,
): void {
  for (const record of records) {
    const { seq, type } = record;
    if (type === "session.forked") continue;
    const wrong: Blame = (text) => blame(`@${seq}: ${text}`);
    const [before, after] = [states[seq - 1]!, states[seq]!];
    judgeLimits(after, type, wrong);
    judgeUse(before, after, type, wrong);
    judgeBounds(before, after, record, wrong);
  }
  judgeCalls(session, records, calls, blame);
  const last = states.at(-1)!.standing;
  const charge = charges.get(session) ?? { tokens: 0, nanoUsd: 0 };
  for (const name of both) {
    const covered = last.used[name] + (last.reserved?.amounts[name] ?? 0);
    if (covered < charge[name]) blame(`: ${covered} ${name} cover a charge of ${charge[name]}`);
  }
}

/** Nothing is begun that the budget has no room for. */
function judgeLimits({ standing }: State, type: string, blame: Blame): void {
  if (type !== "turn.started" && type !== "model.requested" && type !== "tool.started") return;
  const { limits, used, reserved, allotted } = standing;
  for (const name of limited) {
    const spent = used[name] + allotted[name] + (reserved?.amounts[name] ?? 0);
    if (spent > (limits[name] ?? Infinity)) blame(`${type} with ${spent} ${name} of ${limits[name]}`);
  }
}

/** Use stays within its limit, and what is confirmed of it never goes down. */
function judgeUse(before: State, after: State, type: string, blame: Blame): void {
  const { limits, used, reserved: now } = after.standing;
  const { used: had, reserved } = before.standing;
  for (const name of limited) {
    // Beyond the limit by one call at most: what was set aside for it may not have been enough.
    const most = (limits[name] ?? Infinity) + ((reserved ?? now)?.amounts[name] ?? 0);
    if (used[name] > Math.max(had[name], most))
      blame(`${type} takes ${name} to ${used[name]}, and ${limits[name]} is the limit`);
  }
  const [was, is] = [confirmedOf(before), confirmedOf(after)];
  for (const [name, amount] of Object.entries(was)) {
    const left = is[name as keyof typeof is];
    if (left < amount) blame(`${type} takes confirmed ${name} from ${amount} down to ${left}`);
  }
}

/** Without the upper bound of calls that no provider confirmed, which goes down when they are settled. */
function confirmedOf({ standing: { used, calls } }: State): State["standing"]["used"] {
  const tokens = used.tokens - calls.unconfirmedTokens;
  return { ...used, tokens, nanoUsd: used.nanoUsd - calls.unconfirmedNanoUsd };
}

const boundsOf = ({ standing: { calls } }: State): Charge => ({
  tokens: calls.unconfirmedTokens,
  nanoUsd: calls.unconfirmedNanoUsd,
});

interface Settled {
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  readonly costNanoUsd?: number | null;
  readonly unconfirmed?: Amounts;
  readonly released?: Amounts;
}

/**
 * A bound changes by what a failed call says, or by the reservation of a call that was lost; by nothing else.
 * So a reservation counts only while its call is open or was lost, and is given back once.
 */
function judgeBounds(before: State, after: State, { type, body }: StoredRecord, blame: Blame): void {
  const [was, is] = [boundsOf(before), boundsOf(after)];
  const { reserved } = before.standing;
  const isLost = reserved !== null && after.standing.reserved?.seq !== reserved.seq;
  for (const name of both) {
    let by = 0;
    if (type === "model.failed") {
      const { unconfirmed, released } = JSON.parse(body) as Settled;
      by = (unconfirmed?.[name] ?? 0) - (released?.[name] ?? 0);
    } else if (isLost && !settling.has(type)) by = reserved.amounts[name] ?? 0;
    if (is[name] !== was[name] + by || is[name] < 0)
      blame(`${type} takes unconfirmed ${name} from ${was[name]} to ${is[name]} instead of by ${by}`);
  }
}

/** Settle a call by what the provider reported at its end. */
const settling: ReadonlySet<string> = new Set(["model.responded", "transcript.compacted", "handoff.written"]);

/**
 * An answer is counted as it was charged. A call that came to nothing is counted, with its bound, as no less
 * than it was charged, and as no more than was reserved for it.
 */
function judgeCalls(
  session: SessionId,
  records: readonly StoredRecord[],
  calls: ReadonlyMap<string, Charge>,
  blame: Blame,
): void {
  const reserved = new Map<number, Amounts>();
  const failed = new Map<number, StoredRecord>();
  for (const record of records) {
    const { type, body, cause, seq, session: owner } = record;
    // What a fork shares is judged with its parent.
    if (owner !== session) continue;
    if (type === "model.requested") reserved.set(seq, (JSON.parse(body) as { reserved: Amounts }).reserved);
    if (cause === null) continue;
    if (type === "model.failed") failed.set(cause, record);
    if (type !== "model.responded") continue;
    const [counted, charge] = [countedOf(body).known, calls.get(`${session} ${cause}`)];
    if (counted.tokens !== charge?.tokens || counted.nanoUsd !== charge.nanoUsd)
      blame(`@${seq}: counts ${JSON.stringify(counted)} for a charge of ${JSON.stringify(charge)}`);
  }
  for (const [cause, { seq, body }] of failed) {
    const { known, bound } = countedOf(body);
    const charge = calls.get(`${session} ${cause}`) ?? { tokens: 0, nanoUsd: 0 };
    for (const name of both) {
      const counted = known[name] + bound[name];
      if (counted < charge[name])
        blame(`@${seq}: counts ${known[name]} and up to ${bound[name]} ${name}, charged ${charge[name]}`);
      if (counted > (reserved.get(cause)?.[name] ?? Infinity))
        blame(`@${seq}: counts ${counted} ${name}, more than were reserved at ${cause}`);
    }
  }
}

function countedOf(body: string): { readonly known: Charge; readonly bound: Charge } {
  const { usage, costNanoUsd, unconfirmed } = JSON.parse(body) as Settled;
  return {
    known: { tokens: (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0), nanoUsd: costNanoUsd ?? 0 },
    bound: { tokens: unconfirmed?.tokens ?? 0, nanoUsd: unconfirmed?.nanoUsd ?? 0 },
  };
}
