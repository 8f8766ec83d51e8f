/**
 * What a log says was erased, held against what is gone: a content that is missing must be named by a
 * `content.erased` of the log, or of one that shares the position; what is named must be gone. Reads only.
 */
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId, type LogId, type SessionId } from "../../core/ids.ts";
import * as range from "../../core/range.ts";
import type { Range, Ranges } from "../../core/range.ts";
import type { Head, Store } from "../../store/port.ts";
import { pages } from "./erase-survey.ts";

/** Told of every record of a log as it is verified. */
export interface ErasedCheck {
  see(record: StoredRecord): void;
  /** What is wrong, once all records were seen. */
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
      // Nothing can be written to what lives elsewhere; what it shared may go here with those who shared it.
      const isElsewhere = head.copy === true || lastType === "session.moved";
      if (isElsewhere) open = range.remove(open, [1, head.parent?.seq ?? 0]);
      for (const [fromSeq, toSeq] of open)
        for (let seq = fromSeq; seq <= toSeq; seq++) flaws.push({ seq, problem: unsaid });
      return flaws.toSorted((a, b) => a.seq - b.seq);
    },
  };
}

/** A body that does not agree with itself is told as damage of its own. */
function rangesIn(body: string): Ranges {
  try {
    const { ranges } = JSON.parse(body) as { readonly ranges?: unknown };
    return Array.isArray(ranges) ? (ranges as Range[]) : [];
  } catch {
    return [];
  }
}

/** Positions in the ranges whose content is there. */
async function present(store: Store, { session, seq: headSeq }: Head, ranges: Ranges): Promise<number[]> {
  const there: number[] = [];
  for (const each of range.clip(ranges, headSeq)) {
    await unlessUnreadable(async () => {
      for await (const page of pages(store, session, each))
        for (const { seq, content } of page) if (content !== null) there.push(seq);
    });
  }
  return there;
}

/** What nobody of the family says either: those that it was forked from, and their forks, and so on. */
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

/** What a log itself says was erased. */
async function saidBy(store: Store, { session, seq, parent }: Head): Promise<Ranges> {
  let said: Ranges = [];
  const only = { types: ["content.erased"], contents: false };
  await unlessUnreadable(async () => {
    for await (const page of pages(store, session, [(parent?.seq ?? 0) + 1, seq], only))
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
