/** Bugs, planted on purpose: what the simulator is there to catch. Each is one that was near at hand. */
import type { StoredRecord } from "../../src/core/chain.ts";
import type { Store } from "../../src/store/port.ts";
import type { Plant } from "./simulation.ts";

/** The store forgets to look at the epoch: an earlier holder is not fenced. */
const noFence: Plant = {
  below: (store) => ({
    ...store,
    append: (parts) => store.append(parts.map(({ epoch: _, ...part }) => part)),
  }),
};

/** The ledger does not see that a call was started: what a dead runner had begun runs again. */
const noStart: Plant = {
  above: (store) =>
    over(store, {
      read: async (session, range) => (await store.read(session, range)).map(hidden),
    }),
};

/** A record that the fold passes over, as it does with another program's. */
const hidden = (record: StoredRecord): StoredRecord =>
  record.type === "tool.started" ? { ...record, type: "x.hidden" } : record;

/** The writer takes a lost answer for a failure: it decides again, and writes again. */
const writeAgain: Plant = {
  above: (store) =>
    over(store, {
      async append(parts) {
        const outcome = await store.append(parts);
        const session = parts[0]!.session;
        return outcome.kind === "unknown" ? { kind: "conflict", session, headSeq: 0 } : outcome;
      },
    }),
};

function over(store: Store, own: Partial<Store>): Store {
  return new Proxy(store, {
    get: (inner, name) => own[name as keyof Store] ?? inner[name as keyof Store],
  });
}

export const planted = { noFence, noStart, writeAgain } as const;
