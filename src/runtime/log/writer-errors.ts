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
  throw new SkeinError(
    "fenced",
    `the lease of epoch ${part.epoch ?? 0} on ${part.session} is no longer held`,
    {
      hint: "another worker runs the session now; stop, and take the lease again if needed",
    },
  );
}

export const neverAnswered = (part: Pick<Part, "session">, cause: unknown): SkeinError =>
  new SkeinError(
    "unknown",
    `the store did not respond; the write to ${part.session} may or may not have happened`,
    {
      hint: "read the log before you retry",
      cause,
    },
  );

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
    hint: "read the new events, then retry",
  });
