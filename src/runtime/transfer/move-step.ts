/** The two ends of a move: the record that fences a session at its source, and the one it continues with. */
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import type { World } from "../world.ts";
import { joinArriving } from "./join-arriving.ts";
import type { Writer } from "../log/writer.ts";
import { isFree } from "../read/lease-status.ts";
import { movedIn } from "../read/move-target.ts";

/** Appends `session.moved`, which fences a running process. Returns the id of the move. */
export async function moveAway(
  deps: Deps,
  session: SessionId,
  { to, where }: { readonly to?: string; readonly where: string },
): Promise<string> {
  const { store, world, writer, actor } = deps;
  const move = `mov_${world.salt()}`;
  const target = to === undefined ? {} : { to };
  const build = async () => {
    const lease = (await store.head(session))?.lease ?? null;
    return { do: "move", move, where, held: !isFree(deps, lease), ...target } as const;
  };
  await writer.change(session, build, { actor, lease: "release", asked: true });
  return move;
}

/** The parameters of an arrival. */
export interface Arrival {
  readonly store: Store;
  readonly world: World;
  readonly writer: Writer;
  readonly actor: string;
}

/**
 * Appends `session.arrived`, if that move brought the session here. False when it has arrived before,
 * whatever happened since.
 */
export async function arriveHere(
  { store, world, writer, actor }: Arrival,
  session: SessionId,
  options: { readonly move: string; readonly where: string; readonly untrusted?: boolean },
): Promise<boolean> {
  const { move, where, untrusted = false } = options;
  const isHere = async (): Promise<boolean> => {
    const moved = await movedIn(store, session, await writer.current(session));
    return moved?.move !== move;
  };
  if (await isHere()) return false;
  const { project } = (await writer.current(session)).standing;
  await joinArriving({ store, world, writer, actor }, session, project);
  try {
    const build = async (state: State) =>
      ({
        do: "arrive",
        moved: await movedIn(store, session, state),
        workspace: store.workspace,
        where,
        untrusted,
      }) as const;
    await writer.change(session, build, { actor, lease: "release" });
    return true;
  } catch (error) {
    // Another process may have been first with the very same arrival.
    if (error instanceof SkeinError && (await isHere())) return false;
    throw error;
  }
}
