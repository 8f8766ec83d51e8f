/**
 * Events of a project's log: its life, its sessions and its journal. Its items are `item.recorded` and
 * `item.retracted`, as in a session.
 */
import { after, amountsText, because, ifGiven, lineText } from "../summary-text.ts";
import { shortId } from "../text/short-id.ts";
import { otherProject, otherSession, otherWorkspace, reason } from "../sample.ts";
import { bare, event, type CatalogEntry } from "../catalog-entry.ts";
import {
  Amounts,
  Has,
  Key,
  MayReason,
  Name,
  Objective,
  ProjectRef,
  SessionRef,
  WorkspaceRef,
} from "../schema.ts";
import { limit } from "../limit.ts";
import * as z from "zod";

export const projectEvents = {
  "project.opened": event({
    meaning: "A project begins: one objective that several sessions work on.",
    erased: "The objective and name of the project are erased; everything else remains.",
    body: z.looseObject({ workspace: WorkspaceRef, has: Has }),
    content: z.looseObject({
      objective: Objective,
      name: Name.optional(),
      instructions: z.string().optional(),
      constraints: z.array(z.string()).optional(),
    }),
    summary: (_, content) => `Project opened${after(content?.objective)}`,
    sample: {
      body: { workspace: otherWorkspace, has: ["objective", "name"] },
      content: {
        objective: "Move the shop to the new payment provider",
        name: "payments",
        instructions: "Every change has a test.",
        constraints: ["never store card numbers"],
      },
    },
  }),
  "project.joined": bare({
    meaning: "A session belongs to the project from its first record on.",
    body: z.looseObject({ session: SessionRef }),
    summary: ({ session }) => `Session ${shortId(session)} joined`,
    sample: { body: { session: otherSession } },
  }),
  "project.noted": event({
    meaning: "The journal of the project has another entry.",
    erased: "There was an entry here; its text is erased.",
    body: z.looseObject({
      /** The session that it is about or from. */
      session: SessionRef.optional(),
    }),
    content: z.looseObject({ text: z.string().max(limit.noteCharsMax) }),
    summary: ({ session }, content) =>
      `Note${ifGiven(session, (id) => ` from ${shortId(id)}`)}` +
      ifGiven(content, ({ text }) => `: ${lineText(text)}`),
    sample: { body: { session: otherSession }, content: { text: "The sandbox account works." } },
  }),
  "project.budgeted": event({
    meaning: "The sessions of the project may use this much together; other resources are unlimited.",
    erased: "The limits are in force; the reason is erased.",
    body: z.looseObject({
      limits: Amounts,
      /** What its sessions had used when it got its first budget. */
      spent: Amounts,
    }),
    content: MayReason,
    summary: ({ limits }, content) =>
      `Project budget: ${amountsText(limits) ?? "unlimited"}${because(content)}`,
    sample: {
      body: { limits: { tokens: 500, nanoUsd: 2_000_000 }, spent: { tokens: 10, nanoUsd: 40_000 } },
      content: reason,
    },
  }),
  "project.allotted": bare({
    meaning: "A part of the project's budget went to a session for its next calls, or came back unused.",
    body: z.looseObject({
      session: SessionRef,
      direction: z.enum(["given", "regained"]),
      amounts: Amounts,
    }),
    summary: ({ session, direction, amounts: given }) =>
      `Budget ${direction} ${direction === "given" ? "to" : "from"} ${shortId(session)}: ` +
      (amountsText(given) ?? "nothing"),
    sample: {
      body: { session: otherSession, direction: "given", amounts: { tokens: 500, nanoUsd: 2_000_000 } },
    },
  }),
  "project.closed": event({
    meaning: "The project is over: completed, cancelled or failed. Its sessions go on.",
    erased: "It was closed with this outcome; the reason is erased.",
    body: z.looseObject({ outcome: z.enum(["completed", "cancelled", "failed"]) }),
    content: MayReason,
    summary: ({ outcome }, content) => `Project closed as ${outcome}${because(content)}`,
    sample: { body: { outcome: "completed" }, content: reason },
  }),
  "project.reopened": event({
    meaning: "A closed or archived project is open again.",
    erased: "It was reopened; the reason is erased.",
    body: z.looseObject({}),
    content: MayReason,
    summary: (_, content) => `Project reopened${because(content)}`,
    sample: { body: {}, content: reason },
  }),
  "project.moved": event({
    meaning: "The project moved to another store; no record follows here.",
    erased: "It was moved; the destination is erased.",
    body: z.looseObject({ move: Key, to: WorkspaceRef }),
    content: z.looseObject({ where: z.string() }).optional(),
    summary: (_, content) => `Project moved to another store${after(content?.where)}`,
    sample: { body: { move: "move-1", to: otherWorkspace }, content: { where: "a machine" } },
  }),
  "project.arrived": event({
    meaning: "A moved project continues here.",
    erased: "It arrived by that move; the source is erased.",
    body: z.looseObject({ move: Key }),
    content: z.looseObject({ from: z.string() }).optional(),
    summary: (_, content) => `Project arrived from another store${after(content?.from)}`,
    sample: { body: { move: "move-1" }, content: { from: "a machine" } },
  }),
  "project.archived": event({
    meaning: "A closed project is read-only.",
    erased: "It was archived; the reason is erased.",
    body: z.looseObject({}),
    content: MayReason,
    summary: (_, content) => `Project archived${because(content)}`,
    sample: { body: {}, content: reason },
  }),
} satisfies Record<string, CatalogEntry>;

/** In the workspace's log, so that projects are found without reading all logs. */
export const projectListEvents = {
  "project.listed": bare({
    meaning: "The workspace has this project.",
    body: z.looseObject({ project: ProjectRef }),
    summary: ({ project }) => `Project ${shortId(project)} listed`,
    sample: { body: { project: otherProject } },
  }),
} satisfies Record<string, CatalogEntry>;
