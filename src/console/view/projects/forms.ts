/** The dialogs of a project: open one, note, record an item, close, reopen, archive. */
import { itemKinds } from "../../../core/item/kind.ts";
import type { FormSpec } from "../../ui/form-dialog.tsx";
import { go } from "../../route.ts";
import { refresh } from "../../query-cache.ts";
import { engine } from "../../server.ts";

export const projectPath = (id: string): string => `/projects/${encodeURIComponent(id)}`;

const reread = (): void => {
  refresh("projects");
  refresh("project/");
};

const lines = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

export const openForm: FormSpec = {
  title: "New project",
  lead: "A goal that several sessions share. They start with what the project knows.",
  fields: [
    { name: "objective", label: "Objective", kind: "text", required: true },
    { name: "name", label: "Name", placeholder: "Default: the objective" },
    { name: "instructions", label: "Instructions for every session", kind: "text" },
    { name: "constraints", label: "Constraints, one a line", kind: "text" },
  ],
  confirm: "Open project",
  async act({ objective = "", name = "", instructions = "", constraints = "" }) {
    const rules = lines(constraints);
    const { project } = await engine.openProject({
      objective: objective.trim(),
      ...(name.trim() === "" ? {} : { name: name.trim() }),
      ...(instructions.trim() === "" ? {} : { instructions }),
      ...(rules.length === 0 ? {} : { constraints: rules }),
    });
    reread();
    go(projectPath(project));
  },
};

export const noteForm = (project: string): FormSpec => ({
  title: "Add to the journal",
  fields: [{ name: "text", label: "What was done, or comes next", kind: "text", required: true }],
  confirm: "Add",
  async act({ text = "" }) {
    await engine.noteInProject(project, { text: text.trim() });
    reread();
  },
});

const kindTitle = (kind: string): string => kind.charAt(0).toUpperCase() + kind.slice(1);

export const recordForm = (project: string): FormSpec => ({
  title: "Record an item",
  lead: "Open sessions of the project get it at their next turn; later ones start with it.",
  fields: [
    {
      name: "kind",
      label: "Kind",
      kind: "choice",
      value: "decision",
      choices: itemKinds.map((kind) => [kind, kindTitle(kind)] as const),
    },
    { name: "key", label: "Key", required: true, placeholder: "provider" },
    { name: "value", label: "Value", kind: "text", required: true },
    { name: "because", label: "Reason (optional)" },
  ],
  confirm: "Record",
  async act({ kind = "", key = "", value = "", because = "" }) {
    await engine.recordInProject(project, {
      kind,
      key: key.trim(),
      value: value.trim(),
      ...(because.trim() === "" ? {} : { because: because.trim() }),
    });
    reread();
  },
});

export const closeForm = (project: string): FormSpec => ({
  title: "Close the project",
  lead: "It takes no new sessions, forks or children. Running sessions continue.",
  fields: [
    {
      name: "outcome",
      label: "Outcome",
      kind: "choice",
      value: "completed",
      choices: [
        ["completed", "Completed"],
        ["cancelled", "Cancelled"],
        ["failed", "Failed"],
      ],
    },
    { name: "reason", label: "Reason (optional)" },
  ],
  confirm: "Close project",
  async act({ outcome, reason = "" }) {
    const how = outcome === "cancelled" || outcome === "failed" ? outcome : "completed";
    await engine.closeProject(project, {
      outcome: how,
      ...(reason.trim() === "" ? {} : { reason: reason.trim() }),
    });
    reread();
  },
});

export async function reopen(project: string): Promise<void> {
  await engine.reopenProject(project);
  reread();
}

export async function archive(project: string): Promise<void> {
  await engine.archiveProject(project);
  reread();
}
