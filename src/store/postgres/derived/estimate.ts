/**
 * Planner statistics of the tables. A connection's plans are made once, and those made for empty tables read
 * far too much later. PostgreSQL analyzes automatically, but only every minute, and never the partitioned
 * parent table of the events; so a process that fills a new store triggers it earlier.
 */
import type { Driver } from "../driver.ts";

export interface Estimates {
  /** Reports so many judged appends. */
  grown(appends: number): void;
}

/** After so many appends of this process. */
const looks = [100, 1_000, 10_000, 100_000] as const;

const known =
  "SELECT greatest(reltuples, 0)::bigint AS logs FROM pg_class WHERE oid = 'skein.heads'::regclass";
const look = "ANALYZE skein.heads, skein.logs, skein.schedule, skein.events";

export function makeEstimates({ database }: Driver): Estimates {
  let count = 0;

  /** Only while the store is small compared to what was added: on a large one it is slow and useless. */
  async function lookIfSmall(added: number): Promise<void> {
    const [row] = await database.run<{ logs: number }>(known);
    if ((row?.logs ?? 0) < added * 2) await database.run(look, [], { prepare: false });
  }

  return {
    grown(appends) {
      const before = count;
      count += appends;
      if (!looks.some((at) => before < at && count >= at)) return;
      // A role that does not own the tables may not; then the server's own schedule remains.
      lookIfSmall(count).catch(() => undefined);
    },
  };
}
