/** The two ends of a move: the record that fences a session off where it was, and the one it goes on with. */
import type { Moved } from "../core/command/move.ts";
import type { Refusal } from "../core/decision.ts";
import { SkeinError } from "../core/error.ts";
import { joinHosts, splitHosts } from "../core/host-list.ts";
import type { SessionId } from "../core/ids.ts";
import { wayOut } from "../core/lifecycle.ts";
import type { State } from "../core/state.ts";
import type { Store } from "../store/port.ts";
import { readContent } from "./content.ts";
import { isFree } from "./lease.ts";
import type { Context } from "./engine-context.ts";
import type { Writer } from "./writer.ts";

/** How a session was moved away that is not here any more; null when it is here. */
export async function movedBy({ store, writer }: Context, session: SessionId): Promise<Moved | null> {
  return movedIn(store, session, await writer.current(session));
}

async function movedIn(store: Store, session: SessionId, state: State): Promise<Moved | null> {
  const { status, why } = state.standing;
  if (status !== "moved" || why === null) return null;
  const range = { fromSeq: why.seq, toSeq: why.seq, limit: 1, contents: false };
  const [record] = await store.read(session, range);
  return record?.type === "session.moved" ? (JSON.parse(record.body) as Moved) : null;
}

/** Where a session went that was moved away, in words; null when it is here, or nobody knows any more. */
export async function whereTo(store: Store, session: SessionId, state: State): Promise<string | null> {
  const moved = await movedIn(store, session, state);
  if (moved === null) return null;
  const content = await readContent(store, session, state.standing.why?.seq ?? 0).catch(() => undefined);
  const to = (content as { readonly to?: unknown } | undefined)?.to;
  if (typeof to === "string" && to !== byBundle && to !== moved.to) return JSON.stringify(to);
  if (moved.to !== undefined) return `the store whose workspace is ${moved.to}`;
  return to === byBundle ? "the store that its bundle was imported into" : null;
}

/** What the log says of a move with a bundle, when nobody knows yet where that will go. */
export const byBundle = "a bundle";

/** The place of a store as the log may say it: an address without its password. */
export function shownPlace(place: string): string {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(place)) return place;
  const { plain, hosts } = splitHosts(place);
  const url = URL.canParse(plain) ? new URL(plain) : null;
  if (url === null) return "an address that cannot be read";
  url.password = "";
  return joinHosts(url.href, hosts);
}

/** What is refused of a session that lives elsewhere, said so that one knows where to go. */
export async function refusedElsewhere(
  store: Store,
  session: SessionId,
  state: State,
  refusal: Refusal,
): Promise<Refusal> {
  if ((await store.head(session))?.copy === true) {
    const message = `${session} is a copy of a session that lives elsewhere`;
    return { code: "refused", message, hint: "fork it to go on from it here" };
  }
  return refusal.hint === wayOut.moved ? { ...refusal, hint: await wayTo(store, session, state) } : refusal;
}

/** What a person can do about a session that was moved. */
export async function wayTo(store: Store, session: SessionId, state: State): Promise<string> {
  const where = await whereTo(store, session, state);
  return where === null
    ? wayOut.moved
    : `it lives elsewhere now: it was moved to ${where}; work on it there, or fork it`;
}

/** Appends `session.moved`: whoever runs the session is fenced by it. Gives the name of the move. */
export async function moveAway(
  context: Context,
  session: SessionId,
  { to, where }: { readonly to?: string; readonly where: string },
): Promise<string> {
  const { store, world, writer, actor } = context;
  const move = `mov_${world.salt()}`;
  const target = to === undefined ? {} : { to };
  const build = async () => {
    const lease = (await store.head(session))?.lease ?? null;
    return { do: "move", move, where, held: !isFree(context, lease), ...target } as const;
  };
  await writer.change(session, build, { actor, lease: "release", asked: true });
  return move;
}

/** What an arrival is written with. */
export interface Arrival {
  readonly store: Store;
  readonly writer: Writer;
  readonly actor: string;
}

/**
 * Appends `session.arrived`, if it is that move which brought the session here. False when it has arrived
 * before, whatever became of it since.
 */
export async function arriveHere(
  { store, writer, actor }: Arrival,
  session: SessionId,
  options: { readonly move: string; readonly where: string; readonly untrusted?: boolean },
): Promise<boolean> {
  const { move, where, untrusted = false } = options;
  const isHere = async (): Promise<boolean> => {
    const moved = await movedIn(store, session, await writer.current(session));
    return moved?.move !== move;
  };
  if (await isHere()) return false;
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
    // Somebody else may have been first with the very same arrival.
    if (error instanceof SkeinError && (await isHere())) return false;
    throw error;
  }
}
