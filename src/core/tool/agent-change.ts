/**
 * Another agent for a session: what its definition brings, and the rules that keep it from allowing more than
 * the agent before. Conservative: what is not certainly as narrow is left out, or asks.
 */
import { matchesName, type AgentDefinition } from "../workspace/agent.ts";
import type { Permission } from "./commands.ts";
import { canonicalJson, isAtMostAsPermissive, type NamedRule } from "./permission-order.ts";

/** The definition without what would allow more: other tools, other sessions to look up, fewer questions. */
export function narrowedAgent(before: AgentDefinition | null, after: AgentDefinition): AgentDefinition {
  const tools = narrowedTools(before?.tools, after.tools);
  const onUnknown = (before?.onUnknown ?? "ask") === "ask" ? "ask" : after.onUnknown;
  const { bind: _, budget: __, ...kept } = after;
  return {
    ...kept,
    ...(tools === undefined ? {} : { tools }),
    ...(onUnknown === undefined ? {} : { onUnknown }),
    ...narrowedMemory(before, after),
  };
}

/** The tools that both may be offered, as far as their patterns tell. */
function narrowedTools(
  before: readonly string[] | undefined,
  after: readonly string[] | undefined,
): readonly string[] | undefined {
  if (before === undefined) return after;
  if (after === undefined) return before;
  const isWithin = (pattern: string, patterns: readonly string[]): boolean =>
    patterns.some((wide) => matchesName(wide, pattern));
  const both = [
    ...after.filter((one) => isWithin(one, before)),
    ...before.filter((one) => isWithin(one, after)),
  ];
  return [...new Set(both)];
}

const reach = ["none", "agent", "user"] as const;

function narrowedMemory(
  before: AgentDefinition | null,
  { memory }: AgentDefinition,
): Pick<AgentDefinition, "memory"> {
  if (memory === undefined) return {};
  const of = (rules: AgentDefinition["memory"]): number => reach.indexOf(rules?.sessions ?? "none");
  const sessions = reach[Math.min(of(before?.memory), of(memory))] ?? "none";
  // Without approval only what the agent before remembered without it.
  const promote = (memory.promote ?? []).map(({ outside, ...rule }) => {
    const isKnown = before?.memory?.promote?.some(
      (one) => canonicalJson(one) === canonicalJson({ ...rule, outside }),
    );
    return isKnown === true && outside !== undefined ? { ...rule, outside } : rule;
  });
  return { memory: { ...memory, sessions, ...(memory.promote === undefined ? {} : { promote }) } };
}

/**
 * The rules that the session needs besides: what the agent before denied or asked about, and an ask for each
 * call that only the new agent allows, since an allow of an agent overrides a default that asks.
 */
export function narrowingRules(
  before: AgentDefinition | null,
  after: AgentDefinition,
  rules: readonly NamedRule[],
): NamedRule[] {
  const own = before?.permissions ?? [];
  const strict = own.filter(({ rule }) => rule !== "allow");
  const asksByDefault = rules.some(({ rule, effect }) => rule === "ask" && effect !== undefined);
  const allowed = own.filter(({ rule }) => rule === "allow");
  const wider = asksByDefault
    ? (after.permissions ?? []).filter((one) => one.rule === "allow" && !isAtMostAsPermissive([one], allowed))
    : [];
  const asks = wider.map((one): Permission => ({ ...one, rule: "ask", reason: "the agent before asked" }));
  const taken = new Set(rules.map(({ name }) => name));
  const made: NamedRule[] = [];
  for (const one of [...strict, ...asks]) {
    if ([...rules, ...made].some((other) => isSame(one, other))) continue;
    let number = 1;
    while (taken.has(`before-${number}`)) number++;
    taken.add(`before-${number}`);
    made.push({ ...one, name: `before-${number}` });
  }
  return made;
}

const isSame = (one: Permission, other: Permission): boolean =>
  one.rule === other.rule &&
  one.tool === other.tool &&
  one.effect === other.effect &&
  canonicalJson(one.pattern ?? null) === canonicalJson(other.pattern ?? null);
