/** Events of budgets and allotments. */
import { because, amountText, amountsText } from "../summary-text.ts";
import { shortId } from "../text/short-id.ts";
import { amounts, otherProject, otherSession, reason } from "../sample.ts";
import { type CatalogEntry, bare, event } from "../catalog-entry.ts";
import { Amounts, Count, MayReason, ProjectRef, SessionRef } from "../schema.ts";
import * as z from "zod";

export const budgetEvents = {
  "budget.set": event({
    meaning: "The session may use this much in total; other resources are unlimited.",
    erased: "The limits are in force; the reason is erased.",
    body: z.looseObject({ limits: Amounts }),
    content: MayReason,
    summary: ({ limits }, content) => `Budget set: ${amountsText(limits) ?? "unlimited"}${because(content)}`,
    sample: { body: { limits: amounts }, content: reason },
  }),
  "budget.allotted": bare({
    meaning: "A part of one session's budget went to another, or came back.",
    body: z.looseObject({
      session: SessionRef,
      direction: z.enum(["given", "got", "returned", "regained"]),
      amounts: Amounts,
    }),
    summary: ({ session, direction, amounts: given }) =>
      `Budget ${direction} ${direction === "given" || direction === "returned" ? "to" : "from"} ` +
      `${shortId(session)}: ${amountsText(given) ?? "nothing"}`,
    sample: { body: { session: otherSession, direction: "given", amounts } },
  }),
  "budget.drawn": bare({
    meaning:
      "The session may use this much of the budget of its project; the rest returns with the turn's end.",
    body: z.looseObject({ project: ProjectRef, amounts: Amounts }),
    summary: ({ project, amounts: drawn }) =>
      `Budget drawn from ${shortId(project)}: ${amountsText(drawn) ?? "nothing"}`,
    sample: { body: { project: otherProject, amounts: { tokens: 500, nanoUsd: 2_000_000 } } },
  }),
  "budget.reached": bare({
    meaning: "A limit is exhausted.",
    body: z.looseObject({
      resource: z.enum(["tokens", "nanoUsd", "steps", "turns", "toolCalls", "wallMs"]),
      limit: Count,
      used: Count,
    }),
    summary: ({ resource, limit, used }) =>
      `Budget reached: ${amountText(resource, used)} of ${amountText(resource, limit)}`,
    sample: { body: { resource: "tokens", limit: 500, used: 510 } },
  }),
} satisfies Record<string, CatalogEntry>;
