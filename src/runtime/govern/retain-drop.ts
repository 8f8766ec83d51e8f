/**
 * Deletes sessions: the workspace's log keeps their last positions and hashes, in one append with the
 * deletion mark. A sweep frees their records later.
 */
import type { DraftEvent } from "../../core/decision.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Part } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { expectAt } from "../read/known-heads.ts";
import { paybackOf } from "../log/child-refund.ts";
import { headOf } from "../read/position.ts";
import { decideSealed, seal } from "../log/seal.ts";
import { assertProjectNotHeld } from "../project/project-status.ts";

export interface SessionDrop {
  readonly session: SessionId;
  readonly reason?: string | undefined;
  /** Throws if the current session must not be deleted after all. */
  readonly check?: (state: State) => void;
}

/** All of them or none, under this key of a record. Rejects with `conflict` when one changed in between. */
export async function dropSessions(
  deps: Deps,
  dropped: readonly SessionDrop[],
  key: string | null = null,
): Promise<void> {
  const { store, world, writer, actor } = deps;
  const events: DraftEvent[] = [];
  const parts: Part[] = [];
  const doomed = new Set(dropped.map(({ session }) => session));
  for (const { session, reason, check } of dropped) {
    const state = await writer.current(session);
    check?.(state);
    // Another process may have deleted it since.
    const head = await headOf({ store }, session);
    if (head.copy !== true) refuseIfNeeded(session, state);
    if (head.copy !== true && state.standing.status !== "moved") {
      const { project } = state.standing;
      await assertProjectNotHeld(deps, { log: session, project, nothing: "nothing was deleted" });
    }
    const { seq } = state;
    const body = { session, headSeq: seq, headHash: head.hash };
    events.push({ type: "session.deleted", body, ...(reason === undefined ? {} : { content: { reason } }) });
    parts.push({ session, expect: expectAt(state), drafts: [], drop: true });
    parts.push(...(await givenBack(deps, state, doomed)));
  }
  const twice = parts.find(({ session }, place) => parts.findIndex((one) => one.session === session) < place);
  if (twice !== undefined && dropped.length > 1)
    throw new SkeinError("conflict", `${twice.session} receives refunds from several sessions at once`);
  if (parts.length === 0) return;
  const { drafts } = seal(world, events, { actor, key });
  await writer.commit([{ session: store.workspace, expect: "unchecked", drafts }, ...parts]);
  for (const { session } of dropped) writer.forget(session);
}

/** Deleting a live session refunds the rest of its budget, if its payer stays. */
async function givenBack(
  { store, world, writer, actor }: Deps,
  state: State,
  doomed: ReadonlySet<SessionId>,
): Promise<Part[]> {
  const payback = await paybackOf({ store, world }, writer.current, state);
  if (payback === null || payback.refunds.some(({ session }) => doomed.has(session))) return [];
  const facts = { actor, digest: world.digest, program: store.program };
  return payback.refunds.flatMap(({ session, state: on, command }) => {
    const decision = decideSealed(world, on, command, { facts, key: null });
    return "refusal" in decision ? [] : [{ session, expect: expectAt(on), drafts: decision.drafts }];
  });
}

/** A hold goes with a moved session, and does not protect the rest of it here. */
function refuseIfNeeded(session: SessionId, { standing }: State): void {
  const [held] = standing.status === "moved" ? [] : standing.holds.keys();
  if (held !== undefined) {
    throw new SkeinError("refused", `${session} is under legal hold ${quote(held)}`, {
      hint: `lift the hold first: skein hold ${session} ${quote(held)} --lift`,
    });
  }
  if (standing.status === "running") {
    throw new SkeinError("refused", `${session} is running`, { hint: "interrupt it first" });
  }
}
