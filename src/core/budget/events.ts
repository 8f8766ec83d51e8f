/** Events of budgets and allotments. */
import { type Entry, bare, event } from "../catalog-entry.ts";
import { Amounts, Count, MayReason, SessionRef } from "../schema.ts";
import * as z from "zod";

export const budgetEvents = {
  "budget.set": event({
    meaning: "The session may use this much in all; what is not named is unlimited.",
    erased: "The limits stand; the reason is gone.",
    body: z.looseObject({ limits: Amounts }),
    content: MayReason,
  }),
  "budget.allotted": bare(
    "A part of one session's budget went to another, or came back.",
    z.looseObject({
      session: SessionRef,
      direction: z.enum(["given", "got", "returned", "regained"]),
      amounts: Amounts,
    }),
  ),
  "budget.reached": bare(
    "A limit is used up.",
    z.looseObject({
      resource: z.enum(["tokens", "nanoUsd", "steps", "turns", "toolCalls", "wallMs"]),
      limit: Count,
      used: Count,
    }),
  ),
} satisfies Record<string, Entry>;
