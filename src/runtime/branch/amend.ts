/**
 * Amendments: another objective, other texts, another agent, model or settings, for a session and for a fork.
 * No amendment allows more than before: of a new agent only what the agent before allowed too is taken, and
 * what that one denied or asked about becomes rules of the session.
 */
import type { Amendment, SettingsChange } from "../../core/amend/commands.ts";
import { leftBehind } from "../../core/context/left-behind.ts";
import { isOverfull } from "../../core/compaction/plan.ts";
import type { CommandOf } from "../../core/command.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { present } from "../../core/present.ts";
import type { Pin } from "../../core/session/commands.ts";
import type { State } from "../../core/state.ts";
import type { NamedRule } from "../../core/tool/permission-order.ts";
import { agentDigest, agentRules, type AgentDefinition } from "../../core/workspace/agent.ts";
import { narrowedAgent, narrowingRules } from "../../core/tool/agent-change.ts";
import { readContext } from "../context/context-reader.ts";
import { modelOf } from "../context/model-settings.ts";
import type { Deps } from "../deps.ts";
import { needForModel, readRules } from "../govern/rules.ts";
import { agentOf } from "../workspace/session-agent.ts";
import { pinOf } from "./bootstrap.ts";

/** Options of `session.amend`: what changes, and why. */
export interface AmendOptions extends ForkAmendment {
  readonly objective?: string;
  /** They replace those before; none with an empty list. */
  readonly constraints?: readonly string[];
  readonly because: string;
}

/** What a fork may have in place of its parent's. */
export interface ForkAmendment extends SettingsChange {
  /** `coder` is the newest version, `coder@2` the second. */
  readonly agent?: string;
  readonly model?: string;
  /** The session's own, besides the agent's; empty: none. */
  readonly instructions?: string;
}

/** The command of `session.amend`, from the state of the decision. */
export async function amendCommand(
  deps: Deps,
  session: SessionId,
  state: State,
  options: AmendOptions,
): Promise<CommandOf<"amend">> {
  const before = [await knownAgent(deps, session, state, "amend: agent")];
  return { do: "amend", ...(await amendmentOf(deps, session, { state, before, call: "amend" }, options)) };
}

/** Where an amendment starts from. */
export interface AmendedState {
  /** The state that is amended. */
  readonly state: State;
  /** The agents that the next one may not exceed: null for none. */
  readonly before: readonly (AgentDefinition | null)[];
  readonly call: "amend" | "fork";
}

export async function amendmentOf(
  deps: Deps,
  session: SessionId,
  base: AmendedState,
  { agent: named, model: wanted, constraints, ...texts }: Partial<AmendOptions>,
): Promise<Amendment> {
  const changed = named === undefined ? null : await otherAgent(deps, session, base, named);
  const model = wanted ?? changed?.model;
  needForModel(deps, model);
  const left = model === undefined ? undefined : await leftFor(deps, session, base, model);
  const rules = constraints?.filter((one) => one.trim() !== "");
  return {
    ...texts,
    ...present({ constraints: rules, pin: changed?.pin, grant: changed?.grant, model, left }),
  };
}

/** Where a fork is made: the state there, the parent's now, and the rules that the fork has. */
interface ForkPoint {
  readonly from: State;
  readonly now: State;
  readonly rules: readonly NamedRule[];
}

/** What differs in a fork. */
export interface ForkChange {
  readonly grant: readonly NamedRule[];
  readonly amendment?: Amendment;
  readonly pin?: Pin;
}

/** What differs in a fork, and the rules that it needs because of it. */
export async function forkAmendment(
  deps: Deps,
  session: SessionId,
  point: ForkPoint,
  amends: ForkAmendment,
): Promise<ForkChange> {
  const { before, pin, grant } = await agentsFor(deps, session, point);
  if (Object.keys(amends).length === 0) return { grant, ...present({ pin }) };
  const base = { state: point.from, before, call: "fork" } as const;
  const amendment = await amendmentOf(deps, session, base, amends);
  return { grant, amendment, ...(amendment.pin === undefined ? present({ pin }) : {}) };
}

/** Where the parent has another agent by now: the fork may do no more than both allow. */
async function agentsFor(
  deps: Deps,
  session: SessionId,
  { from, now, rules }: ForkPoint,
): Promise<Pick<AmendedState, "before"> & { readonly grant: readonly NamedRule[]; readonly pin?: Pin }> {
  const { agent } = from.standing;
  const isSame = agent?.seq === now.standing.agent?.seq && agent?.version === now.standing.agent?.version;
  const { agent: own } = await agentOf(deps, session, from);
  if (isSame) return { before: [own], grant: [] };
  const other = await knownAgent(deps, session, now, "fork");
  const before = [own, other];
  if (own === null || agent === null) return { before, grant: narrowingRules(other, noRules, rules) };
  const digest = agentDigest(deps.world.digest, own);
  const pin = { agent: agent.name, version: agent.version, digest, definition: narrowedAgent(other, own) };
  return { before, grant: narrowingRules(other, own, rules), pin };
}

/** For a fork without an agent. */
const noRules = { name: "default", instructions: "-" };

/** The agent of a session, whose rules must be known; null without one. */
export async function knownAgent(
  deps: Deps,
  session: SessionId,
  state: State,
  where: string,
): Promise<AgentDefinition | null> {
  const { agent, agentUnknown } = await agentOf(deps, session, state);
  if (!agentUnknown) return agent;
  throw new SkeinError("refused", `${where}: the rules of the session's agent were erased`, {
    hint: "open a new session; what this one was denied is not known any more",
  });
}

/** The agent as this session may have it; its model if the session had that of the agent before. */
async function otherAgent(
  deps: Deps,
  session: SessionId,
  { state, before, call }: AmendedState,
  named: string,
): Promise<Pick<Amendment, "pin" | "grant" | "model">> {
  const pin = await pinOf(deps, named);
  if (pin === null)
    throw new SkeinError("not-found", `${call}: agent: there is no agent ${quote(named)}`, {
      hint: '"skein agents list" lists the agents',
    });
  const after = pin.definition as AgentDefinition;
  const rules = await readRules(deps.store, session, state);
  const grant: NamedRule[] = [];
  for (const one of before) grant.push(...narrowingRules(one, after, [...rules, ...grant]));
  const own = before[0]?.model;
  const hadItsModel = own === undefined || own === state.standing.model;
  return {
    pin: {
      ...pin,
      definition: before.reduce<AgentDefinition>((narrow, one) => narrowedAgent(one, narrow), after),
    },
    grant,
    ...(hadItsModel ? present({ model: after.model }) : {}),
  };
}

/** What another model is not shown. A context that is too long for it is refused. */
async function leftFor(
  deps: Deps,
  session: SessionId,
  { state, call }: AmendedState,
  name: string,
): Promise<readonly string[]> {
  const to = await modelOf(deps, name);
  const { agent } = await agentOf(deps, session, state);
  const before = await modelOf(deps, state.standing.model ?? agent?.model).catch(() => null);
  if (state.standing.renderer === null || before?.name === to.name) return [];
  const { name: model, facts } = before ?? to;
  const settings = { model, images: facts.images };
  const { parts } = await readContext(deps, session, { atSeq: state.seq, settings });
  const { tokens } = await deps.tokenizer.estimate(parts);
  if (isOverfull(tokens, to.facts.windowTokens, agentRules(agent).compaction))
    throw new SkeinError("refused", `${call}: model: the context is too long for ${to.name}`, {
      hint: `compress the session first, or use "skein migrate ${session} --model ${to.name}"`,
    });
  return leftBehind(parts, to.facts, before?.name);
}
