/** What the writer knows its own records by, and how it says that something was not written. */
import type { StoredRecord } from "../core/chain.ts";
import { SkeinError } from "../core/error.ts";
import type { LogId } from "../core/ids.ts";
import type { Draft, Outcome, Part, Store } from "../store/port.ts";

export function recordOf(
  session: LogId,
  draft: Draft,
  place: { readonly seq: number; readonly at: number; readonly hash: string },
): StoredRecord {
  const { type, v, actor, turn, cause, key, body, content } = draft;
  return {
    ...place,
    session,
    type,
    v,
    actor,
    turn,
    cause,
    key,
    body,
    salt: null,
    content: null,
    contentHash: content?.hash ?? null,
    contentBytes: content?.bytes ?? null,
  };
}

const isSame = (record: StoredRecord, draft: Draft | undefined): boolean =>
  draft !== undefined &&
  (draft.content === null ? record.key === draft.key : record.contentHash === draft.content.hash);

export function fenced(part: Part): never {
  throw new SkeinError("fenced", `the lease of epoch ${part.epoch ?? 0} on ${part.session} is not in force`, {
    hint: "somebody else runs the session now; stop, and take the lease again if you must",
  });
}

export const neverAnswered = (part: Pick<Part, "session">, cause: unknown): SkeinError =>
  new SkeinError("unknown", `the store did not answer; ${part.session} may or may not have been written`, {
    hint: "read its log before trying again",
    cause,
  });

/** After a lost answer no later failure says that nothing was written. */
export const notFoundOut =
  (part: Pick<Part, "session">) =>
  (cause: unknown): never => {
    throw neverAnswered(part, cause);
  };

export function noRecall(): never {
  throw new Error("invariant: a rewind is folded by the reader of states");
}

export const refused = ({
  code,
  message,
  hint,
}: {
  code: SkeinError["code"];
  message: string;
  hint?: string;
}): SkeinError => new SkeinError(code, message, { hint });

export const moved = (session: LogId, expected: number, found: number): SkeinError =>
  new SkeinError("conflict", `${session} is at ${found}, not at ${expected}`, {
    hint: "read what is new and decide again",
  });

/** The records of an append whose answer was lost, if they are there: all of them, or none. */
export async function findOwn(
  store: Store,
  part: Part,
  headSeq: number,
): Promise<(Outcome & { readonly kind: "ok" }) | null> {
  const count = part.drafts.length;
  for (let fromSeq = headSeq + 1; ;) {
    const page = await store.read(part.session, {
      fromSeq,
      toSeq: Infinity,
      limit: 1_000,
      contents: false,
    });
    const place = page.findIndex((record) => isSame(record, part.drafts[0]));
    if (place !== -1) {
      const first = page[place];
      const firstSeq = first?.seq ?? 0;
      const range = { fromSeq: firstSeq, toSeq: firstSeq + count - 1, limit: count, contents: false };
      const own = await store.read(part.session, range);
      const appended = {
        session: part.session,
        firstSeq,
        headSeq: firstSeq + count - 1,
        at: first?.at ?? 0,
      };
      return { kind: "ok", parts: [{ ...appended, hashes: own.map(({ hash }) => hash) }] };
    }
    if (page.length === 0) return null;
    fromSeq = (page.at(-1)?.seq ?? fromSeq) + 1;
  }
}
