/** When triggers fire that go by time. Cron lines are read by a library made for them, zones and all. */
import { Cron } from "croner";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { SpecOf, TriggerSpec } from "../../core/trigger.ts";

export type TimeSpec = SpecOf<"at" | "every" | "cron">;

export const isTimeSpec = (spec: TriggerSpec): spec is TimeSpec =>
  spec.kind === "at" || spec.kind === "every" || spec.kind === "cron";

/** The first time after a moment; null when there is none. */
export function nextTime(spec: TimeSpec, afterMs: number): number | null {
  switch (spec.kind) {
    case "at":
      return spec.at > afterMs ? spec.at : null;
    case "every": {
      const { everyMs, fromMs = 0 } = spec;
      if (fromMs > afterMs) return fromMs;
      return fromMs + (Math.floor((afterMs - fromMs) / everyMs) + 1) * everyMs;
    }
    case "cron":
      return cronOf(spec).nextRun(new Date(afterMs))?.getTime() ?? null;
  }
}

/** The times from `fromMs` up to `toMs`, both included; at most so many, the latest of them. */
export function timesBetween(
  spec: TimeSpec,
  fromMs: number,
  toMs: number,
): { readonly times: readonly number[]; readonly count: number } {
  const times: number[] = [];
  let count = 0;
  for (let at = nextTime(spec, fromMs - 1); at !== null && at <= toMs; at = nextTime(spec, at)) {
    count += 1;
    times.push(at);
    if (times.length > limit.missedMax) times.shift();
    // Nobody waits for years of seconds to be counted.
    if (count >= limit.missedMax * 10) return { times: [...times.slice(1), lastBefore(spec, toMs)], count };
  }
  return { times, count };
}

function lastBefore(spec: TimeSpec, toMs: number): number {
  let low = toMs;
  for (let span = 1_000; ; span *= 2) {
    low = toMs - span;
    const found = nextTime(spec, low);
    if (found !== null && found <= toMs) break;
  }
  let at = nextTime(spec, low) ?? toMs;
  for (let next = nextTime(spec, at); next !== null && next <= toMs; next = nextTime(spec, at)) at = next;
  return at;
}

/** Throws `invalid` for a line or a zone that is none, with the library's words. */
export function checkTime(spec: TimeSpec, nowMs: number): void {
  if (spec.kind !== "cron") {
    if (spec.kind === "at" && spec.at <= nowMs)
      throw new SkeinError("invalid", `${new Date(spec.at).toISOString()} is past`, {
        hint: "give a time to come",
      });
    return;
  }
  checkZone(spec.zone ?? "UTC");
  if (nextTime(spec, nowMs) === null)
    throw new SkeinError("invalid", `the cron line ${quote(spec.cron)} names no time to come`, {
      hint: 'for example "0 9 1 * *": at nine on the first of each month',
    });
}

function checkZone(zone: string): void {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
  } catch (cause) {
    throw new SkeinError("invalid", `there is no time zone ${quote(zone)}`, {
      hint: "a name such as Europe/Berlin, America/New_York or UTC",
      cause,
    });
  }
}

const known = new Map<string, Cron>();

function cronOf({ cron, zone = "UTC" }: SpecOf<"cron">): Cron {
  const name = `${zone} ${cron}`;
  const there = known.get(name);
  if (there !== undefined) return there;
  try {
    const made = new Cron(cron, { timezone: zone, mode: "5-or-6-parts", paused: true });
    if (known.size > 10_000) known.clear();
    known.set(name, made);
    return made;
  } catch (cause) {
    const said = cause instanceof Error ? cause.message.replace(/^Cron\w*: /, "") : String(cause);
    throw new SkeinError("invalid", `not a cron line: ${quote(cron)} (${said})`, {
      hint: 'minute, hour, day of the month, month, day of the week; for example "0 9 * * 1-5"',
      cause,
    });
  }
}
