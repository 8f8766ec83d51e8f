/**
 * Money and tokens of model calls. This is the one definition: the fold, the budget, lists, reports, the SQL
 * views (src/store/…/views) and the metrics all follow it.
 *
 * `model.requested`, or `proxy.requested` for another program, opens a call and reserves the most it can
 * cost; the record that ends the call settles it. What a provider reported, or Skein counted, is spent. An
 * unconfirmed amount is an upper bound on top: the whole reservation while a call is open or after a crash;
 * after an interrupt, hidden reasoning and output that was generated but not yet streamed. A budget counts
 * both. An unknown price is not zero.
 */
import { limit } from "../limit.ts";
import { costOf, type TokenPrice, type PricedUsage } from "./price.ts";
import type { Amounts, State } from "../state.ts";
import { addSpend, noSpend, type Spend } from "../text/money.ts";

export { addSpend, moneyText, noSpend, spendText, type Spend } from "../text/money.ts";

/** The types of records that open or settle a call. */
export const callTypes = [
  "model.requested",
  "model.responded",
  "model.failed",
  "transcript.compacted",
  "handoff.written",
  "proxy.requested",
  "proxy.responded",
  "proxy.failed",
] as const;
export type CallType = (typeof callTypes)[number];
/** Opens a call. The other types settle one. */
export type OpeningType = "model.requested" | "proxy.requested";
export type SettlingType = Exclude<CallType, OpeningType>;

export const isOpening = (type: string): type is OpeningType =>
  type === "model.requested" || type === "proxy.requested";
/** A record that settles a call without a whole answer. */
export const isFailure = (type: string): boolean => type === "model.failed" || type === "proxy.failed";

/** The fields of such a record that hold money and tokens. */
export interface CallBody {
  readonly usage?:
    | {
        readonly inputTokens: number;
        readonly outputTokens: number;
        readonly estimated?: boolean | undefined;
      }
    | undefined;
  readonly costNanoUsd?: number | null | undefined;
  readonly unconfirmed?: Amounts | undefined;
  readonly released?: Amounts | undefined;
}

/**
 * What the record that settles a call adds. Null for a record that settles none: a compaction or handoff
 * without a model. Up to 0.4 a failed call of unknown cost did not record an upper bound: the
 * reservation of the request counts.
 */
export function settledSpend(type: SettlingType, body: CallBody, reserved: Amounts | null): Spend | null {
  const { usage, costNanoUsd = null, unconfirmed, released } = body;
  if (!isFailure(type)) {
    if (usage === undefined) return null;
    const isUnknown = costNanoUsd === null && unconfirmed?.nanoUsd === undefined;
    const known = confirmed(usage, isUnknown ? null : (costNanoUsd ?? 0));
    return unconfirmed === undefined ? known : addSpend(known, boundOf(unconfirmed, 1));
  }
  if (released !== undefined) return corrected(body, released);
  if (unconfirmed === undefined)
    return costNanoUsd === null ? openSpend(reserved ?? {}) : confirmed(usage, costNanoUsd);
  const known = confirmed(usage, costNanoUsd ?? (unconfirmed.nanoUsd === undefined ? null : 0));
  return addSpend(known, boundOf(unconfirmed, 1));
}

/** An open or lost call: only the most it can have cost is known. */
export const openSpend = (reserved: Amounts): Spend => ({
  ...boundOf(reserved, 1),
  calls: 1,
  unpriced: reserved.nanoUsd === undefined ? 1 : 0,
});

const boundOf = ({ tokens = 0, nanoUsd = 0 }: Amounts, sign: 1 | -1): Spend => ({
  ...noSpend,
  unconfirmedTokens: sign * tokens,
  unconfirmedNanoUsd: sign * nanoUsd,
});

const confirmed = (usage: CallBody["usage"], costNanoUsd: number | null): Spend => ({
  ...noSpend,
  calls: 1,
  inputTokens: usage?.inputTokens ?? 0,
  outputTokens: usage?.outputTokens ?? 0,
  nanoUsd: costNanoUsd ?? 0,
  unpriced: costNanoUsd === null ? 1 : 0,
  estimated: usage?.estimated === true ? 1 : 0,
});

/** A lost call whose cost became known later. It already counted as a call. */
function corrected({ usage, costNanoUsd, unconfirmed = {} }: CallBody, released: Amounts): Spend {
  const known = { ...confirmed(usage, costNanoUsd ?? 0), calls: 0 };
  return addSpend(known, addSpend(boundOf(released, -1), boundOf(unconfirmed, 1)));
}

/** What a session has spent, including the open call. */
export function spendOf({ standing }: Pick<State, "standing">): Spend {
  const { used, unpriced, calls, reserved } = standing;
  const settled: Spend = { ...calls, unpriced, nanoUsd: used.nanoUsd - calls.unconfirmedNanoUsd };
  return reserved === null ? settled : addSpend(settled, openSpend(reserved.amounts));
}

/** What is known of a broken or interrupted call. */
export interface BrokenCall {
  readonly price: TokenPrice | null;
  /** The reservation of the request: the most the call can have used. */
  readonly reserved: Amounts;
  /** The tokens of the context as Skein counted them. */
  readonly inputTokens: number;
  /** The last usage that the provider reported; null when it reported none. */
  readonly reported: PricedUsage | null;
  /** The streamed tokens as Skein counted them. */
  readonly streamedTokens: number;
  /** The model may have produced output that was not streamed. */
  readonly hidden: boolean;
  /** Since the last part of the stream, or since the request. */
  readonly silentMs: number;
}

export interface BrokenSettlement {
  readonly usage: PricedUsage & { readonly estimated: true };
  readonly costNanoUsd: number | null;
  readonly unconfirmed: { readonly tokens: number; readonly nanoUsd?: number };
}

/**
 * Settles a broken call: input as reported or counted; output as reported or streamed, whichever is more.
 * Anything else the model can have generated stays unconfirmed, up to the reservation.
 */
export function settleBroken(call: BrokenCall): BrokenSettlement {
  const { price, reserved, reported, streamedTokens } = call;
  const outputTokens = Math.max(reported?.outputTokens ?? 0, streamedTokens);
  const usage = {
    ...(reported ?? { inputTokens: call.inputTokens }),
    outputTokens,
    estimated: true,
  } as const;
  const costNanoUsd = costOf(price, usage);
  const room = Math.max(0, (reserved.tokens ?? 0) - call.inputTokens - outputTokens);
  const tokens = Math.min(room, call.hidden ? Infinity : unseenTokens(call, outputTokens));
  if (costNanoUsd === null || price === null) return { usage, costNanoUsd, unconfirmed: { tokens } };
  const most = costOf(price, { inputTokens: 0, outputTokens: tokens }) ?? 0;
  return { usage, costNanoUsd, unconfirmed: { tokens, nanoUsd: most } };
}

/**
 * The most output that a provider bills and that never arrived: generated since the last part, or until the
 * provider noticed the closed connection; plus the tokens its tokenizer counts beyond Skein's.
 */
function unseenTokens({ silentMs, reported }: BrokenCall, outputTokens: number): number {
  const generating = ((silentMs + limit.interruptNoticedMs) * limit.outputTokensPerSecondMax) / 1_000;
  const counted = outputTokens - (reported?.outputTokens ?? 0);
  return Math.ceil(generating + (counted * limit.countErrorPercentMax) / 100);
}
