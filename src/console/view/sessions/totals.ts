/** The number of all sessions, of running ones, and of those that wait for a person. */
import { engine } from "../../server.ts";
import { refresh, useReading } from "../../query-cache.ts";
import { isAsking } from "./filter.ts";

export interface Totals {
  readonly all: number;
  readonly running: number;
  readonly asking: number;
  /** There are more of the last two than were counted. */
  readonly isMore: boolean;
}

const countedMax = 500;

async function readTotals(): Promise<Totals> {
  const [running, suspended, { sessions: all }] = await Promise.all([
    engine.sessions({ status: ["running"], limit: countedMax }),
    engine.sessions({ status: ["suspended"], limit: countedMax }),
    engine.stats(),
  ]);
  return {
    all,
    running: running.rows.length,
    asking: suspended.rows.filter(isAsking).length,
    isMore: running.cursor !== null || suspended.cursor !== null,
  };
}

/** Requested after the first rows, so that these come first. */
export const useTotals = (isBegun: boolean): Totals | undefined =>
  useReading(isBegun ? "sessions/totals" : null, readTotals).value;

export const refreshTotals = (): void => refresh("sessions/totals");
