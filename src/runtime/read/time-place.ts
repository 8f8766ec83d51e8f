/**
 * Times as positions: `2026-11-16T09:00`, `2026-11-16`, `yesterday`, `-2h`. A time stands for the last event
 * until then; a day for its end. Without a zone it is in that of the person: only the command line, which
 * runs where the person is, resolves those. A library may run in a server elsewhere, and takes none.
 */
import { isTimeWord } from "../../core/text/time-word.ts";

const unitsMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 } as const;
const agoPattern = /^-(\d{1,6})([smhdw])$/;
const datePattern = /^(\d{4})-(\d{2})-(\d{2})$/;
const timePattern = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?$/;

/** The examples for hints. */
export const timeHint = "2026-11-16T09:00Z or -2h";

/** The moment that a word means in any zone; null for another word, and for a time of a zone. */
export const exactMomentOf = (word: string, nowMs: number): number | null =>
  isZoneless(word) ? null : momentOf(word, nowMs);

/** Whether the moment that it means depends on a zone. */
export const isZoneless = (word: string): boolean =>
  isTimeWord(word) && !agoPattern.test(word) && !/(Z|[+-]\d{2}:\d{2})$/.test(word.slice(10));

/** The moment that a word means in the zone of the process, in milliseconds; null for another word. */
export function momentOf(word: string, nowMs: number): number | null {
  const ago = agoPattern.exec(word);
  if (ago !== null) return nowMs - Number(ago[1]) * unitsMs[ago[2] as keyof typeof unitsMs];
  if (word === "yesterday") return startOfDay(nowMs, 0) - 1;
  const date = datePattern.exec(word);
  if (date !== null) return isDate(word) ? startOfDay(Date.parse(`${word}T12:00`), 1) - 1 : null;
  const time = timePattern.exec(word);
  if (time === null || !isDate(time[1] ?? "")) return null;
  const ms = Date.parse(`${time[1]}T${time[2]}${time[3] ?? ""}`);
  return Number.isNaN(ms) ? null : ms;
}

/** The start of that day, or of one so many days later; days of the clock change have other lengths. */
function startOfDay(ms: number, daysLater: number): number {
  const at = new Date(ms);
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() + daysLater).getTime();
}

/** `Date.parse` takes the 31st of February for the 2nd of March. */
function isDate(text: string): boolean {
  const ms = Date.parse(`${text}T00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

/** As people of this zone write it: `2026-11-16 09:00:00 +01:00`. */
export function localTime(ms: number): string {
  const minutes = -new Date(ms).getTimezoneOffset();
  const [date, time = ""] = new Date(ms + minutes * 60_000).toISOString().split("T");
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  const zone = `${minutes < 0 ? "-" : "+"}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
  return `${date} ${time.slice(0, 8)} ${zone}`;
}
