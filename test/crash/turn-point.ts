/**
 * Named points of a turn: before and after every append of the loop, in the stream, in the tools. They are
 * found through the ports alone: a store that is wrapped, a model and tools of the test's own.
 *
 *   before TYPE N, after TYPE N   the Nth append of this process whose main record is of that type
 *   in stream N                   between two deltas of the Nth model call of this process
 *   at tool N, in tool N          before a tool's first line in the witness, and between its two lines
 */
import type { Part, Store } from "../../src/store/port.ts";

export interface Points {
  /** Something is about to happen, or has happened. Counts, and does what the test wants done here. */
  pass(place: string): Promise<void>;
}

export type Reached = (name: string) => void | Promise<void>;

/** `reached` is told every name. What it waits for is waited for, and it may end or stop the process. */
export function makePoints(reached: Reached): Points {
  const counts = new Map<string, number>();
  return {
    async pass(place) {
      const count = (counts.get(place) ?? 0) + 1;
      counts.set(place, count);
      await reached(`${place} ${count}`);
    },
  };
}

/** What an append is named by, if it has one of these; else by its first record. */
const main = [
  "session.opened",
  "lease.taken",
  "turn.started",
  "model.requested",
  // With it the turn may end, and the lease be released.
  "model.responded",
  "turn.ended",
  "lease.released",
  "model.failed",
  "tool.started",
  "tool.settled",
] as const;

export function pointedStore(inner: Store, points: Points): Store {
  return {
    ...inner,
    async append(parts) {
      const name = nameOf(parts);
      await points.pass(`before ${name}`);
      const outcome = await inner.append(parts);
      await points.pass(`after ${name}`);
      return outcome;
    },
  };
}

function nameOf(parts: readonly Part[]): string {
  const types = parts.flatMap(({ drafts }) => drafts.map(({ type }) => type));
  return main.find((type) => types.includes(type)) ?? types[0] ?? "nothing";
}
