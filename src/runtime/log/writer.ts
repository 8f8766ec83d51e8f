/**
 * The one writer: decide → append → publish. Nothing else changes a log.
 *
 * A change is decided on the state that this process knows, and written only if the log is still there. When
 * it has moved on, the new records are read and the change is decided again. When the store's answer is lost,
 * the writer searches for its own records first, so that nothing is written twice.
 */
import type { Command } from "../../core/command.ts";
import { fold, recallingTypes } from "../../core/fold.ts";
import { trustEvent } from "../../core/event.ts";
import { SkeinError } from "../../core/error.ts";
import { isSharedLogId, type LogId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { emptyState, type State } from "../../core/state.ts";
import type { AppendedPart, Draft, Part, Store } from "../../store/port.ts";
import type { Also, WorkspaceEffects } from "./workspace-effects.ts";
import {
  leaseMove,
  withFollowUps,
  type FollowUpDecision,
  type FollowUp,
  type NextFollowUp,
} from "./follow-up.ts";
import { appendWithBlobs, assembleAppend, type AppendExtras } from "./append-parts.ts";
import { buildOrExisting, orExisting } from "./existing-change.ts";
import { resolveOutcome, writeTogether, type TogetherDeps } from "./write-together.ts";
import { makeKeyedMutex } from "./keyed-mutex.ts";
import { awaitOutcome, keyedParts } from "./lost-answer.ts";
import { joinParts, projectOf } from "./project-join.ts";
import { makeNewest } from "./state-cache.ts";
import {
  expectAt,
  makeWorkspaceHeadReader,
  noteState,
  type KnownHead,
  type WorkspaceHeadReader,
} from "../read/known-heads.ts";
import { isEnding, withPayback } from "./child-refund.ts";
import { makeCache } from "../../core/cache.ts";
import { indexEntry, type IndexTexts, touchesIndex } from "./session-index.ts";
import { decideSealed, recordKey, type SealedDrafts } from "./seal.ts";
import { makeLearner } from "./bound-secrets.ts";
import { recordBytes, unread, type KnownState, type StateReader } from "../read/state-reader.ts";
import { refusingWorld } from "./redact.ts";
import type { World } from "../world.ts";
import { moved, noRecall, unknownOutcome, recordOf, refused } from "./writer-errors.ts";
import { refusedElsewhere } from "../read/move-target.ts";

export interface ChangeOptions {
  readonly actor: string;
  /**
   * The caller's idempotency key: a second change with it is not written, and returns the result of the
   * first.
   */
  readonly key?: string | undefined;
  /** From a runner: written only while its lease is in force. */
  readonly epoch?: number | undefined;
  /** From a runner: the value of `history` when it took the lease. Written only if it is still the same. */
  readonly history?: number | undefined;
  /** Written only if this is the head; otherwise a conflict for the caller, and nothing is decided again. */
  readonly expectSeq?: number | undefined;
  readonly lease?: Part["lease"];
  /** Commands written with it in the same append. */
  readonly followUp?: NextFollowUp | undefined;
  /**
   * True when a caller asked for it, so that it carries the key of that call; see request-scope.ts. Defaults
   * to false under a lease, and to true otherwise.
   */
  readonly asked?: boolean | undefined;
  /** Replaces the records that go into the workspace's log with any change. */
  readonly also?: Also | undefined;
  /**
   * Nothing is redacted: a person asked to keep a transcript as it is. `unregistered`: the same for what only
   * looks like a secret; a registered secret is refused.
   */
  readonly verbatim?: boolean | "unregistered" | undefined;
}

export interface Change {
  readonly state: State;
  readonly firstSeq: number;
  readonly headSeq: number;
  /** True when a change with this key existed. */
  readonly duplicate: boolean;
}

export interface Writer {
  /** The head of the workspace's log. */
  readonly workspace: WorkspaceHeadReader;
  /** Decides and writes one change to one session. The command may depend on the state. */
  change(session: SessionId, command: Build, options: ChangeOptions): Promise<Change>;
  /** Opens a session, or a fork, with its first append. */
  begin(session: SessionId, start: Start, options: ChangeOptions): Promise<Change>;
  /** The state at the head. */
  current(session: SessionId): Promise<State>;
  /** Several logs at once, all or none, decided by the caller. Conflicts go to the caller. */
  commit(parts: readonly Part[]): Promise<readonly AppendedPart[]>;
  /**
   * Changes of several sessions in one append, all or none, each decided on its state; decided again when one
   * of them has changed. A build must not change these sessions itself: it would wait for its own turn.
   */
  together(members: readonly Member[], options: { readonly actor: string }): Promise<readonly AppendedPart[]>;
  /** The position of the change with this key of the caller; undefined when there is none. */
  keyed(session: SessionId, key: string): Promise<number | undefined>;
  forget(session: SessionId): void;
  /** How often this process has found the log rolled back; a run that began before that must stop. */
  history(session: SessionId): number;
  /** Throws the finding when the log was rolled back since. */
  assertHistory(session: SessionId, history: number): void;
  /**
   * A component knew this head, and the log does not hold it: suspends the session. Returns the error to
   * throw.
   */
  suspendRolledBack(session: LogId, head: KnownHead): Promise<SkeinError>;
}

/** One session's part of a change of several. */
export interface Member {
  readonly session: SessionId;
  readonly build: Build;
  readonly epoch?: number | undefined;
  /** As in `ChangeOptions`. */
  readonly history?: number | undefined;
  /** As in `ChangeOptions`; when it was written before, the whole is a conflict for the caller. */
  readonly key?: string | undefined;
  /** For a session that begins with it. */
  readonly start?: Omit<Start, "command">;
  /** Positions whose contents the store erases with it. */
  readonly erase?: Part["erase"];
}

export type Build = Command | ((state: State) => Command | Promise<Command>);

export interface Start {
  readonly command: Command;
  /** For a fork: its parent's state at the fork point. */
  readonly from?: State;
  readonly parent?: { readonly session: SessionId; readonly seq: number };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

type WriteOptions = ChangeOptions &
  Pick<Part, "expect" | "parent"> &
  Pick<AppendExtras, "beside" | "otherLogs">;

export interface WriterOptions {
  readonly tenant: string;
  /** Records for the workspace's log with any change. */
  readonly always?: Also;
  /** Called for a rolled-back log, to drop caches of it. */
  readonly forget?: (log: LogId) => void;
}

export function makeWriter(store: Store, world: World, states: StateReader, how: WriterOptions): Writer {
  const { tenant, always } = how;
  const newest = makeNewest({ store, states, suspend, forget: how.forget });
  const { keep, refresh } = newest;
  /** Changes of one session from one process wait for one another; between processes the store decides. */
  const inTurn = makeKeyedMutex();
  const learn = makeLearner({ store, world });
  const indexTexts: IndexTexts = makeCache(1_000);
  const facts = { digest: world.digest, program: store.program };
  const { redactor: _, ...unguarded } = world;
  const refusing = refusingWorld(world);
  const decided = (
    state: State,
    command: Command,
    { actor, key, verbatim = false }: Pick<ChangeOptions, "actor" | "key" | "verbatim">,
  ): ReturnType<typeof decideSealed> => {
    const once = key === undefined ? null : keyOf(key);
    const guarded = verbatim === "unregistered" ? refusing : verbatim ? unguarded : world;
    return decideSealed(guarded, state, command, {
      facts: { ...facts, actor },
      key: once,
    });
  };

  const parts: TogetherDeps = { store, world, newest, learn, decide: decided };

  /** False when the log no longer exists. */
  async function suspend(session: LogId, known: KnownState, command: Command): Promise<boolean> {
    const sealed = decided(known.state, command, { actor: "system" });
    if ("refusal" in sealed || isSharedLogId(session)) return true;
    const expect = expectAt(noteState(known.state, known.hash));
    return (await write(session, known, sealed, { actor: "system", expect })) !== null;
  }

  async function change(session: SessionId, build: Build, options: ChangeOptions): Promise<Change> {
    let known = newest.known(session) ?? (await refresh(session));
    const before = async (): Promise<Change | null> =>
      options.key === undefined ? null : firstWith(session, (await refresh(session)).state, options.key);
    if (known.state.standing.bindings.size > 0) await learn(session, known.state);
    for (let tries = 0; tries < limit.conflictRetriesMax; tries++) {
      if (options.expectSeq !== undefined && known.state.seq !== options.expectSeq) {
        known = await refresh(session);
        if (known.state.seq !== options.expectSeq) {
          const first = await firstWith(session, known.state, options.key);
          if (first !== null) return first;
          throw moved(session, options.expectSeq, known.state.seq);
        }
      }
      const { state } = known;
      if (options.history !== undefined) newest.assertNone(session, options.history);
      const command = typeof build === "function" ? await buildOrExisting(build, state, before) : build;
      if ("firstSeq" in command) return command;
      const { decision, refunds } = await decidedWhole(session, state, command, options);
      if ("refusal" in decision) {
        // The cached state may be old: a refusal must rest on the newest one.
        const newer = await refresh(session);
        if (newer.state.seq === state.seq) {
          const first = await firstWith(session, state, options.key);
          if (first !== null) return first;
          throw refused(await refusedElsewhere(store, session, state, decision.refusal));
        }
        known = newer;
        continue;
      }
      const writing = writeBeside(session, known, decision, { ...options, otherLogs: refunds });
      const written = await (options.key === undefined ? writing : orExisting(writing, before));
      if (written !== null) return written;
      known = await refresh(session);
    }
    throw new SkeinError("conflict", `${session} changes too often; retries exhausted`, {
      hint: "retry later",
    });
  }

  /** A command and its follow-ups, if any. */
  async function decidedWhole(
    session: SessionId,
    state: State,
    command: Command,
    options: Pick<ChangeOptions, "actor" | "key" | "followUp" | "verbatim">,
  ): Promise<FollowUpDecision> {
    const alone = decided(state, command, options);
    const { decision, refunds } = isEnding(alone)
      ? await paidBack({ state, command, decision: alone }, options)
      : { decision: alone, refunds: [] };
    if (options.followUp === undefined || "refusal" in decision) return { decision, refunds };
    const decideNext = (
      on: State,
      { command: next, actor = options.actor }: FollowUp,
    ): Promise<FollowUpDecision> => decidedWhole(session, on, next, { actor });
    const how = { next: options.followUp, decide: decideNext };
    return withFollowUps(session, state, { decision, refunds }, how);
  }

  function paidBack(
    asked: Parameters<typeof withPayback>[0],
    options: Pick<ChangeOptions, "actor" | "key">,
  ): ReturnType<typeof withPayback> {
    const again = (on: State, one: Command, whole: boolean) =>
      decided(on, one, whole ? options : { actor: options.actor });
    return withPayback(asked, again, { store, world }, async (other) => (await refresh(other)).state);
  }

  /**
   * With records for the log of the workspace or of a project, if any. Changes of one process that write
   * there wait for one another: otherwise all but one would lose the race and decide again, repeatedly.
   */
  function writeBeside(
    session: SessionId,
    known: KnownState,
    sealed: SealedDrafts,
    options: ChangeOptions & { readonly otherLogs: readonly Part[] },
  ): Promise<Change | null> {
    const { state } = known;
    const also = options.also ?? always;
    const { seq } = state;
    const how = { ...options, expect: known.hash === "" ? expectAt(state) : { seq, hash: known.hash } };
    const besides = () => also?.({ session, state, drafts: sealed.events }) ?? null;
    const first = besides();
    if (first === null) return write(session, known, sealed, how);
    const once = async (beside: WorkspaceEffects | null): Promise<Change | null> => {
      const written = await write(session, known, sealed, { ...how, beside });
      if (written !== null) await beside?.after?.();
      return written;
    };
    return first.then((beside) =>
      beside === null || beside.events.length === 0
        ? once(beside)
        : inTurn([beside.log ?? store.workspace], async () => once(await besides())),
    );
  }

  /** The earlier result of the change with this key; null when there was none. */
  async function firstWith(
    session: SessionId,
    state: State,
    key: string | undefined,
  ): Promise<Change | null> {
    const seq = key === undefined ? undefined : await store.keyed(session, keyOf(key));
    return seq === undefined ? null : { state, firstSeq: seq, headSeq: state.seq, duplicate: true };
  }

  async function begin(session: SessionId, start: Start, options: ChangeOptions): Promise<Change> {
    const state = start.from ?? emptyState;
    const decision = decided(state, start.command, options);
    if ("refusal" in decision) throw refused(decision.refusal);
    const { parent } = start;
    const project = projectOf(start.command, start.from);
    const joins = await joinParts({ store, world }, { project, session, actor: options.actor });
    const written = await write(session, unread(state), decision, {
      ...options,
      expect: "absent",
      ...(joins.length === 0 ? {} : { otherLogs: keyedParts(world, joins) }),
      ...(parent && { parent }),
    });
    if (written === null) throw new SkeinError("conflict", `${session} exists already`);
    return written;
  }

  /** Null: the head was not at the expected position, and nothing is written. */
  async function write(
    session: SessionId,
    known: KnownState,
    sealed: SealedDrafts,
    options: WriteOptions,
  ): Promise<Change | null> {
    const { expect, epoch, parent, lease = leaseMove(sealed.events) } = options;
    const index = touchesIndex(known.state, sealed.events)
      ? await indexEntry(store, parent?.session ?? session, known.state, sealed.events, indexTexts)
      : undefined;
    const part: Mutable<Part> = { session, expect, drafts: sealed.drafts };
    if (epoch !== undefined) part.epoch = epoch;
    if (parent !== undefined) part.parent = parent;
    if (lease !== undefined) part.lease = lease;
    if (index !== undefined) part.index = index;
    const { parts, blobs } = assembleAppend({ store, world }, part, sealed, options);
    const answer =
      blobs.length === 0 ? await store.append(parts) : await appendWithBlobs(store, parts, blobs);
    const outcome = answer.kind === "ok" ? answer : await resolveOutcome({ store, world }, parts, answer);
    if (outcome.kind === "conflict") return null;
    if (outcome.kind === "duplicate") {
      const { state } = await refresh(session);
      return { state, firstSeq: outcome.seq, headSeq: state.seq, duplicate: true };
    }
    const appended = outcome.parts[0];
    if (appended === undefined) throw new SkeinError("corrupt", "the store acknowledged no record");
    return publish(session, known, sealed.drafts, appended);
  }

  /** The new state, computed from the written drafts without reading them back. */
  function publish(
    session: SessionId,
    known: KnownState,
    drafts: readonly Draft[],
    { firstSeq, headSeq, at, hashes }: AppendedPart,
  ): Change | Promise<Change> {
    // A rewind needs the mind at its target, which the state reader finds.
    if (drafts.some(({ type }) => recallingTypes.includes(type))) {
      return states.advance(session, known, headSeq).then((next) => {
        keep(session, next);
        return { state: next.state, firstSeq, headSeq, duplicate: false };
      }, unknownOutcome({ session }));
    }
    let { state, bytes } = known;
    for (const [place, draft] of drafts.entries()) {
      const record = recordOf(session, draft, { seq: firstSeq + place, at, hash: hashes[place] ?? "" });
      state = fold(state, trustEvent(record), noRecall);
      bytes += recordBytes(record);
    }
    const next = states.note(session, {
      ...known,
      state,
      recent: [],
      hash: hashes.at(-1) ?? "",
      events: known.events + drafts.length,
      bytes,
    });
    keep(session, next);
    return { state, firstSeq, headSeq, duplicate: false };
  }

  function together(
    members: readonly Member[],
    { actor }: { readonly actor: string },
  ): Promise<readonly AppendedPart[]> {
    const sessions = members.map(({ session }) => session);
    return inTurn(sessions, () => writeTogether(parts, members, actor));
  }

  const keyOf = (key: string): string => checkedKey(world, tenant, key);

  async function commit(given: readonly Part[]): Promise<readonly AppendedPart[]> {
    const parts = keyedParts(world, given);
    const outcome = await awaitOutcome({ store, world }, parts, await store.append(parts));
    if (outcome.kind === "ok") return outcome.parts;
    throw new SkeinError("conflict", `${outcome.session} has changed since it was read`, { hint: "retry" });
  }

  return {
    workspace: makeWorkspaceHeadReader(store),
    change: (session, build, options) => inTurn([session], () => change(session, build, options)),
    begin,
    current: async (session) => (await refresh(session)).state,
    commit,
    together,
    keyed: (session, key) => store.keyed(session, keyOf(key)),
    forget: newest.forget,
    history: newest.times,
    assertHistory: newest.assertNone,
    suspendRolledBack: newest.suspendRolledBack,
  };
}

/** A caller's key in the form that a record carries. */
function checkedKey(world: World, tenant: string, key: string): string {
  const isKey = typeof key === "string" && key.isWellFormed() && key.length > 0;
  if (isKey && key.length <= limit.idempotencyKeyCharsMax) return recordKey(world, tenant, key);
  throw new SkeinError("invalid", `key: expected 1 to ${limit.idempotencyKeyCharsMax} characters`);
}
