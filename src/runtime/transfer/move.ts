/**
 * Moves a session to another store. `session.moved` is written first: from then on the session is read-only
 * here, and can continue only where that record says. Then everything is copied, invisibly, and finished;
 * then `session.arrived` is written there. Copying before the first record only shortens the downtime. Each
 * step finds out what was done before, so that after a crash the same call again completes the move.
 */
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import { copyBlobs } from "./move-blob.ts";
import { lineageOf, pagesOf, type MovedLog } from "./move-lineage.ts";
import { makeReceiver, type LogReceiver } from "./move-receive.ts";
import { arriveHere, moveAway } from "./move-step.ts";
import type { Deps } from "../deps.ts";
import { makeStateReader } from "../read/state-reader.ts";
import type { World } from "../world.ts";
import { makeWriter } from "../log/writer.ts";
import { movedBy, whereTo } from "../read/move-target.ts";

/** The result of a move to another store. */
export interface MoveReport {
  readonly session: SessionId;
  /** The workspace of the store it lives in now. */
  readonly workspace: string;
  /** The id of the move, in both logs. */
  readonly move: string;
  /** The last record there. */
  readonly seq: number;
  readonly hash: string;
  /** New records there. */
  readonly records: number;
  readonly blobs: number;
}

/** To a store that stays open. `where` is what the log says of it. */
export async function moveSession(
  deps: Deps,
  session: SessionId,
  to: Store,
  where: string,
): Promise<MoveReport> {
  const { store, world, actor } = deps;
  if (to === store || to.workspace === store.workspace) {
    throw new SkeinError("refused", `migrate: to: ${session} is already in that store`, {
      hint: "pass another store",
    });
  }
  const begun = await movedBy(deps, session);
  const counts = { records: 0, blobs: 0 };
  const copying: CopyTask = { from: store, to, world, counts };
  // Copies most of it before the session stops; and a store that cannot be written fails here.
  if (begun === null) {
    await checkOwn(store, session);
    await copyAll(copying, session, { ahead: "refused" }).catch(async (error: unknown) => {
      // Another process may have moved it there meanwhile.
      if ((await movedBy(deps, session))?.to !== to.workspace) throw error;
    });
  }
  const move = await moveTo(deps, session, to, where);
  const receiver = await copyAll(copying, session, { ahead: "allowed" });
  await receiver.finish(({ kind }) => (kind === "session" ? "own" : "prefix"));
  const writer = makeWriter(to, world, makeStateReader(to), { tenant: "default" });
  await arriveHere({ store: to, world, writer, actor }, session, { move, where: store.workspace });
  await checkThere(to, session, await writer.current(session));
  const head = await to.head(session);
  if (head === undefined)
    throw new SkeinError("conflict", `moved session ${session} not found in the destination store`);
  const { seq, hash } = head;
  return { session, workspace: to.workspace, move, seq, hash, ...counts };
}

/** It may have arrived long ago, and have left again since. */
async function checkThere(to: Store, session: SessionId, state: State): Promise<void> {
  if (state.standing.status !== "moved") return;
  const where = (await whereTo(to, session, state)) ?? "another store";
  throw new SkeinError("refused", `${session} was moved again, from that store to ${where}`, {
    hint: "open it there; nothing was changed",
  });
}

async function checkOwn(store: Store, session: SessionId): Promise<void> {
  if ((await store.head(session))?.copy !== true) return;
  throw new SkeinError("refused", `${session} is a read-only copy of a session in another store`, {
    hint: "migrate it in the original store, or fork it here",
  });
}

/** The id of the move, which begins here or was begun before with the same destination. */
async function moveTo(deps: Deps, session: SessionId, to: Store, where: string): Promise<string> {
  const before = await movedBy(deps, session);
  if (before === null) {
    try {
      return await moveAway(deps, session, { to: to.workspace, where });
    } catch (error) {
      if ((await movedBy(deps, session)) === null) throw error;
      return moveTo(deps, session, to, where);
    }
  }
  if (before.to === to.workspace) return before.move;
  const gone = await whereTo(deps.store, session, await deps.writer.current(session));
  throw new SkeinError("conflict", `${session} was moved already, to ${gone ?? "another store"}`, {
    hint: "open it there; if that move was interrupted, repeat it with the same destination",
  });
}

interface CopyTask {
  readonly from: Store;
  readonly to: Store;
  readonly world: World;
  readonly counts: { records: number; blobs: number };
}

/** Everything that is missing there. `ahead`: the session may already have continued there. */
async function copyAll(
  copying: CopyTask,
  session: SessionId,
  { ahead }: { readonly ahead: "allowed" | "refused" },
): Promise<LogReceiver> {
  const { from, to, world, counts } = copying;
  const receiver = makeReceiver(to, world);
  for (const log of await lineageOf(from, session)) {
    const there = await receiver.begin(log, { whole: false });
    const before = there.seq < log.fromSeq ? null : await recordAt(from, log.via, there.seq);
    const goesOn = log.kind === "session" && there.lastSeq > log.toSeq && ahead === "refused";
    if (goesOn || (before !== null && before.hash !== there.hash)) {
      throw new SkeinError("conflict", `${log.session} exists in the destination with a different history`, {
        hint: "fork one of them instead",
      });
    }
    for await (const page of pagesOf(from, { ...log, fromSeq: Math.max(log.fromSeq, there.seq + 1) })) {
      for (const record of page) {
        counts.blobs += await copyBlobs(from, to, record);
        await receiver.add(record);
      }
      await new Promise<void>((resolve) => world.defer(resolve));
    }
    await receiver.end();
  }
  counts.records += receiver.put.records;
  return receiver;
}

async function recordAt(store: Store, session: MovedLog["via"], seq: number): Promise<StoredRecord | null> {
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  return record ?? null;
}
