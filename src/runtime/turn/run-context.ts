/**
 * What a session runs with: its agent, its model, its tools. Made once for a run; making it writes nothing,
 * so that a missing part is an error and leaves no trace.
 */
import { agentRules, mayOffer, type AgentDefinition, type AgentRules } from "../../core/workspace/agent.ts";
import { present } from "../../core/present.ts";
import { itemKinds } from "../../core/item/kind.ts";
import type { SessionId } from "../../core/ids.ts";
import { SortedMap } from "../../core/sorted-map.ts";
import type { Settings, ToolDefinition } from "../../core/context/part.ts";
import type { Ruling } from "../../core/tool/permission.ts";
import { isUnreviewed } from "../../core/govern/review.ts";
import type { State } from "../../core/state.ts";
import type { Model } from "../../model/port.ts";
import type { FileWatch, Tool, Toolbox } from "../../tool/port.ts";
import { learnNamed, safeJson } from "../log/redact.ts";
import { assertReviewed } from "../govern/review.ts";
import type { Deps } from "../deps.ts";
import { judgeCall, readRules, type CallRules } from "../govern/rules.ts";
import { agentOf, type SessionAgent } from "../workspace/session-agent.ts";
import { readBindings } from "../read/bindings.ts";
import { settingsFor } from "../context/model-settings.ts";
import { resolveRun, type PreparedRun } from "./prepare-run.ts";

export interface RunContext extends SessionAgent, AsyncDisposable {
  readonly rules: AgentRules;
  readonly model: Model;
  readonly settings: Settings;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Keeps versions of files that the tools change; undefined without file versions. */
  readonly files: FileWatch | undefined;
  /** The tools offered to the model, and their digest. */
  readonly offer: Offer;
  /** Adopts changed tools, as servers may announce; `tools` and `offer` are then the new ones. */
  refresh(signal: AbortSignal): Promise<void>;
}

interface Offer {
  readonly digest: string;
  readonly definitions: readonly ToolDefinition[];
}

export async function gatherCrew(
  deps: Deps,
  session: SessionId,
  state: State,
  options: { readonly signal: AbortSignal; readonly prepared?: PreparedRun },
): Promise<RunContext> {
  const prepared = options.prepared ?? {
    state,
    agent: await agentOf(deps, session, state),
    model: null,
  };
  const { agent: named, model } = await resolveRun(deps, session, prepared, state);
  const { agent, actor, agentUnknown } = named;
  const toolbox = await openTools(deps, session, state, options.signal);
  // An executor has its own tools, and is offered none.
  const list = (): readonly Tool[] =>
    model.executor === undefined ? toolbox.tools.filter((tool) => hasUse(tool, state)) : [];
  let offered = offeredOf(deps, agent, list());
  return {
    agent,
    agentUnknown,
    actor,
    model,
    rules: {
      ...agentRules(agent, model.facts.effective?.tokens),
      ...present({ outputTokensMax: state.standing.settings.outputTokensMax }),
    },
    settings: settingsFor(model, agent, state),
    files: toolbox.files,
    get tools() {
      return offered.tools;
    },
    get offer() {
      return offered.offer;
    },
    async refresh(signal) {
      if ((await toolbox.refresh?.(signal)) === true) offered = offeredOf(deps, agent, list());
    },
    [Symbol.asyncDispose]: () => toolbox[Symbol.asyncDispose](),
  };
}

/** Only a session of a project has a plan. */
const hasUse = (tool: Tool, { standing }: State): boolean =>
  tool.effect !== "session" || tool.name !== "plan" || standing.project !== null;

function offeredOf(
  { world }: Deps,
  agent: AgentDefinition | null,
  tools: readonly Tool[],
): { readonly tools: ReadonlyMap<string, Tool>; readonly offer: Offer } {
  const offered = tools.filter(({ name }) => mayOffer(agent, name));
  const definitionsGiven = offered.map((tool) => {
    const { name, description, input } = tool;
    const shown = { name, description, input };
    return tool.effect === "session" ? withKinds(shown, agent?.kinds ?? {}) : shown;
  });
  const definitions = safeJson(world, definitionsGiven);
  return {
    tools: new Map(offered.map((tool) => [tool.name, tool])),
    offer: { definitions, digest: world.digest("", JSON.stringify(definitions)) },
  };
}

/** A session tool with the kinds of items that this agent's sessions have. */
function withKinds(tool: ToolDefinition, own: NonNullable<AgentDefinition["kinds"]>): ToolDefinition {
  const { properties } = tool.input as { readonly properties?: Readonly<Record<string, object>> };
  const kind = properties?.["kind"];
  if (kind === undefined) return tool;
  const names = Object.keys(own);
  const input = {
    ...(tool.input as object),
    properties: { ...properties, kind: { ...kind, enum: [...itemKinds, ...names] } },
  };
  if (tool.name !== "record" || names.length === 0) return { ...tool, input };
  const described = names.map((name) => {
    const { description = "", schema } = own[name] ?? {};
    return `${name}: ${description}${schema === undefined ? "" : ` (value: ${JSON.stringify(schema)})`}`;
  });
  return { ...tool, input, description: `${tool.description} Further kinds here: ${described.join("; ")}` };
}

async function openTools(
  deps: Deps,
  session: SessionId,
  state: State,
  signal: AbortSignal,
): Promise<Toolbox> {
  if (deps.tools === undefined) return { tools: [], [Symbol.asyncDispose]: async () => {} };
  assertReviewed(session, state);
  const bound = await readBindings(deps, session, state);
  for (const { secrets } of bound) learnNamed(deps.world, secrets);
  const source = await deps.tools();
  return source.open(bound, { signal, session });
}

/** A tool that a session offers its model, and the rule for its calls. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly effect: Tool["effect"];
  readonly rule: "allow" | "ask" | "deny";
}

/** The tools that a run would offer now. Opens what they need, and closes it again. */
export async function listTools(deps: Deps, session: SessionId): Promise<readonly OfferedTool[]> {
  const state = await deps.writer.current(session);
  const runContext = await agentOf(deps, session, state);
  const rules = await rulesOf(deps, session, state, runContext);
  // Bindings of a stranger are not opened for a list: that may start a program of theirs.
  const isForeign = isUnreviewed(state) || (await deps.store.head(session))?.copy === true;
  const shown = isForeign ? withoutBindings(state) : state;
  await using toolbox = await openTools(deps, session, shown, new AbortController().signal);
  const offered: OfferedTool[] = [];
  for (const tool of toolbox.tools) {
    const { name, description, effect } = tool;
    if (!mayOffer(runContext.agent, name) || !hasUse(tool, shown)) continue;
    const { rule } = judgeTool(rules, tool, { input: {} });
    offered.push({ name, description, effect, rule });
  }
  return offered;
}

const withoutBindings = (state: State): State => ({
  ...state,
  standing: { ...state.standing, bindings: SortedMap.empty(), unreviewed: false },
});

/** The rules for the calls of a session at this state. */
export async function rulesOf(
  { store }: Deps,
  session: SessionId,
  state: State,
  { agent, agentUnknown }: Pick<RunContext, "agent" | "agentUnknown">,
): Promise<CallRules> {
  const own = await readRules(store, session, state);
  return { session: own, agent: agent?.permissions ?? [], agentUnknown };
}

/** The decision of the rules about a call of this tool. */
export const judgeTool = (
  rules: CallRules,
  tool: Tool,
  call: { readonly input: unknown; readonly checked?: unknown },
): Ruling =>
  judgeCall(rules, {
    tool: tool.name,
    effect: tool.effect,
    contained: tool.effect !== "session" && (tool.contained === true || tool.external === true),
    ...call,
  });
