/**
 * The leader lease: one process of a store at a time does what must be done once, such as sending webhooks.
 * It is a lease on the workspace's log: taking it is an append, so two never take it at once, and when the
 * holder dies, another takes over.
 */
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import type { Deps } from "../deps.ts";

type LeaderDeps = Pick<Deps, "store" | "world" | "writer" | "holder">;
import { seal } from "../log/seal.ts";
import { holdsRecord, type KnownHead } from "../read/known-heads.ts";
import { isFree, isWithin, momentOf } from "../read/lease-status.ts";

export interface LeaderLease {
  /** The record that took it, which identifies writes under it: see `isLeader`. */
  readonly taken: KnownHead;
  /** Aborted when it is lost or released. */
  readonly lost: AbortSignal;
  /** Releases it. May be called twice. */
  release(): Promise<void>;
}

const leaseMsUsual = 15_000;
const renewals = 3;

/** Null while another process holds it, or got it first. */
export async function takeLeaderLease(
  deps: LeaderDeps,
  { name, leaseMs = leaseMsUsual }: { readonly name: string; readonly leaseMs?: number },
): Promise<LeaderLease | null> {
  const { store, world, writer } = deps;
  const head = await store.head(store.workspace);
  // An empty log has nothing to do.
  if (head === undefined || !isFree(deps, head.lease)) return null;
  // A process may have several engines: each counts as another one here.
  const mark = Buffer.from(world.random(6)).toString("base64url");
  const holder = `${name}-${mark}@${deps.holder}`;
  const asked = momentOf(world);
  const { drafts } = seal(world, [{ type: "lease.taken", body: { holder, leaseMs } }], sealing);
  const expect = { seq: head.seq, hash: head.hash };
  try {
    const lease = { holder, leaseMs };
    const [taken] = await writer.commit([{ session: store.workspace, expect, drafts, lease }]);
    if (taken === undefined) return null;
    const record = { seq: taken.firstSeq, hash: taken.hashes[0] ?? "" };
    return holdDuty(deps, record, { leaseMs, asked });
  } catch (error) {
    if (error instanceof SkeinError && error.code === "conflict") return null;
    throw error;
  }
}

const sealing = { actor: "system", key: null };

/**
 * True when a write now is under the lease that this record took. After a rollback of the store another
 * process may hold a lease with the same epoch.
 */
export async function isLeader({ store }: Pick<Deps, "store">, taken: KnownHead): Promise<boolean> {
  if ((await store.head(store.workspace))?.epoch !== taken.seq) return false;
  return holdsRecord(store, store.workspace, taken);
}

function holdDuty(
  deps: LeaderDeps,
  taken: KnownHead,
  { leaseMs, asked }: { readonly leaseMs: number; readonly asked: ReturnType<typeof momentOf> },
): LeaderLease {
  const { store, world } = deps;
  const { seq: epoch } = taken;
  const lost = new AbortController();
  let heldFrom = asked;

  async function keep(): Promise<void> {
    while (!lost.signal.aborted) {
      await world.sleep(leaseMs / renewals, lost.signal);
      if (lost.signal.aborted) return;
      const from = momentOf(world);
      try {
        const isRenewed = await store.renew(store.workspace, epoch, leaseMs);
        if (!isRenewed || !(await isLeader(deps, taken))) return lost.abort();
        heldFrom = from;
      } catch {
        // It may be renewed the next time, if it lasts so long.
        if (!isWithin(world, heldFrom, leaseMs)) return lost.abort();
      }
    }
  }

  async function release(): Promise<void> {
    if (lost.signal.aborted) return;
    lost.abort();
    const { drafts } = seal(world, [{ type: "lease.released", body: { epoch } }], sealing);
    for (let tries = 0; tries < limit.conflictRetriesMax; tries++) {
      const { seq, hash } = await deps.writer.workspace.read();
      if (!(await isLeader(deps, taken))) return;
      const part = { session: store.workspace, expect: { seq, hash }, epoch, drafts };
      try {
        await deps.writer.commit([{ ...part, lease: "release" }]);
        return;
      } catch (error) {
        if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
      }
    }
  }

  void keep();
  return { taken, lost: lost.signal, release };
}
