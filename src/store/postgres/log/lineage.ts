/** Shared prefixes of logs in PostgreSQL. These facts never change while a log exists. */
import { makeCache } from "../../../core/cache.ts";
import { missingLog } from "../../sql/damage.ts";
import { SkeinError } from "../../../core/error.ts";
import type { LogId } from "../../../core/ids.ts";
import type { Driver } from "../driver.ts";
import { arrayOf } from "../connection/array-literal.ts";

/** A stretch of a log in the store: these positions are records of that log. */
export interface Stretch {
  readonly log: number;
  readonly first: number;
  readonly last: number;
  readonly session: LogId;
}

export interface Lineage {
  /** The stretches that hold the positions from `first` to `last` as the log reads them, in order. */
  stretches(log: number, first: number, last: number): Promise<readonly Stretch[]>;
}

interface Line extends Readonly<Record<string, unknown>> {
  readonly id: number;
  readonly session: LogId;
  /** The log that holds the record at `fork_seq`; null without a shared prefix. */
  readonly base: number | null;
  readonly fork_seq: number;
}

/** Lines in the cache. */
const linesCount = 25_000;
/** Ancestors fetched at once. */
const fetchMax = 512;

const upward = `
WITH RECURSIVE up (id, session, base, fork_seq, level) AS (
  SELECT l.id, l.session, l.base, l.fork_seq, 1 FROM skein.logs l WHERE l.tenant = $1 AND l.id = $2
  UNION ALL
  SELECT l.id, l.session, l.base, l.fork_seq, up.level + 1 FROM up JOIN skein.logs l ON l.id = up.base
    AND l.fork_seq < up.fork_seq
  WHERE up.level < ${fetchMax} AND up.fork_seq >= $3
)
SELECT id, session, base, fork_seq FROM up`;

export function makeLineage({ database, tenant }: Driver): Lineage {
  const lines = makeCache<number, Line>(linesCount);

  /** With the ancestors that hold positions from `first` on. */
  async function lineOf(log: number, first: number): Promise<Line> {
    const known = lines.get(log);
    if (known !== undefined) return known;
    const rows = await database.run<Line>(upward, [tenant, log, first]);
    for (const line of rows) lines.set(line.id, line);
    const [line] = rows;
    if (line === undefined) throw missingLog(log);
    return line;
  }

  return {
    async stretches(log, first, last) {
      const found: Stretch[] = [];
      let upTo = last;
      let before = Infinity;
      for (let at: number | null = log; at !== null && upTo >= first;) {
        const line: Line = lines.get(at) ?? (await lineOf(at, first));
        const ownFrom = Math.max(first, line.fork_seq + 1);
        if (upTo >= ownFrom) found.push({ log: line.id, session: line.session, first: ownFrom, last: upTo });
        // A base begins before the fork point; otherwise the lineage is a cycle.
        if (line.fork_seq >= before)
          throw new SkeinError("corrupt", `log ${log}: its fork lineage is circular`);
        before = line.fork_seq;
        upTo = Math.min(upTo, line.fork_seq);
        at = line.base;
      }
      return found.toReversed();
    },
  };
}

/** As three arrays: logs, first and last positions. */
export const stretchArrays = (stretches: readonly Stretch[]): readonly [string, string, string] => [
  arrayOf(stretches.map(({ log }) => log)),
  arrayOf(stretches.map(({ first }) => first)),
  arrayOf(stretches.map(({ last }) => last)),
];
