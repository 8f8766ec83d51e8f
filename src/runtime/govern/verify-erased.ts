/**
 * Compares the recorded erasures of a log with its missing contents: a `content.erased` of the log, or of one
 * that shares the position, must name each missing content, and each named content must be missing. Reads
 * only.
 */
import { readPages } from "../read/record-pages.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId, type LogId, type SessionId } from "../../core/ids.ts";
import * as range from "../../core/range.ts";
import type { Range, Ranges } from "../../core/range.ts";
import type { Head, Store } from "../../store/port.ts";

/** Called with every record of a log during verification. */
export interface ErasedCheck {
  see(record: StoredRecord): void;
  /** The problems, once all records were seen. */
  flaws(): Promise<readonly { readonly seq: number; readonly problem: string }[]>;
}

const unsaid = "its content is missing, and nothing says that it was erased";
const undone = "its content is still there, though the log says that it was erased";

export function checkErased(store: Store, head: Head): ErasedCheck {
  const missing: [number, number][] = [];
  let said: Ranges = [];
  let lastType = "";
  return {
    see({ seq, type, body, content, contentHash }) {
      lastType = type;
      if (type === "content.erased") said = range.union(said, rangesIn(body));
      if (contentHash === null || content !== null) return;
      const last = missing.at(-1);
      if (last?.[1] === seq - 1) last[1] = seq;
      else missing.push([seq, seq]);
    },
    async flaws() {
      const flaws = [];
      for (const seq of await present(store, head, said)) flaws.push({ seq, problem: undone });
      let open = range.subtract(missing, said);
      if (open.length > 0) open = await unsaidBySharers(store, head, open);
      // A log that lives elsewhere cannot be written; its shared contents may be erased here with those of
      // the sharers.
      const isElsewhere = head.copy === true || lastType === "session.moved";
      if (isElsewhere) open = range.remove(open, [1, head.parent?.seq ?? 0]);
      for (const [fromSeq, toSeq] of open)
        for (let seq = fromSeq; seq <= toSeq; seq++) flaws.push({ seq, problem: unsaid });
      return flaws.toSorted((a, b) => a.seq - b.seq);
    },
  };
}

/** An inconsistent body is reported separately as damage. */
function rangesIn(body: string): Ranges {
  try {
    const { ranges } = JSON.parse(body) as { readonly ranges?: unknown };
    return Array.isArray(ranges) ? (ranges as Range[]) : [];
  } catch {
    return [];
  }
}

/** Positions in the ranges whose content exists. */
async function present(store: Store, { session, seq: headSeq }: Head, ranges: Ranges): Promise<number[]> {
  const there: number[] = [];
  for (const each of range.clip(ranges, headSeq)) {
    await unlessUnreadable(async () => {
      for await (const page of readPages(store, session, each, { contents: true }))
        for (const { seq, content } of page) if (content !== null) there.push(seq);
    });
  }
  return there;
}

/** What no log of the family names either: its ancestors, and their forks, and so on. */
async function unsaidBySharers(store: Store, head: Head, missing: Ranges): Promise<Ranges> {
  let open = missing;
  const seen = new Set<LogId>([head.session]);
  const waiting: { session: SessionId; toSeq: number }[] = [];
  const add = (session: SessionId, toSeq: number): void => {
    if (seen.has(session)) return;
    seen.add(session);
    waiting.push({ session, toSeq });
  };
  const addForks = async (session: LogId, toSeq: number): Promise<void> => {
    if (!isSessionId(session)) return;
    for (const fork of await store.forks(session)) add(fork.session, Math.min(toSeq, fork.seq));
  };
  if (head.parent !== null) add(head.parent.session, head.parent.seq);
  await addForks(head.session, Infinity);
  for (let one = waiting.shift(); one !== undefined && open.length > 0; one = waiting.shift()) {
    const { session, toSeq } = one;
    if ((open[0]?.[0] ?? Infinity) > toSeq) continue;
    const theirs = await store.head(session);
    if (theirs === undefined) continue;
    open = range.subtract(open, range.clip(await saidBy(store, theirs), toSeq));
    if (theirs.parent !== null) add(theirs.parent.session, Math.min(toSeq, theirs.parent.seq));
    await addForks(session, toSeq);
  }
  return open;
}

/** The erasures that a log itself records. */
async function saidBy(store: Store, { session, seq, parent }: Head): Promise<Ranges> {
  let said: Ranges = [];
  const only = { types: ["content.erased"], contents: false };
  await unlessUnreadable(async () => {
    for await (const page of readPages(store, session, [(parent?.seq ?? 0) + 1, seq], only))
      for (const { body } of page) said = range.union(said, rangesIn(body));
  });
  return said;
}

async function unlessUnreadable(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof SkeinError) || error.code === "unavailable") throw error;
  }
}
