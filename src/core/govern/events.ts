/** Events of erasure, holds and scores. */
import { after, because } from "../summary-text.ts";
import { plural, count } from "../text/number-format.ts";
import { reason } from "../sample.ts";
import { type CatalogEntry, event } from "../catalog-entry.ts";
import { Count, Key, MayReason, RangeList, Reason } from "../schema.ts";
import * as z from "zod";

export const governEvents = {
  "content.erased": event({
    meaning: "Contents were erased from the log for good; their hashes remain.",
    erased: "That much was erased; the reason is erased too.",
    body: z.looseObject({ ranges: RangeList, records: Count, bytes: Count }),
    content: MayReason,
    summary: ({ ranges, records, bytes }, content) =>
      `Erased ${plural(records, "content")} of ${count(bytes)} bytes at ` +
      ranges.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ") +
      because(content),
    sample: { body: { ranges: [[1, 1]], records: 1, bytes: 90 }, content: reason },
  }),
  "hold.set": event({
    meaning: "Nothing of this session or project may be erased or deleted until the hold is lifted.",
    erased: "The hold is in force; its reason is erased.",
    body: z.looseObject({ name: Key }),
    content: MayReason,
    summary: ({ name }, content) => `Hold ${name} set${because(content)}`,
    sample: { body: { name: "audit" }, content: reason },
  }),
  "hold.lifted": event({
    meaning: "The hold was lifted.",
    erased: "The hold was lifted; the reason is erased.",
    body: z.looseObject({ name: Key }),
    content: MayReason,
    summary: ({ name }, content) => `Hold ${name} lifted${because(content)}`,
    sample: { body: { name: "audit" }, content: reason },
  }),
  "score.recorded": event({
    meaning: "The session, or a position of it, got a score.",
    erased: "The score is valid; its reason is erased.",
    body: z.looseObject({ name: Key, value: z.number(), seq: Count.optional() }),
    content: z.looseObject({ because: Reason }).optional(),
    summary: ({ name, value, seq }, content) =>
      `Score ${name} = ${value}${seq === undefined ? "" : ` at ${seq}`}${after(content?.because)}`,
    sample: { body: { name: "helpful", value: 0.75, seq: 1 }, content: { because: "it was right" } },
  }),
} satisfies Record<string, CatalogEntry>;
