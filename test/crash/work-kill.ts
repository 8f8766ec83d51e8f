/**
 * Kills of workers: several processes run many sessions against an outside witness, and are killed again and
 * again while they are at it. In the end every session must have reached the end of its plan, none may have
 * been run in two places at once, and the log must claim nothing that the witness did not see.
 */
import { hash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import { startChild, type Child } from "./child.ts";
import { makeRandom, type Random } from "./random.ts";
import { newPlace } from "./store-place.ts";
import { inputOf, type Plan } from "./turn-script.ts";
import { openWitness, type ToolLine } from "./turn-witness.ts";
import { engineIn, leaseMs, openSessions, planOf } from "./work-place.ts";
import type { WorkOrder } from "./work-runner.ts";

export interface WorkKillOptions {
  readonly workers: number;
  readonly sessions: number;
  readonly seed: number;
  /** For how long somebody is killed, and how often. */
  readonly forMs: number;
  readonly everyMs: number;
  /** How long the model and the tools take; by default 15. */
  readonly paceMs?: number;
  /** How long the rest may take. */
  readonly restMs?: number;
  /** Of each worker; by default 4. */
  readonly concurrency?: number;
  /** How many sessions have something to do at a time; by default all of them. */
  readonly atOnce?: number;
  readonly progress?: (report: WorkKillReport) => void;
}

const counts = {
  /** Workers that were killed, and of these while they ran something. */
  kills: 0,
  atWork: 0,
  /** Runs that workers began, and sessions that reached their end. */
  runs: 0,
  ended: 0,
  calls: 0,
  /** Calls that nobody knows the outcome of, and that were made again. */
  unknown: 0,
  again: 0,
  /** How often a person had to say that it may go on. */
  asked: 0,
};

export interface WorkKillReport extends Readonly<typeof counts> {
  /** From the death of a worker to the next lease on each session that it held, in ms; after the audit. */
  readonly takeoversMs: readonly number[];
  readonly seed: number;
  readonly ms: number;
  readonly problems: readonly string[];
}

type Counts = { -readonly [K in keyof typeof counts]: number };

const runner = [process.execPath, join(import.meta.dirname, "work-runner.ts")];

interface Member {
  readonly child: Child;
  readonly name: string | null;
  /** Runs that it began and has not ended. */
  going: number;
}

class Crew {
  readonly counts: Counts = { ...counts };
  readonly problems: string[] = [];
  readonly members: Member[] = [];
  /** Sessions at their end. */
  readonly over = new Set<string>();
  readonly takeoversMs: number[] = [];
  readonly #deaths: { readonly isBy: (holder: string) => boolean; readonly atMs: number }[] = [];
  readonly #order: (number: number) => WorkOrder;
  readonly #cache: string;
  #started = 0;

  constructor(order: (number: number) => WorkOrder, cache: string) {
    this.#order = order;
    this.#cache = cache;
  }

  start(): void {
    const child = startChild(runner, { cache: this.#cache });
    const order = this.#order(this.#started++);
    const member: Member = { child, name: order.do === "work" ? order.name : null, going: 0 };
    this.members.push(member);
    child.process.stdin?.write(`${JSON.stringify(order)}\n`);
    child.listen((line) => {
      if (line === "began") member.going += 1;
      if (line === "began") this.counts.runs += 1;
      if (line === "ended") member.going -= 1;
      if (line.startsWith("failed")) this.problems.push(line);
    });
    void this.#hear(child);
  }

  async #hear(child: Child): Promise<void> {
    const { code, signal, stderr } = await child.ended;
    // One that was started last of all may be told to stop before it listens for that.
    const early = signal === "SIGTERM" && child.lines.length === 0;
    if (signal === "SIGKILL" || code === 0 || early) return;
    this.problems.push(`a worker ended with ${code ?? signal}: ${stderr}`);
  }

  /** Somebody who is at work, if there is anybody. */
  async kill(random: Random): Promise<void> {
    const busy = this.members.filter(({ going }) => going > 0);
    if (busy.length === 0) return;
    const victim = random.pick(busy);
    this.members.splice(this.members.indexOf(victim), 1);
    this.#mourn(victim);
    victim.child.process.kill("SIGKILL");
    await victim.child.ended;
    this.counts.kills += 1;
    this.counts.atWork += victim.going > 0 ? 1 : 0;
    this.start();
  }

  #mourn({ name, child }: Member): void {
    const pid = new RegExp(`(?<!\\d)${child.process.pid}(?!\\d)`);
    const isBy = (holder: string): boolean => (name === null ? pid.test(holder) : holder === name);
    this.#deaths.push({ isBy, atMs: Date.now() });
  }

  /** When the holder of a lease that was taken then was killed; null when it was not. */
  deathOf(holder: string, takenMs: number): number | null {
    return this.#deaths.find(({ isBy, atMs }) => atMs >= takenMs && isBy(holder))?.atMs ?? null;
  }

  /** In peace. */
  async stop(): Promise<void> {
    for (const { child } of this.members) child.process.kill("SIGTERM");
    await Promise.all(this.members.map(({ child }) => child.ended));
  }
}

export async function killWorkers(options: WorkKillOptions): Promise<WorkKillReport> {
  const startedMs = performance.now();
  const { seed, forMs, everyMs, restMs = 120_000, paceMs = 15, progress } = options;
  const directory = await mkdtemp(join(tmpdir(), "skein-workers-"));
  const place = { directory, store: await newPlace(directory) };
  const plan = planOf();
  const random = makeRandom(seed);
  try {
    await warm(directory);
    await using engine = await engineIn(place, { plan, paceMs: 0 });
    const atOnce = options.atOnce ?? options.sessions;
    const ids = await openSessions(engine, options.sessions, atOnce < options.sessions);
    const order = (number: number): WorkOrder => {
      // Half of them are known by a name of their own: their leases must run out.
      const name = number % 2 === 0 ? null : `worker-${number}`;
      return { do: "work", place, name, plan, paceMs, concurrency: options.concurrency ?? 4 };
    };
    const crew = new Crew(order, join(directory, "cache"));
    const report = (): WorkKillReport => {
      const { counts: counted, problems, takeoversMs } = crew;
      return { ...counted, takeoversMs, seed, ms: performance.now() - startedMs, problems };
    };
    for (let number = 0; number < options.workers; number++) crew.start();
    const over = new AbortController();
    const killing = killFor(crew, random, { forMs, everyMs, signal: over.signal });
    const untilMs = performance.now() + forMs + restMs;
    while (crew.counts.ended < ids.length) {
      if (performance.now() > untilMs) throw new Error(`not at the end: ${JSON.stringify(report())}`);
      await sleep(300);
      crew.counts.ended = await goOn(engine, ids, plan, { crew, atOnce });
      progress?.(report());
    }
    over.abort();
    await killing;
    await crew.stop();
    await audit(engine, ids, plan, { directory, crew });
    return report();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function killFor(
  crew: Crew,
  random: Random,
  how: { readonly forMs: number; readonly everyMs: number; readonly signal: AbortSignal },
): Promise<void> {
  while (crew.counts.runs === 0 && !how.signal.aborted) await sleep(20); // Until somebody is at work.
  const untilMs = performance.now() + how.forMs;
  while (performance.now() < untilMs && !how.signal.aborted) {
    await sleep(how.everyMs * (0.5 + random.next()));
    if (!how.signal.aborted) await crew.kill(random);
  }
}

async function warm(directory: string): Promise<void> {
  const child = startChild(runner, { cache: join(directory, "cache") });
  child.process.stdin?.write(`${JSON.stringify({ do: "warm" })}\n`);
  const { code, stderr } = await child.ended;
  if (code !== 0) throw new Error(`the worker does not start: ${stderr}`);
}

interface Course {
  readonly crew: Crew;
  readonly atOnce: number;
}

/** Gives each session that is idle the input of its next turn. Resolves to how many are at their end. */
async function goOn(
  engine: Engine,
  ids: readonly string[],
  plan: Plan,
  { crew, atOnce }: Course,
): Promise<number> {
  for (const id of ids.filter((one) => !crew.over.has(one)).slice(0, atOnce)) {
    const session = await engine.session(id);
    const { at, standing } = await session.fold();
    const { status, lastTurn, turn, inbox, lease } = standing;
    if (status === "suspended") {
      // Nobody knows whether it is the model that kills whoever asks it, so a person is asked in the end.
      const { why } = await session.state();
      if (why?.reason?.startsWith("model call failed after ") !== true)
        crew.problems.push(`${id}: ${why?.by}, ${why?.reason}`);
      crew.counts.asked += 1;
      await session.activate();
    }
    if (status !== "open" || turn !== null || inbox.waiting.length > 0) continue;
    if (lastTurn < plan.length) await session.append(inputOf(lastTurn + 1), { key: inputOf(lastTurn + 1) });
    // Who died right behind the last record gave nothing back, and there is nothing to take over.
    else if (!lease.held || Date.now() - at > 3 * leaseMs) crew.over.add(id);
  }
  return crew.over.size;
}

async function audit(
  engine: Engine,
  ids: readonly string[],
  plan: Plan,
  { directory, crew }: { readonly directory: string; readonly crew: Crew },
): Promise<void> {
  const lines = openWitness(directory).tools();
  const byKey = Map.groupBy(lines, ({ key }) => key);
  const heard = new Set<string>();
  for (const id of ids) {
    const keys = await auditSession(engine, id, plan, { byKey, crew });
    await measureTakeovers(engine, id, crew);
    for (const key of keys) heard.add(key);
    crew.problems.push(
      ...twoPlaces(
        id,
        lines.filter(({ key }) => keys.has(key)),
      ),
    );
  }
  for (const key of byKey.keys()) if (!heard.has(key)) crew.problems.push(`no log knows the call ${key}`);
  const { ok, problems } = await engine.verify();
  if (!ok) crew.problems.push(...problems.map(({ problem }) => problem));
}

interface Seen {
  readonly byKey: ReadonlyMap<string, readonly ToolLine[]>;
  readonly crew: Crew;
}

/** Gives the keys of its calls. */
async function auditSession(
  engine: Engine,
  id: string,
  plan: Plan,
  { byKey, crew }: Seen,
): Promise<Set<string>> {
  const { problems, counts: counted } = crew;
  const session = await engine.session(id);
  const { standing, mind } = await session.fold();
  const whole = standing.lastTurn === plan.length && standing.turn === null && mind.calls.size === 0;
  if (!whole || standing.status !== "open") problems.push(`${id} is not at its end`);
  const open = new Map<string, { readonly seq: number; readonly tool: string }>();
  const keys = new Set<string>();
  const settled: string[] = [];
  for await (const { type, seq, body } of session.events({ types: ["tool.requested", "tool.settled"] })) {
    const { call, tool, status } = body as {
      readonly call: string;
      readonly tool: string;
      readonly status: string;
    };
    if (type === "tool.requested") {
      open.set(call, { seq, tool });
      continue;
    }
    const request = open.get(call);
    const key = hash("sha256", `${id}\n${request?.seq}`, "hex");
    const seen = byKey.get(key) ?? [];
    const said = (what: ToolLine["say"]): number => seen.filter(({ say }) => say === what).length;
    keys.add(key);
    settled.push(status);
    counted.calls += 1;
    if (status === "unknown") counted.unknown += 1;
    if (said("begin") > 1) counted.again += 1;
    const name = `${id}, ${request?.tool} at ${request?.seq}`;
    const outer = ["read", "idempotent", "unsafe", "probed"].includes(request?.tool ?? "");
    if (outer && status === "ok" && said("end") === 0) problems.push(`${name}: done, and nobody saw it`);
    if (request?.tool === "unsafe" && said("begin") > 1) problems.push(`${name}: done twice`);
  }
  const planned = plan.flat(2).length;
  if (settled.length !== planned) problems.push(`${id}: ${settled.length} calls of ${planned}`);
  return keys;
}

/** A lease that was not given back ends with its holder; the next one is the takeover. */
async function measureTakeovers(engine: Engine, id: string, crew: Crew): Promise<void> {
  const session = await engine.session(id);
  let diedMs: number | null = null;
  for await (const { type, at, body } of session.events({ types: ["lease.taken", "lease.released"] })) {
    if (type === "lease.taken" && diedMs !== null) crew.takeoversMs.push(at - diedMs);
    const { holder } = body as { readonly holder: string };
    diedMs = type === "lease.taken" ? crew.deathOf(holder, at) : null;
  }
}

/** Whoever begins between another's beginning and end of a call is in a second place. */
function twoPlaces(id: string, lines: readonly ToolLine[]): string[] {
  return lines.flatMap((line, place) => {
    const later = lines.slice(place + 1);
    const end = later.findIndex(({ pid, key, say }) => pid === line.pid && key === line.key && say === "end");
    if (line.say !== "begin" || end === -1) return [];
    const strangers = later.slice(0, end).filter(({ pid }) => pid !== line.pid);
    return strangers.map(({ pid }) => `${id}: ${line.pid} and ${pid} at once`);
  });
}
