/** A driver of the smallest kind: the methods of `LogStore`, in plain objects. */
import { genesisHash, link, type Digest, type StoredRecord } from "../../src/core/chain.ts";
import type { LogId, SessionId, WorkspaceId } from "../../src/core/ids.ts";
import { depthFlaw, missingForkPoint } from "../../src/store/judge.ts";
import { pageOf } from "../../src/store/memory/log.ts";
import type { AppendedPart, LogHead, LogStore, Outcome, Part, ReadRange } from "../../src/store/port/log.ts";

export interface BareLogs {
  readonly workspace: WorkspaceId;
  readonly parents: Map<LogId, { readonly session: SessionId; readonly seq: number }>;
  /** Every record, in the order of the feed. */
  readonly feed: StoredRecord[];
  readonly watchers: Set<() => void>;
}

export const newBareLogs = (workspace: WorkspaceId): BareLogs => ({
  workspace,
  parents: new Map(),
  feed: [],
  watchers: new Set(),
});

/** Several may be opened on the same logs, as processes on one place. */
export function bareLog(logs: BareLogs, world: { now(): number; readonly digest: Digest }): LogStore {
  const { parents, feed, watchers } = logs;

  function recordsOf(session: LogId): StoredRecord[] {
    const parent = parents.get(session);
    const own = feed.filter((record) => record.session === session);
    return parent ? [...recordsOf(parent.session).slice(0, parent.seq), ...own] : own;
  }

  function headOf(session: LogId): LogHead | undefined {
    const last = feed.findLast((record) => record.session === session);
    return (
      last && { session, seq: last.seq, hash: last.hash, at: last.at, parent: parents.get(session) ?? null }
    );
  }

  function refusal({ session, expect, drafts }: Part): Outcome | null {
    const head = headOf(session);
    const headSeq = head?.seq ?? 0;
    for (const { key } of drafts) {
      const found = feed.find((record) => record.session === session && record.key === key);
      if (key !== null && found) return { kind: "duplicate", session, key, seq: found.seq };
    }
    const asExpected =
      expect === "unchecked" ||
      (expect === "absent" && !head) ||
      (expect === "exists" && head !== undefined) ||
      (typeof expect === "object" && expect.seq === headSeq && (expect.hash ?? head?.hash) === head?.hash);
    if (!asExpected) return { kind: "conflict", session, headSeq };
    return null;
  }

  function begin(session: LogId, parent: NonNullable<Part["parent"]>): void {
    if (recordsOf(parent.session).length < parent.seq) throw missingForkPoint(parent);
    let depth = 0;
    for (let at = parents.get(parent.session); at; at = parents.get(at.session)) depth += 1;
    const tooDeep = depthFlaw(depth);
    if (tooDeep) throw tooDeep;
    parents.set(session, parent);
  }

  /** All or none. */
  function writeAll(parts: readonly Part[]): AppendedPart[] {
    const length = feed.length;
    try {
      return parts.map(write);
    } catch (error) {
      for (const { session, parent } of parts)
        if (parent && !headBefore(session, length)) parents.delete(session);
      feed.length = length;
      throw error;
    }
  }

  const headBefore = (session: LogId, length: number): boolean =>
    feed.slice(0, length).some((record) => record.session === session);

  function write({ session, drafts, parent }: Part): AppendedPart {
    if (parent) begin(session, parent);
    const before = recordsOf(session);
    let last = before.at(-1);
    const at = Math.max(world.now(), last?.at ?? 0);
    const firstSeq = before.length + 1;
    const hashes = drafts.map((draft, place) => {
      const { type, v, actor, turn, cause, key, body, bodyHash, content } = draft;
      const seq = firstSeq + place;
      const [contentHash, contentBytes] = [content?.hash ?? null, content?.bytes ?? null];
      const fields = { session, seq, at, type, v, actor, turn, cause, key, contentHash, contentBytes };
      const hash = link(world.digest, last?.hash ?? genesisHash, fields, bodyHash);
      last = { ...fields, body, hash, salt: content?.salt ?? null, content: content?.text ?? null };
      feed.push(last);
      return hash;
    });
    return { session, firstSeq, headSeq: firstSeq + drafts.length - 1, at, hashes };
  }

  function read(session: LogId, { fromSeq, toSeq, reverse, limit, types, contents }: ReadRange) {
    const found = recordsOf(session)
      .filter(({ seq, type }) => seq >= fromSeq && seq <= toSeq && (types?.includes(type) ?? true))
      .map((record) => (contents ? record : { ...record, salt: null, content: null }));
    return pageOf(reverse ? found.toReversed() : found, limit, (record) => record);
  }

  return {
    workspace: logs.workspace,
    async append(parts) {
      for (const part of parts) {
        const refused = refusal(part);
        if (refused) return refused;
      }
      const written = writeAll(parts);
      setImmediate(() => watchers.forEach((changed) => changed()));
      return { kind: "ok", parts: written };
    },
    head: async (session) => headOf(session),
    read: async (session, range) => read(session, range),
    keyed: async (session, key) =>
      feed.find((record) => record.session === session && record.key === key)?.seq,
    async seqAt(session, at) {
      const all = recordsOf(session);
      return all.find((record) => record.at >= at)?.seq ?? all.length + 1;
    },
    async feed(after, limit) {
      const from = Number(after ?? 0);
      const records = pageOf(feed.slice(from), limit, (record) => record);
      return { records, position: String(from + records.length) };
    },
    feedEnd: async () => String(feed.length),
    watch(changed) {
      const watcher = () => changed();
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    close: async () => undefined,
  };
}
