/**
 * What has to travel with a session: its own records, and the shared part of each ancestor. Derived from the
 * log itself, since ancestors may be deleted or never have lived here.
 */
import type { BundleLog } from "../../core/bundle/format.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError, sessionNotFound } from "../../core/error.ts";
import { isSessionId, type ProjectId, type SessionId } from "../../core/ids.ts";
import type { Store } from "../../store/port.ts";

/** A log that travels, and the session through which it is read. */
export interface MovedLog extends BundleLog {
  readonly via: SessionId | ProjectId;
}

/** The log of a session, or what others share of it. */
export interface MovedSession extends MovedLog {
  readonly session: SessionId;
  readonly via: SessionId;
}

/** The session and its ancestors, the first ancestor first. */
export async function lineageOf(store: Store, session: SessionId): Promise<readonly MovedSession[]> {
  const head = await store.head(session);
  if (head === undefined) {
    throw sessionNotFound(session);
  }
  const line: MovedSession[] = [];
  for (let toSeq = head.seq; toSeq > 0;) {
    const last = await recordAt(store, session, toSeq);
    const fromSeq = await firstOf(store, session, last);
    const { parent, base } = await originOf(store, session, fromSeq);
    if (!isSessionId(last.session))
      throw new SkeinError("invalid", `expected a session id, got ${last.session}`);
    const kind = line.length === 0 ? "session" : "prefix";
    line.push({ session: last.session, parent, base, fromSeq, toSeq, hash: last.hash, kind, via: session });
    toSeq = fromSeq - 1;
  }
  return line.toReversed();
}

type Logs = Map<SessionId | ProjectId, MovedLog>;

/** The session, its forks, theirs and so on, each with its ancestors; a base comes before its dependents. */
export async function familyOf(store: Store, session: SessionId): Promise<readonly MovedLog[]> {
  const logs: Logs = new Map();
  const waiting = [session];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    await addLineage(store, logs, next);
    waiting.push(...(await store.forks(next)).map((fork) => fork.session));
  }
  return [...logs.values()];
}

/** The log of a project at this head, and its sessions that are here, each with its ancestors. */
export async function projectLogs(
  store: Store,
  project: ProjectId,
  {
    seq: toSeq,
    hash,
    sessions,
  }: { readonly seq: number; readonly hash: string; readonly sessions: readonly SessionId[] },
): Promise<readonly MovedLog[]> {
  const own: MovedLog = {
    session: project,
    via: project,
    parent: null,
    base: null,
    fromSeq: 1,
    toSeq,
    hash,
    kind: "project",
  };
  const logs: Logs = new Map([[project, own]]);
  for (const session of sessions)
    if ((await store.head(session)) !== undefined) await addLineage(store, logs, session);
  return [...logs.values()];
}

async function addLineage(store: Store, logs: Logs, session: SessionId): Promise<void> {
  for (const log of await lineageOf(store, session)) {
    const known = logs.get(log.session);
    const longer = known !== undefined && known.toSeq > log.toSeq ? known : log;
    const whole = known?.kind === "session" || log.kind === "session";
    logs.set(log.session, whole ? { ...longer, kind: "session" } : longer);
  }
}

/** Along a line of forks the session of a record changes only forwards: binary search finds its first. */
async function firstOf(store: Store, session: SessionId, last: StoredRecord): Promise<number> {
  let low = 1;
  let high = last.seq;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await recordAt(store, session, middle)).session === last.session) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function originOf(
  store: Store,
  session: SessionId,
  fromSeq: number,
): Promise<Pick<BundleLog, "parent" | "base">> {
  if (fromSeq === 1) return { parent: null, base: null };
  const [before, first] = [
    await recordAt(store, session, fromSeq - 1),
    await recordAt(store, session, fromSeq),
  ];
  const { parent } = JSON.parse(first.body) as { readonly parent?: unknown };
  if (first.type !== "session.forked" || typeof parent !== "string" || !isSessionId(parent)) {
    throw damaged(session, fromSeq);
  }
  if (!isSessionId(before.session)) throw damaged(session, fromSeq - 1);
  return { parent: { session: parent, seq: fromSeq - 1 }, base: before.session };
}

async function recordAt(store: Store, session: SessionId, seq: number): Promise<StoredRecord> {
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  if (record === undefined) throw damaged(session, seq);
  return record;
}

const damaged = (session: SessionId, seq: number): SkeinError =>
  new SkeinError("corrupt", `record ${seq} of ${session} is missing or damaged`, {
    hint: `run "skein verify ${session}" to see what is damaged`,
  });

/** Records per read: few enough that other work gets its turn. */
const pageRecords = 64;

/** The records of a log that travel, with their contents. */
export async function* pagesOf(
  store: Store,
  { via, fromSeq, toSeq }: MovedLog,
): AsyncGenerator<readonly StoredRecord[]> {
  for (let next = fromSeq; next <= toSeq;) {
    const page = await store.read(via, { fromSeq: next, toSeq, limit: pageRecords, contents: true });
    const last = page.at(-1);
    if (last === undefined) {
      throw new SkeinError("corrupt", `record ${next} of ${via} is missing`, {
        hint: `run "skein verify ${via}" to see what is damaged`,
      });
    }
    yield page;
    next = last.seq + 1;
  }
}
