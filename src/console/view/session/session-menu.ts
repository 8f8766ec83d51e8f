/** The menu of a session: its items, and the form of each. */
import { mayIn } from "../../../protocol/library.ts";
import type { Me } from "../../../client/connect.ts";
import { refusalOf } from "../../scopes.ts";
import { plural, tokens } from "../../ui/amount.ts";
import { copyText } from "../../ui/copy.tsx";
import type { FormSpec, FormValues } from "../../ui/form-dialog.tsx";
import type { Choice } from "../../ui/menu.tsx";
import { saveFile } from "../../ui/save-file.ts";
import { showToast, showError } from "../../ui/toast.tsx";
import { forget, refresh } from "../../query-cache.ts";
import { go, sessionPath } from "../../route.ts";
import { engine } from "../../server.ts";
import type { Scope } from "./scope.ts";

type Ask = (form: FormSpec) => void;

/** The filled-in values; empty ones are absent. */
export function filled<N extends string>(
  given: FormValues,
  ...names: readonly N[]
): Partial<Record<N, string>> {
  const found = names.flatMap((name) => {
    const value = given[name]?.trim() ?? "";
    return value === "" ? [] : [[name, value]];
  });
  return Object.fromEntries(found) as Partial<Record<N, string>>;
}

export function choicesOf(scope: Scope, me: Me | undefined, ask: Ask): readonly Choice[] {
  const { state, session, id } = scope;
  const may = (command: Parameters<typeof mayIn>[1]): boolean =>
    state.newer === null && mayIn(state.status, command);
  const when = (allowed: boolean, form: () => FormSpec): (() => void) | undefined =>
    allowed ? () => ask(form()) : undefined;
  const lifts = state.holds.map((name) => ({
    name: `Lift hold “${name.slice(0, 40)}”`,
    act: async () => done(scope, session.lift(name), "Lifted."),
  }));
  const writes: readonly Choice[] = [
    { name: "Fork…", act: () => ask(forkForm(scope)) },
    { name: "Save a checkpoint…", act: when(may("describe"), () => saveForm(scope)) },
    { name: "Compress…", act: when(may("compact") && state.status !== "running", () => compressForm(scope)) },
    {
      name: "Rollover…",
      act: when(may("continue") && state.status !== "running", () => rolloverForm(scope)),
    },
    { name: "Split off…", act: when(may("describe"), () => splitForm(scope)) },
    { name: "Clear…", act: when(may("close"), () => clearForm(scope)) },
    { name: "Change model…", act: when(may("migrate"), () => migrateForm(scope)) },
    { name: "Sleep…", act: when(may("sleep"), () => sleepForm(scope)) },
    {
      name: "Archive",
      apart: true,
      act: may("archive") ? async () => done(scope, session.archive(), "Archived.") : undefined,
    },
    { name: "Cancel…", act: when(may("cancel"), () => cancelForm(scope)) },
    { name: "Hold…", act: when(may("govern"), () => holdForm(scope)) },
    ...lifts,
  ];
  return [
    ...writes.map((choice) => ({ ...choice, refusal: refusalOf(me, ["write"]) })),
    {
      name: "Delete…",
      act: when(state.status !== "running", () => deleteForm(scope)),
      refusal: refusalOf(me, ["admin"]),
    },
    { name: "Export", apart: true, act: async () => exportBundle(id) },
    { name: "Copy id", act: async () => copyText(id, "the id") },
    {
      name: "Copy link",
      act: async () => copyText(new URL(sessionPath(id), location.origin).href, "the link"),
    },
  ];
}

async function done({ reread }: Scope, work: Promise<unknown>, said: string): Promise<void> {
  await work;
  showToast(said);
  reread();
}

const forkForm = ({ session, at }: Scope): FormSpec => ({
  title: "Fork",
  lead: "A new session with everything this one knows, which continues independently.",
  fields: [
    { name: "objective", kind: "text", label: "Objective (defaults to the parent's)" },
    { name: "name", label: "Name" },
  ],
  confirm: "Fork",
  act: async (given) => {
    const made = await session.fork({
      ...filled(given, "objective", "name"),
      ...(at === null ? {} : { atSeq: at }),
    });
    showToast("Forked.");
    go(sessionPath(made.id));
  },
});

export const saveForm = (scope: Scope): FormSpec => ({
  title: "Save a checkpoint",
  lead: "A name for this position, to go back to or to fork from.",
  fields: [
    { name: "name", label: "Name", required: true },
    { name: "note", label: "Note", kind: "text" },
  ],
  confirm: "Save",
  act: async (given) => done(scope, scope.session.save(given["name"] ?? "", filled(given, "note")), "Saved."),
});

const compressForm = (scope: Scope): FormSpec => ({
  title: "Compress",
  lead: "Makes the context smaller. The log keeps the transcript, and items stay.",
  fields: [
    {
      name: "strategy",
      label: "Strategy",
      kind: "choice",
      choices: [
        ["", "Agent's default"],
        ["prune", "Prune old outputs"],
        ["summarize", "Summarize"],
        ["extract", "Extract items, then summarize"],
      ],
    },
    { name: "instructions", label: "Focus (optional)", kind: "text" },
  ],
  confirm: "Compress",
  act: async (given) => {
    const options = filled(given, "strategy", "instructions") as Parameters<typeof scope.session.compress>[0];
    const { compacted } = await scope.session.compress(options);
    showToast(compacted ? "Compressed." : "Nothing to compress.");
    scope.reread();
  },
});

const clearForm = ({ session, state, reread }: Scope): FormSpec => ({
  title: "Clear",
  lead: "Closes this session and opens a successor with its agent and bindings, and an empty context.",
  fields: [
    { name: "objective", label: "Objective", kind: "text", value: state.objective ?? "" },
    { name: "handoff", label: "Start the successor with a handoff", kind: "tick", value: "on" },
  ],
  confirm: "Clear",
  act: async (given) => {
    const made = await session.clear({ ...filled(given, "objective"), handoff: given["handoff"] === "on" });
    showToast("Cleared. This is the successor.");
    reread();
    go(sessionPath(made.id));
  },
});

const rolloverForm = ({ session, reread }: Scope): FormSpec => ({
  title: "Rollover",
  lead: "Continues as a new session with the handoff of this one. What is sent to this one arrives there.",
  fields: [{ name: "because", label: "Reason (optional)" }],
  confirm: "Roll over",
  act: async (given) => {
    const made = await session.rollover(filled(given, "because"));
    showToast("Rolled over. This is the next session.");
    reread();
    go(sessionPath(made.id));
  },
});

/** What goes along is the default of the call: lasting items, and the inputs that drifted. */
export const splitForm = ({ session, state }: Scope): FormSpec => {
  const hasDrifted = state.zoneCauses.includes("drift");
  return {
    title: "Split off another task",
    lead:
      "Opens a session with the same agent, bindings and rules, lasting items" +
      `${hasDrifted ? ", and the last three inputs" : ""}. This one stays as it is.`,
    fields: [
      {
        name: "objective",
        label: hasDrifted ? "The other task (optional: else the first of these inputs)" : "The other task",
        kind: "text",
        required: !hasDrifted,
      },
    ],
    confirm: "Split off",
    act: async (given) => {
      const made = await session.split(filled(given, "objective"));
      showToast("Split off. This is the new session.");
      go(sessionPath(made.id));
    },
  };
};

const migrateForm = (scope: Scope): FormSpec => ({
  title: "Change model",
  lead: `Current model: ${scope.state.model ?? "the agent's"}. The log lists what the new model cannot see.`,
  fields: [
    { name: "model", label: "provider/model", required: true, placeholder: "anthropic/claude-sonnet-5-5" },
  ],
  confirm: "Change",
  act: async (given) =>
    done(scope, scope.session.migrate({ model: given["model"]?.trim() ?? "" }), "Model changed."),
});

const sleepForm = (scope: Scope): FormSpec => ({
  title: "Sleep",
  lead: "Sleeps until then, or until an input arrives.",
  fields: [
    { name: "until", label: "Until (optional)", kind: "moment" },
    { name: "reason", label: "Reason" },
  ],
  confirm: "Sleep",
  act: async (given) => {
    const { until } = filled(given, "until");
    const time = until === undefined ? {} : { untilMs: new Date(until).getTime() };
    await done(scope, scope.session.sleep({ ...time, ...filled(given, "reason") }), "Sleeping.");
  },
});

const cancelForm = (scope: Scope): FormSpec => ({
  title: "Cancel session",
  lead: "Ends the current turn and closes the session as cancelled. You can reopen it.",
  fields: [
    { name: "reason", label: "Reason" },
    { name: "tree", label: "Also cancel the sessions it opened", kind: "tick" },
  ],
  confirm: "Cancel session",
  isBad: true,
  act: async (given) =>
    done(
      scope,
      scope.session.cancel({ ...filled(given, "reason"), ...(given["tree"] === "on" ? { tree: true } : {}) }),
      "Cancelled.",
    ),
});

const holdForm = (scope: Scope): FormSpec => ({
  title: "Hold",
  lead: "Prevents erasing and deleting until the hold is lifted.",
  fields: [
    { name: "name", label: "Name", required: true, placeholder: "audit-2026" },
    { name: "reason", label: "Reason" },
  ],
  confirm: "Hold",
  act: async (given) =>
    done(scope, scope.session.hold(given["name"] ?? "", filled(given, "reason")), "On hold."),
});

const deleteForm = ({ id, state }: Scope): FormSpec => ({
  title: "Delete session",
  lead:
    `Deletes ${plural(state.seq, "event")} and ${tokens(state.budget.used.tokens)} tokens of work` +
    " for good. Forks keep what they share.",
  fields: [{ name: "reason", label: "Reason" }],
  confirm: "Delete",
  isBad: true,
  act: async (given) => {
    // Leaves the page first: there is nothing left to read.
    go("/");
    forget(`session/${id}`);
    try {
      await engine.delete(id, filled(given, "reason"));
      showToast("Deleted.");
    } catch (error) {
      showError(error);
    }
    refresh("sessions");
  },
});

async function exportBundle(id: string): Promise<void> {
  showToast("Exporting…");
  const pieces: Uint8Array[] = [];
  for await (const piece of engine.export(id)) pieces.push(piece);
  saveFile(`${id}.skein`, pieces);
}
