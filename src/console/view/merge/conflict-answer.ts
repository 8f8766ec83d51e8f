/**
 * The user's resolutions of merge conflicts in progress. A resolution belongs to the conflict as shown: if a
 * side has changed since, it is kept and must be confirmed.
 */
import { statusesOf, type ItemStatus } from "../../../core/item/kind.ts";
import type { RemoteSession } from "../../../client/connect.ts";

export type MergePlan = Awaited<ReturnType<RemoteSession["merge"]>>;
export type Conflict = MergePlan["conflicts"][number];
export type ConflictSide = Conflict["ours"];
type Resolve = NonNullable<Parameters<RemoteSession["merge"]>[0]["resolve"]>;
export type MergeAnswer = Exclude<Resolve, (...given: never) => unknown>[string];

export type Take = "ours" | "theirs" | "both" | "value";

export interface ConflictChoice {
  readonly take: Take;
  /** The custom value, as typed. */
  readonly text: string;
  readonly isJson: boolean;
  readonly because: string;
  readonly status: ItemStatus | null;
  /** The conflict it was given to. */
  readonly to: string;
}

/** By `kind/key`. */
export type Answers = Readonly<Record<string, ConflictChoice>>;

/** A digest of the sides: it changes with them. */
const markOf = ({ ours, theirs }: Conflict): string =>
  JSON.stringify([ours.seq, ours.gone, theirs.seq, theirs.gone]);

/** `open`: unresolved. `moved`: resolved, and changed since. `wrong`: the value is not valid JSON. */
export type AnswerStatus = "open" | "moved" | "wrong" | "answered";

export function standingOf(conflict: Conflict, answer: ConflictChoice | undefined): AnswerStatus {
  if (answer === undefined) return "open";
  if (answer.to !== markOf(conflict)) return "moved";
  return answer.take === "value" && typed(answer) === null ? "wrong" : "answered";
}

export const ownAnswer = (answers: Answers, name: string): ConflictChoice | undefined =>
  Object.hasOwn(answers, name) ? answers[name] : undefined;

/** The typed value; null if it is invalid. */
function typed({ text, isJson }: ConflictChoice): { readonly value: unknown } | null {
  if (!isJson) return { value: text };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}

/** A first resolution, starting from our value, or theirs if ours is gone. */
export function firstAnswer(
  conflict: Conflict,
  take: Take,
  before: ConflictChoice | undefined,
): ConflictChoice {
  const to = markOf(conflict);
  if (before !== undefined) return { ...before, take, to };
  const side = conflict.ours.gone === null ? conflict.ours : conflict.theirs;
  const isJson = typeof side.value !== "string";
  const text = typeof side.value === "string" ? side.value : JSON.stringify(side.value, null, 2);
  return { take, text, isJson, because: "", status: side.status, to };
}

/** Keeping both requires both. */
export const takesOf = ({ ours, theirs }: Conflict): readonly Take[] =>
  ours.gone === null && theirs.gone === null
    ? ["ours", "theirs", "value", "both"]
    : ["ours", "theirs", "value"];

/** As the engine expects it; undefined while unresolved. */
export function mergeAnswer(conflict: Conflict, answers: Answers): MergeAnswer | undefined {
  const answer = ownAnswer(answers, conflict.name);
  if (answer === undefined || standingOf(conflict, answer) !== "answered") return undefined;
  const { take, because, status } = answer;
  const reason = because.trim() === "" ? {} : { because: because.trim() };
  if (take !== "value") return { take, ...reason };
  const value = typed(answer)?.value;
  return {
    take,
    value,
    ...reason,
    ...(status === null || statusesOf(conflict.kind).length === 0 ? {} : { status }),
  };
}

/** The next unresolved one, from this one on, wrapping around; null if there is none. */
export function nextOpen(
  conflicts: readonly Conflict[],
  answers: Answers,
  from: string | null,
): string | null {
  const start = conflicts.findIndex(({ name }) => name === from) + 1;
  const round = [...conflicts.slice(start), ...conflicts.slice(0, start)];
  return round.find((one) => isOpen(one, answers))?.name ?? null;
}

/** The number of unresolved ones. */
export const countOpen = (conflicts: readonly Conflict[], answers: Answers): number =>
  conflicts.filter((one) => isOpen(one, answers)).length;

const isOpen = (conflict: Conflict, answers: Answers): boolean =>
  standingOf(conflict, ownAnswer(answers, conflict.name)) !== "answered";
