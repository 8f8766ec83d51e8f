/** Turns a draft into its record, and makes the writer's errors. */
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";
import type { Draft, Part } from "../../store/port.ts";

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

export function fenced(part: Pick<Part, "session" | "epoch">): never {
  throw new SkeinError("fenced", `the lease of epoch ${part.epoch ?? 0} on ${part.session} is not in force`, {
    hint: "somebody else runs the session now; stop, and take the lease again if you must",
  });
}

export const neverAnswered = (part: Pick<Part, "session">, cause: unknown): SkeinError =>
  new SkeinError("unknown", `the store did not answer; ${part.session} may or may not have been written`, {
    hint: "read its log before trying again",
    cause,
  });

/** After a lost answer no later failure proves that nothing was written. */
export const unknownOutcome =
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
