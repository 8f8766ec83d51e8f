/** Bugs, planted on purpose: what the simulator is there to catch. Each is one that was near at hand. */
import { createHash } from "node:crypto";
import type { StoredRecord } from "../../src/core/chain.ts";
import type { Draft, Part, Store } from "../../src/store/port.ts";
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

/** Keys are not kept: what was written before is not known again. */
const forgetful: Plant = {
  below: (store) =>
    over(store, {
      keyed: async () => undefined,
      append: (parts) => store.append(withDrafts(parts, (draft) => [{ ...draft, key: null }])),
    }),
};

/** A firing is written whatever was written meanwhile: nobody looks whether its time is still the next. */
const blindFire: Plant = {
  below: (store) =>
    over(store, {
      append: (parts) =>
        store.append(
          parts.map((part) => (has(part, "trigger.fired") ? { ...part, expect: "exists" } : part)),
        ),
    }),
};

/** The index is not kept in step with what time brings: what a trigger gave to do is not seen to be due. */
const lostDue: Plant = {
  below: (store) =>
    over(store, {
      append: (parts) =>
        store.append(
          parts.map((part) => {
            const { index: _, ...left } = part;
            return has(part, "input.received") && !has(part, "session.opened") ? left : part;
          }),
        ),
    }),
};

/** A lease is said to be given back, and is not. */
const noRelease: Plant = {
  below: (store) =>
    over(store, {
      append: (parts) =>
        store.append(
          parts.map((part) => {
            const { lease, ...left } = part;
            return lease === "release" ? left : part;
          }),
        ),
    }),
};

/** What is sent arrives, and then arrives again. */
const twice: Plant = {
  below: (store) =>
    over(store, {
      async append(parts) {
        const outcome = await store.append(parts);
        const mail = parts.find((part) => has(part, "message.received"));
        if (outcome.kind !== "ok" || mail === undefined) return outcome;
        const { session, index } = mail;
        const drafts = mail.drafts.map((draft) => ({ ...draft, key: null }));
        await store.append([
          { session, expect: "exists", drafts, ...(index === undefined ? {} : { index }) },
        ]);
        return outcome;
      },
    }),
};

/** The time that a session sleeps until comes, and nobody is told. */
const lostWake: Plant = {
  above: (store) =>
    over(store, {
      due: async (options) => (await store.due(options)).filter(({ status }) => status !== "sleeping"),
    }),
};

/** A model is asked and nothing is set aside for it. */
const noReservation: Plant = {
  above: (store) =>
    over(store, {
      append: (parts) =>
        store.append(
          withDrafts(parts, (draft) => {
            if (draft.type !== "model.requested") return [draft];
            const body = JSON.stringify({ ...(JSON.parse(draft.body) as object), reserved: {} });
            return [{ ...draft, body, bodyHash: createHash("sha256").update(body).digest("hex") }];
          }),
        ),
    }),
};

/** Whoever writes while some lease has not run out by the clock is taken for its holder. */
const clockOwns: Plant = {
  below: (store, now) =>
    over(store, {
      async append(parts) {
        const judged: Part[] = [];
        for (const part of parts) {
          const { lease } = (await store.head(part.session)) ?? { lease: null };
          const { epoch: _, ...left } = part;
          judged.push(lease !== null && lease.untilMs > now() ? left : part);
        }
        return store.append(judged);
      },
    }),
};

/** Where a trigger ended a sleep, the session sleeps on. */
const deafSleep: Plant = {
  below: (store) =>
    over(store, {
      append: (parts) =>
        store.append(
          parts.map((part) =>
            has(part, "trigger.fired")
              ? { ...part, drafts: part.drafts.filter(({ type }) => type !== "session.woken") }
              : part,
          ),
        ),
    }),
};

/** What waits is left behind when a session goes on as another one. */
const lostQueue: Plant = {
  below: (store) =>
    over(store, {
      append: (parts) =>
        store.append(
          parts.some((part) => has(part, "session.continued"))
            ? parts.map((part) =>
                has(part, "session.opened")
                  ? { ...part, drafts: part.drafts.filter(({ type }) => type !== "input.received") }
                  : part,
              )
            : parts,
        ),
    }),
};

/** A key counts where an input arrived, and not at the id that it was sent to. */
const keyElsewhere: Plant = {
  below: (store) =>
    over(store, {
      append: (parts) =>
        store.append(
          parts.some((part) => has(part, "input.forwarded"))
            ? withDrafts(parts, (draft) => [{ ...draft, key: null }])
            : parts,
        ),
    }),
};

const has = ({ drafts }: Part, type: string): boolean => drafts.some((draft) => draft.type === type);

const withDrafts = (parts: readonly Part[], change: (draft: Draft) => readonly Draft[]): Part[] =>
  parts.map((part) => ({ ...part, drafts: part.drafts.flatMap(change) }));

function over(store: Store, own: Partial<Store>): Store {
  return new Proxy(store, {
    get: (inner, name) => own[name as keyof Store] ?? inner[name as keyof Store],
  });
}

export const planted = {
  noFence,
  noStart,
  writeAgain,
  forgetful,
  blindFire,
  lostDue,
  noRelease,
  twice,
  lostWake,
  noReservation,
  clockOwns,
  deafSleep,
  lostQueue,
  keyElsewhere,
} as const;
