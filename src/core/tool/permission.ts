/**
 * Permissions: the verdict on a tool call by the rules of the agent and of the session.
 *
 * A matching deny always wins. Otherwise the session's rules come before the agent's, rules with a pattern
 * before those without (so that a tool may need approval except for some calls), and ask before allow. Rules
 * for an effect are defaults: an ask or allow among them applies only if no other rule of session or agent
 * does. Without a rule the call is allowed.
 *
 * A rule names tools by a text with `*`, and may have a pattern for the arguments:
 * - An object matches an object that has all its fields, each matching; other fields are free.
 * - A text is a glob for texts: `*` is any run of characters, `?` one character.
 * - A list is a choice: one of its entries must match.
 * - Anything else must be the same JSON.
 * - If the argument is a list, or an object while the pattern is not, the pattern is matched against its
 *   elements: for a deny or ask one match is enough, for an allow all must match.
 *
 * An uncertain match counts for the stricter side. Texts are also compared as paths, with `.`, `..` and
 * doubled slashes resolved: a deny on `/etc/*` covers `/tmp/../etc/passwd`, and an allow on `/tmp/*` does
 * not. For a deny or ask, a relative path matches at any depth: a deny on `archive/*` also covers
 * `notes/archive/old`, because the same file has another path under another binding. A glob does not parse
 * command lines: an allow on `git *` also covers `git log; rm -r .`.
 */
import type { Permission } from "./commands.ts";
import { limit } from "../limit.ts";
import type { TokenScope } from "../workspace/access-token.ts";

export type Rule = "allow" | "ask" | "deny";

export interface Ruling {
  readonly rule: Rule;
  /** The name of the deciding rule; null if none matched. */
  readonly by: string | null;
  readonly reason: string | null;
}

export interface RuledCall {
  readonly tool: string;
  /** The current effect of the tool; absent: unknown, and treated as `unsafe`. */
  readonly effect?: "read" | "idempotent" | "unsafe" | "session";
  /** The tool runs in a sandbox: the default for unsafe tools does not ask. */
  readonly contained?: boolean;
  readonly input: unknown;
  /** The arguments as the tool understands them, if known: links resolved, defaults filled in. */
  readonly checked?: unknown;
  readonly agent: readonly Permission[];
  readonly session: readonly Permission[];
}

export function ruleFor(call: RuledCall): Ruling {
  const inputs = call.checked === undefined ? [call.input] : [call.input, call.checked];
  const fits = (one: Permission): boolean =>
    matchesGlob(one.tool, call.tool) && matchesEffect(one, call) && matchesAny(one, inputs);
  const matching = (rules: readonly Permission[], rule: Rule): Permission | undefined =>
    rules.find((one) => one.rule === rule && fits(one));
  const found =
    matching(call.session, "deny") ??
    matching(call.agent, "deny") ??
    [
      ...rulesAt(call.session, ["pattern", "tool"]),
      ...rulesAt(call.agent, ["pattern", "tool"]),
      ...rulesAt([...call.session, ...call.agent], ["default"]),
    ]
      .map((rules) => matching(rules, "ask") ?? matching(rules, "allow"))
      .find((rule) => rule !== undefined);
  if (found === undefined || found.rule === "none") return { rule: "allow", by: null, reason: null };
  return { rule: found.rule, by: found.name ?? found.tool, reason: found.reason ?? null };
}

/** The default for unsafe tools, as a session rule: chat, open and console set it. */
export const unsafeDefault = (
  rule: "ask" | "allow",
  reason: string,
): Permission & { readonly name: string } => ({
  name: "unsafe",
  tool: "*",
  effect: "unsafe",
  rule,
  reason,
});

/** The order of rules: those with a pattern, then those for a tool, last those for an effect. */
export type RuleLevel = "pattern" | "tool" | "default";

export const levelOf = ({ pattern, effect }: Pick<Permission, "pattern" | "effect">): RuleLevel =>
  effect !== undefined ? "default" : pattern === undefined ? "tool" : "pattern";

const rulesAt = (rules: readonly Permission[], levels: readonly RuleLevel[]): Permission[][] =>
  levels.map((level) => rules.filter((one) => levelOf(one) === level));

function matchesEffect({ effect, rule }: Permission, call: RuledCall): boolean {
  if (effect === undefined) return true;
  if (effect !== (call.effect ?? "unsafe")) return false;
  return rule !== "ask" || call.contained !== true;
}

function matchesAny({ rule, pattern }: Permission, inputs: readonly unknown[]): boolean {
  if (pattern === undefined) return true;
  const strict = rule !== "allow";
  return of(inputs, strict, (input) => matches(pattern, input, { strict, depth: 0 }));
}

/** How a pattern is matched: `strict` for rules that deny or ask, where one match is enough. */
interface MatchMode {
  readonly strict: boolean;
  readonly depth: number;
}

function matches(pattern: unknown, value: unknown, way: MatchMode): boolean {
  if (way.depth > limit.jsonDepthMax) return way.strict;
  const inner = { ...way, depth: way.depth + 1 };
  if (Array.isArray(pattern) && !Array.isArray(value))
    return pattern.some((choice) => matches(choice, value, inner));
  if (Array.isArray(value)) return within(value, way.strict, (one) => matches(pattern, one, inner));
  if (typeof pattern === "string" && typeof value === "string")
    return matchesText(pattern, value, way.strict);
  if (!isObject(value)) return !isObject(pattern) && pattern === value;
  if (!isObject(pattern))
    return within(Object.values(value), way.strict, (one) => matches(pattern, one, inner));
  return Object.entries(pattern).every(
    ([field, one]) => Object.hasOwn(value, field) && matches(one, value[field], inner),
  );
}

const of = <T>(things: readonly T[], strict: boolean, test: (thing: T) => boolean): boolean =>
  strict ? things.some(test) : things.every(test);

/** An empty list: nothing to forbid, and nothing that was allowed. */
const within = <T>(things: readonly T[], strict: boolean, test: (thing: T) => boolean): boolean =>
  things.length > 0 && of(things, strict, test);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function matchesText(pattern: string, text: string, strict: boolean): boolean {
  const patterns = [pattern, plainPath(pattern)];
  const fits = (form: string): boolean => patterns.some((one) => matchesGlob(one, form));
  return (
    of([text, plainPath(text)], strict, fits) || (strict && isRelative(pattern) && tails(text).some(fits))
  );
}

const isRelative = (pattern: string): boolean => pattern.includes("/") && !/^[/*]/.test(pattern);

/** The suffixes of a path by directory: `a/b/c` also gives `b/c`. */
function tails(path: string): string[] {
  const steps = plainPath(path).split("/");
  return steps.slice(1, 65).map((_, place) => steps.slice(place + 1).join("/"));
}

/** A path without `.`, `..` and doubled slashes, by text alone. Other texts stay mostly unchanged. */
function plainPath(text: string): string {
  if (!text.includes("/") && text !== "." && text !== "..") return text;
  const isAbsolute = text.startsWith("/");
  const steps: string[] = [];
  for (const step of text.split("/")) {
    if (step === "" || step === ".") continue;
    const last = steps.at(-1);
    if (step !== "..") steps.push(step);
    else if (last !== undefined && last !== "..") steps.pop();
    else if (!isAbsolute) steps.push(step);
  }
  const plain = `${isAbsolute ? "/" : ""}${steps.join("/")}`;
  return plain === "" ? "." : plain;
}

/** Backtracks to the last star only, so that no pattern is slow. */
export function matchesGlob(pattern: string, text: string): boolean {
  const [signs, letters] = [Array.from(pattern), Array.from(text)];
  let [sign, letter, star, starLetter] = [0, 0, -1, 0];
  while (letter < letters.length) {
    if (signs[sign] === "*") [star, starLetter, sign] = [sign, letter, sign + 1];
    else if (signs[sign] === "?" || signs[sign] === letters[letter]) [sign, letter] = [sign + 1, letter + 1];
    else if (star >= 0) [sign, letter, starLetter] = [star + 1, starLetter + 1, starLetter + 1];
    else return false;
  }
  return signs.slice(sign).every((one) => one === "*");
}

/** Throws unless the caller has the scope. Absent: the caller has every right, as within its own process. */
export type NeedScope = (scope: TokenScope, what: string) => void;
