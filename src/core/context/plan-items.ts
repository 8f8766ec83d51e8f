/** Items in a plan: which are shown in full, in the order of their importance. */
import type { ItemRef } from "../state.ts";
import { itemText } from "./boundary.ts";

/** A line of the pinned tier. */
export const pinText = (item: Omit<ItemRef, "seq" | "hash">, content: unknown): string =>
  `- ${itemText(item, content)}\n`;
