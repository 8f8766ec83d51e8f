/**
 * The conformance suite: what every store driver is held to, ours and others'. In a test file of the driver:
 *
 *   conformance({ name: "mine", open: async (world) => {
 *     const place = await newPlace();
 *     const start = () => openMine({ place, world: { ...world, sleep, defer } });
 *     return { store: await start(), reopen: start, done: () => remove(place) };
 *   } });
 *
 * A driver with some of the capabilities names them (`capabilities: ["blobs"]`): it runs their cases and
 * those of the log, and what it lacks is supplied in memory. Every case gets a store of its own, empty, that
 * goes by the clock and the digest it was given. A case that a driver cannot pass is skipped by name and with
 * its reason, which the report shows.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { capabilities, type Capability } from "../capabilities.ts";
import { completeStore } from "../complete-store.ts";
import type { LogStore, Store } from "../port.ts";
import { appendCases } from "./append.ts";
import type { ConformanceCase, ConformanceWorld } from "./bench.ts";
import { makeIds, makeWorld } from "./bench.ts";
import { blobCases } from "./blob.ts";
import { derivedCases } from "./derived.ts";
import { eraseCases } from "./erase.ts";
import { forkCases } from "./fork.ts";
import { listCases } from "./list.ts";
import { originCases } from "./origin.ts";
import { packCases } from "./pack.ts";
import { readCases } from "./read.ts";
import { scheduleCases } from "./schedule.ts";
import { discardCases } from "./discard.ts";
import { receiveCases } from "./receive.ts";

export type { ConformanceWorld, DraftGiven } from "./bench.ts";
export { draftOf } from "./bench.ts";

/** The driver under test. */
export interface ConformanceSubject {
  readonly name: string;
  open(world: ConformanceWorld): Promise<ConformanceStore>;
  /** The capabilities of the driver; by default all. Cases that need others do not run. */
  readonly capabilities?: readonly Capability[];
  /** Names of cases, each with the reason why this driver does not pass it. */
  readonly skip?: Readonly<Record<string, string>>;
}

/** An open store of the driver under test. */
export interface ConformanceStore {
  readonly store: Store | LogStore;
  /** Opens it once more on the same place, after it was closed. Absent when the driver keeps nothing. */
  reopen?(): Promise<Store | LogStore>;
  /** Cleans up. The last store that was opened is closed by then. */
  done(): Promise<void>;
}

/** What a case needs beside the log itself, where it does not say so. */
const groups: readonly (readonly [cases: readonly ConformanceCase[], needs: readonly Capability[]])[] = [
  [appendCases, []],
  [readCases, []],
  [forkCases, []],
  [originCases, ["index"]],
  [listCases, ["index"]],
  [derivedCases, ["snapshots", "search"]],
  [blobCases, ["blobs"]],
  [receiveCases, ["receive"]],
  [discardCases, ["receive"]],
  [packCases, ["maintenance"]],
  [scheduleCases, ["schedule"]],
  [eraseCases, ["maintenance"]],
];

const cases = groups.flatMap(([list, needs]) => list.map((one) => ({ ...one, needs: one.needs ?? needs })));

const allCapabilities = Object.keys(capabilities) as Capability[];

/** For what a driver lacks: the suite's own clock stands still, so nothing waits for it. */
const timers = { sleep: () => Promise.resolve(), defer: (work: () => void) => queueMicrotask(work) };

/** Nothing here takes long; a case that hangs is a fault as well. */
const caseMs = 60_000;

/** Registers one test a case with node:test. */
export function conformance(subject: ConformanceSubject): void {
  const skip = new Map(Object.entries(subject.skip ?? {}));
  for (const [name, reason] of skip) {
    assert.ok(
      cases.some((known) => known.name === name),
      `${subject.name} skips a case that is not there: ${name}`,
    );
    assert.ok(reason.trim() !== "", `${subject.name} skips "${name}" without a reason`);
  }
  const has = new Set(subject.capabilities ?? allCapabilities);
  for (const known of cases) {
    if (!known.needs.every((need) => has.has(need))) continue;
    const reason = skip.get(known.name);
    test(`${subject.name}: ${known.name}`, { timeout: caseMs, skip: reason ?? false }, (context) =>
      runCase(subject, known, (why) => context.skip(why)),
    );
  }
}

async function runCase(
  subject: ConformanceSubject,
  known: ConformanceCase,
  skipped: (why: string) => void,
): Promise<void> {
  const { world, setClock } = makeWorld();
  const place = await subject.open(world);
  const whole = (given: Store | LogStore): Promise<Store> =>
    completeStore(given, { world: { ...world, ...timers } });
  let store = await whole(place.store);
  const reopen = async (): Promise<Store> => {
    await store.close();
    const again = await place.reopen?.();
    if (again !== undefined) store = await whole(again);
    return store;
  };
  try {
    if (known.reopens && !place.reopen) skipped("this driver keeps nothing");
    else {
      await known.run({ store, world, setClock, newId: makeIds(), reopen });
    }
  } finally {
    await store.close();
    await place.done();
  }
}
