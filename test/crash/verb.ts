/** The writes of a crash test: for each verb how often, how many records, and how it is done. */
import { DatabaseSync } from "node:sqlite";
import type { Engine, Session, AppendResult } from "../../src/index.ts";
import type { SessionLease } from "../../src/entry/session.ts";
import { fillOf } from "./mark.ts";
import type { Random } from "./random.ts";

export interface Act {
  readonly engine: Engine;
  readonly path: string;
  readonly session: Session;
  readonly mark: string;
  /** One a record. */
  readonly tokens: readonly string[];
  readonly random: Random;
}

/** Where the records are; what came of them that can be written to next. */
export interface Placed {
  readonly session: string;
  readonly seq: number;
  readonly headSeq: number;
  readonly duplicate?: boolean;
  readonly opened?: Session;
  readonly lease?: SessionLease;
}

interface Verb {
  readonly weight: number;
  readonly parts: (random: Random) => number;
  readonly act: (act: Act) => Promise<Placed>;
}

const one = () => 1;
const first = ({ tokens }: Act): string => tokens[0] ?? "";
const crashRecord = (token: string) =>
  ({ type: "x.crash", body: { token }, content: { fill: fillOf(token) } }) as const;
const bareRecord = (token: string) => ({ type: "x.crash", body: { token } }) as const;
/** As much as a content may hold before it becomes a blob, or nearly. */
const largeRecord = (token: string) =>
  ({
    type: "x.crash",
    body: { token, fill: "large" },
    content: { fill: token.padEnd(60_000, " large") },
  }) as const;
const keys = ["rate", "owner", "branch", "deadline"] as const;

const placed = (session: Session, { seq, headSeq, duplicate, session: taken }: AppendResult): Placed => ({
  // An input to a session that was cleared goes to the one that continues it.
  session: taken ?? session.id,
  seq,
  headSeq,
  duplicate,
});

/**
 * A log's first record stands alone in its append, so its position is its head's as long as nobody else
 * wrote.
 */
async function started(opened: Session, seq: number): Promise<Placed> {
  return { session: opened.id, seq, headSeq: seq, opened };
}

async function earlier({ session, random }: Act): Promise<number> {
  const { seq } = await session.head();
  return Math.max(1, seq - random.below(40));
}

export const verbs = {
  input: {
    weight: 30,
    parts: one,
    act: async (act) => placed(act.session, await act.session.append(`${first(act)} ${fillOf(first(act))}`)),
  },
  records: {
    weight: 20,
    parts: (random) => 2 + random.below(11),
    act: async ({ session, tokens }) => placed(session, await session.append(tokens.map(crashRecord))),
  },
  bulk: {
    weight: 2,
    parts: (random) => 50 + random.below(350),
    act: async ({ session, tokens }) => placed(session, await session.append(tokens.map(bareRecord))),
  },
  expecting: {
    weight: 6,
    parts: (random) => 1 + random.below(3),
    act: async ({ session, tokens }) => {
      const { seq } = await session.head();
      return placed(session, await session.append(tokens.map(crashRecord), { expect: { seq } }));
    },
  },
  keyed: {
    weight: 15,
    parts: (random) => 1 + random.below(3),
    act: async ({ session, tokens, mark }) =>
      placed(session, await session.append(tokens.map(crashRecord), { key: mark })),
  },
  fact: {
    weight: 8,
    parts: one,
    act: async (act) =>
      placed(act.session, await act.session.record("fact", act.random.pick(keys), first(act))),
  },
  decision: {
    weight: 4,
    parts: one,
    act: async (act) => {
      const because = `because ${first(act)}`;
      return placed(act.session, await act.session.record("decision", "use-wal", "yes", { because }));
    },
  },
  retract: {
    weight: 3,
    parts: one,
    act: async (act) => {
      const because = first(act);
      return placed(act.session, await act.session.retract("fact", act.random.pick(keys), { because }));
    },
  },
  scratch: {
    weight: 4,
    parts: one,
    act: async (act) => placed(act.session, await act.session.scratch(act.random.pick(keys), first(act))),
  },
  save: {
    weight: 2,
    parts: one,
    act: async (act) => placed(act.session, await act.session.save("here", { note: first(act) })),
  },
  label: {
    weight: 2,
    parts: one,
    act: async (act) => placed(act.session, await act.session.label({ owner: first(act) })),
  },
  rename: {
    weight: 2,
    parts: one,
    act: async (act) => placed(act.session, await act.session.rename(first(act))),
  },
  rewind: {
    weight: 3,
    parts: one,
    act: async (act) =>
      placed(act.session, await act.session.rewind(await earlier(act), { reason: first(act) })),
  },
  fork: {
    weight: 3,
    parts: one,
    act: async (act) => {
      const atSeq = await earlier(act);
      return started(await act.session.fork({ atSeq, objective: first(act) }), atSeq + 1);
    },
  },
  open: {
    weight: 2,
    parts: one,
    act: async (act) => started(await act.engine.open({ objective: first(act) }), 1),
  },
  /** Two logs in one append: the first token closes the one, the second opens the next. */
  clear: {
    weight: 2,
    parts: () => 2,
    act: async ({ session, tokens }) => {
      const [reason = "", objective = ""] = tokens;
      return started(await session.clear({ reason, objective }), 1);
    },
  },
  /** Two logs again: the workspace's gets the record, the session's goes. */
  delete: {
    weight: 0.7,
    parts: one,
    act: async ({ engine, session, tokens }) => {
      await engine.delete(session.id, { reason: tokens[0] ?? "" });
      return { session: session.id, seq: 0, headSeq: 0 };
    },
  },
  lease: {
    weight: 3,
    parts: one,
    act: async (act) => {
      const lease = await act.session.lease({ holder: first(act), leaseMs: 1_000 });
      return { session: act.session.id, seq: lease.epoch, headSeq: lease.epoch, lease };
    },
  },
  /** Not by chance: it is for filling the -wal file. */
  large: {
    weight: 0,
    parts: () => 4,
    act: async ({ session, tokens }) => placed(session, await session.append(tokens.map(largeRecord))),
  },
  /**
   * Moves what is in the -wal file to the main file, as SQLite does by itself only when there is much of it.
   */
  checkpoint: {
    weight: 2,
    parts: () => 0,
    act: async ({ path, session, random }) => {
      const database = new DatabaseSync(path, { timeout: 20 });
      database.prepare(`PRAGMA wal_checkpoint(${random.pick(["PASSIVE", "RESTART", "TRUNCATE"])})`).all();
      database.close();
      return { session: session.id, seq: 0, headSeq: 0 };
    },
  },
  /** Writes what search knows, not the log. */
  search: {
    weight: 1,
    parts: () => 0,
    act: async ({ engine, session, mark }) => {
      await engine.search(mark, { limit: 1 });
      return { session: session.id, seq: 0, headSeq: 0 };
    },
  },
} as const satisfies Record<string, Verb>;

export type VerbName = keyof typeof verbs;

const verbNames = Object.keys(verbs) as readonly VerbName[];
const weightSum = verbNames.reduce((sum, name) => sum + verbs[name].weight, 0);

export function pickVerb(random: Random): VerbName {
  let left = random.next() * weightSum;
  return verbNames.find((name) => (left -= verbs[name].weight) < 0) ?? "input";
}

/** What is written under a lease and only while it is in force. */
export async function writeUnder(lease: SessionLease, tokens: readonly string[]): Promise<Placed> {
  const { seq, headSeq } = await lease.append(tokens.map(crashRecord));
  return { session: lease.session, seq, headSeq };
}
