/**
 * Erases in batches. Each is one append: the log of every session that shares the positions says what is
 * erased, and the store erases it in the same transaction. So no log is ever wrong, and a crash leaves whole
 * batches; a repeated call erases the rest.
 */
import { SkeinError } from "../../core/error.ts";
import { isSharedLogId, type LogId, type SessionId, type SharedLogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { mayIn } from "../../core/session/lifecycle.ts";
import * as range from "../../core/range.ts";
import type { Ranges } from "../../core/range.ts";
import type { Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { seal } from "../log/seal.ts";
import { batchesOf, bytesOf, joinNeighbours, shareOf, type Batch, type EraseSurvey } from "./erase-survey.ts";
import type { Member } from "../log/writer.ts";

/** What to erase of one log, and which sessions share it up to which position. */
export interface EraseTarget {
  readonly session: LogId;
  readonly survey: EraseSurvey;
  readonly sharers: ReadonlyMap<SessionId, number>;
}

export interface EraseProgress {
  (records: number): void;
}

type Share = { readonly ranges: Ranges; readonly records: number; readonly bytes: number };

export async function eraseTarget(
  deps: Deps,
  { session, survey, sharers }: EraseTarget,
  reason: string | undefined,
  done: EraseProgress,
): Promise<void> {
  for (const batch of batchesOf(survey.doomed)) {
    if (isSharedLogId(session)) await eraseOfShared(deps, session, batch, reason);
    else {
      const members: Member[] = [
        { ...memberOf(session, shareOf(batch, Infinity), reason), erase: batch.ranges },
      ];
      for (const [sharer, toSeq] of sharers) {
        if (members.length === limit.appendLogsMax) break;
        const share = shareOf(batch, toSeq);
        if (share !== null && (await canBeTold(deps, sharer))) members.push(memberOf(sharer, share, reason));
      }
      await deps.writer.together(members, { actor: deps.actor });
    }
    deps.cache.forget();
    done(batch.doomed.length);
  }
}

function memberOf(session: SessionId, share: Share | null, reason: string | undefined): Member {
  const { ranges, records, bytes } = share ?? { ranges: [], records: 0, bytes: 0 };
  const said = reason === undefined ? {} : { reason };
  return { session, build: { do: "erase", ranges, records, bytes, ...said } };
}

/** Neither a copy nor a session that was moved away: nothing can be written to those. */
async function canBeTold({ store, writer }: Deps, session: SessionId): Promise<boolean> {
  const head = await store.head(session);
  if (head === undefined || head.copy === true) return false;
  const { standing } = await writer.current(session);
  return standing.newer === null && mayIn(standing.status, "govern");
}

/** The workspace's is compared with what this process knew of it. */
async function sharedHead(
  { store, writer }: Deps,
  log: SharedLogId,
): Promise<{ readonly seq: number; readonly hash: string }> {
  if (log === store.workspace) return writer.workspace.read();
  return (await store.head(log)) ?? { seq: 0, hash: "" };
}

/** The log of a workspace or project has no session's state to decide on. */
async function eraseOfShared(
  deps: Deps,
  log: SharedLogId,
  batch: Batch,
  reason: string | undefined,
): Promise<void> {
  const { store, world, writer, actor } = deps;
  const share = shareOf(batch, Infinity);
  if (share === null) return;
  const content = reason === undefined ? {} : { content: { reason } };
  for (let tries = 0; tries < limit.conflictRetriesMax; tries++) {
    const { seq, hash } = await sharedHead(deps, log);
    const expect = seq === 0 ? { seq } : { seq, hash };
    const { drafts } = seal(world, [{ type: "content.erased", body: share, ...content }], {
      actor,
      key: null,
    });
    const part = { session: log, expect, drafts, erase: batch.ranges };
    try {
      await writer.commit([part]);
      return;
    } catch (error) {
      const code = error instanceof SkeinError ? error.code : null;
      if (code !== "conflict" && (code !== "unknown" || tries >= limit.unknownRetriesMax)) throw error;
      // After a lost answer it may be done already; then it must not be recorded twice.
      if (code === "unknown") await world.sleep(Math.min(10 * 2 ** tries, 1_000));
      if (await isGone(store, log, batch)) return;
    }
  }
  throw new SkeinError("conflict", `${log} changes too often; retries exhausted`, {
    hint: "retry later",
  });
}

async function isGone(store: Store, log: SharedLogId, { doomed }: Batch): Promise<boolean> {
  const seq = doomed[0]?.seq ?? 0;
  const [record] = await store.read(log, { fromSeq: seq, toSeq: seq, limit: 1, contents: true });
  return record?.content === null;
}

/**
 * Records the erasure in sessions that share it and lack the record: a fork that was made meanwhile, or those
 * beyond the limit of one append.
 */
export async function notifySharers(
  deps: Deps,
  { session, survey }: EraseTarget,
  sharers: ReadonlyMap<SessionId, number>,
  reason: string | undefined,
): Promise<void> {
  if (isSharedLogId(session)) return;
  const gone = [...survey.gone, ...survey.doomed].toSorted((a, b) => a.seq - b.seq);
  for (const [sharer, toSeq] of new Map([[session, Infinity], ...sharers])) {
    if (!gone.some(({ seq }) => seq <= toSeq) || !(await canBeTold(deps, sharer))) continue;
    const { standing } = await deps.writer.current(sharer);
    const untold = gone.filter(({ seq }) => seq <= toSeq && !range.includes(standing.erased.ranges, seq));
    for (const { ranges, doomed } of batchesOf(joinNeighbours(untold))) {
      const share = { ranges, records: doomed.length, bytes: bytesOf(doomed) };
      await deps.writer.together([memberOf(sharer, share, reason)], { actor: deps.actor });
    }
  }
}
