/** Events of items, scratch and the memory that a session starts with. */
import { type Entry, event } from "../catalog-entry.ts";
import { Count, Json, Key, ModelName, Position, Word } from "../schema.ts";
import * as z from "zod";

export const itemKinds = ["fact", "decision", "task", "artifact"] as const;

export const ItemKind = z.enum(itemKinds);

/** The kinds of items: what a session records to outlive every compaction. */
export type ItemKind = z.infer<typeof ItemKind>;

const TaskStatus = z.enum(["open", "done", "dropped"]);

export const itemEvents = {
  "item.recorded": event({
    meaning: "A fact, decision, task or artifact is known under this key from now on.",
    erased: "There is an item under this key; its value and reasons are gone.",
    body: z.looseObject({
      kind: ItemKind,
      key: Key,
      /** Only for tasks. */
      status: TaskStatus.optional(),
      /** Where the value was copied from, for what came by merge or memory. */
      origin: Position.optional(),
      /** The model that recorded it, if one did. */
      model: ModelName.optional(),
    }),
    content: z.looseObject({ value: Json, because: z.string().optional() }),
  }),
  "item.retracted": event({
    meaning: "The item under this key no longer holds.",
    erased: "It was retracted; the reason is gone.",
    body: z.looseObject({ kind: ItemKind, key: Key, model: ModelName.optional() }),
    content: z.looseObject({ because: z.string() }).optional(),
  }),
  "scratch.set": event({
    meaning: "A key of the scratch has this value, or none.",
    erased: "The key is set; its value is gone.",
    body: z.looseObject({ key: Key, removed: z.boolean().optional(), model: ModelName.optional() }),
    content: z.looseObject({ value: Json }).optional(),
  }),
  "memory.carried": event({
    meaning: "Items of earlier sessions came along, each with its origin.",
    erased: "These items were carried; their values are gone here, not where they came from.",
    body: z.looseObject({ count: Count, tokens: Count.optional() }),
    content: z.looseObject({
      items: z.array(
        z.looseObject({
          scope: Word,
          kind: Word,
          key: Key,
          value: Json,
          why: z.string().optional(),
          origin: Position.optional(),
        }),
      ),
    }),
  }),
} satisfies Record<string, Entry>;
