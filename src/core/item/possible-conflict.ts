/**
 * Items that may contradict each other under different keys: the same subject, in other words, with another
 * value. Found by rules, so some are missed and some are none: they are reported and never resolved.
 */
import { isSettled } from "./kind.ts";

/** An item with its value. */
export interface StatedItem {
  readonly kind: string;
  readonly key: string;
  readonly status: string | null;
  readonly value: unknown;
}

/** Two items that may contradict each other, and what both are about. */
export interface PossibleConflict {
  readonly subject: string;
  readonly items: readonly [ConflictSide, ConflictSide];
}
/** One of the two items. */
export interface ConflictSide {
  readonly kind: string;
  readonly key: string;
  readonly value: string;
}

/** Kinds that state what holds. Tasks and artifacts do not, and hypotheses may differ. */
const stating: readonly string[] = ["fact", "decision", "constraint", "preference", "finding"];

/** A longer value is prose: its words differ whether it contradicts or not. */
const valueCharsMax = 80;
/** What stands before "is" in a longer text is no subject. */
const subjectCharsMax = 40;
/** Found at most: more would not be read. */
const foundMax = 50;

const synonyms = new Map(
  [
    "database db datastore dbms",
    "authentication auth authn login signin",
    "authorization authz",
    "configuration config conf settings",
    "environment env",
    "repository repo",
    "language lang",
    "directory dir folder",
    "package pkg",
    "application app",
    "kubernetes k8s",
    "production prod",
    "development dev",
    "version ver",
    "frontend fe ui",
    "backend be",
    "framework fw",
    "provider vendor",
    "infrastructure infra",
    "deployment deploy hosting",
    "documentation docs doc",
    "message msg",
    "password pw passwd",
    "maximum max",
    "minimum min",
    "number num count",
  ].flatMap((line) => {
    const [word = "", ...others] = line.split(" ");
    return others.map((other) => [other, word] as const);
  }),
);

/** Words that do not name a subject. */
const empty = new Set(
  (
    "the our a an this that its of for to in on use used using uses choice chosen choose decision decided " +
    "main is are was be name kind type selected current default"
  ).split(" "),
);

/** The words of a subject in one form, in one order: `payment-db` and `Database for payments`. */
export function subjectOf(text: string): string {
  const words = text
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "" && !empty.has(word))
    .map((word) => synonyms.get(word) ?? synonyms.get(singular(word)) ?? singular(word));
  return [...new Set(words)].toSorted().join(" ");
}

const singular = (word: string): string => (word.length > 3 ? word.replace(/(?<=[^su])s$/, "") : word);

const valueWords = (text: string): string =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}.]+/u)
    .filter((word) => word !== "" && !empty.has(word))
    .join(" ");

/** What an item states: its key is the subject, or its text names one: "db is sqlite". */
function statementsOf({ key, value }: StatedItem): readonly { subject: string; value: string }[] {
  if (typeof value === "number" || typeof value === "boolean")
    return [{ subject: subjectOf(key), value: String(value) }];
  if (typeof value !== "string" || value.length > valueCharsMax) return [];
  const text = value.trim().replace(/\.$/, "");
  const own = [{ subject: subjectOf(key), value: valueWords(text) }];
  const copula = /\s(?:is|are|will be|must be|should be)\s|[:=]/i.exec(text);
  if (copula === null) return own;
  const subject = text.slice(0, copula.index).trim();
  const said = text.slice(copula.index + copula[0].length).trim();
  if (subject === "" || subject.length > subjectCharsMax || said === "" || /^not\b/i.test(said)) return own;
  return [{ subject: subjectOf(subject), value: valueWords(said) }];
}

/** Pairs of items with one subject under different keys, and with values of which none holds the other. */
export function possibleConflicts(items: readonly StatedItem[]): readonly PossibleConflict[] {
  const bySubject = new Map<string, { readonly item: StatedItem; readonly value: string }[]>();
  const found: PossibleConflict[] = [];
  for (const item of items) {
    if (!stating.includes(item.kind) || item.status === "rejected" || isSettled(item.kind, item.status))
      continue;
    for (const { subject, value } of statementsOf(item)) {
      if (subject === "" || value === "") continue;
      const known = bySubject.get(subject) ?? [];
      if (
        found.length >= foundMax ||
        known.some((other) => other.value === value && other.item.key === item.key)
      )
        continue;
      for (const other of known) {
        if (other.item.key === item.key || isWithin(other.value, value)) continue;
        found.push({ subject, items: [sideOf(other.item), sideOf(item)] });
      }
      bySubject.set(subject, [...known, { item, value }]);
    }
  }
  return found;
}

/** "postgres" is no contradiction to "postgres 16". */
function isWithin(a: string, b: string): boolean {
  const [one, other] = [new Set(a.split(" ")), new Set(b.split(" "))];
  return one.isSubsetOf(other) || other.isSubsetOf(one);
}

const sideOf = ({ kind, key, value }: StatedItem): ConflictSide => ({ kind, key, value: String(value) });
