/** Events of a project's plan: its tickets, what agents propose for it, and how far each ticket is. */
import * as z from "zod";
import { bare, event, type CatalogEntry } from "../catalog-entry.ts";
import { limit } from "../limit.ts";
import { amounts, otherSession, reason, sha } from "../sample.ts";
import { Amounts, Count, Json, MayReason, Seq, SessionRef, Sha256 } from "../schema.ts";
import { after, because } from "../summary-text.ts";
import { shortId } from "../text/short-id.ts";
import { TicketId } from "./ticket.ts";

/** Who runs a ticket and when; titles and texts are content. */
const definition = {
  ticket: TicketId,
  /** Tickets that must be done before. */
  after: z.array(TicketId).max(limit.ticketAfterMax),
  /** Of the whole definition, so that equal ones are recognized. */
  digest: Sha256,
  /** The number of its accept checks. */
  checks: Count,
  agent: z.string().min(1).max(limit.keyCharsMax).optional(),
  budget: Amounts.optional(),
};
const Definition = z.looseObject({
  title: z.string().max(limit.ticketTitleCharsMax),
  text: z.string().max(limit.instructionsCharsMax).optional(),
  labels: z.record(z.string(), z.string()).optional(),
  accept: z.array(Json).optional(),
});
const sample = {
  body: { ticket: "api", after: ["schema"], digest: sha, checks: 1, agent: "coder", budget: amounts },
  content: {
    title: "Serve the invoices",
    text: "GET /invoices shows the column.",
    labels: { team: "web" },
    accept: [{ kind: "command", name: "tests", command: "npm test", timeoutMs: 600_000 }],
  },
};

export const ticketEvents = {
  "ticket.planned": event({
    meaning: "A ticket is in the plan of the project, or was changed there.",
    erased: "Its id, dependencies, agent and budget remain; title, text, labels and checks are erased.",
    body: z.looseObject(definition),
    content: Definition,
    summary: ({ ticket }, content) => `Ticket ${ticket} planned${after(content?.title)}`,
    sample,
  }),
  "ticket.proposed": event({
    meaning: "A session proposed a ticket, or a change of one. It counts once it is accepted.",
    erased: "Its id, dependencies, agent and budget remain; title, text, labels and checks are erased.",
    body: z.looseObject({ ...definition, session: SessionRef }),
    content: Definition,
    summary: ({ ticket, session }, content) =>
      `Ticket ${ticket} proposed by ${shortId(session)}${after(content?.title)}`,
    sample: { ...sample, body: { ...sample.body, session: otherSession } },
  }),
  "ticket.accepted": bare({
    meaning: "A proposed ticket is in the plan, as it was proposed at a position.",
    body: z.looseObject({
      ticket: TicketId,
      /** The position of the proposal. */
      seq: Seq,
      /** The rule of the project accepted it, not a person. */
      by: z.literal("rule").optional(),
    }),
    summary: ({ ticket, by }) => `Ticket ${ticket} accepted${by === undefined ? "" : " by the rule"}`,
    sample: { body: { ticket: "api", seq: 7, by: "rule" } },
  }),
  "ticket.rejected": event({
    meaning: "A proposed ticket, or a proposed change of one, is not wanted.",
    erased: "It was rejected; the reason is erased.",
    body: z.looseObject({ ticket: TicketId, seq: Seq }),
    content: MayReason,
    summary: ({ ticket }, content) => `Proposed ticket ${ticket} rejected${because(content)}`,
    sample: { body: { ticket: "api", seq: 7 }, content: reason },
  }),
  "ticket.removed": event({
    meaning: "A ticket is no longer in the plan. A session that works on it continues.",
    erased: "It was removed; the reason is erased.",
    body: z.looseObject({ ticket: TicketId }),
    content: MayReason,
    summary: ({ ticket }, content) => `Ticket ${ticket} removed${because(content)}`,
    sample: { body: { ticket: "api" }, content: reason },
  }),
  "ticket.started": bare({
    meaning: "A session works on the ticket.",
    body: z.looseObject({ ticket: TicketId, session: SessionRef, attempt: Seq }),
    summary: ({ ticket, session, attempt }) =>
      `Ticket ${ticket} started in ${shortId(session)}${attempt === 1 ? "" : `, attempt ${attempt}`}`,
    sample: { body: { ticket: "api", session: otherSession, attempt: 1 } },
  }),
  "ticket.settled": event({
    meaning: "The ticket is done, or has failed.",
    erased: "How it ended is known; the reason is erased.",
    body: z.looseObject({
      ticket: TicketId,
      outcome: z.enum(["done", "failed"]),
      /** The session that worked on it; absent when a person checked it off. */
      session: SessionRef.optional(),
    }),
    content: MayReason,
    summary: ({ ticket, outcome }, content) => `Ticket ${ticket} ${outcome}${because(content)}`,
    sample: { body: { ticket: "api", outcome: "done", session: otherSession }, content: reason },
  }),
  "project.configured": event({
    meaning: "Settings of the project changed: the rule for proposed tickets, its agents.",
    erased: "The settings are in force; the reason is erased.",
    body: z.looseObject({
      /** What happens to tickets that sessions propose. */
      plan: z.enum(["extend", "approve", "trust"]).optional(),
      /** Of sessions that name none; null removes it. */
      agent: z.string().min(1).max(limit.keyCharsMax).nullable().optional(),
      /** Those that may work on it; an empty list means all. */
      agents: z.array(z.string().min(1).max(limit.keyCharsMax)).max(limit.projectAgentsMax).optional(),
    }),
    content: MayReason,
    summary: ({ plan, agent }, content) =>
      `Project configured${plan === undefined ? "" : `, plan: ${plan}`}` +
      `${typeof agent === "string" ? `, agent: ${agent}` : ""}${because(content)}`,
    sample: { body: { plan: "approve", agent: "coder", agents: ["coder", "critic"] }, content: reason },
  }),
} satisfies Record<string, CatalogEntry>;
