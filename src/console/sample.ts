/** The sample family, at the server that gave this page: made, gone on with, and taken away. */
import { cell, useCell } from "./signal.ts";
import { refresh, useReading, type Reading } from "./query-cache.ts";
import {
  makeSampleFamily,
  removeSampleFamily,
  sampleStanding,
  type SampleProgress,
  type SampleStanding,
} from "./sample/maker.ts";
import { engine } from "./server.ts";

/** What this tab is doing with them; null: nothing. */
const underWay = cell<SampleProgress | null>(null);

export const useSampleProgress = (): SampleProgress | null => useCell(underWay);

/** Whether there are any, and whether their making was broken off. */
export const useSamples = (): Reading<SampleStanding> =>
  useReading("sessions/sample", () => sampleStanding(engine));

/** Makes what is not there yet, and gives the id of the session that is best looked at first. */
export const makeSamples = async (): Promise<string> =>
  (await alone(() => makeSampleFamily(engine, (progress) => told(progress)))).id;

/** Takes all of it away, and says how many sessions that were. The agent stays: versions of agents do. */
export const removeSamples = (): Promise<number | undefined> =>
  alone(() => removeSampleFamily(engine, (progress) => underWay.set(progress)));

function told(progress: SampleProgress): void {
  underWay.set(progress);
  refresh("sessions");
}

/** Not twice at once, also not in two tabs: whoever is second is told. */
async function alone<T>(work: () => Promise<T>): Promise<T> {
  if (underWay.get() !== null) throw new Error("The samples are being made or removed already.");
  underWay.set({ done: 0, of: 1, says: "Beginning" });
  try {
    return await locked(work);
  } finally {
    underWay.set(null);
    for (const prefix of ["sessions", "agents", "triggers", "memory", "cost"]) refresh(prefix);
  }
}

/** Only pages that came over a safe way have locks. */
async function locked<T>(work: () => Promise<T>): Promise<T> {
  const { locks } = navigator as { readonly locks?: LockManager };
  if (locks === undefined) return work();
  return locks.request("skein-samples", { ifAvailable: true }, (lock) => {
    if (lock === null) throw new Error("Another tab is making or removing the samples. Wait for it.");
    return work();
  });
}
