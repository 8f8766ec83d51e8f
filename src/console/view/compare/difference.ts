/** Two branches compared with their common base: each side's change of every item. Pure. */
import type { RemoteSession } from "../../../client/connect.ts";
import { count } from "../../ui/amount.ts";

export type Diff = Awaited<ReturnType<RemoteSession["diff"]>>;
export type DiffItem = NonNullable<NonNullable<Diff["items"]>[number]["from"]>;
export type PlacedText = NonNullable<Diff["transcript"]>["added"][number];
export type FieldChange = NonNullable<Diff["state"]>[number];
export type FileDiff = NonNullable<Diff["files"]>["files"][number];

/** One side's change of an item since the base; null: unchanged, or never there. */
export type StepView = "added" | "changed" | "retracted" | null;

export interface Comparison {
  readonly kind: string;
  readonly key: string;
  readonly base: DiffItem | null;
  readonly left: DiffItem | null;
  readonly right: DiffItem | null;
  readonly leftChange: StepView;
  readonly rightChange: StepView;
}

/** The items that differ. A change that both made is not a difference. */
export function compareItems(
  changes: NonNullable<Diff["items"]>,
  base: readonly DiffItem[],
): readonly Comparison[] {
  const before = new Map(base.map((item) => [nameOf(item), item]));
  return changes.map(({ kind, key, from, to }) => {
    const was = before.get(nameOf({ kind, key })) ?? null;
    return {
      kind,
      key,
      base: was,
      left: from,
      right: to,
      leftChange: changeOf(was, from),
      rightChange: changeOf(was, to),
    };
  });
}

const nameOf = ({ kind, key }: { readonly kind: string; readonly key: string }): string => `${kind}/${key}`;

function changeOf(was: DiffItem | null, is: DiffItem | null): StepView {
  if (was === null) return is === null ? null : "added";
  if (is === null) return "retracted";
  return partsOf(was) === partsOf(is) ? null : "changed";
}

const partsOf = ({ value, because, status, erased }: DiffItem): string =>
  JSON.stringify([sorted(value), because, status, erased]);

/** The order of an object's fields does not matter. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([name, field]) => [name, sorted(field)]);
}

const fieldNames: Readonly<Record<string, string>> = {
  why: "status reason",
  compactions: "compactions",
  openCalls: "open calls",
  inbox: "queued inputs",
  turn: "turn",
  holder: "run by",
  erased: "erased records",
  limits: "limit",
  used: "used",
  nanoUsd: "nano-dollars",
  toolCalls: "tool calls",
  wallMs: "working time (ms)",
};

/** The path of a field as text: `budget.used.toolCalls` is "budget, used, tool calls". */
export const fieldWords = (field: string): string =>
  field
    .split(".")
    .map((part) => (Object.hasOwn(fieldNames, part) ? fieldNames[part] : part))
    .join(", ");

/** A field's value in a line or a few; null if absent. */
export const fieldText = (value: unknown): string | null =>
  value === undefined || value === null || value === ""
    ? null
    : typeof value === "string"
      ? value
      : typeof value === "number"
        ? count(value)
        : JSON.stringify(value);
