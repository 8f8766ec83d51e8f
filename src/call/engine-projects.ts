/** Calls of an engine on projects: work that is longer than one session. */
import * as z from "zod";
import { projectOutcomes, projectStatuses } from "../core/project/project.ts";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, read } from "./operation.ts";

const { because, reason } = field;
const project = field.SessionName.describe("the project's id, or a unique suffix of it");
const kind = field.ItemKind.describe("the kind of item");
const key = field.Key.describe("the item's key");
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
      ],
      examples: [
        'skein project open "Move the shop to the new provider" --name payments  # prints its id',
        "skein project  # all projects, the most recently active first",
        'skein project record 7f3k2m decision provider acme --because "cheapest"  # sessions start with it',
        'skein project note 7f3k2m "The sandbox account works."  # into the journal',
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
      status: field.ItemStatus.describe("of a kind that has one; by default open").exactOptional(),
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
      session: z
        .string()
        .regex(/^ses_[0-9a-z]{26}$/)
        .describe("the session that it is about")
        .exactOptional(),
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
};
