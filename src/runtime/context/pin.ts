/** Pins: items that every context shows in full, and whether there is room for one more. */
import type { Command } from "../../core/command.ts";
import { present } from "../../core/present.ts";
import { sizeOfPins, type PinnedSize } from "../../core/context/plan.ts";
import { roughTokens } from "../../core/context/token-count.ts";
import type { ItemKind } from "../../core/item/kind.ts";
import { itemKey } from "../../core/item/fold.ts";
import type { SessionId } from "../../core/ids.ts";
import type { ItemRef, State } from "../../core/state.ts";
import { sideBySide } from "../read/content.ts";
import { freshen, readOne } from "../read/event-cache.ts";
import type { Deps } from "../deps.ts";
import { pinnedItems } from "./plan-reader.ts";
import { planningFor } from "./model-settings.ts";

export async function pinItem(
  deps: Deps,
  session: SessionId,
  kind: ItemKind,
  key: string,
  { because, key: once }: { readonly because?: string; readonly key?: string },
): ReturnType<Deps["writer"]["change"]> {
  const { writer, actor } = deps;
  const command = { do: "pin", kind, key, ...present({ because }) } as const;
  const name = itemKey(kind, key);
  const build = async (state: State): Promise<Command> => {
    const item = state.mind.items.get(name);
    if (item === undefined) return command;
    const others = pinnedItems(state).filter(({ seq }) => seq !== item.seq);
    return { ...command, pinned: await measurePins(deps, session, state, [...others, item]) };
  };
  return writer.change(session, build, { actor, key: once });
}

async function measurePins(
  deps: Deps,
  session: SessionId,
  state: State,
  items: readonly ItemRef[],
): Promise<PinnedSize> {
  await freshen(deps, session);
  const pinned = await sideBySide(items, async (item) => ({
    ...item,
    content: (await readOne(deps, session, item.seq))?.content,
  }));
  return sizeOfPins(pinned, await planningFor(deps, session, state), roughTokens);
}
