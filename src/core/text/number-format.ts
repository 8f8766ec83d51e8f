/** Numbers as text for people: `1,234`, `2 sessions`, `3.4 MiB`. */

/** 1,234,567. */
export const count = (number: number): string => String(number).replaceAll(/\B(?=(\d{3})+(?!\d))/g, ",");

export const plural = (
  number: number,
  noun: string,
  many = `${noun}${noun.endsWith("s") ? "es" : "s"}`,
): string => `${count(number)} ${number === 1 ? noun : many}`;

/** Pure cache. Made on first use: it takes longer than to load any other module of core. */
let short: Intl.NumberFormat | null = null;

/** `12.3K`, for tokens. */
export function compact(number: number): string {
  short ??= new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  return short.format(number);
}

export function bytes(number: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let left = number;
  let unit = 0;
  while (left >= 1024 && unit < units.length - 1) [left, unit] = [left / 1024, unit + 1];
  return unit === 0 ? `${count(number)} bytes` : `${left.toFixed(1)} ${units[unit] ?? ""}`;
}
