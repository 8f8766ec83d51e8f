/**
 * Moves many sessions at once. Each takes the steps of `moveSession`: fenced here, written there invisibly,
 * finished, arrived. But each step runs for all of them in parallel, so that a store can write them together,
 * and a short session is read once and folded from that.
 */
import { fold } from "../../core/fold.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { trustEvent } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { snapshotForm, snapshotText, type State } from "../../core/state.ts";
import type { FinishRequest, Head, Part, Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { copyBlobs } from "./move-blob.ts";
import type { MovedLog, MovedSession } from "./move-lineage.ts";
import { joinArriving } from "./join-arriving.ts";
import { makeReceiver, type LogReceiver } from "./move-receive.ts";
import { decideSealed } from "../log/seal.ts";
import { indexEntry, indexEntryOf } from "../log/session-index.ts";
import { makeStateReader } from "../read/state-reader.ts";
import type { Writer } from "../log/writer.ts";
import { noRecall, recordOf, refused } from "../log/writer-errors.ts";
import { isFree } from "../read/lease-status.ts";

/** The parameters of a whole move. */
export interface MoveParams {
  readonly deps: Deps;
  readonly to: Store;
  /** What the log says of the other store. */
  readonly where: string;
  /** Writes there. */
  readonly writer: Writer;
  /** Sessions that were deleted there. */
  readonly deleted: ReadonlySet<string>;
  /** New records there so far; and the records compared with those here. */
  readonly sent: { records: number; blobs: number; verified: number };
}

/** A session to move, as it was found. */
export interface DepartingSession {
  readonly session: SessionId;
  readonly head: Head;
  /** `begun`: it was already fenced for this very store, and has not arrived. `copy`: moves as a copy. */
  readonly stands: "here" | "begun" | "copy";
  /** The id of the begun move; null when there is none. */
  readonly move: string | null;
  /** Its own log last, its shared ancestors before it. */
  readonly lineage: readonly MovedSession[];
}

export interface Fate {
  readonly session: SessionId;
  readonly became: "moved" | "copied" | "left";
  /** Why it was left, and whether another attempt may succeed. */
  readonly why?: string;
  readonly again?: boolean;
}

/** A session that was written there and is not finished. */
interface Parcel {
  readonly leaving: DepartingSession;
  /** The log here, with its records in memory. */
  readonly view: Store;
  readonly state: State;
  readonly move: string | null;
  readonly finished: readonly FinishRequest[];
}

/** None of the group is an ancestor of another. */
export async function moveGroup(
  moving: MoveParams,
  group: readonly DepartingSession[],
): Promise<readonly Fate[]> {
  const { to } = moving;
  const fates = new Map<SessionId, Fate>();
  const each = async <T>(
    list: readonly T[],
    idOf: (one: T) => SessionId,
    work: (one: T) => Promise<void>,
  ): Promise<void> => {
    const results = await Promise.allSettled(list.map(work));
    for (const [place, one] of list.entries()) {
      const result = results[place];
      if (result?.status === "rejected") fates.set(idOf(one), left(idOf(one), result.reason));
    }
  };
  const shared = await sendPrefixes(moving, group);
  const parcels: Parcel[] = [];
  const send = async (leaving: DepartingSession): Promise<void> => {
    for (const { session } of leaving.lineage)
      if (shared.failed.has(session)) throw shared.failed.get(session);
    parcels.push(await sendOne(moving, leaving));
  };
  await each(group, ({ session }) => session, send);
  const whole = parcels.flatMap(({ finished }) => finished);
  const together = await finishTogether(to, [...shared.finished, ...whole]);
  const settle = async (parcel: Parcel): Promise<void> => {
    if (!together) await to.finish([...shared.finished, ...parcel.finished]);
    await arrive(moving, parcel);
  };
  await each(parcels, ({ leaving }) => leaving.session, settle);
  checkArriving(parcels, fates);
  return group.map(
    ({ session, stands }) =>
      fates.get(session) ?? { session, became: stands === "copy" ? "copied" : "moved" },
  );
}

/** When none arrives any more, no further ones are fenced: that store has no room, or forbids it. */
function checkArriving(parcels: readonly Parcel[], fates: ReadonlyMap<SessionId, Fate>): void {
  const why = parcels.map(({ leaving }) => fates.get(leaving.session)?.why);
  if (parcels.length < 2 || why.includes(undefined)) return;
  throw new SkeinError("refused", `the destination store accepts no session: ${why[0] ?? ""}`, {
    hint: `${parcels.length} sessions are read-only here; fix the cause, then run the same command again`,
  });
}

/** An error of one session is reported for it; any other ends the whole. */
function left(session: SessionId, error: unknown): Fate {
  if (!(error instanceof SkeinError) || error.code === "unavailable") throw error;
  const why = error.hint === undefined ? error.message : `${error.message}; ${error.hint}`;
  return { session, became: "left", why, again: error.code === "conflict" || error.code === "unknown" };
}

/** False: one of them blocks all. */
async function finishTogether(to: Store, list: readonly FinishRequest[]): Promise<boolean> {
  try {
    if (list.length > 0) await to.finish(list);
    return true;
  } catch (error) {
    if (!(error instanceof SkeinError) || error.code === "unavailable") throw error;
    return false;
  }
}

interface SharedHistory {
  readonly finished: readonly FinishRequest[];
  /** Errors of failed logs: sessions that need them are left. */
  readonly failed: ReadonlyMap<SessionId, unknown>;
}

/** The shared prefixes of the group that are missing there: as far as the longest needs them. */
async function sendPrefixes(moving: MoveParams, group: readonly DepartingSession[]): Promise<SharedHistory> {
  const needed = new Map<SessionId, MovedSession>();
  for (const { lineage } of group) {
    for (const log of lineage.slice(0, -1)) {
      const known = needed.get(log.session);
      if (known === undefined || known.toSeq < log.toSeq) needed.set(log.session, log);
    }
  }
  const finished: FinishRequest[] = [];
  const failed = new Map<SessionId, unknown>();
  for (const log of needed.values()) {
    try {
      finished.push(...(await sendPrefix(moving, log)));
    } catch (error) {
      failed.set(log.session, error);
    }
  }
  return { finished, failed };
}

async function sendPrefix(moving: MoveParams, log: MovedLog): Promise<readonly FinishRequest[]> {
  const { deps, to, deleted, sent } = moving;
  const receiver = makeReceiver(to, deps.world, deleted);
  await sendPages(moving, receiver, log, await meet(moving, receiver, log));
  await receiver.end();
  sent.records += receiver.put.records;
  await checkSame(moving, deps.store, log);
  return receiver.finished(() => "prefix");
}

/** The position up to which both are equal. */
export async function meet(
  { deps: { store } }: MoveParams,
  receiver: LogReceiver,
  log: MovedLog,
  { ahead }: { readonly ahead: boolean } = { ahead: true },
): Promise<number> {
  const there = await receiver.begin(log, { whole: false });
  const differs =
    there.seq >= log.fromSeq &&
    (await store.read(log.via, { fromSeq: there.seq, toSeq: there.seq, limit: 1, contents: false }))[0]
      ?.hash !== there.hash;
  if (differs || (!ahead && there.lastSeq > log.toSeq)) {
    throw new SkeinError("refused", `${log.session} exists in the destination with a different history`, {
      hint: "fork one of them instead",
    });
  }
  return there.seq;
}

export async function sendPages(
  moving: MoveParams,
  receiver: LogReceiver,
  log: MovedLog,
  afterSeq: number,
): Promise<void> {
  const { store } = moving.deps;
  for (let next = Math.max(log.fromSeq, afterSeq + 1); next <= log.toSeq;) {
    const range = { fromSeq: next, toSeq: log.toSeq, limit: pageRecords, contents: true };
    const page = await store.read(log.via, range);
    await sendRecords(moving, receiver, page);
    const last = page.at(-1);
    if (last === undefined) throw missing(log.via, next);
    next = last.seq + 1;
  }
}

/** Records per read of a log that is sent in pages. */
const pageRecords = 250;

const missing = (session: MovedLog["via"], seq: number): SkeinError =>
  new SkeinError("corrupt", `record ${seq} of ${session} is missing`, {
    hint: `run "skein verify ${session}" to see what is damaged`,
  });

async function sendRecords(
  { deps: { store }, to, sent }: MoveParams,
  receiver: LogReceiver,
  records: readonly StoredRecord[],
): Promise<void> {
  for (const record of records) {
    if (record.content?.includes('blob"') === true) sent.blobs += await copyBlobs(store, to, record);
    await receiver.add(record);
  }
}

/** Fences it, if that was not done before, and writes all of it there. */
async function sendOne(moving: MoveParams, leaving: DepartingSession): Promise<Parcel> {
  const { deps, to, sent } = moving;
  const { store, world } = deps;
  const { session, stands, head } = leaving;
  const log = leaving.lineage.at(-1);
  if (log === undefined) throw new Error("invariant: a session has its own log");
  const page = await store.read(session, { ...log, limit: limit.pageRecordsMax, contents: true });
  if (page.length === 0) throw missing(session, log.fromSeq);
  const isWhole = page.at(-1)?.seq === log.toSeq;
  const own = isWhole ? [...page] : [];
  const view = isWhole ? viewOf(store, own) : store;
  let state = await (isWhole ? makeStateReader(view) : deps.states).at(session, head.seq);
  if (stands === "here") decideMove(moving, leaving, state);
  const receiver = makeReceiver(to, world, moving.deleted);
  const meetsSeq = await meet(moving, receiver, log, { ahead: stands !== "here" });
  // A long one is sent before it is fenced, which only shortens its downtime.
  if (!isWhole) await sendPages(moving, receiver, log, meetsSeq);
  let { move } = leaving;
  if (stands === "here") {
    const fenced = await fence(moving, leaving, { state, view });
    [state, move] = [fenced.state, fenced.move];
    own.push(fenced.record);
    receiver.extend(fenced.record);
  }
  await sendRecords(
    moving,
    receiver,
    own.filter(({ seq }) => seq > meetsSeq),
  );
  await receiver.end();
  sent.records += receiver.put.records;
  await checkSame(moving, view, { ...log, toSeq: state.seq }).catch(async (error: unknown) => {
    await receiver.discard();
    throw error;
  });
  const index = await indexEntryOf(view, session, state);
  const as = stands === "copy" ? "copy" : "own";
  const finished = await receiver.finished(() => as, new Map([[session, index]]));
  return { leaving, view, state, move, finished };
}

/** The store with some records of a log in memory. A leaving session updates no projection here. */
function viewOf(store: Store, records: readonly StoredRecord[]): Store {
  const first = records[0];
  if (first === undefined) throw new Error("invariant: a log has records");
  const isShort = first.seq === 1 && records.length < snapshotRecordsMin;
  return {
    ...store,
    async read(session, range) {
      const { fromSeq, toSeq, types, reverse } = range;
      const isHere = fromSeq >= first.seq && toSeq < first.seq + records.length;
      if (!isHere || types !== undefined || reverse === true || session !== first.session) {
        return store.read(session, range);
      }
      return records.slice(
        fromSeq - first.seq,
        Math.min(toSeq + 1 - first.seq, fromSeq - first.seq + range.limit),
      );
    },
    snapshot: async (session, seq) => (isShort ? undefined : store.snapshot(session, seq)),
    putSnapshot: async () => undefined,
  };
}

/** A log of this length may have a snapshot, and is worth one. */
const snapshotRecordsMin = 256;

interface FencedLog {
  readonly record: StoredRecord;
  readonly state: State;
  readonly move: string;
}

/** Throws when the session cannot leave now: it is running, or in the middle of a turn. */
function decideMove({ deps, to, where }: MoveParams, { head }: DepartingSession, state: State) {
  const { store, world, actor } = deps;
  const move = `mov_${world.salt()}`;
  const held = !isFree(deps, head.lease);
  const command = { do: "move", move, to: to.workspace, where, held } as const;
  const facts = { actor, digest: world.digest, program: store.program };
  const sealed = decideSealed(world, state, command, { facts, key: null });
  if ("refusal" in sealed) throw refused(sealed.refusal);
  const [draft] = sealed.drafts;
  if (draft === undefined) throw new Error("invariant: a move is one record");
  return { move, draft, events: sealed.events };
}

/** Appends `session.moved`, unless the session has changed since it was read. */
async function fence(
  moving: MoveParams,
  leaving: DepartingSession,
  { state, view }: Pick<Parcel, "state" | "view">,
): Promise<FencedLog> {
  const { session, head } = leaving;
  const { move, draft, events } = decideMove(moving, leaving, state);
  const index = await indexEntry(view, session, state, events);
  const expect = { seq: head.seq, hash: head.hash };
  const part: Part = { session, expect, drafts: [draft], lease: "release", index };
  const [appended] = await moving.deps.writer.commit([part]);
  if (appended === undefined) throw new SkeinError("corrupt", "the store acknowledged nothing");
  const { headSeq: seq, at, hashes } = appended;
  const { text: content = null, salt = null } = draft.content ?? {};
  const record = { ...recordOf(session, draft, { seq, at, hash: hashes[0] ?? "" }), content, salt };
  return { record, move, state: fold(state, trustEvent({ ...record, content: null }), noRecall) };
}

/** Before any of it becomes visible there: every record has the same hash there as here. */
export async function checkSame({ to, sent }: MoveParams, view: Store, log: MovedLog): Promise<void> {
  const { session, via, toSeq } = log;
  for (let fromSeq = log.fromSeq; fromSeq <= toSeq;) {
    const range = { fromSeq, toSeq, limit: limit.pageRecordsMax, contents: false } as const;
    const there = await to.read(session, { ...range, received: true });
    const here = await view.read(via, { ...range, toSeq: Math.min(toSeq, fromSeq + there.length - 1) });
    const wrong = here.find(({ hash }, place) => there[place]?.hash !== hash);
    if (wrong !== undefined || here.length === 0 || there.length === 0) {
      throw new SkeinError(
        "corrupt",
        `record ${wrong?.seq ?? fromSeq} of ${session} differs in the destination`,
        {
          hint: "run the same command again, or verify both stores",
        },
      );
    }
    fromSeq += here.length;
    sent.verified += here.length;
  }
}

/** Appends `session.arrived` there; harmless when another process was first with the same. */
async function arrive(moving: MoveParams, { leaving, view, state, move, finished }: Parcel): Promise<void> {
  const { deps, to, writer } = moving;
  const { session } = leaving;
  if (move === null) return;
  const { world, actor, store } = deps;
  await joinArriving({ store: to, world, writer, actor }, session, state.standing.project);
  const moved = { move, to: to.workspace };
  const command = { do: "arrive", moved, workspace: to.workspace, where: store.workspace } as const;
  const facts = { actor, digest: world.digest, program: to.program };
  const sealed = decideSealed(world, state, command, { facts, key: null });
  if ("refusal" in sealed) throw refused(sealed.refusal);
  const index = await indexEntry(view, session, state, sealed.events);
  const { seq, hash } = finished.at(-1) ?? { seq: state.seq, hash: "" };
  const part: Part = { session, expect: { seq, hash }, drafts: sealed.drafts, lease: "release", index };
  try {
    // What was erased here after it was written there must not stay there.
    const { ranges } = state.standing.erased;
    await writer.commit([ranges.length === 0 ? part : { ...part, erase: ranges }]);
  } catch (error) {
    const headSeq = (await to.head(session))?.seq ?? 0;
    if (!(error instanceof SkeinError) || headSeq <= state.seq) throw error;
  }
  if (state.seq < snapshotRecordsMin) return;
  const snapshot = { seq: state.seq, form: snapshotForm, text: snapshotText(state) };
  await to.putSnapshot(session, snapshot).catch(() => undefined);
}
