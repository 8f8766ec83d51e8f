/** The permission rules of a session, with their patterns, and who may change them. */
import { present } from "../../core/present.ts";
import type { Permission } from "../../core/tool/commands.ts";
import type { AgentDefinition } from "../../core/workspace/agent.ts";
import type { SessionId } from "../../core/ids.ts";
import { isAtMostAsPermissive, type NamedRule } from "../../core/tool/permission-order.ts";
import { type NeedScope, type RuledCall, ruleFor, type Ruling } from "../../core/tool/permission.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import { readContent } from "../read/content.ts";
import type { Build } from "../log/writer.ts";

/**
 * The effective rules. When its content is erased a rule loses its argument pattern: a deny or an ask then
 * holds for every call of the tool, an allow for none.
 */
export async function readRules(
  store: Store,
  session: SessionId,
  { standing }: Pick<State, "standing">,
): Promise<NamedRule[]> {
  const rules: NamedRule[] = [];
  for (const [name, { tool, rule, effect, seq, hash }] of standing.permissions.entries()) {
    const content = hash === null ? undefined : await readContent(store, session, seq);
    if (hash !== null && content === undefined && rule === "allow") continue;
    const { pattern, reason } = (content ?? {}) as { pattern?: unknown; reason?: string };
    rules.push({
      name,
      tool,
      rule,
      ...present({ effect, pattern, reason }),
    });
  }
  return rules;
}

/** The rules with some of them set: one of the same name is replaced, `none` removes it. */
export function withRules(rules: readonly NamedRule[], set: readonly Permission[]): NamedRule[] {
  const all = new Map(rules.map((one) => [one.name, one]));
  for (const one of set) {
    const name = one.name ?? one.tool;
    if (one.rule === "none") all.delete(name);
    else all.set(name, { ...one, name });
  }
  return [...all.values()];
}

/** Narrowing the rules needs the scope `write`; loosening them needs `operate`. */
export function guardRules(
  need: NeedScope | undefined,
  { before, after }: { readonly before: readonly Permission[]; readonly after: readonly Permission[] },
): void {
  if (need === undefined || isAtMostAsPermissive(after, before)) return;
  need("operate", "a change of permissions that allows more than before");
}

/** Sets a rule, after checking it against the session's rules at the state of the decision. */
export function guardedGrant(
  { store, need }: { readonly store: Store; readonly need?: NeedScope | undefined },
  session: SessionId,
  permission: Permission,
): Build {
  return async (state) => {
    const before = need === undefined ? [] : await readRules(store, session, state);
    guardRules(need, { before, after: withRules(before, [permission]) });
    return { do: "grant", ...permission };
  };
}

/** Denies and asks of an agent, for a session that continues under another one with the same bindings. */
export function strictRules(
  agent: AgentDefinition | null | undefined,
  taken: readonly Permission[],
  prefix: string,
): NamedRule[] {
  const names = new Set(taken.map(({ name, tool }) => name ?? tool));
  return (agent?.permissions ?? [])
    .filter(({ rule }) => rule === "deny" || rule === "ask")
    .map((rule, place) => ({ ...rule, name: `${prefix}-${place + 1}` }))
    .filter(({ name }) => !names.has(name));
}

/**
 * Where a default asks, an agent's own allow would override it. A model that opens a session under another
 * agent must not avoid the question that way: what only the other agent allows asks.
 */
export function askInstead(
  other: AgentDefinition | null,
  own: AgentDefinition | null,
  taken: readonly Permission[],
): NamedRule[] {
  if (!taken.some(({ rule, effect }) => rule === "ask" && effect !== undefined)) return [];
  const allowed = (own?.permissions ?? []).filter(({ rule }) => rule === "allow");
  return (other?.permissions ?? [])
    .filter((one) => one.rule === "allow" && !isAtMostAsPermissive([one], allowed))
    .map((one, place) => ({ ...one, rule: "ask" as const, name: `parent-ask-${place + 1}` }));
}

/** An executor is a program on this machine: naming one takes more than writing to a session. */
export function needForModel(
  { need }: { readonly need?: NeedScope | undefined },
  model: string | undefined,
): void {
  if (model?.startsWith("acp/") === true) need?.("operate", "an executor");
}

/** Everything that decides about a call. */
export interface CallRules {
  readonly session: readonly Permission[];
  readonly agent: readonly Permission[];
  /** The agent's definition was erased or cannot be read: whatever it denied, every call asks. */
  readonly agentUnknown: boolean;
}

export function judgeCall(rules: CallRules, call: Omit<RuledCall, "session" | "agent">): Ruling {
  const ruling = ruleFor({ ...call, agent: rules.agent, session: rules.session });
  if (!rules.agentUnknown || ruling.rule !== "allow") return ruling;
  return { rule: "ask", by: "agent", reason: "the rules of its agent were erased" };
}

/** Tools whose path rules also filter search results, besides those of the searching tool. */
const readingTools = ["read_file"];

/**
 * True when a found path is denied or asked about, for the searching tool or for reading. Only denies and
 * asks with a pattern count: they are about paths. Undefined when there are none.
 */
export function pathRules(
  rules: CallRules,
  call: { readonly tool: string; readonly input: unknown },
): ((...spellings: readonly string[]) => boolean) | undefined {
  const ofPaths = (all: readonly Permission[]): readonly Permission[] =>
    all.filter(({ pattern, rule }) => rule === "allow" || (pattern !== undefined && rule !== "none"));
  const [session, agent] = [ofPaths(rules.session), ofPaths(rules.agent)];
  if (![...session, ...agent].some(({ rule }) => rule !== "allow")) return undefined;
  const given = typeof call.input === "object" && call.input !== null ? call.input : {};
  const asked = [{ tool: call.tool, input: given }, ...readingTools.map((tool) => ({ tool, input: {} }))];
  return (...spellings) =>
    spellings.some((path) =>
      asked.some(
        ({ tool, input }) => ruleFor({ tool, input: { ...input, path }, session, agent }).rule !== "allow",
      ),
    );
}
