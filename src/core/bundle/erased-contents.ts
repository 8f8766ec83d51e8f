/**
 * Which contents a bundle leaves out. A content may be missing only if a `content.erased` in the bundle names
 * its position: in the same log, or in a log that shares the position. Otherwise every carrier of the bundle
 * could strip contents, and the chain, which survives erasure, would still verify.
 */
import type { BundleLog } from "./format.ts";
import type { StoredRecord } from "../chain.ts";
import type { ProjectId, SessionId } from "../ids.ts";
import type { Range } from "../range.ts";

export interface MissingContents {
  /** Takes the next record of a log, in bundle order. */
  see(log: BundleLog, record: StoredRecord): void;
  /** The first missing content that no record names; null if there is none. */
  unnamed(): { readonly session: SessionId | ProjectId; readonly seq: number } | null;
}

export function trackMissingContents(logs: readonly BundleLog[]): MissingContents {
  const byId = new Map(logs.map((log) => [log.session, log]));
  const missing = new Map<SessionId | ProjectId, [number, number][]>();
  const named = new Map<SessionId | ProjectId, Range[]>();

  /** Positions before a log's first own record lie in the logs it was forked from. */
  function name(log: BundleLog, [fromSeq, toSeq]: Range): void {
    let owner: BundleLog | undefined = log;
    for (let end = toSeq; owner !== undefined && fromSeq <= end;) {
      listOf(named, owner.session).push([Math.max(fromSeq, owner.fromSeq), Math.min(end, owner.toSeq)]);
      end = Math.min(end, owner.fromSeq - 1);
      owner = owner.base === null ? undefined : byId.get(owner.base);
    }
  }

  return {
    see(log, { seq, type, body, content, contentHash }) {
      if (type === "content.erased") for (const range of rangesIn(body)) name(log, range);
      if (contentHash === null || content !== null) return;
      const list = listOf(missing, log.session);
      const last = list.at(-1);
      if (last?.[1] === seq - 1) last[1] = seq;
      else list.push([seq, seq]);
    },
    unnamed() {
      for (const [session, ranges] of missing) {
        const seq = firstOutside(ranges, named.get(session) ?? []);
        if (seq !== null) return { session, seq };
      }
      return null;
    },
  };
}

function listOf<T>(lists: Map<SessionId | ProjectId, T[]>, session: SessionId | ProjectId): T[] {
  const list = lists.get(session) ?? [];
  lists.set(session, list);
  return list;
}

/** The first position of sorted ranges that none of the others covers. One sort, then one pass over both. */
function firstOutside(ranges: readonly Range[], cover: readonly Range[]): number | null {
  const sorted = cover.toSorted((a, b) => a[0] - b[0]);
  let next = 0;
  let coveredTo = 0;
  for (const [fromSeq, toSeq] of ranges) {
    let seq = Math.max(fromSeq, Math.min(coveredTo + 1, toSeq + 1));
    for (let one = sorted[next]; one !== undefined && one[0] <= seq && seq <= toSeq; one = sorted[next]) {
      coveredTo = Math.max(coveredTo, one[1]);
      seq = Math.max(seq, coveredTo + 1);
      next += 1;
    }
    if (seq <= toSeq) return seq;
  }
  return null;
}

/** The ranges in a body from outside; anything malformed is ignored. */
function rangesIn(body: string): readonly Range[] {
  let ranges: unknown;
  try {
    ({ ranges } = JSON.parse(body) as { readonly ranges?: unknown });
  } catch {
    return [];
  }
  if (!Array.isArray(ranges)) return [];
  return ranges.filter(
    (one: unknown): one is Range =>
      Array.isArray(one) && one.length === 2 && one.every((seq) => Number.isSafeInteger(seq) && seq >= 1),
  );
}
