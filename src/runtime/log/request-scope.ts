/**
 * One external call, with the caller's idempotency key and expected position. Its first change carries the
 * key, so that a repeated call is recognized; and it is written only if the session is where the caller
 * expects it.
 */
import { SkeinError } from "../../core/error.ts";
import { makeSessionId, type LogId, type SessionId } from "../../core/ids.ts";
import type { Deps } from "../deps.ts";
import { makeDeletedSessions } from "../read/deleted-sessions.ts";
import { isReused, isSameChange, reusedKey } from "./same-change.ts";
import { recordKey } from "./seal.ts";
import type { Build, Change, Writer } from "./writer.ts";
import { moved } from "./writer-errors.ts";
import type { NeedScope } from "../../core/tool/permission.ts";

export interface RequestScope {
  /** Identifies this call; a second one with it is not written. */
  readonly key?: string | undefined;
  /**
   * When the call was first made, if its key contains a time: the id of a session that it makes contains it.
   */
  readonly madeMs?: number | undefined;
  /** The session and its expected position; ignored when the call was already written with this key. */
  readonly expect?: ExpectedPosition | undefined;
  /** For calls that take a key argument: an earlier change with it must be this very change. */
  readonly same?: boolean | undefined;
  /** Throws unless the caller has a scope, for parts that need more than the call itself. */
  readonly need?: NeedScope | undefined;
}

interface ExpectedPosition {
  readonly session: SessionId;
  readonly seq: number;
  readonly key?: string | undefined;
}

/** The engine's dependencies for one call: with its idempotency key, expected position and rights. */
export function requestDeps(outer: Deps, { key, madeMs, expect, same, need }: RequestScope): Deps {
  const deps = need === undefined ? outer : { ...outer, need };
  if (key === undefined && expect === undefined && same !== true) return deps;
  const parts = askedParts(deps, { key, expect, same });
  if (key === undefined) return { ...deps, ...parts };
  const newSession = (): SessionId => derivedId(deps, key, madeMs ?? 0);
  return { ...deps, ...parts, newSession, once: recordKey(deps.world, deps.tenant, key), requestKey: key };
}

/** The id of a new session: a random one, or the one derived from the caller's key. */
const newSessionId = ({ world, newSession }: Deps): SessionId =>
  newSession?.() ?? makeSessionId({ nowMs: world.now(), random: world.random(10) });

/**
 * The same for a session that must be new. Ids are never used again: other processes may still know the one
 * that was deleted. Rejects with `conflict` when a call with the same key made it and it was deleted.
 */
export async function freshSessionId(deps: Deps): Promise<SessionId> {
  const id = newSessionId(deps);
  if (deps.newSession === undefined || !(await wasDeleted(deps, id))) return id;
  throw new SkeinError("conflict", `key: its session ${id} was deleted`, {
    hint: "use a new key to open another one",
    detail: "deleted-session",
  });
}

/** The session that a call with the same key has made; null when there is none. */
export async function madeBefore({ store, newSession }: Deps): Promise<SessionId | null> {
  const id = newSession?.();
  return id !== undefined && (await store.head(id)) !== undefined ? id : null;
}

/** The session that a key made; or none, and the key that opens it: one whose session was not deleted. */
export async function madeOrFree(
  key: string,
  scopeOf: (key: string) => Deps,
): Promise<{ readonly session: SessionId | null; readonly scope: Deps }> {
  for (let generation = 0; ; generation++) {
    const scope = scopeOf(generation === 0 ? key : `${key}/again/${generation}`);
    const session = await madeBefore(scope);
    if (session !== null || !(await wasDeleted(scope, newSessionId(scope)))) return { session, scope };
  }
}

function wasDeleted({ store, shared }: Deps, id: SessionId): Promise<boolean> {
  shared.deleted ??= makeDeletedSessions(store);
  return shared.deleted.has(id);
}

/** The change that a call with the same key has made in a session; null when there is none. */
export async function changedBefore(
  { store, writer, once }: Pick<Deps, "store" | "writer" | "once">,
  session: SessionId,
): Promise<Change | null> {
  const firstSeq = once === undefined ? undefined : await store.keyed(session, once);
  if (firstSeq === undefined) return null;
  const state = await writer.current(session);
  return { state, firstSeq, headSeq: state.seq, duplicate: true };
}

/** The same id for the same key, whenever it is requested. */
function derivedId({ world, store, tenant }: Deps, key: string, nowMs: number): SessionId {
  const hex = world.digest("", `${tenant}\n${store.workspace}\nasked\n${key}`);
  const random = Uint8Array.from({ length: 10 }, (_, place) =>
    Number.parseInt(hex.slice(place * 2, place * 2 + 2), 16),
  );
  return makeSessionId({ nowMs, random });
}

function askedParts(deps: Deps, { key, expect, same }: RequestScope): Pick<Deps, "writer" | "runs"> {
  const { writer, runs } = deps;
  let done = false;
  let isNamed = false;
  const after = async <T>(work: Promise<T>, bearsKey = true): Promise<T> => {
    const result = await work;
    done = true;
    isNamed ||= bearsKey;
    return result;
  };
  const wanted = (session: string): number | undefined =>
    !done && expect?.session === session ? expect.seq : undefined;
  const hold = async (session: LogId, seq: number): Promise<void> => {
    const wantedSeq = wanted(session);
    if (wantedSeq === undefined || wantedSeq === seq) return;
    const own = expect?.key;
    if (own !== undefined && (await writer.keyed(session as SessionId, own)) !== undefined) return;
    throw moved(session, wantedSeq, seq);
  };
  const asked: Writer = {
    ...writer,
    change(session, build, options) {
      // A lease, and a write under one, is part of the execution, not of the request.
      const { asked: isAsked = options.lease === undefined && options.epoch === undefined } = options;
      if (done && (isNamed || !isAsked)) return writer.change(session, build, options);
      const own = isNamed || !isAsked ? undefined : key;
      // The position at reading counts less than the one the caller expects.
      const more = { key: options.key ?? own, expectSeq: wanted(session) ?? options.expectSeq };
      const changing = writer.change(session, build, { ...options, ...more });
      return after(same === true && options.key !== undefined ? checked(changing) : changing, isAsked);

      async function checked(first: ReturnType<Writer["change"]>): ReturnType<Writer["change"]> {
        const { actor } = options;
        const change = await first;
        const { firstSeq } = change;
        if (!change.duplicate || (await isSameChange(deps, session, { build, actor, firstSeq })))
          return change;
        throw reusedKey();
      }
    },
    begin: (session, start, options) =>
      after(writer.begin(session, start, { ...options, key: options.key ?? key })),
    // A caller that decides again on a newer state must not decide on one it never saw.
    async current(session) {
      const state = await writer.current(session);
      await hold(session, state.seq);
      return state;
    },
    together(members, options) {
      const watched = members.map((member) => ({
        ...member,
        build: heldBuild(member.session, member.build),
      }));
      return after(writer.together(watched, options));
    },
    async commit(parts) {
      for (const { session, expect: given } of parts)
        if (typeof given === "object") await hold(session, given.seq);
      return after(writer.commit(parts));
    },
  };
  return {
    writer: asked,
    runs: {
      ...runs,
      run(session, options, within) {
        const expectSeq = wanted(session);
        return runs.run(session, expectSeq === undefined ? options : { ...options, expectSeq }, within);
      },
    },
  };

  function heldBuild(session: SessionId, build: Build): Build {
    if (expect?.session !== session) return build;
    return async (state) => {
      await hold(session, state.seq);
      return typeof build === "function" ? build(state) : build;
    };
  }
}

/** True when a change was not written because the session had moved on. */
export const hasGoneOn = (error: unknown, { expect }: RequestScope): boolean =>
  expect !== undefined && error instanceof SkeinError && error.code === "conflict" && !isReused(error);
