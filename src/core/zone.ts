/** Zones: how full a context is, and how old. Pure; the loop writes `zone.crossed` when the zone changes. */

export type Zone = "smart" | "strained" | "full";

/** What is measured. Turns and age count from where the context begins: at opening or the last compaction. */
export interface ZoneMeasure {
  readonly tokens: number;
  readonly windowTokens: number;
  readonly turns: number;
  readonly ageMs: number;
}

/** Where a zone begins. Any one of these is enough; what is absent or null does not count. */
export interface ZoneThreshold {
  /** Of the window, from 0 to 1. */
  readonly share?: number | null | undefined;
  readonly tokens?: number | null | undefined;
  readonly turns?: number | null | undefined;
  readonly ageMs?: number | null | undefined;
}

export interface ZoneThresholds {
  readonly strained: ZoneThreshold;
  readonly full: ZoneThreshold;
}

/**
 * Models get worse well before the window ends, in large windows by absolute length. Turns and age alone
 * never make a context full: it may still have room.
 */
export const zoneDefaults = {
  strained: { share: 0.6, tokens: 250_000, turns: 200, ageMs: 14 * 86_400_000 },
  full: { share: 0.85 },
} as const satisfies ZoneThresholds;

export function zoneOf(measure: ZoneMeasure, thresholds: ZoneThresholds = zoneDefaults): Zone {
  if (zoneReasons(measure, thresholds.full).length > 0) return "full";
  return zoneReasons(measure, thresholds.strained).length > 0 ? "strained" : "smart";
}

/** From how many tokens on a context is in each zone; null where tokens alone never bring it there. */
export interface ZoneTokens {
  readonly strainedTokens: number | null;
  readonly fullTokens: number | null;
}

export function zoneTokens(windowTokens: number | null, thresholds: ZoneThresholds): ZoneTokens {
  const from = ({ share, tokens }: ZoneThreshold): number | null => {
    const ofShare = windowTokens === null || isNone(share) ? [] : [leastOf(share, windowTokens)];
    const least = Math.min(...ofShare, ...(isNone(tokens) ? [] : [tokens]));
    return Number.isFinite(least) ? least : null;
  };
  return { strainedTokens: from(thresholds.strained), fullTokens: from(thresholds.full) };
}

/** The first count that is this share: products and quotients are not rounded alike. */
function leastOf(share: number, windowTokens: number): number {
  const near = Math.ceil(share * windowTokens);
  return [near - 1, near, near + 1].find((tokens) => tokens / windowTokens >= share) ?? near;
}

const isNone = (value: number | null | undefined): value is null | undefined =>
  value === null || value === undefined;

/** Why this threshold is reached, one phrase a reason; none when it is not. */
export function zoneReasons(measure: ZoneMeasure, threshold: ZoneThreshold): string[] {
  const { tokens, windowTokens, turns, ageMs } = measure;
  const share = windowTokens > 0 ? tokens / windowTokens : 1;
  const reached = (value: number, from: number | null | undefined): boolean =>
    from !== undefined && from !== null && value >= from;
  return [
    ...(reached(share, threshold.share) ? [`${percent(share)} of the window is used`] : []),
    ...(reached(tokens, threshold.tokens) ? [`it has ${grouped(tokens)} tokens`] : []),
    ...(reached(turns, threshold.turns) ? [`it is ${grouped(turns)} turns long`] : []),
    ...(reached(ageMs, threshold.ageMs) ? [`it is ${age(ageMs)} old`] : []),
  ];
}

/**
 * For a person: how the context stands, and what can be done. Empty when there is nothing to do. `onward` is
 * what to type for a new session that carries on the work.
 */
export function zoneHint(zone: Zone, why: readonly string[], onward?: string): string {
  const reasons = why.length === 0 ? "" : ` (${why.join(", ")})`;
  const how = onward === undefined ? "" : ` (${onward})`;
  switch (zone) {
    case "smart":
      return "";
    case "strained":
      return (
        `The context is strained${reasons}: answers may get worse. ` +
        `Compress it, hand off to a new session${how}, fork from an earlier point, or clear.`
      );
    case "full":
      return (
        `The context is full${reasons}: there is little room left. ` +
        `Compress it now, hand off to a new session${how}, fork from an earlier point, or clear.`
      );
  }
}

const percent = (share: number): string => `${Math.round(share * 100)}%`;
const grouped = (count: number): string => String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");

function age(ms: number): string {
  const hours = Math.floor(ms / 3_600_000);
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  return hours >= 2 ? `${hours} hours` : `${Math.floor(ms / 60_000)} minutes`;
}
