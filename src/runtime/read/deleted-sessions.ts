/** Which sessions were deleted, by the log of the workspace: read once, then what is new in it. */
import { readEvent } from "../../core/event.ts";
import { isSessionId, type SessionId } from "../../core/ids.ts";
import type { Part, Store } from "../../store/port.ts";
import { readRecords } from "./record-pages.ts";

export interface DeletedSessions {
  has(session: SessionId): Promise<boolean>;
  /** A new session's part: it is a conflict if the session was deleted since this was last looked at. */
  guard(part: Part): Part;
}

export function makeDeletedSessions(store: Store): DeletedSessions {
  let ids = new Set<string>();
  let seenSeq = 0;
  let reading: Promise<void> = Promise.resolve();

  async function catchUp(): Promise<void> {
    const headSeq = (await store.head(store.workspace))?.seq ?? 0;
    // The store fell back to an earlier copy of itself.
    if (headSeq < seenSeq) [ids, seenSeq] = [new Set(), 0];
    const types = ["session.deleted"];
    for await (const record of readRecords(store, store.workspace, [seenSeq + 1, headSeq], { types })) {
      const { session } = readEvent(record, false).event.body as { readonly session?: unknown };
      if (typeof session === "string") ids.add(session);
    }
    seenSeq = headSeq;
  }

  return {
    async has(session) {
      const before = reading;
      reading = before.catch(() => null).then(catchUp);
      await reading;
      return ids.has(session);
    },
    guard(part) {
      const { session, expect } = part;
      if (expect !== "absent" || !isSessionId(session)) return part;
      // One that is known by now was deleted after it was looked for.
      const afterSeq = ids.has(session) ? 0 : seenSeq;
      return { ...part, unlessDeleted: { by: store.workspace, afterSeq } };
    },
  };
}
