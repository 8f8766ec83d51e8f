/**
 * What the planner knows of the tables. The plans of a connection are made once, and those that were made for
 * empty tables read far too much once they are not. PostgreSQL looks by itself, but only every minute, and
 * never at the table of which events are the partitions; so whoever fills a new store has it look earlier.
 */
import type { Driver } from "../driver.ts";

export interface Estimates {
  /** So many appends were judged. */
  grown(appends: number): void;
}

/** After so many appends of this process. */
const looks = [100, 1_000, 10_000, 100_000] as const;

const known =
  "SELECT greatest(reltuples, 0)::bigint AS logs FROM pg_class WHERE oid = 'skein.heads'::regclass";
const look = "ANALYZE skein.heads, skein.logs, skein.schedule, skein.events";

export function makeEstimates({ database }: Driver): Estimates {
  let count = 0;

  /** Only while the store is small to what was added: on a large one it takes its time, and is no use. */
  async function lookIfSmall(added: number): Promise<void> {
    const [row] = await database.run<{ logs: number }>(known);
    if ((row?.logs ?? 0) < added * 2) await database.run(look, [], { prepare: false });
  }

  return {
    grown(appends) {
      const before = count;
      count += appends;
      if (!looks.some((at) => before < at && count >= at)) return;
      // A role that does not own the tables may not; then the server's own look is what is left.
      lookIfSmall(count).catch(() => undefined);
    },
  };
}
