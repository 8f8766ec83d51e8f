/** Every call as a command of the palette, derived from its description; and the calls with a view. */
import { operationOf, type OperationId } from "../../call/operations.ts";
import { sessionPath, withParams } from "../route.ts";
import { fieldsOf } from "./form.ts";

export type CommandMode =
  /** Runs at once. Tab opens its optional parameters. */
  | { readonly how: "run" }
  /** Asks for its parameters, with a warning about a loss. */
  | { readonly how: "form"; readonly warning?: string }
  /** Opens the view for it; with fields, asks for these first. */
  | {
      readonly how: "go";
      readonly to: (session: string, given: Readonly<Record<string, unknown>>) => string;
      readonly fields?: readonly string[];
    }
  /** The dialog for a new session. */
  | { readonly how: "open" }
  /** Not available here, with the reason. */
  | { readonly how: "elsewhere"; readonly why: string };

export interface PaletteCommand {
  readonly title: string;
  readonly does: CommandMode;
}

const to = (path: string): CommandMode => ({ how: "go", to: () => path });
const aspect = (...[name, field]: [Parameters<typeof sessionPath>[1], string?]): CommandMode => ({
  how: "go",
  to: (session, given) =>
    sessionPath(session, name, field === undefined ? {} : { [field]: text(given[field]) }),
  ...(field === undefined ? {} : { fields: [field] }),
});
const text = (value: unknown): string | null =>
  typeof value === "string" || typeof value === "number" ? String(value) : null;

/** Calls with a dedicated view. */
const views: Readonly<Partial<Record<OperationId, CommandMode>>> = {
  "engine.open": { how: "open" },
  "engine.sessions": to("/"),
  "engine.session": aspect("transcript"),
  "engine.lineage": aspect("family"),
  "engine.projects": to("/projects"),
  "engine.project": {
    how: "go",
    to: (_, { project }) => `/projects/${text(project) ?? ""}`,
    fields: ["project"],
  },
  "engine.agents": to("/agents"),
  "engine.memory": to("/memory"),
  "engine.triggers": to("/triggers"),
  "engine.search": to("/search"),
  "engine.cost": to("/cost"),
  "engine.workers": to("/workers"),
  "engine.findTranscripts": to("/import"),
  "engine.importTranscripts": to("/import"),
  "engine.uploadTranscript": to("/import"),
  "engine.previewTranscript": to("/import"),
  "session.events": aspect("log"),
  "session.lineage": aspect("family"),
  "session.context": aspect("context"),
  "session.ask": aspect("transcript"),
  "session.watch": {
    how: "elsewhere",
    why: "the session page shows live events; use Run to start it",
  },
  "session.merge": aspect("merge", "from"),
};

/** The effect of choosing a call: its view, a form for its parameters, or the call at once. */
export function commandOf(id: OperationId): PaletteCommand {
  const operation = operationOf(id);
  const { title, warning, asks, takes } = operation;
  const view = views[id];
  if (view !== undefined) return { title, does: view };
  if (warning !== undefined) return { title, does: { how: "form", warning } };
  const isForm = asks === true || takes === "bytes" || fieldsOf(operation).some((one) => one.isRequired);
  return { title, does: { how: isForm ? "form" : "run" } };
}

/** Whether it needs a session. */
export const needsSession = (id: OperationId): boolean => {
  const { of, path } = operationOf(id);
  return of === "session" || path.includes("{id}") || id === "engine.lineage";
};

/** Views without an operation. */
export const searchPath = (q: string): string => withParams("/search", { q });
