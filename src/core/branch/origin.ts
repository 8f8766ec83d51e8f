/** The origin of a session that is not a fork, from the first record of its log. */
import { isSessionId, type SessionId } from "../ids.ts";

/**
 * `child`: the other session opened it. `successor`: it continues the other's work, after `clear` or `open
 * --from`. `split`: it has a task that came up in the other.
 */
export interface Origin {
  readonly session: SessionId;
  readonly relation: "child" | "successor" | "split";
  /** Of a child, or a split: the position in the other log. */
  readonly seq: number | null;
}

/** `body` is the stored JSON. Null: a person opened it, it is a fork, or the body is corrupt. */
export function originOf({ type, body }: { readonly type: string; readonly body: string }): Origin | null {
  return type === "session.opened" ? originIn(parsed(body)) : null;
}

/** The same, from the parsed body of `session.opened`. */
export function originIn(body: unknown): Origin | null {
  const { parent, from, split } = (body ?? {}) as {
    readonly parent?: { readonly session?: unknown; readonly seq?: unknown } | null;
    readonly from?: unknown;
    readonly split?: { readonly session?: unknown; readonly seq?: unknown } | null;
  };
  for (const [place, relation] of [
    [parent, "child"],
    [split, "split"],
  ] as const) {
    const opener = place?.session;
    if (typeof opener === "string" && isSessionId(opener))
      return { session: opener, relation, seq: typeof place?.seq === "number" ? place.seq : null };
  }
  if (typeof from !== "string" || !isSessionId(from)) return null;
  return { session: from, relation: "successor", seq: null };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
