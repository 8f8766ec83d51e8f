/** Where a session has moved. */
import type { MoveBody } from "../../core/session/commands.ts";
import type { Refusal } from "../../core/decision.ts";
import { joinHosts, splitHosts } from "../../core/text/host-list.ts";
import type { SessionId } from "../../core/ids.ts";
import { wayOut } from "../../core/session/lifecycle.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import { readContent } from "./content.ts";
import type { Deps } from "../deps.ts";

/** The move of a session that left this store; null when it is here. */
export async function movedBy({ store, writer }: Deps, session: SessionId): Promise<MoveBody | null> {
  return movedIn(store, session, await writer.current(session));
}

export async function movedIn(store: Store, session: SessionId, state: State): Promise<MoveBody | null> {
  const { status, why } = state.standing;
  if (status !== "moved" || why === null) return null;
  const range = { fromSeq: why.seq, toSeq: why.seq, limit: 1, contents: false };
  const [record] = await store.read(session, range);
  return record?.type === "session.moved" ? (JSON.parse(record.body) as MoveBody) : null;
}

/** The destination of a moved session, in words; null when it is here, or the destination is unknown. */
export async function whereTo(store: Store, session: SessionId, state: State): Promise<string | null> {
  const moved = await movedIn(store, session, state);
  if (moved === null) return null;
  const content = await readContent(store, session, state.standing.why?.seq ?? 0).catch(() => undefined);
  const to = (content as { readonly to?: unknown } | undefined)?.to;
  if (typeof to === "string" && to !== byBundle && to !== moved.to) return JSON.stringify(to);
  if (moved.to !== undefined) return `the store whose workspace is ${moved.to}`;
  return to === byBundle ? "the store that its bundle was imported into" : null;
}

/** What the log says of a move with a bundle, whose destination is not known yet. */
export const byBundle = "a bundle";

/** The address of a store for the log: without its password. */
export function shownPlace(place: string): string {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(place)) return place;
  const { plain, hosts } = splitHosts(place);
  const url = URL.canParse(plain) ? new URL(plain) : null;
  if (url === null) return "an address that cannot be read";
  url.password = "";
  return joinHosts(url.href, hosts);
}

/** The refusal for a session that lives elsewhere, with its destination. */
export async function refusedElsewhere(
  store: Store,
  session: SessionId,
  state: State,
  refusal: Refusal,
): Promise<Refusal> {
  if ((await store.head(session))?.copy === true) {
    const message = `${session} is a read-only copy of a session in another store`;
    return { code: "refused", message, hint: "fork it to continue here" };
  }
  return refusal.hint === wayOut.moved ? { ...refusal, hint: await wayTo(store, session, state) } : refusal;
}

/** What a person can do about a moved session. */
export async function wayTo(store: Store, session: SessionId, state: State): Promise<string> {
  const where = await whereTo(store, session, state);
  return where === null ? wayOut.moved : `it was moved to ${where}; open it there, or fork it here`;
}
