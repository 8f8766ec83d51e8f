/** Moments and lengths of time: as people type them, and as they read them. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { roughly } from "../../core/text/utc.ts";
import { checkZone, nextTime } from "../../runtime/trigger/times.ts";

const unitsMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const spanPattern = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/;
const momentPattern =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/;

/** A length of time such as `90s`, `30m`, `2h` or `1d`, in milliseconds. */
export function parseSpan(what: string, text: string): number {
  const match = spanPattern.exec(text);
  if (match === null) {
    throw new SkeinError("invalid", `${what}: expected a duration, got ${quote(text)}`, {
      hint: "for example 90s, 30m, 2h or 1d",
    });
  }
  return Math.round(Number(match[1]) * unitsMs[match[2] as keyof typeof unitsMs]);
}

interface MomentReading {
  /** The zone of a date or time that names none; defaults to that of the person. */
  readonly zone?: string;
  /** An example of a length of time. */
  readonly spanHint?: string;
}

/** A moment: a date, with a time or without; a length of time ago; or milliseconds since 1970. */
export function parseMoment(what: string, text: string, nowMs: number, reading: MomentReading = {}): number {
  const { zone: place, spanHint = "2h for two hours ago" } = reading;
  const match = momentPattern.exec(text);
  const [, date = "", time = "00:00", zone] = match ?? [];
  if (place !== undefined) checkZone(place, what);
  if (place !== undefined && (match === null ? isMoment(text) : zone !== undefined)) {
    throw new SkeinError("invalid", `${what}: ${quote(text)} has a fixed zone; --zone does not apply`, {
      hint: "omit --zone, or use a time without a zone, such as 2026-11-01T09:30",
    });
  }
  if (/^\d{11,15}$/.test(text)) return Number(text);
  if (spanPattern.test(text)) return nowMs - parseSpan(what, text);
  const read = zone ?? (place === undefined ? "" : "Z");
  const ms = match === null ? Number.NaN : Date.parse(`${date}T${time}${read}`);
  // Date.parse takes the 31st of February for the 2nd of March.
  const real = !Number.isNaN(ms) && new Date(Date.parse(`${date}T00:00Z`)).toISOString().startsWith(date);
  if (real) return place === undefined ? ms : localMs(ms, place);
  const zoneless = `without a zone it is ${place ?? ownZone()}`;
  throw new SkeinError("invalid", `${what}: expected a date or time, got ${quote(text)}`, {
    hint: `for example 2026-11-01, 2026-11-01T09:30:00Z (${zoneless}), or ${spanHint}`,
  });
}

/** A future moment: as any moment, or a length of time from now. */
export function parseComing(what: string, text: string, nowMs: number, zone?: string): number {
  const reading = { spanHint: "2h for two hours from now", ...(zone === undefined ? {} : { zone }) };
  if (zone !== undefined || !/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text))
    return parseMoment(what, text, nowMs, reading);
  return nowMs + parseSpan(what, text);
}

/** The zone of the person who types, such as `Europe/Berlin`. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Whether which moment it means depends on a zone. */
export function isOfZone(text: string): boolean {
  const match = momentPattern.exec(text);
  return match !== null && match[3] === undefined;
}

const isMoment = (text: string): boolean => /^\d{11,15}$/.test(text) || spanPattern.test(text);

/** When clocks in a zone show what clocks in UTC show at `wallMs`; by the rules of cron expressions. */
function localMs(wallMs: number, zone: string): number {
  const at = new Date(wallMs);
  const time = [at.getUTCSeconds(), at.getUTCMinutes(), at.getUTCHours()];
  const cron = [...time, at.getUTCDate(), at.getUTCMonth() + 1, "*"].join(" ");
  const found = nextTime({ kind: "cron", cron, zone }, wallMs - 2 * unitsMs.d);
  return (found ?? wallMs) + at.getUTCMilliseconds();
}

export const exact = (atMs: number): string =>
  Math.abs(atMs) <= 8.64e15 ? new Date(atMs).toISOString() : String(atMs);

/** "3 m ago": how long ago, roughly. */
export function ago(atMs: number, nowMs: number): string {
  const ms = nowMs - atMs;
  if (ms < 0) return exact(atMs).slice(0, 16).replace("T", " ");
  if (ms < 1_000) return "now";
  return `${roughly(ms)} ago`;
}
