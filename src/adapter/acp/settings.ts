/** Modes and options of a session, as an editor shows them: the rules for unsafe tools, and the model. */
import { unsafeDefault } from "../../core/tool/permission.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { RpcError, rpcCode } from "./json-rpc.ts";
import type { AcpUpdate } from "./updates.ts";

/** A model that can be chosen. */
export interface ChoosableModel {
  /** `provider/model`. */
  readonly name: string;
}

const modes = [
  {
    id: "ask",
    name: "Ask",
    description: "Tools that are not safe to repeat ask first. File edits and sandboxed commands run.",
  },
  { id: "ask-edits", name: "Ask for edits", description: "As Ask, and file edits ask too." },
  { id: "allow", name: "Allow", description: "Every tool runs without asking." },
] as const;

const editTools = ["write_file", "edit_file"] as const;
const editRule = (tool: string): string => `ask-edits-${tool}`;

/** The mode by the rules of the session. */
async function modeOf(session: Session): Promise<string> {
  const { permissions } = (await session.fold()).standing;
  if (editTools.every((tool) => permissions.get(editRule(tool))?.rule === "ask")) return "ask-edits";
  return [...permissions.values()].some(({ effect, rule }) => effect !== undefined && rule === "ask")
    ? "ask"
    : "allow";
}

export async function setMode(session: Session, mode: string): Promise<void> {
  if (!modes.some(({ id }) => id === mode))
    throw new RpcError(rpcCode.invalidParams, `modeId: expected ${modes.map(({ id }) => id).join(", ")}`);
  const before = await modeOf(session);
  if (before === mode) return;
  const isAllowing = mode === "allow";
  await session.grant(unsafeDefault(isAllowing ? "allow" : "ask", `mode ${mode}, chosen in the editor`));
  if (before !== "ask-edits" && mode !== "ask-edits") return;
  for (const tool of editTools)
    await session.grant({ tool, name: editRule(tool), rule: mode === "ask-edits" ? "ask" : "none" });
}

export interface SettingsView {
  readonly modes: { readonly currentModeId: string; readonly availableModes: readonly object[] };
  readonly configOptions: readonly object[];
}

/** `models`: those that are ready. `byDefault`: the model of a session that has none yet. */
export async function settingsOf(
  session: Session,
  { models, byDefault }: { readonly models: readonly ChoosableModel[]; readonly byDefault: string },
): Promise<SettingsView> {
  const { model } = (await session.fold()).standing;
  const current = model ?? byDefault;
  const names = [...new Set([current, ...models.map(({ name }) => name)])].filter(
    (one) => !one.endsWith("/*"),
  );
  return {
    modes: { currentModeId: await modeOf(session), availableModes: modes },
    configOptions: [
      {
        id: "model",
        name: "Model",
        category: "model",
        type: "select",
        currentValue: current,
        options: names.map((name) => ({ value: name, name })),
      },
    ],
  };
}

export const settingsUpdates = ({ modes: mode, configOptions }: SettingsView): readonly AcpUpdate[] => [
  { sessionUpdate: "current_mode_update", currentModeId: mode.currentModeId },
  { sessionUpdate: "config_option_update", configOptions },
];
