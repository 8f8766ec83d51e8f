/** Calls of an engine on projects: work that is longer than one session. */
import * as z from "zod";
import { planRules } from "../core/project/plan.ts";
import { projectOutcomes, projectStatuses } from "../core/project/project.ts";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, read } from "./operation.ts";

const { because, reason } = field;
const project = field.SessionName.describe("the project's id, or a unique suffix of it");
const kind = field.ItemKind.describe("the kind of item");
const key = field.Key.describe("the item's key");
const ticket = z.string().min(1).max(limit.ticketIdCharsMax).describe("the ticket's id");
const tickets = z
  .array(z.string().min(1).max(limit.ticketIdCharsMax))
  .min(1)
  .max(limit.ticketsMax)
  .describe("the ids of proposed tickets");
const projectLimits = () => {
  const { usd, tokens: tokensMax } = field.Budget().shape;
  return { usd, tokens: tokensMax };
};
const ticketFlag = { name: "ticket", type: "list", value: "TICKET" } as const;
const group = "Projects";

export const engineProjects = {
  "engine.openProject": change("engine", "openProject", {
    title: "New project",
    words: "plan goal epic",
    summary:
      "Opens a project: an objective that several sessions share, with instructions, constraints, items " +
      "and a journal. A session joins it when it is opened with project.",
    params: () => ({
      objective: field.Objective.describe("the goal that its sessions share"),
      name: field.Name.describe("a short name").exactOptional(),
      instructions: field.Instructions.describe("for the model, in every session").exactOptional(),
      constraints: z
        .array(z.string().max(limit.reasonCharsMax))
        .max(100)
        .describe("rules that every session keeps")
        .exactOptional(),
    }),
    answer: answer.ProjectSummary,
    verb: {
      name: "project open",
      args: ["objective"],
      flags: { constraints: { name: "constraint", type: "list", value: "TEXT" } },
    },
  }),
  "engine.projects": read("engine", "projects", {
    title: "List the projects",
    summary: "The projects of the workspace, the most recently active first.",
    params: () => ({
      status: z.enum(projectStatuses).describe("only projects of this status").exactOptional(),
    }),
    answer: () => z.array(answer.ProjectRow()),
    verb: {
      name: "project list",
      group,
      line: "Keep what several sessions share: objective, instructions, items, journal.",
      about: [
        'A session of a project is opened with "skein open --project ID". It starts with the project\'s ' +
          "objective, instructions, constraints and items; its forks, children and successors belong to " +
          "the project too. Items recorded later reach open sessions at their next turn.",
        "A project's cost is that of its sessions: skein cost --project ID.",
        "A plan is a list of tickets, as skein tickets takes it. Sessions of the project extend it with " +
          "the tool plan; project set --plan says which of their tickets wait for you.",
      ],
      examples: [
        'skein project open "Move the shop to the new provider" --name payments  # prints its id',
        "skein project  # all projects, the most recently active first",
        'skein project record 7f3k2m decision provider acme --because "cheapest"  # sessions start with it',
        'skein project note 7f3k2m "The sandbox account works."  # into the journal',
        "skein project plan 7f3k2m --file plan.md  # its tickets; then: skein tickets run --project 7f3k2m",
        "skein project accept 7f3k2m --ticket api  # a ticket that a session proposed",
        "skein project show 7f3k2m  # what it knows, and who works on it",
        "skein project close 7f3k2m --outcome completed  # its sessions continue",
      ],
    },
  }),
  "engine.project": read("engine", "project", {
    title: "Show a project",
    summary: "A project with its items, the end of its journal, and its sessions.",
    args: ["project"],
    params: () => ({ project }),
    answer: answer.ProjectView,
    verb: { name: "project show" },
  }),
  "engine.recordInProject": change("engine", "recordInProject", {
    title: "Record an item of a project",
    summary:
      "Sets an item of the project: open sessions get it at their next turn, later ones start with it.",
    args: ["project"],
    params: () => ({
      project,
      kind,
      key,
      value: field.Value.describe("any JSON"),
      because,
      status: field.ItemStatus.describe("of the item, if its kind has one; by default open").exactOptional(),
    }),
    answer: answer.ProjectSummary,
    verb: { name: "project record", args: ["project", "kind", "key", "value"] },
  }),
  "engine.retractInProject": change("engine", "retractInProject", {
    title: "Retract an item of a project",
    warning: "The project no longer has it.",
    summary: "Retracts an item of the project.",
    args: ["project"],
    params: () => ({ project, kind, key, because }),
    answer: answer.ProjectSummary,
    verb: { name: "project retract", args: ["project", "kind", "key"] },
  }),
  "engine.noteInProject": change("engine", "noteInProject", {
    title: "Add to a project's journal",
    summary: "Adds an entry to the journal of the project: what was done, what comes next.",
    args: ["project"],
    params: () => ({
      project,
      text: z.string().min(1).max(limit.noteCharsMax).describe("the entry"),
      session: field.SessionName.describe("the session that it is about").exactOptional(),
    }),
    answer: answer.ProjectSummary,
    verb: { name: "project note", args: ["project", "text"] },
  }),
  "engine.closeProject": change("engine", "closeProject", {
    title: "Close a project",
    warning: "No other session can join it.",
    summary: "Closes the project. Its sessions continue; no other may join.",
    args: ["project"],
    params: () => ({
      project,
      outcome: z.enum(projectOutcomes).describe("how it ended; by default completed").exactOptional(),
      reason,
    }),
    answer: answer.ProjectSummary,
    verb: { name: "project close" },
  }),
  "engine.reopenProject": change("engine", "reopenProject", {
    title: "Reopen a project",
    summary: "Opens a closed or archived project again.",
    args: ["project"],
    params: () => ({ project, reason }),
    answer: answer.ProjectSummary,
    verb: { name: "project reopen" },
  }),
  "engine.archiveProject": change("engine", "archiveProject", {
    title: "Archive a project",
    summary: "Makes a closed project read-only.",
    args: ["project"],
    params: () => ({ project, reason }),
    answer: answer.ProjectSummary,
    verb: { name: "project archive" },
  }),
  "engine.plan": read("engine", "plan", {
    title: "Show the plan of a project",
    words: "tickets board proposals",
    summary: "The tickets of a project and how far they are, and what its sessions propose for the plan.",
    args: ["project"],
    params: () => ({ project }),
    answer: answer.ProjectPlan,
    verb: { name: "project plan" },
  }),
  "engine.planTickets": change("engine", "planTickets", {
    title: "Plan tickets of a project",
    words: "plan tickets",
    scope: "operate",
    summary:
      "Adds tickets to the plan of a project, changes those of the same id, and removes others. A started " +
      "ticket keeps the text and the checks that it started with. No agent, tool or session can do this.",
    args: ["project"],
    params: () => ({
      project,
      tickets: z
        .array(field.TicketSpec())
        .max(limit.ticketsMax)
        .describe("the tickets to add or change")
        .exactOptional(),
      remove: z
        .array(ticket)
        .max(limit.ticketsMax)
        .describe("ids of tickets that leave the plan")
        .exactOptional(),
      replace: z.boolean().describe("removes all tickets that are not given").exactOptional(),
      reason,
    }),
    answer: answer.ProjectPlan,
  }),
  "engine.acceptTickets": change("engine", "acceptTickets", {
    title: "Accept proposed tickets",
    words: "plan approve",
    scope: "operate",
    summary:
      "Accepts tickets, or changes of tickets, that sessions propose: they are in the plan, with the " +
      "checks that were proposed.",
    args: ["project", "tickets"],
    params: () => ({ project, tickets }),
    answer: answer.ProjectPlan,
    verb: { name: "project accept", args: ["project"], flags: { tickets: ticketFlag } },
  }),
  "engine.rejectTickets": change("engine", "rejectTickets", {
    title: "Reject proposed tickets",
    words: "plan deny",
    scope: "operate",
    summary: "Rejects tickets, or changes of tickets, that sessions propose.",
    args: ["project", "tickets"],
    params: () => ({ project, tickets, reason }),
    answer: answer.ProjectPlan,
    verb: { name: "project reject", args: ["project"], flags: { tickets: ticketFlag } },
  }),
  "engine.markTicket": change("engine", "markTicket", {
    title: "Mark a ticket",
    words: "plan done",
    scope: "operate",
    summary:
      "Records that a session of the project works on a ticket, or how the ticket ended. Running the plan " +
      "does it.",
    args: ["project"],
    params: () => ({
      project,
      ticket,
      session: z
        .string()
        .regex(/^ses_[0-9a-z]{26}$/)
        .describe("the session that works on it")
        .exactOptional(),
      attempt: z.int().min(1).describe("how often it was started").exactOptional(),
      outcome: z.enum(["done", "failed"]).describe("how it ended").exactOptional(),
      reason,
    }),
    answer: answer.ProjectPlan,
    verb: { name: "project ticket", args: ["project", "ticket"], flags: { outcome: "result" } },
  }),
  "engine.configureProject": change("engine", "configureProject", {
    title: "Configure a project",
    words: "settings agents rule",
    scope: "operate",
    summary:
      "Sets what becomes of tickets that sessions propose, the agent of sessions that name none, and the " +
      "agents that may work on the project.",
    args: ["project"],
    params: () => ({
      project,
      plan: z
        .enum(planRules)
        .describe(
          "proposed tickets: extend takes those without checks into the plan, approve takes none, trust " +
            "takes all; a person accepts the rest",
        )
        .exactOptional(),
      agent: z
        .string()
        .max(limit.keyCharsMax)
        .describe("the agent of sessions that name none; empty: none")
        .exactOptional(),
      agents: z
        .array(z.string().max(limit.keyCharsMax))
        .max(limit.projectAgentsMax)
        .describe("the agents that may work on it; empty: all")
        .exactOptional(),
      reason,
    }),
    answer: answer.ProjectPlan,
    verb: { name: "project set", flags: { agents: { name: "agents", type: "list", value: "AGENT" } } },
  }),
  "engine.projectBudget": read("engine", "projectBudget", {
    title: "Show the budget of a project",
    summary: "The limits of a project, and what its sessions have used or set aside of them.",
    args: ["project"],
    params: () => ({ project }),
    answer: answer.ProjectBudget,
  }),
  "engine.setProjectBudget": change("engine", "setProjectBudget", {
    title: "Set the budget of a project",
    words: "limit money cost",
    summary:
      "Bounds what all sessions of a project may use together. Sessions that the earlier budget had " +
      "stopped continue. Without a limit a resource is unlimited.",
    args: ["project"],
    params: () => ({ project, ...projectLimits(), reason }),
    answer: answer.ProjectBudgetResult,
    verb: { name: "project budget" },
  }),
};
