/** Events of erasure, holds and scores. */
import { type Entry, event } from "../catalog-entry.ts";
import { Count, Key, MayReason, RangeList, Reason } from "../schema.ts";
import * as z from "zod";

export const governEvents = {
  "content.erased": event({
    meaning: "Contents were erased from the log for good; their hashes remain.",
    erased: "That much was erased; the reason is gone too.",
    body: z.looseObject({ ranges: RangeList, records: Count, bytes: Count }),
    content: MayReason,
  }),
  "hold.set": event({
    meaning: "Nothing of this session may be erased or deleted until the hold is lifted.",
    erased: "The hold stands; its reason is gone.",
    body: z.looseObject({ name: Key }),
    content: MayReason,
  }),
  "hold.lifted": event({
    meaning: "The hold is over.",
    erased: "The hold is over; the reason is gone.",
    body: z.looseObject({ name: Key }),
    content: MayReason,
  }),
  "score.recorded": event({
    meaning: "The session, or a position of it, was judged.",
    erased: "The score stands; its reason is gone.",
    body: z.looseObject({ name: Key, value: z.number(), seq: Count.optional() }),
    content: z.looseObject({ because: Reason }).optional(),
  }),
} satisfies Record<string, Entry>;
