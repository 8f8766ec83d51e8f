/** Amounts as text: money, tokens, bytes, counts. */

export { moneyText as money } from "../../core/text/money.ts";

const units = ["bytes", "KiB", "MiB", "GiB"] as const;
export function bytes(value: number): string {
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  const size = value / 1024 ** power;
  return `${power === 0 ? size : size.toFixed(1)} ${units[power] ?? "bytes"}`;
}

export { compact as tokens, count, plural } from "../../core/text/number-format.ts";
