/** Zones: how full a context is, and how old. Pure; the loop writes `zone.crossed` when the zone changes. */

import type { ZonePolicy } from "./zone-policy.ts";
import type { ZoneSignal } from "./signal.ts";

export type Zone = "smart" | "strained" | "full";

/**
 * The measured values. Turns and age count from the start of the context: the opening or the last compaction.
 */
export interface ZoneMeasure {
  readonly tokens: number;
  readonly windowTokens: number;
  readonly turns: number;
  readonly ageMs: number;
  /** What else is wrong with it; any of these strains it. */
  readonly signals?: readonly ZoneSignal[];
}

/** Where a zone begins. Any one of these is enough; absent or null does not count. */
export interface ZoneThreshold {
  /** Of the context window, from 0 to 1. */
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
 * Models get worse well before the context window ends; in large windows the absolute length matters: 120,000
 * tokens strain any model. Turns, age and signals alone never make a context full, because it may still have
 * room.
 */
export const zoneDefaults = {
  strained: { share: 0.6, tokens: 100_000, turns: 200, ageMs: 14 * 86_400_000, actions: ["tell-person"] },
  full: { share: 0.85, actions: ["tell-person"] },
} as const satisfies ZoneThresholds & ZonePolicy;

/** The thresholds that a context can cross, and the signals that it can give. */
export type ZoneCause = "share" | "tokens" | "turns" | "age" | ZoneSignal;

/** A zone, the thresholds that caused it, and the measured values. This is the body of `zone.crossed`. */
export interface ZoneReading extends ZoneMeasure {
  readonly zone: Zone;
  readonly by: readonly ZoneCause[];
}

export function readZone(
  { signals = [], ...measure }: ZoneMeasure,
  thresholds: ZoneThresholds = zoneDefaults,
): ZoneReading {
  for (const zone of ["full", "strained"] as const) {
    const crossed = zoneCauses(measure, thresholds[zone]);
    const by = zone === "strained" || crossed.length > 0 ? [...crossed, ...signals] : crossed;
    if (by.length > 0) return { zone, by, ...measure };
  }
  return { zone: "smart", by: [], ...measure };
}

/** The tokens at which each zone begins; null if tokens alone never cause it. */
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

/** The smallest count that reaches this share: products and quotients round differently. */
function leastOf(share: number, windowTokens: number): number {
  const near = Math.ceil(share * windowTokens);
  return [near - 1, near, near + 1].find((tokens) => tokens / windowTokens >= share) ?? near;
}

const isNone = (value: number | null | undefined): value is null | undefined =>
  value === null || value === undefined;

function zoneCauses(measure: ZoneMeasure, threshold: ZoneThreshold): ZoneCause[] {
  const { tokens, turns, ageMs } = measure;
  const reached = (value: number, from: number | null | undefined): boolean =>
    from !== undefined && from !== null && value >= from;
  return [
    ...(reached(shareOf(measure), threshold.share) ? (["share"] as const) : []),
    ...(reached(tokens, threshold.tokens) ? (["tokens"] as const) : []),
    ...(reached(turns, threshold.turns) ? (["turns"] as const) : []),
    ...(reached(ageMs, threshold.ageMs) ? (["age"] as const) : []),
  ];
}

const shareOf = ({ tokens, windowTokens }: ZoneMeasure): number =>
  windowTokens > 0 ? tokens / windowTokens : 1;

const phrases: Readonly<Record<ZoneCause, (measure: ZoneMeasure) => string>> = {
  share: (measure) => `${percent(shareOf(measure))} of the window is used`,
  tokens: ({ tokens }) => `it has ${grouped(tokens)} tokens`,
  turns: ({ turns }) => `it is ${grouped(turns)} ${turns === 1 ? "turn" : "turns"} long`,
  age: ({ ageMs }) => `it is ${age(ageMs)} old`,
  "repeated-failure": () => "the same call fails again and again",
  reread: () => "the same is read again and again",
  contradiction: () => "a decision was recorded anew with another value",
  drift: () => "the last inputs look like another task",
  latency: () => "answers take three times as long as at first",
};

/**
 * Why a context is in its zone, one phrase per cause, from the body of a `zone.crossed` record. Records from
 * before 0.5 name no cause and give no phrase.
 */
export function zoneReasons(crossed: Readonly<Record<string, unknown>>): string[] {
  const { by } = crossed;
  const number = (name: Exclude<keyof ZoneMeasure, "signals">): number => Number(crossed[name] ?? 0);
  const measure: ZoneMeasure = {
    tokens: number("tokens"),
    windowTokens: number("windowTokens"),
    turns: number("turns"),
    ageMs: number("ageMs"),
  };
  return (Array.isArray(by) ? (by as string[]) : []).flatMap((cause) =>
    Object.hasOwn(phrases, cause) ? [phrases[cause as ZoneCause](measure)] : [],
  );
}

/**
 * For a person: the state of the context, and what to do about it. Empty if there is nothing to do. `onward`
 * is the command for a new session that continues the work.
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

/** For a person, where the last inputs look like another task: how to give it a session of its own. */
export const splitHint = (id: string): string =>
  `/split gives it a session of its own (outside of a chat: skein split ${id}), with the last three inputs ` +
  "and lasting items; this one stays as it is.";

const percent = (share: number): string => `${Math.round(share * 100)}%`;
const grouped = (count: number): string => String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");

function age(ms: number): string {
  const hours = Math.floor(ms / 3_600_000);
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  return hours >= 2 ? `${hours} hours` : `${Math.floor(ms / 60_000)} minutes`;
}
