/**
 * The conformance suite: what every store driver is held to, ours and others'. In a test file of the driver:
 *
 *   conformance({ name: "mine", open: async (world) => {
 *     const place = await newPlace();
 *     const start = () => openMine({ place, world: { ...world, sleep, defer } });
 *     return { store: await start(), reopen: start, done: () => remove(place) };
 *   } });
 *
 * Every case gets a store of its own, empty, that goes by the clock and the digest it was given. A case that
 * a driver cannot pass is skipped by name and with its reason, which the report shows.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../port.ts";
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
  /** Names of cases, each with the reason why this driver does not pass it. */
  readonly skip?: Readonly<Record<string, string>>;
}

/** An open store of the driver under test. */
export interface ConformanceStore {
  readonly store: Store;
  /** Opens it once more on the same place, after it was closed. Absent when the driver keeps nothing. */
  reopen?(): Promise<Store>;
  /** Cleans up. The last store that was opened is closed by then. */
  done(): Promise<void>;
}

const cases: readonly ConformanceCase[] = [
  ...appendCases,
  ...readCases,
  ...forkCases,
  ...originCases,
  ...listCases,
  ...derivedCases,
  ...blobCases,
  ...receiveCases,
  ...discardCases,
  ...packCases,
  ...scheduleCases,
  ...eraseCases,
];

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
  for (const known of cases) {
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
  let { store } = place;
  const reopen = async (): Promise<Store> => {
    await store.close();
    store = (await place.reopen?.()) ?? store;
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
