/** Runs and pauses of a session behind a window: what AI SDK, AG-UI and A2A clients share. */
import { SkeinError } from "../core/error.ts";
import type { Engine } from "../runtime/engine/engine.ts";
import { internalsOf } from "../runtime/engine/internals.ts";
import type { Session } from "../runtime/engine/session.ts";
import { isFree } from "../runtime/read/lease-status.ts";
import type { StreamMark } from "./session-updates.ts";

/** Runs a session. Resolves to null when another process runs it: that one's records are followed. */
export function runInBackground(session: Session): Promise<object | null> {
  const running = session.run().catch((error: unknown) => {
    if (error instanceof SkeinError && error.code === "conflict") return null;
    throw error;
  });
  running.catch(() => null);
  return running;
}

/** Runs a session that has something to do. */
export async function runIfActive(session: Session): Promise<{ readonly run?: Promise<object | null> }> {
  return (await isActive(session)) ? { run: runInBackground(session) } : {};
}

async function isActive(session: Session): Promise<boolean> {
  const { status } = (await session.fold()).standing;
  return status === "open" || status === "running";
}

/** Whether a session does nothing, here or in another process, until someone answers. */
export async function isAtRest(engine: Engine, session: Session): Promise<boolean> {
  if (await isActive(session)) return false;
  const { store, world } = internalsOf(engine);
  return isFree({ store, world }, (await store.head(session.id))?.lease ?? null);
}

/**
 * A message after a failure ends the turn that failed. A session that waits for someone takes none: then
 * `refused` gets the reason that it waits for.
 */
export async function makeRoom(session: Session, refused: (why: string) => Error): Promise<void> {
  const { status, turn, why } = (await session.fold()).standing;
  if (status !== "suspended") return;
  if (why?.by !== "error" || turn === null) throw refused(why?.by ?? "no reason");
  await session.interrupt({ reason: "a new message follows" });
}

/** Whether a mark shows that a turn waits until someone answers. */
export async function mayPause(
  { mark }: StreamMark,
  { startedSeq, waitsFor }: { readonly startedSeq: number; readonly waitsFor: unknown },
  atRest: () => Promise<boolean>,
): Promise<boolean> {
  if (mark === "ran") return startedSeq === 0 || waitsFor !== null;
  return waitsFor !== null && (await atRest());
}

/** Whether a turn that began with these inputs is the one asked for. */
export const isTurnOf = (
  inputs: readonly (readonly [number, number])[],
  inputSeq: number | undefined,
): boolean => inputSeq === undefined || inputs.some(([seq]) => seq === inputSeq);
