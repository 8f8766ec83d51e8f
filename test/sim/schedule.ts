/**
 * A plain model of what triggers do by time: a first time and a step. Every firing of a log is held against
 * it: each time is fired for once, in order, none is left out, and none comes before the store's clock says
 * so.
 */
import type { StoredRecord } from "../../src/core/chain.ts";
import type { LogId } from "../../src/core/ids.ts";
import type { MissedRule, TriggerSpec } from "../../src/core/trigger/trigger.ts";
import type { Random } from "../crash/random.ts";

type Blame = (text: string) => void;

/** Cron lines that are a step: the same in every zone. */
const lines = { "*/5 * * * * *": 5_000, "*/20 * * * * *": 20_000, "* * * * *": 60_000 } as const;
const cronLines = Object.keys(lines) as (keyof typeof lines)[];

/** As late as this is on time, by the rule `skip`. */
const graceMs = 60_000;

export interface Timed {
  readonly spec: TriggerSpec;
  readonly missed?: MissedRule;
}

export function drawTimed(random: Random, nowMs: number): Timed {
  const missed = random.pick<MissedRule | undefined>([undefined, "once", "all", "skip"]);
  const rule = missed === undefined ? {} : { missed };
  switch (random.pick(["at", "every", "cron"] as const)) {
    case "at":
      return { spec: { kind: "at", at: nowMs + 5_000 + random.below(25_000) }, ...rule };
    case "every": {
      const from = random.chance(0.5) ? {} : { fromMs: nowMs + random.below(5_000) };
      return { spec: { kind: "every", everyMs: random.pick([4_000, 9_000, 30_000]), ...from }, ...rule };
    }
    case "cron": {
      const zone = random.pick([{}, { zone: "Europe/Berlin" }, { zone: "Asia/Kolkata" }]);
      return { spec: { kind: "cron", cron: random.pick(cronLines), ...zone }, ...rule };
    }
  }
}

interface Schedule {
  readonly fromMs: number;
  /** Infinity: there is one time only. */
  readonly stepMs: number;
}

function scheduleOf(spec: TriggerSpec): Schedule | null {
  if (spec.kind === "at") return { fromMs: spec.at, stepMs: Infinity };
  if (spec.kind === "every") return { fromMs: spec.fromMs ?? 0, stepMs: spec.everyMs };
  if (spec.kind !== "cron") return null;
  return { fromMs: 0, stepMs: lines[spec.cron as keyof typeof lines] };
}

/** The time that is so many after another; undefined when there is none. */
function later({ stepMs }: Schedule, at: number, count: number): number | undefined {
  if (count === 0) return at;
  return stepMs === Infinity ? undefined : at + count * stepMs;
}

const isIn = ({ fromMs, stepMs }: Schedule, at: number): boolean =>
  stepMs === Infinity ? at === fromMs : at >= fromMs && (at - fromMs) % stepMs === 0;

interface Chain {
  readonly schedule: Schedule | null;
  readonly missed: MissedRule;
  nextMs: number | undefined;
}

interface Fired {
  readonly name: string;
  readonly missed?: MissedRule;
  readonly dueMs?: number;
  readonly nextMs?: number;
  readonly count?: number;
  readonly input?: number;
}

/** Follows the triggers of one log. `clocks`: when each record was appended, by the store's clock. */
export function followTriggers(
  log: LogId,
  records: readonly StoredRecord[],
  clocks: ReadonlyMap<string, number>,
  blame: Blame,
): void {
  const chains = new Map<string, Chain>();
  for (const { session, seq, type, body, content } of records) {
    if (type === "session.forked") chains.clear();
    if (!type.startsWith("trigger.") || session !== log) continue;
    const said = JSON.parse(body) as Fired;
    const { name } = said;
    const wrong: Blame = (text) => blame(`@${seq}: ${type} ${name}: ${text}`);
    if (type === "trigger.set") {
      const { spec } = JSON.parse(content ?? "{}") as { spec: TriggerSpec };
      const [schedule, { missed = "once", nextMs }] = [scheduleOf(spec), said];
      chains.set(name, { schedule, missed, nextMs });
      if (schedule === null ? nextMs !== undefined : nextMs === undefined || !isIn(schedule, nextMs))
        wrong(`${nextMs} is none of its times`);
      continue;
    }
    const chain = chains.get(name);
    if (chain === undefined) wrong("it is not set");
    else if (type === "trigger.removed") chains.delete(name);
    else if (said.dueMs === undefined) {
      // By hand, or by a message: its time stays as it is.
      if (said.nextMs !== chain.nextMs) wrong(`goes on with ${said.nextMs}, and ${chain.nextMs} was next`);
    } else {
      judgeTimes(
        chain,
        said,
        type,
        { clockMs: clocks.get(`${log} ${seq}`) ?? 0, isTemplate: !log.startsWith("ses_") },
        wrong,
      );
      chain.nextMs = said.nextMs;
    }
  }
}

function judgeTimes(
  { schedule, missed, nextMs }: Chain,
  said: Fired,
  type: string,
  { clockMs, isTemplate }: { readonly clockMs: number; readonly isTemplate: boolean },
  wrong: Blame,
): void {
  const { dueMs = 0, count = 1 } = said;
  if (dueMs !== nextMs) return wrong(`is for ${dueMs}, and ${nextMs} was next`);
  if (schedule === null) return wrong("it does not go by time");
  const last = later(schedule, dueMs, count - 1) ?? Infinity;
  const next = later(schedule, dueMs, count);
  if (last > clockMs) wrong(`stands for ${last}, and the store's clock said ${clockMs}`);
  if (said.nextMs !== next) wrong(`goes on with ${said.nextMs} instead of ${next}`);
  if (type === "trigger.fired") {
    if (missed !== "once" && count !== 1) wrong(`stands for ${count} times by the rule ${missed}`);
    if (missed === "all" && said.input === undefined && !isTemplate) wrong("is not told");
    return;
  }
  const [isLate, isFollowed] = [last + graceMs < clockMs, next !== undefined && next <= clockMs];
  if (missed !== "skip" || (!isLate && !isFollowed)) wrong(`passes over ${count} by the rule ${missed}`);
}
