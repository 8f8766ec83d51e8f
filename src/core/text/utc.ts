/** Times and durations as text, without a clock or a time zone. */

const dayMs = 86_400_000;

/** `2026-11-18T02:05:14.123Z`, like `Date.prototype.toISOString`; core must not use `Date`. */
export function utcText(ms: number): string {
  if (!Number.isInteger(ms) || ms < -62_135_596_800_000 || ms > 253_402_300_799_999) return String(ms);
  const days = Math.floor(ms / dayMs);
  const [year, month, day] = dateOfDays(days);
  const within = ms - days * dayMs;
  const two = (unitMs: number, units: number): string => pad(Math.floor(within / unitMs) % units, 2);
  const time = `${two(3_600_000, 24)}:${two(60_000, 60)}:${two(1_000, 60)}.${pad(within % 1_000, 3)}`;
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}T${time}Z`;
}

const pad = (value: number, digits: number): string => String(value).padStart(digits, "0");

/** The date of a day since 1970-01-01. Counts years from March, so that a leap day comes last. */
function dateOfDays(days: number): readonly [year: number, month: number, day: number] {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const leaps = Math.floor(dayOfEra / 1_460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leaps) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const fromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9;
  const day = dayOfYear - Math.floor((153 * fromMarch + 2) / 5) + 1;
  return [yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day];
}

/** `42 s`, `3 m`, `5 h`, `2 d`. */
export function roughly(ms: number): string {
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} m`;
  if (ms < dayMs * 2) return `${Math.floor(ms / 3_600_000)} h`;
  return `${Math.floor(ms / dayMs)} d`;
}
