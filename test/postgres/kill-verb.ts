/** What the writers of the campaign of kills do: the writes of test/crash, and those that need a second. */
import { fillOf } from "../crash/mark.ts";
import type { Random } from "../crash/random.ts";
import { verbs as all, type Act, type Placed } from "../crash/verb.ts";

interface Writing extends Act {
  readonly workspace: string;
  /** Some session, perhaps of another process. */
  readonly other: string;
}

interface Verb {
  readonly weight: number;
  readonly parts: (random: Random) => number;
  readonly act: (act: Writing) => Promise<Placed>;
}

const one = () => 1;
/** A file of SQLite has a -wal; and what a deleted session held cannot be held against anything. */
const { delete: _, large: __, checkpoint: ___, search: ____, ...plain } = all;

export const verbs = {
  ...plain,
  /** Two logs in one append, all or none. */
  send: {
    weight: 12,
    parts: () => 2,
    act: async ({ session, other, tokens }) => {
      const [token = ""] = tokens;
      const { seq } = await session.send(other, `${token} ${fillOf(token).slice(0, 2_000)}`);
      return { session: session.id, seq, headSeq: seq };
    },
  },
  /** It is opened again by the next write to it. */
  close: {
    weight: 3,
    parts: one,
    act: async ({ session, tokens }) => {
      const { seq, headSeq } = await session.close({ reason: tokens[0] ?? "" });
      return { session: session.id, seq, headSeq };
    },
  },
  reopen: {
    weight: 0,
    parts: one,
    act: async ({ session, tokens }) => {
      const { seq, headSeq } = await session.reopen({ reason: tokens[0] ?? "" });
      return { session: session.id, seq, headSeq };
    },
  },
  /** Into the workspace's log, which all processes share. */
  agent: {
    weight: 0.5,
    parts: one,
    act: async ({ engine, workspace, mark, tokens }) => {
      await engine.addAgent({ name: mark.replace(".", "-"), instructions: tokens[0] ?? "" });
      return { session: workspace, seq: 0, headSeq: 0 };
    },
  },
} as const satisfies Record<string, Verb>;

export type VerbName = keyof typeof verbs;

const names = Object.keys(verbs) as readonly VerbName[];
const weightSum = names.reduce((sum, name) => sum + verbs[name].weight, 0);

export function pickVerb(random: Random): VerbName {
  let left = random.next() * weightSum;
  return names.find((name) => (left -= verbs[name].weight) < 0) ?? "input";
}
