/** The sample family on this server: creating, resuming and removing it. */
import { cell, useCell } from "./signal.ts";
import { refresh, useReading, type CachedQuery } from "./query-cache.ts";
import {
  makeSampleFamily,
  removeSampleFamily,
  sampleStanding,
  type SampleProgress,
  type SampleStanding,
} from "./sample/maker.ts";
import { engine } from "./server.ts";

/** What this tab is doing with it; null: nothing. */
const underWay = cell<SampleProgress | null>(null);

export const useSampleProgress = (): SampleProgress | null => useCell(underWay);

/** Whether it exists, and whether its creation was interrupted. */
export const useSamples = (): CachedQuery<SampleStanding> =>
  useReading("sessions/sample", () => sampleStanding(engine));

/** Creates what is missing, and returns the id of the session to show first. */
export const makeSamples = async (): Promise<string> =>
  (await alone(() => makeSampleFamily(engine, (progress) => report(progress)))).id;

/** Removes all of it, and returns the number of sessions. The agent stays: versions of agents do. */
export const removeSamples = (): Promise<number | undefined> =>
  alone(() => removeSampleFamily(engine, (progress) => underWay.set(progress)));

function report(progress: SampleProgress): void {
  underWay.set(progress);
  refresh("sessions");
}

/** One at a time, also across tabs: the second one gets an error. */
async function alone<T>(work: () => Promise<T>): Promise<T> {
  if (underWay.get() !== null) throw new Error("The samples are already being created or removed.");
  underWay.set({ done: 0, of: 1, says: "Starting" });
  try {
    return await locked(work);
  } finally {
    underWay.set(null);
    for (const prefix of ["sessions", "agents", "triggers", "memory", "cost"]) refresh(prefix);
  }
}

/** Only pages in a secure context have locks. */
async function locked<T>(work: () => Promise<T>): Promise<T> {
  const { locks } = navigator as { readonly locks?: LockManager };
  if (locks === undefined) return work();
  return locks.request("skein-samples", { ifAvailable: true }, (lock) => {
    if (lock === null)
      throw new Error("Another tab is creating or removing the samples. Wait for it to finish.");
    return work();
  });
}
