/** Calls of an engine on a project whole: its lineage, and what protects, verifies and erases it. */
import * as z from "zod";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, read } from "./operation.ts";

const { reason, dryRun } = field;
const { Count, Flag, SessionId } = answer;
const project = field.SessionName.describe("the project's id, or a unique suffix of it");
const name = field.Key.describe("the hold's name");
const RangeOf = z.tuple([field.Seq, field.Seq]);
const Ranges = z.array(z.array(z.number()));

export const engineProjectCare = {
  "engine.projectLineage": read("engine", "projectLineage", {
    title: "Show the families of a project",
    summary: "The families of a project's sessions: forks, children, successors, and what was merged.",
    args: ["project"],
    params: () => ({ project }),
    answer: answer.ProjectLineage,
    verb: { name: "project lineage" },
  }),
  "engine.exportProject": change("engine", "exportProject", {
    title: "Export a project to a bundle",
    local: { sign: "engine" },
    summary: "Writes a project with its sessions to a bundle, to import it elsewhere as a copy.",
    scope: "read",
    args: ["project"],
    params: () => ({ project }),
    gives: "bytes",
  }),
  "engine.verifyProject": read("engine", "verifyProject", {
    title: "Verify a project",
    summary: "Verifies the project's log and the logs of all its sessions, each against its listed head.",
    args: ["project"],
    params: () => ({ project }),
    answer: () => answer.VerifyReport().extend({ project: answer.ProjectId, absent: z.array(SessionId) }),
    verb: { name: "project verify" },
  }),
  "engine.holdProject": change("engine", "holdProject", {
    title: "Hold a project: keep it from being erased",
    summary:
      "Protects the project and its sessions, also later ones, from erasure and deletion, until the hold " +
      "of this name is lifted.",
    args: ["project", "name"],
    params: () => ({ project, name, reason }),
    answer: answer.ProjectSummary,
    verb: { name: "project hold", args: ["project", "name"] },
  }),
  "engine.liftProject": change("engine", "liftProject", {
    title: "Lift a hold of a project",
    summary: "Lifts a hold of the project. Holds of its sessions stay.",
    args: ["project", "name"],
    params: () => ({ project, name, reason }),
    answer: answer.ProjectSummary,
    verb: { name: "project lift", args: ["project", "name"] },
  }),
  "engine.eraseProject": change("engine", "eraseProject", {
    title: "Erase contents of a project",
    warning: "They are deleted for good.",
    summary: "Deletes contents of the project's log for good; with sessions, of its sessions too.",
    scope: "admin",
    args: ["project"],
    params: () => ({
      project,
      ranges: z
        .array(RangeOf)
        .max(10_000)
        .describe("only these positions of the project's log, as pairs of first and last")
        .exactOptional(),
      match: z.string().min(1).describe("only contents that hold this text exactly").exactOptional(),
      sessions: z.boolean().describe("also in its sessions").exactOptional(),
      reason,
      dryRun,
    }),
    answer: () =>
      z.looseObject({
        project: answer.ProjectId,
        dryRun: Flag,
        ranges: Ranges,
        records: Count,
        bytes: Count,
        already: Count,
        sessions: z.array(z.looseObject({ session: SessionId, records: Count, bytes: Count })),
        scrubbed: Flag,
      }),
    verb: {
      name: "project erase",
      args: ["project"],
      flags: {
        ranges: { name: "seq", type: "list", value: "A..B", what: "only these positions" },
        match: { value: "TEXT", what: "only contents that contain exactly this text" },
        sessions: { what: "also in its sessions" },
        dryRun: { what: "show what would be erased, and change nothing" },
      },
    },
  }),
};
