/** Events of items, scratch and the memory that a session starts with. */
import { ifGiven, after, lineText, valueText } from "../summary-text.ts";
import { plural, compact } from "../text/number-format.ts";
import { shortId } from "../text/short-id.ts";
import { otherSession, otherWorkspace } from "../sample.ts";
import { type CatalogEntry, event } from "../catalog-entry.ts";
import { Count, Json, Key, ModelName, Position, Seq, Word, WorkspaceRef } from "../schema.ts";
import { isFirstVersion, itemStatuses, kindPattern } from "./kind.ts";
import { limit } from "../limit.ts";
import * as z from "zod";

/** A kind that every session has, or one that an agent declares. */
export const ItemKind = z
  .string()
  .regex(kindPattern, "a kind has up to 32 lower-case letters, digits and hyphens, and begins with a letter");

export const ItemStatus = z.enum(itemStatuses);

/** What speaks for a hypothesis or a finding: texts, or pointers such as `4x8kz1@12`. */
export const Evidence = z
  .array(z.string().min(1).max(limit.evidenceCharsMax))
  .min(1)
  .max(limit.evidenceMax)
  .readonly();

/** Version 2 has a kind, a status or a field that version 1 lacks: an older program must not misread it. */
const versionOf = (content: unknown, body: unknown): number => (isFirstVersion(body, content) ? 1 : 2);

export const itemEvents = {
  "item.recorded": event({
    v: 2,
    written: versionOf,
    meaning: "An item of this kind is known under this key from now on.",
    erased: "There is an item under this key; its value and reasons are erased.",
    body: z.looseObject({
      kind: ItemKind,
      key: Key,
      /** Of a task, a hypothesis, or a rejected decision. */
      status: ItemStatus.optional(),
      /** Of a hypothesis or a finding. */
      confidence: z.number().min(0).max(1).optional(),
      /** The source of the value, if it was copied by a merge or from memory. */
      origin: Position.optional(),
      /** The model that recorded it, if any. */
      model: ModelName.optional(),
      /**
       * A compaction found it in the range that it replaces. `saidAt`: the message that says it, if one does.
       * `untrusted`: it may come from a tool, a file, a page or another session. Since 0.5.
       */
      extracted: z.looseObject({ saidAt: Seq.optional(), untrusted: z.boolean().optional() }).optional(),
    }),
    content: z.looseObject({
      value: Json,
      because: z.string().optional(),
      evidence: z.array(z.string()).optional(),
    }),
    summary: ({ kind, key, status, confidence, origin }, content) =>
      `Recorded ${kind} ${key}${ifGiven(status, (word) => ` (${word})`)}` +
      ifGiven(confidence, (share) => `, confidence ${share}`) +
      ifGiven(origin, ({ session, seq }) => ` from ${shortId(session)}@${seq}`) +
      ifGiven(content, ({ value }) => ` = ${valueText(value)}`) +
      ifGiven(content?.because, (why) => `, because ${lineText(why)}`),
    sample: {
      body: { kind: "task", key: "check-rate", status: "open", origin: { session: otherSession, seq: 3 } },
      content: { value: "look at the rate", because: "it may change" },
    },
  }),
  "item.retracted": event({
    v: 2,
    written: versionOf,
    meaning: "The item under this key is retracted.",
    erased: "It was retracted; the reason is erased.",
    body: z.looseObject({ kind: ItemKind, key: Key, model: ModelName.optional() }),
    content: z.looseObject({ because: z.string() }).optional(),
    summary: ({ kind, key }, content) => `Retracted ${kind} ${key}${after(content?.because)}`,
    sample: { body: { kind: "task", key: "check-rate" }, content: { because: "done" } },
  }),
  "item.pinned": event({
    meaning: "Every context shows the item under this key in full, from here on.",
    erased: "It was pinned; the reason is erased.",
    body: z.looseObject({
      kind: ItemKind,
      key: Key,
      /** The record of its value. */
      item: Seq,
      model: ModelName.optional(),
    }),
    content: z.looseObject({ because: z.string() }).optional(),
    summary: ({ kind, key }, content) => `Pinned ${kind} ${key}${after(content?.because)}`,
    sample: {
      body: { kind: "decision", key: "use-wal", item: 2 },
      content: { because: "it decides the design" },
    },
  }),
  "item.unpinned": event({
    meaning: "The item under this key is not pinned any more; it stays recorded.",
    erased: "It was unpinned; the reason is erased.",
    body: z.looseObject({ kind: ItemKind, key: Key, model: ModelName.optional() }),
    content: z.looseObject({ because: z.string() }).optional(),
    summary: ({ kind, key }, content) => `Unpinned ${kind} ${key}${after(content?.because)}`,
    sample: { body: { kind: "decision", key: "use-wal" }, content: { because: "it is done" } },
  }),
  "scratch.set": event({
    meaning: "A key of the scratch has this value, or none.",
    erased: "The key is set; its value is erased.",
    body: z.looseObject({ key: Key, removed: z.boolean().optional(), model: ModelName.optional() }),
    content: z.looseObject({ value: Json }).optional(),
    summary: ({ key, removed }, content) =>
      removed === true
        ? `Scratch ${key} removed`
        : `Scratch ${key} set${content === undefined ? "" : ` to ${valueText(content.value)}`}`,
    sample: { body: { key: "step", removed: false }, content: { value: [1, null, "ä😀"] } },
  }),
  "memory.carried": event({
    meaning: "The session carries items of other sessions, each with its origin; others no longer hold.",
    erased: "These items were carried; their values are erased here, not at their origin.",
    body: z.looseObject({
      count: Count,
      tokens: Count.optional(),
      /** The position of the workspace's log up to which memory was looked at. Since 0.5. */
      upTo: Count.optional(),
      /** That workspace: another store has another log. */
      workspace: WorkspaceRef.optional(),
      /** The position of its project's log up to which the session looked. Since 0.5. */
      projectUpTo: Count.optional(),
      /** Entries carried before that no longer hold. */
      withdrawn: Count.optional(),
      /** Relevant entries that did not fit. */
      left: Count.optional(),
      /** The session carries no memory from here on. */
      off: z.boolean().optional(),
    }),
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
      /** Why: `forgotten`, `erased`, or `changed` when the new value did not fit. */
      withdrawn: z.array(z.looseObject({ scope: Word, kind: Word, key: Key, why: Word })).optional(),
    }),
    summary: ({ count: entries, tokens, withdrawn = 0, off }, content) =>
      off === true && entries === 0
        ? "Carries no memory"
        : `Loaded ${plural(entries, "memory entry", "memory entries")}` +
          ifGiven(tokens || undefined, (many) => `, about ${compact(many)} tokens`) +
          after(content?.items.map(({ key }) => key).join(", ")) +
          (withdrawn === 0
            ? ""
            : `; withdrawn: ${content?.withdrawn?.map(({ key }) => key).join(", ") ?? withdrawn}`),
    sample: {
      body: { count: 1, tokens: 9, upTo: 12, workspace: otherWorkspace, withdrawn: 1, left: 2, off: false },
      content: {
        items: [
          {
            scope: "agent",
            kind: "fact",
            key: "base-rate",
            value: 4.1,
            why: "asked for",
            origin: { session: otherSession, seq: 7 },
          },
        ],
      },
    },
  }),
} satisfies Record<string, CatalogEntry>;
