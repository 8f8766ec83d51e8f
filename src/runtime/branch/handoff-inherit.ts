/**
 * Inherited, unsettled items: those of the sessions that this one continues, directly or not, as they were at
 * their handoff.
 */
import { readRecords } from "../read/record-pages.ts";
import { leftOpen, readLists, unsettled } from "../../core/handoff/inherit.ts";
import { scanRecordsMax, type InheritedItem } from "../../core/handoff/source.ts";
import { readEvent, type EventOf } from "../../core/event.ts";
import { isSessionId, type SessionId } from "../../core/ids.ts";
import { includes } from "../../core/range.ts";
import type { ItemRef, State } from "../../core/state.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { carriedOn, earlierMax } from "../read/family.ts";

/** The oldest first. */
export async function inheritedBy(
  deps: Deps,
  session: SessionId,
  state: State,
  seen: ReadonlySet<string> = new Set(),
): Promise<InheritedItem[]> {
  const inherited: InheritedItem[] = [];
  for (const { kind, seq } of state.mind.documents.values()) {
    if (kind === "handoff") inherited.push(...(await handedOver(deps, { session, seq }, seen)));
  }
  if (inherited.length === 0) return [];
  return unsettled(inherited, state, await retractedIn(deps, session, state));
}

/** From the session that wrote a handoff, if it still exists; else from the text of the handoff. */
async function handedOver(
  deps: Deps,
  loaded: { readonly session: SessionId; readonly seq: number },
  seen: ReadonlySet<string>,
): Promise<InheritedItem[]> {
  const { store, states } = deps;
  const content = await readContent(store, loaded.session, loaded.seq);
  const { path = "", text = "" } = (content ?? {}) as { readonly path?: string; readonly text?: string };
  const [from = "", position] = path.split("@");
  const earlier = isSessionId(from) ? from : await carriedOn(deps, loaded.session);
  if (earlier === null || seen.has(earlier)) return [];
  const head = await store.head(earlier);
  const seq = position === undefined ? (head?.seq ?? 0) : Number(position);
  if (head === undefined || head.seq < seq || seen.size >= earlierMax) return readLists(text, loaded);
  const state = await states.at(earlier, seq);
  const items: InheritedItem[] = [];
  for (const { kind, key, seq: at } of leftOpen(state)) {
    const value = await readContent(store, earlier, at);
    items.push({ kind, key, session: earlier, seq: at, content: value });
  }
  return [...(await inheritedBy(deps, earlier, state, new Set([...seen, earlier]))), ...items];
}

/** Items recorded and retracted again, within the last records. */
async function retractedIn(
  { store }: Deps,
  session: SessionId,
  { seq: toSeq, mind }: State,
): Promise<Pick<ItemRef, "kind" | "key">[]> {
  const retracted: Pick<ItemRef, "kind" | "key">[] = [];
  const types = ["item.retracted"];
  const fromSeq = Math.max(1, toSeq - scanRecordsMax + 1);
  for await (const record of readRecords(store, session, [fromSeq, toSeq], { types })) {
    const { kind, event } = readEvent(record, false);
    if (kind === "known" && !includes(mind.lost, event.seq))
      retracted.push((event as EventOf<"item.retracted">).body);
  }
  return retracted;
}
