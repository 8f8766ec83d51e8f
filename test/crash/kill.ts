/**
 * The kill loop: two writers on one file, now and then a follower, SIGKILL at random moments, and a new
 * writer in the place of each dead one, which finds the other still at work or nobody at all. After each
 * round the store is audited against what all of them said.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { audit, type Audit } from "./audit.ts";
import { startChild, warmUp, writerCommand, type Child } from "./child.ts";
import { Ledger } from "./ledger.ts";
import { makeRandom, type Random } from "./random.ts";
import type { Unanswered } from "./writer.ts";

export interface CrashOptions {
  readonly kills: number;
  readonly seed: number;
  /** The loop ends after this time, even if there were fewer kills. */
  readonly forMs?: number;
  /** Called after each round. */
  readonly progress?: (report: CrashReport) => void;
}

export interface CrashReport extends Audit {
  readonly seed: number;
  readonly ms: number;
  readonly rounds: number;
  /** Writers that were killed; followers are not counted. */
  readonly kills: number;
  /** Where the stores with problems are; null when there are none. */
  readonly kept: string | null;
}

/** Somebody is killed within this time after the last writer got its order. */
const windowMs = 60;
const sparesCount = 3;
/** Kills in one round, on one file. */
const roundKills = { min: 8, max: 40 } as const;
/** How often both writers are killed at once, and the store is left to nobody. */
const bothShare = 0.3;
const followerShare = 0.5;
/** Keyed writes that a new writer is asked to try again. */
const againMax = 5;

const counts = {
  records: 0,
  acknowledged: 0,
  acknowledgedRecords: 0,
  found: 0,
  absent: 0,
  refused: 0,
  duplicates: 0,
  sightings: 0,
};

export async function crash(options: CrashOptions): Promise<CrashReport> {
  const startedMs = performance.now();
  const directory = await mkdtemp(join(tmpdir(), "skein-crash-"));
  const cache = join(directory, "cache");
  await warmUp(cache);
  const random = makeRandom(options.seed);
  const spares = makeSpares(cache);
  const { seed } = options;
  let report: CrashReport = { ...counts, problems: [], seed, ms: 0, rounds: 0, kills: 0, kept: null };
  try {
    while (report.kills < options.kills && report.ms < (options.forMs ?? Infinity)) {
      const round = new Round(join(directory, `round-${report.rounds + 1}`), { random, spares });
      const wanted = roundKills.min + random.below(roundKills.max - roundKills.min);
      const done = await round.run(Math.min(wanted, options.kills - report.kills));
      report = { ...joined(report, done, directory), ms: performance.now() - startedMs };
      options.progress?.(report);
    }
  } finally {
    await spares.end();
    if (report.kept === null) await rm(directory, { recursive: true, force: true });
  }
  return report;
}

function joined(report: CrashReport, round: RoundReport, directory: string): CrashReport {
  const sums = Object.keys(counts).map((name) => {
    const count = name as keyof typeof counts;
    return [count, report[count] + round[count]];
  });
  return {
    ...report,
    ...(Object.fromEntries(sums) as typeof counts),
    rounds: report.rounds + 1,
    kills: report.kills + round.kills,
    problems: [...report.problems, ...round.problems.map((text) => `round ${report.rounds + 1}: ${text}`)],
    kept: round.problems.length === 0 ? report.kept : directory,
  };
}

interface Spares {
  /** A writer that is loaded and waits for its order. */
  take(): Promise<Child>;
  end(): Promise<void>;
}

/** Loading is most of what a kill costs, so the next writers load while the present ones write. */
function makeSpares(cache: string): Spares {
  const start = () => startChild(writerCommand, { cache });
  const waiting = Array.from({ length: sparesCount }, start);
  return {
    async take() {
      const child = waiting.shift() ?? start();
      waiting.push(start());
      await child.ready;
      return child;
    },
    async end() {
      await Promise.all(waiting.map((child) => kill(child)));
    },
  };
}

async function kill(child: Child): Promise<void> {
  child.process.kill("SIGKILL");
  await child.ended;
}

interface Live {
  readonly name: string;
  readonly child: Child;
  /** Marks of the writes that it was asked to try again. */
  readonly again: readonly string[];
}

type RoundReport = Audit & { readonly kills: number };

interface RoundOptions {
  readonly random: Random;
  readonly spares: Spares;
}

/** One store, from its first record to its audit. */
class Round {
  readonly #directory: string;
  readonly #path: string;
  readonly #options: RoundOptions;
  readonly #ledger = new Ledger();
  #writers: Live[] = [];
  #follower: Live | null = null;
  #started = 0;
  #kills = 0;

  constructor(directory: string, options: RoundOptions) {
    this.#directory = directory;
    this.#path = join(directory, "skein.db");
    this.#options = options;
  }

  async run(kills: number): Promise<RoundReport> {
    await mkdir(this.#directory);
    try {
      await this.#killUntil(kills);
    } finally {
      await this.#end([...this.#writers, ...(this.#follower === null ? [] : [this.#follower])]);
    }
    const done = await audit(this.#path, this.#ledger).catch((error: unknown) => ({
      ...counts,
      problems: [`the audit ended with ${inspect(error)}`],
    }));
    if (done.problems.length === 0) await rm(this.#directory, { recursive: true, force: true });
    return { ...done, kills: this.#kills };
  }

  async #killUntil(kills: number): Promise<void> {
    const { random } = this.#options;
    // Both are told at once, and so meet over the making of the file.
    await this.#startWriter();
    await this.#startWriter();
    if (random.chance(followerShare)) await this.#startFollower();
    while (this.#kills < kills) {
      await sleep(random.next() * windowMs);
      const both = random.chance(bothShare) || this.#kills + 2 >= kills;
      await this.#killWriters(both ? this.#writers : [random.pick(this.#writers)]);
      if (this.#follower !== null && random.chance(0.2)) await this.#killFollower();
      while (this.#kills < kills && this.#writers.length < 2) await this.#startWriter();
    }
  }

  async #startWriter(): Promise<void> {
    const { random, spares } = this.#options;
    const child = await spares.take();
    const name = `w${++this.#started}`;
    child.listen((line) => this.#ledger.note(name, line));
    const again = this.#unanswered();
    const seed = random.below(2 ** 32);
    child.order({ do: "write", path: this.#path, writer: name, seed, again });
    this.#writers.push({ name, child, again: again.map(({ mark }) => mark) });
  }

  /** Keyed writes that died with their writers, and that nobody is trying again right now. */
  #unanswered(): Unanswered[] {
    const held = new Set(this.#writers.flatMap(({ again }) => again));
    const living = new Set(this.#writers.map(({ name }) => name));
    return this.#ledger
      .unanswered()
      .filter(({ mark }) => !held.has(mark) && !living.has(mark.split(".")[0] ?? ""))
      .slice(-againMax);
  }

  async #startFollower(): Promise<void> {
    const name = `f${++this.#started}`;
    const child = await this.#options.spares.take();
    child.order({ do: "follow", path: this.#path });
    child.listen((line) => this.#ledger.note(name, line));
    this.#follower = { name, child, again: [] };
  }

  async #killWriters(victims: readonly Live[]): Promise<void> {
    this.#writers = this.#writers.filter((writer) => !victims.includes(writer));
    this.#kills += victims.length;
    await this.#end(victims);
  }

  async #killFollower(): Promise<void> {
    if (this.#follower !== null) await this.#end([this.#follower]);
    this.#follower = null;
  }

  async #end(victims: readonly Live[]): Promise<void> {
    for (const { child } of victims) child.process.kill("SIGKILL");
    for (const { name, child } of victims) {
      const { code, signal, stderr } = await child.ended;
      if (signal !== "SIGKILL") this.#ledger.problems.push(`${name} ended by itself (${code}): ${stderr}`);
    }
  }
}
