/** Pins: items that every context shows in full, and whether there is room for one more. */
import type { CommandOf } from "../../core/command.ts";
import { present } from "../../core/present.ts";
import { sizeOfPins } from "../../core/context/plan.ts";
import type { PlannedItem } from "../../core/context/plan-items.ts";
import { roughTokens } from "../../core/context/token-count.ts";
import type { PinnedRoom } from "../../core/item/commands.ts";
import { defaultStatus, type ItemKind } from "../../core/item/kind.ts";
import { itemKey } from "../../core/item/fold.ts";
import type { SessionId } from "../../core/ids.ts";
import type { ItemRef, State } from "../../core/state.ts";
import { sideBySide } from "../read/content.ts";
import { freshen, readOne } from "../read/event-cache.ts";
import type { Deps } from "../deps.ts";
import { pinnedItems } from "./plan-reader.ts";
import { planningFor } from "./model-settings.ts";

type Change = Awaited<ReturnType<Deps["writer"]["change"]>>;

/** Pins an item. One that is pinned already stays as it is: nothing is written. */
export async function pinItem(
  deps: Deps,
  session: SessionId,
  kind: ItemKind,
  key: string,
  { because, key: once }: { readonly because?: string; readonly key?: string },
): Promise<Change> {
  const { writer, actor } = deps;
  const command = { do: "pin", kind, key, ...present({ because }) } as const;
  const name = itemKey(kind, key);
  let known: Change | null = null;
  const build = async (state: State): Promise<CommandOf<"pin">> => {
    const item = state.mind.items.get(name);
    if (item === undefined) return command;
    const firstSeq = state.mind.pins.get(name);
    if (firstSeq !== undefined) {
      known = { state, firstSeq, headSeq: state.seq, duplicate: true };
      throw new PinnedAlready();
    }
    const [before, [own]] = await Promise.all([
      readPins(deps, session, pinnedItems(state)),
      readPins(deps, session, [item]),
    ]);
    const after = own === undefined ? before : [...before, own];
    return { ...command, pinned: await roomOfPins(deps, session, state, before, after) };
  };
  return writer.change(session, build, { actor, key: once }).catch((error: unknown) => {
    if (error instanceof PinnedAlready && known !== null) return known;
    throw error;
  });
}

/** Ends a change that would write what holds already. */
class PinnedAlready extends Error {}

/** What all pins take when this value is recorded; empty for an item that is not pinned. */
export async function pinnedRoomFor(
  deps: Deps,
  session: SessionId,
  state: State,
  item: Omit<CommandOf<"record">, "do" | "pinned">,
): Promise<{ readonly pinned?: PinnedRoom }> {
  const { kind, key, value, because, evidence, confidence, status = defaultStatus(kind) } = item;
  const name = itemKey(kind, key);
  const ref = state.mind.items.get(name);
  if (ref === undefined || !state.mind.pins.has(name)) return {};
  const before = await readPins(deps, session, pinnedItems(state));
  const content = present({ value, because, evidence });
  const now: PlannedItem = { kind, key, status, seq: ref.seq, ...present({ confidence }), content };
  const after = before.map((one) => (one.seq === ref.seq ? now : one));
  return { pinned: await roomOfPins(deps, session, state, before, after) };
}

async function roomOfPins(
  deps: Deps,
  session: SessionId,
  state: State,
  before: readonly PlannedItem[],
  after: readonly PlannedItem[],
): Promise<PinnedRoom> {
  const planning = await planningFor(deps, session, state);
  const { tokens: tokensBefore } = sizeOfPins(before, planning, roughTokens);
  return { ...sizeOfPins(after, planning, roughTokens), tokensBefore };
}

async function readPins(
  deps: Deps,
  session: SessionId,
  items: readonly ItemRef[],
): Promise<readonly PlannedItem[]> {
  await freshen(deps, session);
  return sideBySide(items, async (item) => ({
    ...item,
    content: (await readOne(deps, session, item.seq))?.content,
  }));
}
