/** Computes when time triggers fire. A library parses cron expressions, with time zones. */
import { Cron } from "croner";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { SpecOf, TriggerSpec } from "../../core/trigger/trigger.ts";

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
      return nextOfCron(cronOf(spec), afterMs);
  }
}

/** Past times. */
export interface Times {
  /** How many there are; for a cron expression at most `countMax`. */
  readonly count: number;
  /** The first one to make up for, and how many it stands for: the others are one each. */
  readonly first: { readonly at: number; readonly count: number };
  readonly last: number;
}

/** More times than this of one cron expression are not counted. */
const countMax = limit.missedMax * 10;

/** The times from `fromMs`, which is one of them, up to `toMs`. */
export function timesBetween(spec: TimeSpec, fromMs: number, toMs: number): Times {
  if (spec.kind === "every") {
    const count = Math.max(1, Math.floor((toMs - fromMs) / spec.everyMs) + 1);
    const left = Math.max(0, count - limit.missedMax);
    const first = { at: fromMs + left * spec.everyMs, count: 1 + left };
    return { count, first, last: fromMs + (count - 1) * spec.everyMs };
  }
  const times = [fromMs];
  let [count, last] = [1, fromMs];
  for (let at = nextTime(spec, fromMs); at !== null && at <= toMs; at = nextTime(spec, at)) {
    count += 1;
    last = at;
    times.push(at);
    if (times.length > limit.missedMax) times.shift();
    // Counting years of seconds would take too long.
    if (count === countMax) {
      last = lastBefore(spec, toMs);
      break;
    }
  }
  return { count, first: { at: times[0] ?? fromMs, count: 1 + count - times.length }, last };
}

/** The last time up to a moment, of an expression with many. */
function lastBefore(spec: TimeSpec, toMs: number): number {
  for (let span = 1_000; ; span *= 2) {
    let found: number | null = null;
    for (let at = nextTime(spec, toMs - span); at !== null && at <= toMs; at = nextTime(spec, at)) found = at;
    if (found !== null) return found;
  }
}

/** Throws `invalid` for an invalid expression or zone, and for a time in the past; `field` names it. */
export function checkTime(
  spec: TimeSpec,
  nowMs: number,
  { where, field }: { readonly where: string; readonly field: string },
): void {
  const lastMs = 8.64e15;
  const moment = spec.kind === "at" ? spec.at : spec.kind === "every" ? (spec.fromMs ?? 0) : 0;
  if (moment > lastMs)
    throw new SkeinError(
      "invalid",
      `${where}: ${spec.kind === "at" ? "at" : "fromMs"}: ${moment} is out of range`,
      {
        field: `${field}.${spec.kind === "at" ? "at" : "fromMs"}`,
      },
    );
  if (spec.kind === "at" && spec.at <= nowMs)
    throw new SkeinError(
      "invalid",
      `${where}: at: expected a future time, got ${new Date(spec.at).toISOString()}`,
      {
        hint: `use a future time; it is ${new Date(nowMs).toISOString()} now`,
        field: `${field}.at`,
      },
    );
  if (spec.kind !== "cron") return;
  checkZone(spec.zone ?? "UTC", where, `${field}.zone`);
  if (nextOfLine(spec, nowMs, { where, field }) === null)
    throw new SkeinError("invalid", `${where}: cron: ${quote(spec.cron)} matches no future time`, {
      hint: 'for example "0 9 1 * *": at nine on the first of each month',
      field: `${field}.cron`,
    });
}

function nextOfLine(
  spec: SpecOf<"cron">,
  nowMs: number,
  { where, field }: { readonly where: string; readonly field: string },
): number | null {
  try {
    return nextTime(spec, nowMs);
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    const { code, message, hint } = error;
    throw new SkeinError(code, `${where}: ${message}`, { hint, field: `${field}.cron`, cause: error });
  }
}

/** A moment in the trigger's zone: `Sunday, 1 November 2026 at 09:00 in Europe/Berlin`. */
export function momentIn(spec: TimeSpec, at: number): string {
  const exact = new Date(at).toISOString();
  if (spec.kind !== "cron" || spec.zone === undefined) return exact;
  const how = { dateStyle: "full", timeStyle: "short", timeZone: spec.zone } as const;
  return `${exact} (${new Intl.DateTimeFormat("en-GB", how).format(at)} in ${spec.zone})`;
}

/** Throws `invalid` for an unknown zone. */
export function checkZone(zone: string, where: string, field?: string): void {
  try {
    Intl.DateTimeFormat("en", { timeZone: zone });
  } catch (cause) {
    throw new SkeinError("invalid", `${where}: unknown time zone ${quote(zone)}`, {
      hint: "use a name such as Europe/Berlin, America/New_York or UTC",
      field,
      cause,
    });
  }
}

/** A parsed expression, and cached times after the recently requested ones. */
interface Line {
  readonly cron: Cron;
  readonly next: Map<number, number | null>;
}

const linesMax = 10_000;
const keptMax = 200_000;
/** Pure cache: parsed cron expressions, with times that follow from them. */
const known = new Map<string, Line>();
/** Pure cache: how many times it holds. */
let kept = 0;

/** Times that are made up for one by one are requested again and again. */
function nextOfCron({ cron, next }: Line, afterMs: number): number | null {
  const before = next.get(afterMs);
  if (before !== undefined) return before;
  const at = cron.nextRun(new Date(afterMs))?.getTime() ?? null;
  kept += 1;
  if (kept > keptMax) {
    for (const line of known.values()) line.next.clear();
    kept = 0;
  }
  next.set(afterMs, at);
  return at;
}

function cronOf({ cron, zone = "UTC" }: SpecOf<"cron">): Line {
  const name = `${zone} ${cron}`;
  const there = known.get(name);
  if (there !== undefined) return there;
  try {
    const read = new Cron(cron, { timezone: zone, mode: "5-or-6-parts", paused: true });
    if (known.size >= linesMax) known.clear();
    const made = { cron: read, next: new Map<number, number | null>() };
    known.set(name, made);
    return made;
  } catch (cause) {
    throw new SkeinError("invalid", `cron: invalid expression ${quote(cron)}${whyNot(cron, cause)}`, {
      hint: 'fields: minute, hour, day of month, month, day of week; for example "0 9 * * 1-5"',
      cause,
    });
  }
}

/** What is wrong with an expression, in a word or two; empty where that is unclear. */
function whyNot(line: string, cause: unknown): string {
  const parts = line.split(/\s+/).filter((part) => part !== "").length;
  if (parts !== 5 && parts !== 6) return ` (it has ${parts} ${parts === 1 ? "part" : "parts"}, not 5 or 6)`;
  const said = cause instanceof Error ? cause.message : "";
  const [, unit, value] = /Invalid value for (\w+): (\S+)$/.exec(said) ?? [];
  return unit === undefined ? "" : ` (${unit}: ${value} is out of range)`;
}
