/** Sums of money and tokens, and their text. No imports: the console uses it too. */

/** The total of model calls: of one session, or of a group. */
export interface Spend {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Confirmed by a provider, or counted by Skein. */
  readonly nanoUsd: number;
  /** Calls with an unknown price: their cost is not in `nanoUsd`. */
  readonly unpriced: number;
  /** Calls whose tokens Skein counted, because the provider reported none. */
  readonly estimated: number;
  /** The upper bound on top, for calls that are open, lost, or may have hidden reasoning. */
  readonly unconfirmedTokens: number;
  readonly unconfirmedNanoUsd: number;
}

export const noSpend: Spend = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  nanoUsd: 0,
  unpriced: 0,
  estimated: 0,
  unconfirmedTokens: 0,
  unconfirmedNanoUsd: 0,
};

export const addSpend = (a: Spend, b: Spend): Spend => ({
  calls: a.calls + b.calls,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  nanoUsd: a.nanoUsd + b.nanoUsd,
  unpriced: a.unpriced + b.unpriced,
  estimated: a.estimated + b.estimated,
  unconfirmedTokens: a.unconfirmedTokens + b.unconfirmedTokens,
  unconfirmedNanoUsd: a.unconfirmedNanoUsd + b.unconfirmedNanoUsd,
});

/** Whether an amount can be stored: less than half a nano-dollar would become a limit of 0. */
export const isStorableUsd = (usd: number): boolean => usd === 0 || Math.round(usd * 1e9) > 0;
export const storableUsdHint = "expected 0 or at least 0.000000001 (a nano-dollar)";

/** `$12.34`; a small amount keeps up to three significant digits. */
export function moneyText(nanoUsd: number): string {
  if (nanoUsd === 0) return "$0.00";
  const usd = nanoUsd / 1e9;
  if (Math.abs(usd) >= 0.995) return `$${usd.toFixed(2)}`;
  const digits = Math.min(9, Math.max(2, 2 - Math.floor(Math.log10(Math.abs(usd)))));
  return `$${usd.toFixed(digits).replace(/(\.\d\d\d{0,7}?)0{1,7}$/, "$1")}`;
}

/** The part that lists show. */
type ShownMoney = Pick<Spend, "nanoUsd" | "unpriced" | "unconfirmedNanoUsd">;

export const addShown = (a: ShownMoney, b: ShownMoney): ShownMoney => ({
  nanoUsd: a.nanoUsd + b.nanoUsd,
  unpriced: a.unpriced + b.unpriced,
  unconfirmedNanoUsd: a.unconfirmedNanoUsd + b.unconfirmedNanoUsd,
});

/** `$0.015 + up to $0.17 unconfirmed`; `unknown`; `$0.20 and 2 calls unknown`. */
export function spendText({ nanoUsd, unpriced, unconfirmedNanoUsd }: ShownMoney): string {
  const bound = unconfirmedNanoUsd > 0 ? ` + up to ${moneyText(unconfirmedNanoUsd)} unconfirmed` : "";
  if (unpriced === 0) return `${moneyText(nanoUsd)}${bound}`;
  if (nanoUsd === 0) return `unknown${bound}`;
  return `${moneyText(nanoUsd)}${bound} and ${unpriced} ${unpriced === 1 ? "call" : "calls"} unknown`;
}
