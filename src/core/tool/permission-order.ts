/**
 * Compares two rule sets: whether one allows at most what the other allows, for any rules of the agent.
 *
 * Conservative: rules are compared by tool, pattern and effect, never by name, and an uncertain comparison
 * answers no. So the guard may require a scope unnecessarily, but never lets a wider rule through.
 */
import type { Permission } from "./commands.ts";
import { limit } from "../limit.ts";
import { levelOf, matchesGlob } from "./permission.ts";

/**
 * - Each deny of `before` is covered by a deny of `after`.
 * - Each ask of `before` is covered by a deny, or by an ask that no allow overrides instead.
 * - Each allow of `after` is covered by an allow of `before` at the same level: an allow with a pattern
 *   overrides an ask without one, so a wider allow at a lower level does not cover it.
 * Added denies and asks, and removed allows, only narrow down.
 */
export function isAtMostAsPermissive(after: readonly Permission[], before: readonly Permission[]): boolean {
  const of = (rules: readonly Permission[], rule: Permission["rule"]) =>
    rules.filter((one) => one.rule === rule);
  // An ask for every call comes before the agent's rules, and yields only to an allow with a pattern.
  const isFirst = !of(after, "allow").some((one) => levelOf(one) === "pattern");
  const isAsked = (one: Permission, other: Permission): boolean =>
    covers(one, other) && (isAskedAsSoon(one, other) || (isFirst && levelOf(one) === "tool"));
  const isKept = (one: Permission): boolean =>
    of(after, "deny").some((other) => covers(other, one)) ||
    (one.rule === "ask" && of(after, "ask").some((other) => isAsked(other, one)));
  const wasAllowed = (one: Permission): boolean =>
    of(before, "allow").some((other) => levelOf(other) === levelOf(one) && covers(other, one));
  return (
    of(before, "deny").every(isKept) &&
    of(before, "ask").every(isKept) &&
    of(after, "allow").every(wasAllowed)
  );
}

/** A rule of a session. */
export type NamedRule = Permission & { readonly name: string };

/**
 * The rules that a fork needs so that it allows at most what its parent allows now: the parent's current
 * denies and asks are added, and allows that the parent no longer has are changed or removed. Denies and asks
 * of the fork point stay, even if the parent has lifted them since.
 */
export function rulesForFork(point: readonly NamedRule[], now: readonly NamedRule[]): NamedRule[] {
  const isStill = (one: Permission): boolean => now.some((other) => isSameRule(one, other));
  const kept = new Map(
    point.filter((one) => one.rule !== "allow" || isStill(one)).map((one) => [one.name, one]),
  );
  const changes = point
    .filter(({ name }) => !kept.has(name))
    .map(({ name, tool }): NamedRule => {
      // An allow that was changed under its name, usually to a narrower one.
      const changed = now.find((one) => one.name === name && one.rule === "allow");
      if (changed !== undefined) kept.set(name, changed);
      return changed ?? { name, tool, rule: "none" };
    });
  for (const one of now) {
    if (one.rule === "allow" || [...kept.values()].some((other) => isSameRule(one, other))) continue;
    const before = kept.get(one.name);
    const name =
      before === undefined || isAtMostAsPermissive([one], [before]) ? one.name : freeName(one.name, kept);
    kept.set(name, { ...one, name });
    changes.push({ ...one, name });
  }
  return changes;
}

const isSameRule = (one: Permission, other: Permission): boolean =>
  one.rule === other.rule &&
  one.tool === other.tool &&
  one.effect === other.effect &&
  (one.pattern === other.pattern || sameJson(one.pattern, other.pattern));

/** The name with a number that no other rule has. Names are cut to stay within limits. */
function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  for (let number = 2; ; number++) {
    const next = `${name.slice(0, limit.keyCharsMax - 8)}-${number}`;
    if (!taken.has(next)) return next;
  }
}

const levels = ["pattern", "tool", "default"] as const;

const isAskedAsSoon = (one: Permission, other: Permission): boolean =>
  levels.indexOf(levelOf(one)) <= levels.indexOf(levelOf(other));

/** Whether `wide` certainly applies to every call that `narrow` applies to. */
function covers(wide: Permission, narrow: Permission): boolean {
  if (!coversName(wide.tool, narrow.tool)) return false;
  if (wide.effect !== undefined && wide.effect !== narrow.effect) return false;
  return wide.pattern === undefined || sameJson(wide.pattern, narrow.pattern);
}

/**
 * A `*` of the wide name may stand for anything, including wildcards; a `?` stands for one letter only, so it
 * covers only an equal name or one without wildcards.
 */
function coversName(wide: string, narrow: string): boolean {
  if (wide === narrow) return true;
  if (wide.includes("?") && /[*?]/.test(narrow)) return false;
  return matchesGlob(wide, narrow);
}

/** The same JSON, in any order of fields. Undefined equals only itself. */
const sameJson = (one: unknown, other: unknown): boolean =>
  one !== undefined && other !== undefined && canonicalJson(one) === canonicalJson(other);

/** JSON with the fields of objects sorted by name. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}
