/**
 * Kills of PostgreSQL: several processes write to many sessions through a proxy that cuts connections at
 * random, while every process of the server is killed and it is started again, over and over. At the end what
 * the store holds is held against what the writers were told: see test/crash/audit.ts.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { audit, type Audit } from "../crash/audit.ts";
import { startChild, type Child } from "../crash/child.ts";
import { Ledger } from "../crash/ledger.ts";
import { makeRandom } from "../crash/random.ts";
import type { KillOrder, SlowWrite, WriterCounts } from "./kill-writer.ts";
import { startProxy, type Proxy } from "./proxy.ts";
import { startPostgres, type Postgres } from "./server.ts";

export interface KillOptions {
  readonly processes: number;
  /** Of each process. */
  readonly sessions: number;
  readonly kills: number;
  /** No more kills after this. */
  readonly forMs: number;
  /** From one kill to the next, half as much more or less. */
  readonly everyMs: number;
  readonly cutEveryMs: number;
  /** Between two writes of a session at most. */
  readonly pauseMs: number;
  readonly seed: number;
  /** Keep the server's files in memory, for a short slice. */
  readonly inMemory?: boolean;
  readonly progress?: (line: string) => void;
}

export interface KillReport extends Audit {
  readonly seed: number;
  readonly ms: number;
  readonly kills: number;
  readonly cuts: number;
  readonly connections: number;
  readonly outcomes: WriterCounts["outcomes"];
  readonly refusals: WriterCounts["refusals"];
  /** From the moment the server took connections to the first write of each process after it. */
  readonly recoveriesMs: readonly number[];
  /** How long any single write took at most. */
  readonly slowest: SlowWrite;
  readonly auditMs: number;
}

/** A process that shows no sign of life for so long after a restart has not recovered. */
const recoveryMsMax = 60_000;
/** So long a process may take to end what it has begun. */
const endMsMax = 60_000;
/** The server is down for at most so long, and the time it takes to start. */
const downMsMax = 1_500;
const connections = 6;

const program = [process.execPath, join(import.meta.dirname, "kill-writer.ts")];

class Writer {
  readonly name: string;
  readonly child: Child;
  counts: WriterCounts | null = null;
  writes = 0;
  /** The last acknowledged write, in epoch ms. */
  wentAt = 0;
  #listener: ((atMs: number) => void) | null = null;

  constructor(name: string, order: KillOrder, cache: string) {
    this.name = name;
    this.child = startChild(program, { cache });
    this.tell(JSON.stringify(order));
    this.child.listen((line) => {
      const [word, ...rest] = line.split(" ");
      if (word === "went") {
        [this.wentAt, this.writes] = [Number(rest[0]), Number(rest[1])];
        this.#listener?.(this.wentAt);
      }
      if (word === "done") this.counts = JSON.parse(rest.join(" ")) as WriterCounts;
    });
  }

  tell(line: string): void {
    this.child.process.stdin?.write(`${line}\n`);
  }

  /** Resolves to when it wrote something after this moment; null when it did not, or has ended. */
  async goesOn(afterMs: number): Promise<number | null> {
    const went = new Promise<number>((resolve) => {
      this.#listener = (atMs) => (atMs > afterMs ? resolve(atMs) : undefined);
    });
    const over = new AbortController();
    const late = sleep(recoveryMsMax, null, { signal: over.signal, ref: false }).catch(() => null);
    const first = await Promise.race([went, late, this.child.ended.then(() => null)]);
    over.abort();
    this.#listener = null;
    return first;
  }
}

export async function killServer(options: KillOptions): Promise<KillReport> {
  const startedMs = performance.now();
  const { seed, processes, sessions, pauseMs, inMemory = false } = options;
  const say = (line: string): void =>
    options.progress?.(`${((performance.now() - startedMs) / 1_000).toFixed(0).padStart(5)} s  ${line}`);
  const directory = await mkdtemp(join(tmpdir(), "skein-kill-"));
  const cache = join(directory, "cache");
  await using server = await startPostgres({ inMemory });
  await using proxy = await startProxy({ port: server.port });
  const url = await server.newDatabase();
  const through = `${proxy.through(url)}?connections=${connections}`;
  const problems: string[] = [];
  let writers: Writer[] = [];
  try {
    await warm(cache);
    writers = Array.from({ length: processes }, (_, place) => {
      const writer = `w${place + 1}`;
      const ledger = join(directory, `${writer}.ledger`);
      const order = { writer, ledger, sessions, pauseMs, url: through, seed: seed + place } as const;
      return new Writer(writer, { do: "write", ...order }, cache);
    });
    const killed = await killAgain({ server, proxy, writers, options, problems, say });
    const counts = await endAll(writers, problems);
    say("the writers have ended; what is there is held against what they were told");
    const { cuts, count } = proxy;
    const endedMs = performance.now();
    const audited = await auditAll(url, writers, directory);
    return {
      ...audited,
      ...killed,
      ...counts,
      problems: [...problems, ...audited.problems],
      seed,
      cuts,
      connections: count.ever,
      ms: performance.now() - startedMs,
      auditMs: performance.now() - endedMs,
    };
  } finally {
    for (const { child } of writers) child.process.kill("SIGKILL");
    await Promise.all(writers.map(({ child }) => child.ended));
    await rm(directory, { recursive: true, force: true });
  }
}

async function warm(cache: string): Promise<void> {
  const child = startChild(program, { cache });
  child.process.stdin?.write(`${JSON.stringify({ do: "warm" } satisfies KillOrder)}\n`);
  const { code, stderr } = await child.ended;
  if (code !== 0) throw new Error(`the writer does not start: ${stderr}`);
}

interface Killing {
  readonly server: Postgres;
  readonly proxy: Proxy;
  readonly writers: readonly Writer[];
  readonly options: KillOptions;
  readonly problems: string[];
  readonly say: (line: string) => void;
}

/** The next kill comes only after every process has written something. */
async function killAgain(given: Killing): Promise<Pick<KillReport, "kills" | "recoveriesMs">> {
  const { server, proxy, writers, options, problems, say } = given;
  const random = makeRandom(options.seed);
  const recoveriesMs: number[] = [];
  const begun = await Promise.all(writers.map((writer) => writer.goesOn(0)));
  if (begun.includes(null)) throw new Error(`not all began to write: ${await lastWords(writers)}`);
  const untilMs = performance.now() + options.forMs;
  const stopCuts = proxy.cutOneEvery(options.cutEveryMs, options.seed);
  let kills = 0;
  while (kills < options.kills && performance.now() < untilMs && problems.length === 0) {
    await sleep(options.everyMs * (0.5 + random.next()));
    await server.kill();
    kills += 1;
    await sleep(random.next() * downMsMax);
    await server.restart();
    const readyMs = Date.now();
    const went = await Promise.all(writers.map((writer) => writer.goesOn(readyMs)));
    for (const [place, atMs] of went.entries()) {
      if (atMs === null) problems.push(`${writers[place]?.name} did not recover from kill ${kills}`);
      else recoveriesMs.push(atMs - readyMs);
    }
    const worst = Math.max(...recoveriesMs.slice(-writers.length));
    const writes = writers.reduce((sum, one) => sum + one.writes, 0);
    say(`${kills} kills, ${proxy.cuts} cuts, ${writes} writes; all write again after ${worst} ms`);
  }
  stopCuts();
  return { kills, recoveriesMs };
}

const lastWords = async (writers: readonly Writer[]): Promise<string> => {
  for (const { child } of writers) child.process.kill("SIGKILL");
  const ended = await Promise.all(writers.map(({ child }) => child.ended));
  return ended.map(({ code, stderr }) => `${code} ${stderr}`).join("\n");
};

/** They end by themselves what they have begun, and nobody hangs. */
async function endAll(
  writers: readonly Writer[],
  problems: string[],
): Promise<Pick<KillReport, "outcomes" | "refusals" | "slowest">> {
  const outcomes: Record<string, number> = {};
  const refusals: Record<string, number> = {};
  let slowest: SlowWrite = { verb: "none", ms: 0 };
  for (const writer of writers) writer.tell("stop");
  const over = new AbortController();
  const late = sleep(endMsMax, "late" as const, { signal: over.signal }).catch(() => "late" as const);
  for (const writer of writers) {
    const { name, child } = writer;
    const ended = await Promise.race([child.ended, late]);
    if (ended === "late") problems.push(`${name} hangs: it has not ended what it had begun`);
    else if (ended.code !== 0) problems.push(`${name} ended with ${ended.code}: ${ended.stderr}`);
    add(outcomes, writer.counts?.outcomes);
    add(refusals, writer.counts?.refusals);
    if ((writer.counts?.slowest.ms ?? 0) > slowest.ms) slowest = writer.counts?.slowest ?? slowest;
  }
  over.abort();
  return { outcomes: outcomes as WriterCounts["outcomes"], refusals, slowest };
}

function add(sums: Record<string, number>, counts: Readonly<Record<string, number>> = {}): void {
  for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
}

const nothing = {
  records: 0,
  acknowledged: 0,
  acknowledgedRecords: 0,
  found: 0,
  absent: 0,
  refused: 0,
  duplicates: 0,
  sightings: 0,
};

async function auditAll(url: string, writers: readonly Writer[], directory: string): Promise<Audit> {
  const ledger = new Ledger();
  for (const { name } of writers) {
    const lines = (await readFile(join(directory, `${name}.ledger`), "utf8")).split("\n");
    for (const line of lines) if (line !== "") ledger.note(name, line);
  }
  return audit(url, ledger).catch((error: unknown) => ({
    ...nothing,
    problems: [`the audit ended with ${inspect(error)}`],
  }));
}
