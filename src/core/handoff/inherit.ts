/**
 * The inheritance of a session: the items of the sessions whose work it continues, minus those it settled
 * itself. If such a session is deleted, the lists of the loaded handoff stand in for it.
 */
import { itemKey } from "../item/fold.ts";
import { isBuiltInKind, isSettled } from "../item/kind.ts";
import type { ItemRef, State } from "../state.ts";
import { valuesMax, type InheritedItem } from "./source.ts";
import { inLine } from "./text.ts";

type Kind = InheritedItem["kind"];

/** The headings of the inherited lists of built-in kinds, in order of importance. */
const headings: Readonly<Record<string, Kind>> = {
  Decisions: "decision",
  "Open tasks": "task",
  Constraints: "constraint",
  Preferences: "preference",
  Hypotheses: "hypothesis",
  Findings: "finding",
  Facts: "fact",
  Artifacts: "artifact",
};
const ownHeading = "Items of kind ";

/** The lists by their headings: those of the built-in kinds, then those of the agent's own. */
export function listedKinds(kinds: Iterable<Kind>): readonly (readonly [string, Kind])[] {
  const own = [...new Set(kinds)].filter((kind) => !isBuiltInKind(kind)).toSorted();
  return [...Object.entries(headings), ...own.map((kind) => [`${ownHeading}${kind}`, kind] as const)];
}

const kindUnder = (heading: string): Kind | undefined =>
  heading.startsWith(ownHeading) ? heading.slice(ownHeading.length) : headings[heading];

/** What a session leaves open for the next, in order of recording; the newest of each kind. */
export function leftOpen({ mind }: State): ItemRef[] {
  const held = [...mind.items.values()].toSorted((a, b) => a.seq - b.seq);
  return listedKinds(held.map(({ kind }) => kind)).flatMap(([, kind]) =>
    held.filter((item) => item.kind === kind && !isSettled(kind, item.status)).slice(-valuesMax),
  );
}

/** A key that was recorded again or retracted here does not count as inherited. */
export function unsettled(
  inherited: readonly InheritedItem[],
  { mind }: State,
  retracted: readonly Pick<ItemRef, "kind" | "key">[],
): InheritedItem[] {
  const settled = [...mind.items.values(), ...retracted];
  const keys = new Set(settled.map(({ kind, key }) => itemKey(kind, key)));
  const names = new Set(settled.map(({ kind, key }) => itemKey(kind, inLine(key, 400))));
  return inherited.filter((one) =>
    "key" in one
      ? !keys.has(itemKey(one.kind, one.key))
      : !namesIn(one.line).some((name) => names.has(itemKey(one.kind, name))),
  );
}

/** A line of a list begins with the key, which may contain colons. */
const namesIn = (line: string): string[] => [
  line,
  ...[...line.matchAll(/: /g)].map(({ index }) => line.slice(0, index)),
];

const pointed = /^- \[([0-9a-z]+@\d+)\] (.+)$/u;
const secondHand = /^from ([0-9a-z]+@\d+), which is not here: (.+)$/u;

/** The text of an item that only the handoff still has. */
export const secondHandText = (origin: string, line: string): string =>
  `from ${origin}, which is not here: ${line}`;

/**
 * The lists of a handoff as items; `where` is the position at which it was loaded, and where they can be
 * read.
 */
export function readLists(
  text: string,
  where: { readonly session: string; readonly seq: number },
): InheritedItem[] {
  const found: InheritedItem[] = [];
  let kind: Kind | undefined;
  for (const line of text.split("\n")) {
    if (line.startsWith("#")) kind = kindUnder(line.replace(/^## /, ""));
    const [, pointer, said = ""] = pointed.exec(line) ?? [];
    if (kind === undefined || pointer === undefined) continue;
    const [, origin = pointer, original = said] = secondHand.exec(said) ?? [];
    found.push({ kind, ...where, origin, line: original });
  }
  return found;
}
