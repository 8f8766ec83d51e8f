/**
 * The kinds of items, without the event catalog that owns them and takes long to load. The compiler keeps
 * them equal.
 */
import type { ItemKind } from "../../core/item/events.ts";

const kinds = { fact: true, decision: true, task: true, artifact: true } as const satisfies Record<
  ItemKind,
  true
>;

export const itemKinds = Object.keys(kinds) as readonly ItemKind[];
