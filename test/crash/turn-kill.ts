/**
 * Random kills of turns: processes that run several sessions of one store are killed at random moments, or
 * stopped for longer than their leases and woken up, one after the other; then the sessions are finished by
 * another process and audited. What a seed repeats is plans and choices, not the moments.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Child } from "./child.ts";
import { makeRandom, type Random } from "./random.ts";
import { endRunners, finishAll, startRunner, warmRunner, type CaseReport } from "./turn-case.ts";
import { prepare, type Cast, type Place } from "./turn-place.ts";
import { effects, type EffectName } from "./turn-script.ts";

export interface TurnKillOptions {
  readonly kills: number;
  readonly seed: number;
  /** No round begins after this time, even if there were fewer kills. */
  readonly forMs?: number;
  readonly progress?: (report: TurnKillReport) => void;
}

const counts = {
  rounds: 0,
  /** Processes that were killed, and that were stopped and woken up. */
  kills: 0,
  stops: 0,
  sessions: 0,
  turns: 0,
  calls: 0,
  /** Calls that were started twice or more, whose outcome is unknown, and that are ok. */
  again: 0,
  unknown: 0,
  ok: 0,
  /** Model calls that were written down, and that the model got. */
  requested: 0,
  asked: 0,
};

export interface TurnKillReport extends Readonly<typeof counts> {
  readonly seed: number;
  readonly ms: number;
  readonly problems: readonly string[];
}

const lanes = 3;
const sessionsCount = 6;
/** Somebody dies after at most so many points since the first lease was taken, and a little later. */
const pointsMax = 120;
const laterMs = 12;
const paceMs = 6;
const roundKills = { min: 4, max: 10 } as const;
/** Rounds in which processes are stopped too. */
const stoppedShare = 0.3;

export async function killTurns(options: TurnKillOptions): Promise<TurnKillReport> {
  const startedMs = performance.now();
  const cache = await mkdtemp(join(tmpdir(), "skein-turn-cache-"));
  await warmRunner(cache);
  const random = makeRandom(options.seed);
  let report: TurnKillReport = { ...counts, seed: options.seed, ms: 0, problems: [] };
  let left = options.kills;
  const lane = async (): Promise<void> => {
    while (left > 0 && performance.now() - startedMs < (options.forMs ?? Infinity)) {
      const wanted = Math.min(left, roundKills.min + random.below(roundKills.max - roundKills.min + 1));
      left -= wanted;
      const round = await runRound(makeRandom(random.below(2 ** 32)), wanted, cache);
      // Sessions may have been done before there were as many.
      left += wanted - round.kills;
      report = { ...joined(report, round), ms: performance.now() - startedMs };
      options.progress?.(report);
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
  } finally {
    await endRunners();
    await rm(cache, { recursive: true, force: true });
  }
  return report;
}

interface Round extends Readonly<typeof counts> {
  readonly problems: readonly string[];
}

function joined(report: TurnKillReport, round: Round): TurnKillReport {
  const sums = Object.keys(counts).map((name) => {
    const count = name as keyof typeof counts;
    return [count, report[count] + round[count]];
  });
  const problems = [...report.problems, ...round.problems];
  return { ...report, ...(Object.fromEntries(sums) as typeof counts), problems };
}

/** One store, from its first record to its audit. */
async function runRound(random: Random, wanted: number, cache: string): Promise<Round> {
  const mayStop = random.chance(stoppedShare);
  const places = await prepare("random", castsOf(random, mayStop));
  const order = (number: number) => ({ do: "run", places, holder: `runner ${number}`, paceMs }) as const;
  const problems: string[] = [];
  const sleepers: Promise<void>[] = [];
  let [kills, stops] = [0, 0];
  while (kills < wanted) {
    const child = await startRunner(order(kills + stops + 1), cache);
    if (!(await atWork(child, random.below(pointsMax)))) {
      problems.push(...(await unwanted(child)));
      break;
    }
    await sleep(random.next() * laterMs);
    if (mayStop && random.chance(0.3)) {
      stops += 1;
      child.process.kill("SIGSTOP");
      sleepers.push(wakeLater(child, 1_000 + random.below(1_500)));
    } else {
      child.process.kill("SIGKILL");
      const { signal } = await child.ended;
      if (signal === "SIGKILL") kills += 1;
      else problems.push(...(await unwanted(child)));
    }
  }
  await Promise.all(sleepers);
  const reports = await finishAll(places, problems).catch((error: unknown) => failed(places, error));
  return { ...tally(reports), rounds: 1, kills, stops };
}

/** What the round comes to when nobody can go on. */
const failed = ({ 0: place }: readonly Place[], error: unknown): readonly CaseReport[] => {
  const text = error instanceof Error ? `${error.message}: ${String(error.cause)}` : String(error);
  const none = { calls: [], requested: 0, asked: 0, unknowns: 0, passed: [], turns: 0 };
  return [{ ...none, name: place?.name ?? "", problems: [text] }];
};

/** True when so many points were passed; false when the process ended first, since all was done. */
function atWork(child: Child, points: number): Promise<boolean> {
  const found = Promise.withResolvers<boolean>();
  let isBegun = false;
  let left = points;
  child.listen((line) => {
    isBegun ||= line.includes(" at after lease.taken ");
    if (isBegun && left-- === 0) found.resolve(true);
  });
  child.ended.then(() => found.resolve(false), found.reject);
  return found.promise;
}

/** It sleeps past its leases; what it does afterwards is for the audit. Whatever it is still at is ended. */
async function wakeLater(child: Child, ms: number): Promise<void> {
  await sleep(ms);
  child.process.kill("SIGCONT");
  await Promise.race([child.ended, sleep(500)]);
  child.process.kill("SIGKILL");
  await child.ended;
}

/** A process that ends by itself has done all, or has a reason that must be looked at. */
async function unwanted(child: Child): Promise<string[]> {
  const { code, stderr } = await child.ended;
  const said = child.lines.filter((line) => / failed /.test(line));
  return code === 0 && said.length === 0 ? [] : [`a runner ended with ${code}: ${said.join("; ")} ${stderr}`];
}

function castsOf(random: Random, mayStop: boolean): readonly Cast[] {
  // One that was stopped inside the tool answers a probe for what it is about to do with "not done".
  const known = effects.filter((effect) => !mayStop || effect !== "probed");
  const some = <T>(most: number, make: () => T): T[] => Array.from({ length: 1 + random.below(most) }, make);
  const step = (): EffectName[] => some(4, () => random.pick(known));
  return Array.from({ length: sessionsCount }, (_, number): Cast => {
    const turns = Array.from({ length: 3 + random.below(4) }, () => some(3, step));
    return { name: `s${number + 1}`, turns, onUnknown: random.chance(0.5) ? "ask" : "tell" };
  });
}

function tally(reports: readonly CaseReport[]): Round {
  const calls = reports.flatMap((report) => report.calls);
  const sum = (of: (report: CaseReport) => number): number =>
    reports.reduce((total, report) => total + of(report), 0);
  return {
    ...counts,
    sessions: reports.length,
    turns: sum(({ turns }) => turns),
    calls: calls.length,
    again: calls.filter(({ started }) => started > 1).length,
    unknown: calls.filter(({ status }) => status === "unknown").length,
    ok: calls.filter(({ status }) => status === "ok").length,
    requested: sum(({ requested }) => requested),
    asked: sum(({ asked }) => asked),
    problems: reports.flatMap(({ problems }) => problems),
  };
}
