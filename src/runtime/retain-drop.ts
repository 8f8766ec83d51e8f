/**
 * Dropping a session: its last position and hash go to the workspace's log as a witness, in one append with
 * the mark that it is gone. What it held is given back by a sweep.
 */
import { SkeinError } from "../core/error.ts";
import { quote, type SessionId } from "../core/ids.ts";
import type { State } from "../core/state.ts";
import type { Context } from "./engine-context.ts";
import { seal } from "./seal.ts";

export interface DropOptions {
  readonly reason?: string | undefined;
  /** Throws if the session, as it is now, is not to go after all. */
  readonly check?: (state: State) => void;
}

/** Rejects with `conflict` when the session changed in between. */
export async function dropSession(
  { store, world, writer, actor }: Context,
  session: SessionId,
  { reason, check }: DropOptions,
): Promise<void> {
  const state = await writer.current(session);
  check?.(state);
  const { standing, seq } = state;
  const held = [...standing.holds.keys()][0];
  if (held !== undefined) {
    throw new SkeinError("refused", `${session} is under the hold ${quote(held)}`, {
      hint: "lift the hold first",
    });
  }
  if (standing.status === "running") {
    throw new SkeinError("refused", `${session} is running`, { hint: "interrupt it first" });
  }
  const head = await store.head(session);
  const body = { session, headSeq: seq, headHash: head?.hash ?? "" };
  const event = { type: "session.deleted", body, ...(reason === undefined ? {} : { content: { reason } }) };
  const { drafts } = seal(world, [event], { actor, key: null });
  await writer.commit([
    { session: store.workspace, expect: "unchecked", drafts },
    { session, expect: { seq }, drafts: [], drop: true },
  ]);
  writer.forget(session);
}
