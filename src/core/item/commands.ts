/** Commands on items, scratch and the memory that a session starts with. */
import type { ItemKind, ItemStatus } from "./kind.ts";
import type { CarriedEntry, WithdrawnEntry } from "../memory/choice.ts";

/** The memory that a session carries, and its tokens in the context. */
export interface CarriedMemory {
  readonly items: readonly CarriedEntry[];
  readonly tokens: number;
  /** How far which workspace's log was looked at. */
  readonly upTo?: number;
  readonly workspace?: string;
  /** How far the log of the session's project was looked at. */
  readonly projectUpTo?: number;
  /** What was carried before and no longer holds. */
  readonly withdrawn?: readonly WithdrawnEntry[];
  /** Relevant entries that did not fit. */
  readonly left?: number;
  /** The session carries no memory. */
  readonly off?: true;
}

/** The tokens of all pins with a new or changed one, those before it, and what the context has for them. */
export interface PinnedRoom {
  readonly tokens: number;
  readonly tokensBefore: number;
  readonly roomTokens: number;
}

export type ItemCommand =
  | {
      readonly do: "record";
      readonly kind: ItemKind;
      readonly key: string;
      readonly value: unknown;
      readonly because?: string;
      readonly status?: ItemStatus;
      readonly confidence?: number;
      readonly evidence?: readonly string[];
      /** For a pinned item: what all pins take with the new value. */
      readonly pinned?: PinnedRoom;
      /** A compaction found it. */
      readonly extracted?: { readonly saidAt?: number; readonly untrusted?: boolean };
    }
  | { readonly do: "retract"; readonly kind: ItemKind; readonly key: string; readonly because?: string }
  | {
      readonly do: "pin";
      readonly kind: ItemKind;
      readonly key: string;
      readonly because?: string;
      readonly pinned?: PinnedRoom;
    }
  | { readonly do: "unpin"; readonly kind: ItemKind; readonly key: string; readonly because?: string }
  /** Without a value the key is removed. */
  | { readonly do: "scratch"; readonly key: string; readonly value?: unknown };
