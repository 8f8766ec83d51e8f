/**
 * The conformance suite: the tests for every store driver, built in or third party. In a test file of the
 * driver:
 *
 *   conformance({ name: "mine", open: async (world) => {
 *     const place = await newPlace();
 *     const start = () => openMine({ place, world: { ...world, sleep, defer } });
 *     return { store: await start(), reopen: start, done: () => remove(place) };
 *   } });
 *
 * A driver with some of the capabilities names them (`capabilities: ["blobs"]`): it runs their cases and
 * those of the log, and missing capabilities are supplied in memory. Every case gets a new, empty store that
 * uses the given clock and digest. A driver skips a case that it cannot pass by name and with a reason, which
 * the report shows.
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
import { erasedWordCases, wordCases } from "./words.ts";

export type { ConformanceWorld, DraftFields } from "./bench.ts";
export { draftOf } from "./bench.ts";

/** The driver under test. */
export interface ConformanceSubject {
  readonly name: string;
  open(world: ConformanceWorld): Promise<ConformanceStore>;
  /** The capabilities of the driver; default: all. Cases that need others do not run. */
  readonly capabilities?: readonly Capability[];
  /** Names of cases, each with the reason why this driver fails it. */
  readonly skip?: Readonly<Record<string, string>>;
}

/** An open store of the driver under test. */
export interface ConformanceStore {
  readonly store: Store | LogStore;
  /** Opens it again at the same place, after it was closed. Absent if the driver is not persistent. */
  reopen?(): Promise<Store | LogStore>;
  /** Cleans up. The last opened store is closed by then. */
  done(): Promise<void>;
}

/** The default capabilities of the cases in a file. */
const groups: readonly (readonly [cases: readonly ConformanceCase[], needs: readonly Capability[]])[] = [
  [appendCases, []],
  [readCases, []],
  [forkCases, []],
  [originCases, ["index"]],
  [listCases, ["index"]],
  [derivedCases, ["snapshots", "search"]],
  [wordCases, ["search"]],
  [erasedWordCases, ["search", "maintenance"]],
  [blobCases, ["blobs"]],
  [receiveCases, ["receive"]],
  [discardCases, ["receive"]],
  [packCases, ["maintenance"]],
  [scheduleCases, ["schedule"]],
  [eraseCases, ["maintenance"]],
];

const cases = groups.flatMap(([list, needs]) => list.map((one) => ({ ...one, needs: one.needs ?? needs })));

const allCapabilities = Object.keys(capabilities) as Capability[];

/** For missing capabilities: the suite's clock stands still, so nothing waits for it. */
const timers = { sleep: () => Promise.resolve(), defer: (work: () => void) => queueMicrotask(work) };

/** No case takes long; one that hangs is a failure. */
const caseMs = 60_000;

/** Registers one test per case with node:test. */
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
