/**
 * A store with injected faults: a wrapper for tests. A plan decides the fault of each call, so a run is
 * repeatable. It fails only in ways that the port allows.
 *
 *   pass          no fault
 *   delay         waits first, then passes
 *   lose-answer   the append happens, but returns `unknown`
 *   lose-request  nothing is written; returns `unknown`
 *   late          returns `unknown` now, and the append happens after a delay
 *   late:3        returns `unknown` now, and the append happens right before the third next call
 *   conflict, fenced, duplicate   nothing is written; returns as if another writer had been first
 *   unavailable   nothing happens; rejects
 *
 * Calls other than appends support only `pass`, `delay` and `unavailable`; any other fault is a reported
 * error of the plan. `watch` and `close` never fail.
 */
import { SkeinError } from "../../src/core/error.ts";
import type { Outcome, Part, Store } from "../../src/store/port.ts";

export type Fault =
  | "pass"
  | "delay"
  | "lose-answer"
  | "lose-request"
  | "late"
  | `late:${number}`
  | "conflict"
  | "fenced"
  | "duplicate"
  | "unavailable";

/** The calls that can fail. */
export type FaultyOp = Exclude<
  keyof Store,
  "workspace" | "program" | "now" | "watch" | "close" | "derivedInMemory"
>;

export interface FaultyCall {
  readonly op: FaultyOp;
  /** The number of calls of this operation, including this one: 1, 2, 3… */
  readonly count: number;
  /** Of an append. */
  readonly parts?: readonly Part[];
}

export interface Faults {
  plan(call: FaultyCall): Fault;
  /** How long `delay` and `late` take. The test ends the wait: by a timer, or explicitly. */
  delay?(call: FaultyCall): Promise<void>;
}

export interface FaultyStore extends Store {
  /** Waits for all late appends, and returns their real outcomes in request order. */
  settled(): Promise<readonly PromiseSettledResult<Outcome>[]>;
}

export function faultyStore(inner: Store, faults: Faults): FaultyStore {
  const counts = new Map<FaultyOp, number>();
  const late: Promise<Outcome>[] = [];
  const countdowns = new Set<Countdown>();
  /** Late appends that are due before this call happen first. */
  const next = async (op: FaultyOp, more: Pick<FaultyCall, "parts"> = {}): Promise<FaultyCall> => {
    const count = (counts.get(op) ?? 0) + 1;
    counts.set(op, count);
    for (const one of countdowns) {
      one.calls -= 1;
      if (one.calls > 0) continue;
      countdowns.delete(one);
      await one.make();
    }
    return { op, count, ...more };
  };
  const through = <K extends Exclude<FaultyOp, "append">>(op: K): Store[K] => {
    const work = inner[op].bind(inner) as (...args: readonly unknown[]) => Promise<unknown>;
    const faulty = async (...args: readonly unknown[]): Promise<unknown> => {
      const call = await next(op);
      await disturb(call, faults);
      return work(...args);
    };
    return faulty as Store[K];
  };
  return {
    workspace: inner.workspace,
    program: inner.program,
    now: () => inner.now(),
    readClock: through("readClock"),
    append: async (parts) => append(inner, faults, await next("append", { parts }), { late, countdowns }),
    head: through("head"),
    read: through("read"),
    keyed: through("keyed"),
    seqAt: through("seqAt"),
    feed: through("feed"),
    feedEnd: through("feedEnd"),
    watch: (changed) => inner.watch(changed),
    receive: through("receive"),
    put: through("put"),
    finish: through("finish"),
    discard: through("discard"),
    renew: through("renew"),
    logs: through("logs"),
    due: through("due"),
    nextDue: through("nextDue"),
    leased: through("leased"),
    scheduled: through("scheduled"),
    beat: through("beat"),
    workers: through("workers"),
    announce: through("announce"),
    servers: through("servers"),
    list: through("list"),
    endingWith: through("endingWith"),
    forks: through("forks"),
    openedFrom: through("openedFrom"),
    index: through("index"),
    putSnapshot: through("putSnapshot"),
    snapshot: through("snapshot"),
    putBlob: through("putBlob"),
    dropBlob: through("dropBlob"),
    blob: through("blob"),
    projected: through("projected"),
    project: through("project"),
    search: through("search"),
    wordGaps: through("wordGaps"),
    addWords: through("addWords"),
    rank: through("rank"),
    vectors: through("vectors"),
    putVectors: through("putVectors"),
    query: through("query"),
    clearDerived: through("clearDerived"),
    sweep: through("sweep"),
    pack: through("pack"),
    packedTo: through("packedTo"),
    scrub: through("scrub"),
    check: through("check"),
    stats: through("stats"),
    bytes: through("bytes"),
    close: () => inner.close(),
    async settled() {
      for (const { make } of countdowns) await make();
      countdowns.clear();
      return Promise.allSettled(late);
    },
  };
}

/** An append that happens after so many more calls. */
interface Countdown {
  calls: number;
  readonly make: () => Promise<unknown>;
}

async function disturb(call: FaultyCall, faults: Faults): Promise<void> {
  const fault = faults.plan(call);
  if (fault === "pass") return;
  if (fault === "delay") return faults.delay?.(call);
  if (fault === "unavailable") throw unavailable(call);
  throw new Error(`the plan says "${fault}" for ${call.op}; that is for appends only`);
}

async function append(
  inner: Store,
  faults: Faults,
  call: FaultyCall,
  { late, countdowns }: { readonly late: Promise<Outcome>[]; readonly countdowns: Set<Countdown> },
): Promise<Outcome> {
  const parts = call.parts ?? [];
  const fault = faults.plan(call);
  if (isCounted(fault)) {
    const make = (): Promise<unknown> => {
      late.push(inner.append(parts));
      return Promise.allSettled(late.slice(-1));
    };
    countdowns.add({ calls: Number(fault.slice("late:".length)), make });
    return lost(call);
  }
  switch (fault) {
    case "pass":
      return inner.append(parts);
    case "delay":
      await faults.delay?.(call);
      return inner.append(parts);
    case "lose-answer":
      // The result of the inner store is lost too, even a refusal.
      await inner.append(parts).catch(() => undefined);
      return lost(call);
    case "lose-request":
      return lost(call);
    case "late":
      late.push(Promise.resolve(faults.delay?.(call)).then(() => inner.append(parts)));
      // `settled` reports the error; here it must not end the process.
      late.at(-1)?.catch(() => undefined);
      return lost(call);
    case "conflict":
    case "fenced":
    case "duplicate":
      return refusal(inner, fault, parts);
    case "unavailable":
      throw unavailable(call);
  }
}

const isCounted = (fault: Fault): fault is `late:${number}` => fault.startsWith("late:");

/** Of the first part, with true values of its log; a duplicate names the record at its head. */
async function refusal(
  inner: Store,
  kind: "conflict" | "fenced" | "duplicate",
  parts: readonly Part[],
): Promise<Outcome> {
  const [part] = parts;
  if (!part) throw new Error(`the plan says "${kind}" for an append without parts`);
  const { session } = part;
  const head = await inner.head(session);
  if (kind === "conflict") return { kind, session, headSeq: head?.seq ?? 0 };
  if (kind === "fenced") return { kind, session, epoch: head?.epoch ?? 0 };
  const key = part.drafts.find((draft) => draft.key !== null)?.key;
  if (key === undefined || key === null)
    throw new Error('the plan says "duplicate" for drafts without a key');
  return { kind, session, key, seq: head?.seq ?? 0 };
}

const lost = (call: FaultyCall): Outcome => ({
  kind: "unknown",
  cause: new Error(`the answer to append ${call.count} was lost, as planned`),
});

const unavailable = (call: FaultyCall): SkeinError =>
  new SkeinError("unavailable", `${call.op} ${call.count} fails, as planned`);
