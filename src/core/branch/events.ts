/** Events of branches: forks, rewinds, checkpoints, merges, handoffs. */
import { ifGiven, after, because } from "../summary-text.ts";
import { plural, compact } from "../text/number-format.ts";
import { shortId } from "../text/short-id.ts";
import { otherSession, sha, reason } from "../sample.ts";
import { type CatalogEntry, event } from "../catalog-entry.ts";
import {
  Count,
  Has,
  Key,
  MayReason,
  ModelName,
  Name,
  NanoUsd,
  Objective,
  Position,
  RangeList,
  Seq,
  SessionRef,
  Sha256,
  Usage,
  Word,
} from "../schema.ts";
import * as z from "zod";

export const branchEvents = {
  "session.forked": event({
    meaning: "A fork begins with the mind of its parent at a position; this is its first own record.",
    erased: "It is a fork of that parent; its own objective and name are erased.",
    body: z.looseObject({
      parent: SessionRef,
      parentSeq: Seq,
      parentHash: Sha256,
      /** `person`: requested from outside. `session`: made by the parent itself, and paid by allotment. */
      by: z.enum(["person", "session"]),
      /** As for an opened session. */
      depth: Count.optional(),
      closesWhenDone: z.boolean().optional(),
      has: Has,
    }),
    content: z.looseObject({ objective: Objective.optional(), name: Name.optional() }).optional(),
    summary: ({ parent, parentSeq }, content) =>
      `Forked from ${shortId(parent)}@${parentSeq}${after(content?.objective ?? content?.name)}`,
    sample: {
      body: { parent: otherSession, parentSeq: 1, parentHash: sha, by: "person", has: ["objective", "name"] },
      content: { objective: "What if the rate rises?", name: "what if" },
    },
  }),
  "session.rewound": event({
    meaning: "The session continues with the mind of an earlier position.",
    erased: "It was rewound to this position; the reason is erased.",
    body: z.looseObject({
      toSeq: Seq,
      /** Inputs consumed after `toSeq`, by number; none of them is before `fromSeq`. */
      inputs: z.looseObject({ ranges: RangeList, fromSeq: Seq }),
      /** Whether those inputs are queued again. */
      requeued: z.boolean(),
    }),
    content: MayReason,
    summary: ({ toSeq, requeued }, content) =>
      `Rewound to ${toSeq}${requeued ? ", inputs queued again" : ""}${because(content)}`,
    sample: {
      body: { toSeq: 1, inputs: { ranges: [[2, 3]], fromSeq: 2 }, requeued: false },
      content: reason,
    },
  }),
  "session.merged": event({
    meaning: "The items another session recorded since the base were merged into this one.",
    erased: "It was merged from that range; summary and resolutions are erased, the merged items are not.",
    body: z.looseObject({
      from: SessionRef,
      fromSeq: Seq,
      toSeq: Seq,
      toHash: Sha256,
      base: Position.optional(),
      taken: Count,
      resolved: Count,
    }),
    content: z.looseObject({
      summary: z.string(),
      resolutions: z
        .array(z.looseObject({ kind: Word, key: Key, take: Word, because: z.string().optional() }))
        .optional(),
    }),
    summary: ({ from, fromSeq, toSeq, taken, resolved }) =>
      `Merged ${shortId(from)}@${fromSeq}–${toSeq}: ${plural(taken, "item")} taken` +
      (resolved === 0 ? "" : `, ${plural(resolved, "conflict")} resolved`),
    sample: {
      body: {
        from: otherSession,
        fromSeq: 2,
        toSeq: 9,
        toHash: sha,
        base: { session: otherSession, seq: 1 },
        taken: 2,
        resolved: 1,
      },
      content: {
        summary: "The rate is 4.2.",
        resolutions: [{ kind: "fact", key: "base-rate", take: "theirs", because: "it is newer" }],
      },
    },
  }),
  "checkpoint.saved": event({
    meaning: "A checkpoint names a position.",
    erased: "The position has this name; the note is erased.",
    body: z.looseObject({ name: Key, seq: Seq }),
    content: z.looseObject({ note: z.string() }).optional(),
    summary: ({ name, seq }, content) => `Checkpoint ${name} saved at ${seq}${after(content?.note)}`,
    sample: { body: { name: "before the run", seq: 1 }, content: { note: "all rates known" } },
  }),
  "handoff.written": event({
    meaning: "A handoff, the document for the next session, was written.",
    erased: "A handoff was written here; its text is erased.",
    body: z.looseObject({
      digest: Sha256,
      /** The last position that the handoff covers. */
      toSeq: Seq.optional(),
      tokens: Count.optional(),
      /** The model that wrote the prose, if any, and its cost. */
      model: ModelName.optional(),
      usage: Usage.optional(),
      costNanoUsd: NanoUsd.nullable().optional(),
    }),
    content: z.looseObject({ text: z.string() }),
    summary: ({ toSeq, tokens, model }, content) =>
      "Handoff written" +
      ifGiven(toSeq, (seq) => ` up to ${seq}`) +
      ifGiven(tokens, (many) => `, ${compact(many)} tokens`) +
      ifGiven(model, (name) => `, by ${name}`) +
      after(content?.text),
    sample: { body: { digest: sha }, content: { text: "# Handoff" } },
  }),
} satisfies Record<string, CatalogEntry>;
