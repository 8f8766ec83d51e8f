/** Pins: items that every context shows in full, and whether there is room for one more. */
import type { Command } from "../../core/command.ts";
import { present } from "../../core/present.ts";
import { pinText } from "../../core/context/plan-items.ts";
import type { Planning } from "../../core/context/plan.ts";
import { shareTokens, tierShares } from "../../core/context/tiers.ts";
import { roughTokens } from "../../core/context/token-count.ts";
import type { ItemKind } from "../../core/item/events.ts";
import { itemKey } from "../../core/item/fold.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import { sideBySide } from "../read/content.ts";
import { freshen, readOne } from "../read/event-cache.ts";
import type { Deps } from "../deps.ts";
import { planningFor } from "./model-settings.ts";

/** The tokens of pinned items, and what contexts have for them. */
export interface PinnedSize {
  readonly tokens: number;
  readonly roomTokens: number;
}

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
    if (!state.mind.items.has(name)) return command;
    const pins = new Set([...state.mind.pins.keys(), name]);
    const planning = await planningFor(deps, session, state);
    return { ...command, pinned: await measurePins(deps, session, state, { pins, planning }) };
  };
  return writer.change(session, build, { actor, key: once });
}

/** The size of these pins, as the context shows them. */
async function measurePins(
  deps: Deps,
  session: SessionId,
  { mind }: State,
  { pins, planning }: { readonly pins: Iterable<string>; readonly planning: Planning },
): Promise<PinnedSize> {
  await freshen(deps, session);
  const items = [...pins].map((name) => mind.items.get(name)).filter((item) => item !== undefined);
  const texts = await sideBySide(items, async (item) =>
    pinText(item, (await readOne(deps, session, item.seq))?.content),
  );
  const tokens = texts.reduce((sum, text) => sum + roughTokens(text), 0);
  const roomTokens = shareTokens(tierShares(planning.shares).pinned, planning.windowTokens);
  return { tokens, roomTokens };
}
