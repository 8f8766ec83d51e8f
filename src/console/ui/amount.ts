/** Amounts in words: money, tokens, bytes, counts. */

import { moneyText } from "../../core/text/money.ts";

const whole = new Intl.NumberFormat("en");
export const count = (value: number): string => whole.format(value);

/** Nano-dollars as dollars, in the words of every other surface. */
export const money = (nanoUsd: number): string => (nanoUsd === 0 ? "$0" : moneyText(nanoUsd));

const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
export const tokens = (value: number): string => short.format(value);

const units = ["bytes", "KiB", "MiB", "GiB"] as const;
export function bytes(value: number): string {
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  const size = value / 1024 ** power;
  return `${power === 0 ? size : size.toFixed(1)} ${units[power] ?? "bytes"}`;
}

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;
