/**
 * Permissions: what becomes of a tool call by the rules of the agent and of the session.
 *
 * A deny that matches wins, whoever set it. Else the rules of the session count before those of the agent,
 * those with a pattern before those without (so that a tool may be asked about but for some calls), and of
 * what is left ask before allow. Rules for an effect are defaults: one that asks or allows applies only where
 * no other rule of session or agent does. Without a rule the call is allowed.
 *
 * A rule names tools by a text with `*`, and may have a pattern for the arguments:
 * - An object matches an object that has all its fields, each matching; fields it does not name are free.
 * - A text is a glob for texts: `*` is any run of characters, `?` one character.
 * - A list is a choice: one of its entries must match.
 * - Anything else must be the same JSON.
 * - Where the argument is a list, or an object and the pattern is none, the pattern is held against what is
 *   in it: to deny or ask it is enough that one thing in it matches, to allow everything must.
 *
 * What cannot be told for sure is decided for the stricter side. Texts are also looked at as paths, `.`, `..`
 * and doubled slashes resolved: a deny on `/etc/*` holds for `/tmp/../etc/passwd`, and an allow on `/tmp/*`
 * does not. For rules that forbid or ask, a relative path holds at any depth: a deny on `archive/*` also
 * holds for `notes/archive/old`, since the same file has another path once more is bound. A glob is no
 * parser of command lines: an allow on `git *` holds for `git log; rm -r .` too.
 */
import type { Permission } from "./commands.ts";
import { limit } from "../limit.ts";
import type { TokenScope } from "../workspace/access-token.ts";

export type Rule = "allow" | "ask" | "deny";

export interface Ruling {
  readonly rule: Rule;
  /** The name of the rule that decided; null if none matched. */
  readonly by: string | null;
  readonly reason: string | null;
}

export interface RuledCall {
  readonly tool: string;
  /** Of the tool as it is now; absent: unknown, and taken for `unsafe`. */
  readonly effect?: "read" | "idempotent" | "unsafe" | "session";
  /** The tool runs in a sandbox: the default for unsafe tools does not ask. */
  readonly contained?: boolean;
  readonly input: unknown;
  /** The arguments as the tool understands them, if that is known: links resolved, defaults filled in. */
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

/** The default for unsafe tools, as a rule of a session: the one that chat, open and console set. */
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

/** Which rules are asked first: those with a pattern, then those for a tool, last those for an effect. */
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

/** How a pattern is held against something: `strict` for rules that forbid, where one match is enough. */
interface Way {
  readonly strict: boolean;
  readonly depth: number;
}

function matches(pattern: unknown, value: unknown, way: Way): boolean {
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

/** Nothing in it: nothing that could be forbidden, and nothing that was allowed. */
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

/** What a path says from each of its directories on: `a/b/c` also says `b/c`. */
function tails(path: string): string[] {
  const steps = plainPath(path).split("/");
  return steps.slice(1, 65).map((_, place) => steps.slice(place + 1).join("/"));
}

/** A path without `.`, `..` and doubled slashes, by its letters alone. Other texts pass mostly unharmed. */
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

/** Goes back to the last star only, so that no pattern takes long. */
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

/** Throws unless the caller has the scope. Absent: the caller has every right, as in a process of its own. */
export type NeedScope = (scope: TokenScope, what: string) => void;
