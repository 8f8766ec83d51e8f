/**
 * The witness: sees every append that is really made, every call that reaches a model and every run of a
 * tool, whoever lives or dies meanwhile. What must never happen is noticed here at once.
 */
import type { LogId, SessionId } from "../../src/core/ids.ts";
import { isSessionId } from "../../src/core/ids.ts";
import type { Outcome, Part } from "../../src/store/port.ts";

/** What can be wrong. */
export type Fault =
  | "fence"
  | "intent"
  | "unsafe-twice"
  | "key"
  | "outcome"
  | "context"
  | "money"
  | "chain"
  | "inputs"
  | "told"
  | "rest"
  | "trigger"
  | "order"
  | "release"
  | "busy"
  | "broken";

export interface Problem {
  readonly fault: Fault;
  readonly text: string;
}

export interface Charge {
  readonly tokens: number;
  readonly nanoUsd: number;
}

export interface Witness {
  readonly problems: Problem[];
  readonly sessions: SessionId[];
  /** What models were paid, by session. */
  readonly charges: Map<string, Charge>;
  /** Every kind of event, and how often. */
  readonly counts: Map<string, number>;
  blame(fault: Fault, text: string): void;
  note(kind: string): void;
  /** What each call was charged, by `session seq` of its request. */
  readonly calls: Map<string, Charge>;
  /** When records of triggers were appended, by the store's clock: by `session seq`. */
  readonly clocks: Map<string, number>;
  /** The position of the last record of the append that opened a session. */
  readonly openings: Map<LogId, number>;
  /** `storeMs`: what the store's clock says. Triggers go by it, whatever the clock of the process says. */
  appended(process: string, parts: readonly Part[], outcome: Outcome, storeMs: number): void;
  /** A process begins to ask a model. Gives what is to be called when the call is charged, if it ever is. */
  asking(process: string, digest: string): (charge: Charge) => void;
  /** A tool was told to run. */
  ran(call: { readonly session: string; readonly seq: number; readonly key: string }, tool: string): void;
  /** It took effect. */
  took(key: string, tool: string, effect: "read" | "idempotent" | "unsafe", input: unknown): void;
}

/** Only whoever holds the lease writes these. */
const runnersOnly = new Set([
  "turn.started",
  "model.requested",
  "model.responded",
  "tool.requested",
  "tool.started",
]);

interface Holder {
  readonly epoch: number;
  readonly process: string;
}

function addCharge(charges: Map<string, Charge>, name: string, { tokens, nanoUsd }: Charge): void {
  const before = charges.get(name) ?? { tokens: 0, nanoUsd: 0 };
  charges.set(name, { tokens: before.tokens + tokens, nanoUsd: before.nanoUsd + nanoUsd });
}

export function makeWitness(trace: (line: string) => void): Witness {
  const problems: Problem[] = [];
  const sessions: SessionId[] = [];
  const charges = new Map<string, Charge>();
  const counts = new Map<string, number>();
  const clocks = new Map<string, number>();
  const openings = new Map<LogId, number>();
  const holders = new Map<LogId, Holder>();
  const calls = new Map<string, Charge>();
  /** By process and context: two processes may request the same, one of them after it lost its lease. */
  const requested = new Map<string, { readonly session: LogId; readonly seq: number }>();
  const started = new Set<string>();
  const effects = new Map<string, { readonly input: string; times: number }>();

  const note = (kind: string): void => void counts.set(kind, (counts.get(kind) ?? 0) + 1);

  function blame(fault: Fault, text: string): void {
    problems.push({ fault, text });
    trace(`PROBLEM ${fault}: ${text}`);
  }

  function checkFence(process: string, part: Part, firstSeq: number): void {
    const { session, epoch, drafts } = part;
    const holder = holders.get(session);
    const where = `${process} wrote ${drafts.map(({ type }) => type).join(", ")} at ${session}@${firstSeq}`;
    if (epoch !== undefined && holder?.epoch !== epoch)
      blame("fence", `${where} under epoch ${epoch}; in force is ${holder?.epoch ?? "none"}`);
    else if (epoch !== undefined && holder?.process !== process)
      blame("fence", `${where} under epoch ${epoch} of ${holder?.process}`);
    // What is written with the lease is written under it: the append takes both or neither.
    const isTaking = typeof part.lease === "object" && drafts[0]?.type === "lease.taken";
    const alone = epoch === undefined && !isTaking && drafts.find(({ type }) => runnersOnly.has(type));
    if (alone) blame("fence", `${where} without an epoch`);
  }

  function wrote(process: string, part: Part, firstSeq: number, storeMs: number): void {
    const { session, drafts, lease } = part;
    checkFence(process, part, firstSeq);
    if (lease === "release") holders.delete(session);
    else if (lease !== undefined) holders.set(session, { epoch: firstSeq, process });
    for (const [place, { type, body, cause }] of drafts.entries()) {
      note(type);
      // A fork that a model made is closed by itself.
      if (type === "session.closed") note(`${type} ${(JSON.parse(body) as { outcome: string }).outcome}`);
      if (type.startsWith("trigger.")) clocks.set(`${session} ${firstSeq + place}`, storeMs);
      if ((type === "session.opened" || type === "session.forked") && isSessionId(session))
        sessions.push(session);
      if (type === "session.opened") openings.set(session, firstSeq + drafts.length - 1);
      // Its own run ends with it; anybody else asked for it.
      if (type === "session.continued" && drafts[place - 1]?.type === "session.closed")
        note(drafts.at(-1)?.type === "lease.released" ? "rolled over in its run" : "rolled over");
      if (type === "tool.started") started.add(`${session} ${cause}`);
      if (type === "model.requested") {
        const { context } = JSON.parse(body) as { context: string };
        requested.set(`${process} ${context}`, { session, seq: firstSeq + place });
      }
    }
  }

  return {
    problems,
    sessions,
    charges,
    calls,
    counts,
    clocks,
    openings,
    blame,
    note,
    appended(process, parts, outcome, storeMs) {
      if (outcome.kind !== "ok") return;
      for (const [place, part] of parts.entries()) {
        const { firstSeq, headSeq } = outcome.parts[place]!;
        const types = part.drafts.map(({ type }) => type).join(" ");
        trace(`${process} ${part.session.slice(-4)} ${firstSeq}-${headSeq} ${types}`);
        wrote(process, part, firstSeq, storeMs);
      }
    },
    asking(process, digest) {
      // Found now: by the time that it is charged the same may have been requested again.
      const request = requested.get(`${process} ${digest}`);
      return (charge) => {
        note("model asked");
        if (request === undefined) {
          blame("intent", `a model was asked what no log says: ${digest}`);
          return;
        }
        const { session, seq } = request;
        addCharge(charges, session, charge);
        addCharge(calls, `${session} ${seq}`, charge);
      };
    },
    ran({ session, seq }, tool) {
      note(`ran ${tool}`);
      if (!started.has(`${session} ${seq}`))
        blame("intent", `${tool} ran at ${session}@${seq} before its start was written down`);
    },
    took(key, tool, effect, input) {
      const given = JSON.stringify(input);
      const known = effects.get(key) ?? { input: given, times: 0 };
      effects.set(key, known);
      known.times += 1;
      trace(`effect of ${tool} ${key.slice(0, 8)} for the ${known.times}. time`);
      if (known.input !== given) blame("key", `${tool} ran with one key for ${known.input} and ${given}`);
      if (known.times === 1) return;
      note(`again ${tool}`);
      if (effect === "unsafe") blame("unsafe-twice", `${tool} ${key} took effect ${known.times} times`);
    },
  };
}
