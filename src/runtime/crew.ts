/**
 * Who works on a session while it runs: its agent, its model, its tools. Made once for a run; nothing is
 * written while it is made, so that what is missing is an error and leaves no trace.
 */
import { agentRules, isStoredAgent, mayOffer, type AgentDefinition, type AgentRules } from "../core/agent.ts";
import { SkeinError } from "../core/error.ts";
import type { SessionId } from "../core/ids.ts";
import type { Settings, ToolDefinition } from "../core/part.ts";
import { ruleFor } from "../core/permission.ts";
import type { State } from "../core/state.ts";
import type { Model } from "../model/port.ts";
import type { Bound, FileWatch, Tool, Toolbox } from "../tool/port.ts";
import { readContent } from "./content.ts";
import { learnNamed, safeJson } from "./redact.ts";
import type { Context } from "./engine-context.ts";

export interface Crew extends AsyncDisposable {
  readonly agent: AgentDefinition | null;
  readonly rules: AgentRules;
  /** `agent:name@version`: who writes what the model says. */
  readonly actor: string;
  readonly model: Model;
  readonly settings: Settings;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Keeps versions of files that the tools change; undefined where nobody does. */
  readonly files: FileWatch | undefined;
  /** What the model is offered, and its digest. */
  readonly offer: { readonly digest: string; readonly definitions: readonly ToolDefinition[] };
}

export async function gatherCrew(
  context: Context,
  session: SessionId,
  state: State,
  options: { readonly signal: AbortSignal },
): Promise<Crew> {
  const { agent, actor } = await agentOf(context, session, state);
  const model = await modelOf(context, state.standing.model ?? agent?.model);
  const toolbox = await openTools(context, session, state, options.signal);
  const offered = toolbox.tools.filter(({ name }) => mayOffer(agent, name));
  const told = offered.map(({ name, description, input }) => ({ name, description, input }));
  const definitions = safeJson(context.world, told);
  return {
    agent,
    actor,
    model,
    rules: agentRules(agent),
    settings: settingsFor(model, agent),
    tools: new Map(offered.map((tool) => [tool.name, tool])),
    files: toolbox.files,
    offer: { definitions, digest: context.world.digest("", JSON.stringify(definitions)) },
    [Symbol.asyncDispose]: () => toolbox[Symbol.asyncDispose](),
  };
}

/** How the model is asked. */
export function settingsFor({ name, facts }: Model, agent: AgentDefinition | null): Settings {
  const { temperature, reasoning } = agent ?? {};
  return {
    model: name,
    images: facts.images,
    ...(temperature === undefined ? {} : { temperature }),
    ...(reasoning === undefined ? {} : { reasoning }),
  };
}

/** The agent as the session pinned it. */
export async function agentOf(
  { store }: Context,
  session: SessionId,
  { standing }: State,
): Promise<{ readonly agent: AgentDefinition | null; readonly actor: string }> {
  const { agent } = standing;
  const actor = `agent:${agent?.name ?? "default"}@${agent?.version ?? 0}`;
  if (agent === null || agent.version === 0) return { agent: null, actor };
  const content = (await readContent(store, session, agent.seq)) as { definition?: unknown } | undefined;
  const definition = content?.definition;
  // A definition that was erased, or that another Skein wrote, leaves the session with the defaults.
  return { agent: isStoredAgent(definition) ? definition : null, actor };
}

export async function modelOf(context: Context, name: string | undefined): Promise<Model> {
  if (context.models === undefined) {
    throw new SkeinError("unavailable", "this engine was opened without models", {
      hint: "give openEngine the option models",
    });
  }
  const models = await context.models();
  return models.model(name ?? models.byDefault);
}

async function openTools(
  context: Context,
  session: SessionId,
  state: State,
  signal: AbortSignal,
): Promise<Toolbox> {
  if (context.tools === undefined) return { tools: [], [Symbol.asyncDispose]: async () => {} };
  const bound = await readBindings(context, session, state);
  for (const { secrets } of bound) learnNamed(context.world, secrets);
  const source = await context.tools();
  return source.open(bound, { signal, session });
}

/** The bindings as the log has them; one whose content was erased cannot be used until it is bound again. */
export async function readBindings(
  { store }: Context,
  session: SessionId,
  { standing }: State,
): Promise<readonly Bound[]> {
  const bound: Bound[] = [];
  for (const [name, { kind, mode, seq }] of standing.bindings.entries()) {
    const content = await readContent(store, session, seq);
    if (content !== undefined) bound.push({ ...(content as Omit<Bound, "name">), name, kind, mode });
  }
  return bound;
}

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly effect: Tool["effect"];
  readonly rule: "allow" | "ask" | "deny";
}

/** The tools that a run would offer now. Opens what they need, and closes it again. */
export async function listTools(context: Context, session: SessionId): Promise<readonly OfferedTool[]> {
  const state = await context.writer.current(session);
  const { agent } = await agentOf(context, session, state);
  await using toolbox = await openTools(context, session, state, new AbortController().signal);
  const offered: OfferedTool[] = [];
  for (const { name, description, effect } of toolbox.tools) {
    if (!mayOffer(agent, name)) continue;
    const { rule } = await permissionFor(context, session, state, { agent }, { tool: name, input: {} });
    offered.push({ name, description, effect, rule });
  }
  return offered;
}

/** What becomes of a call, by the rules of the agent and the session. */
export async function permissionFor(
  { store }: Context,
  session: SessionId,
  { standing }: State,
  { agent }: Pick<Crew, "agent">,
  call: { readonly tool: string; readonly input: unknown; readonly checked?: unknown },
): Promise<ReturnType<typeof ruleFor>> {
  const rules = [];
  for (const [name, { tool, rule, seq, hash }] of standing.permissions.entries()) {
    const content = hash === null ? undefined : await readContent(store, session, seq);
    // With its content the arguments it was for are gone: it counts for no call until it is set again.
    if (hash !== null && content === undefined) continue;
    const { pattern, reason } = (content ?? {}) as { pattern?: unknown; reason?: string };
    rules.push({
      name,
      tool,
      rule,
      ...(pattern === undefined ? {} : { pattern }),
      ...(reason === undefined ? {} : { reason }),
    });
  }
  const { tool, input, checked } = call;
  return ruleFor({ tool, input, checked, agent: agent?.permissions ?? [], session: rules });
}
