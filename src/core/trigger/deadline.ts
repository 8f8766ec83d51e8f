/**
 * Deadlines: a session with the label `deadline` must be done by that time. Among equal priorities the
 * nearest deadline goes first; a session that is not closed by then is suspended, and the label becomes
 * `overdue`.
 *
 *     deadline=2026-11-20   deadline=2026-11-20T17:00   deadline=2026-11-20T17:00:00Z
 *
 * Without a zone it is UTC. The command line converts what a person types; `+` is not allowed in labels.
 */
import { SkeinError } from "../error.ts";
import { quote } from "../ids.ts";
import type { State } from "../state.ts";

export const deadlineLabel = "deadline";
export const overdueLabel = "overdue";

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{3}))?)?(?:Z|([+-])(\d{2}):(\d{2}))?)?$/;
const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

/** Days since 1970. */
function daysBefore(year: number, month: number, day: number): number {
  const before = year - 1;
  const leaps = Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400) - 477;
  let days = (year - 1970) * 365 + leaps + day - 1;
  for (let other = 1; other < month; other++) days += monthDays[other - 1] ?? 0;
  return month > 2 && isLeap(year) ? days + 1 : days;
}

/** The time of a label; null if it is not a time. Without a zone it is UTC. */
export function momentOf(text: string): number | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0] = match
    .slice(1, 8)
    .map((digits) => Number(digits ?? 0));
  const days = (monthDays[month - 1] ?? 0) + (month === 2 && isLeap(year) ? 1 : 0);
  if (year < 1970 || day < 1 || day > days || hour > 23 || minute > 59 || second > 59) return null;
  const [, , , , , , , , sign, zoneHours = "0", zoneMinutes = "0"] = match;
  const zone = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === "-" ? -1 : 1);
  const minutes = (daysBefore(year, month, day) * 24 + hour) * 60 + minute - zone;
  return (minutes * 60 + second) * 1_000 + ms;
}

/** Rejects an invalid deadline when it is set. */
export function checkDeadline(labels: Readonly<Record<string, string>> | undefined): void {
  const text = labels?.[deadlineLabel];
  if (text === undefined || momentOf(text) !== null) return;
  throw new SkeinError("invalid", `label ${deadlineLabel}: expected a date or time, got ${quote(text)}`, {
    hint: "for example 2026-11-20T17:00Z; a date alone is its beginning in UTC",
  });
}

/** The deadline of a session; null without one. */
export function deadlineOf({ standing: { status, labels } }: State): number | null {
  const text = labels.get(deadlineLabel);
  const isLive = status === "open" || status === "running" || status === "sleeping";
  return text === undefined || !isLive ? null : momentOf(text);
}
