/** What the campaigns on PostgreSQL have in common: their options, and figures over many. */

export function wholeNumber(name: string, text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  console.error(`--${name} is a whole number, not ${JSON.stringify(text)}`);
  process.exit(2);
}

/** The value that this share of them does not exceed; 0 when there is none. */
export function quantileOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export const medianOf = (values: readonly number[]): number => quantileOf(values, 0.5);
