/** The answers to a conflict, and their results. */
import { checkOptions, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { MergeResolution } from "../../core/branch/merge.ts";
import type { MergeConflict } from "./merge.ts";

type Take = "ours" | "theirs" | "both";

/** The resolution of one conflict of a merge: a side, both, or a value. */
export type MergeAnswer =
  | Take
  | { readonly take: Take; readonly because?: string }
  /** A new value. The reason is kept with it. */
  | {
      readonly take?: "value";
      readonly value: unknown;
      readonly because?: string;
      /** For a task; defaults to their status. */
      readonly status?: "open" | "done" | "dropped";
    };

const hint = '"ours", "theirs", "both" or { value }; with a reason { take: "ours", because: "…" }';

export function parseResolution(conflict: MergeConflict, answer: unknown): MergeResolution {
  const where = `merge: ${conflict.name}`;
  const given = typeof answer === "string" ? { take: answer } : answer;
  if (typeof given !== "object" || given === null)
    throw new SkeinError("invalid", `${where}: ${quote(answer)} resolves nothing`, { hint });
  checkOptions(where, given, ["take", "value", "because", "status"]);
  const { because } = given as { readonly because?: unknown };
  if (because !== undefined && (typeof because !== "string" || because.length > limit.reasonCharsMax)) {
    throw new SkeinError("invalid", `${where}: its reason is no text, or too long`, {
      hint: `at most ${limit.reasonCharsMax} characters`,
    });
  }
  const reason = because === undefined ? {} : { because };
  const take = "take" in given ? given.take : "value";
  if (take === "value") return { ...valueOf(conflict, given), ...reason };
  if (take !== "ours" && take !== "theirs" && take !== "both")
    throw new SkeinError("invalid", `${where}: there is no ${quote(take)} to take`, { hint });
  if ("value" in given) {
    throw new SkeinError("invalid", `${where}: ${quote(take)} and a value are two answers`, {
      hint: "leave one of them out",
    });
  }
  const { ours, theirs } = conflict;
  if (take === "both" && (ours.gone !== null || theirs.gone !== null)) {
    throw new SkeinError("invalid", `${where}: it is ${ours.gone ?? theirs.gone} on one side`, {
      hint: 'there is only one to keep: "ours" or "theirs"',
    });
  }
  return { take, ...reason };
}

function valueOf({ name, kind }: MergeConflict, given: object): MergeResolution & { readonly take: "value" } {
  const { value, status } = given as { readonly value?: unknown; readonly status?: unknown };
  if (value === undefined) throw new SkeinError("invalid", `merge: ${name}: the value is missing`, { hint });
  if (status === undefined) return { take: "value", value };
  if (kind !== "task")
    throw new SkeinError("invalid", `merge: ${name}: a ${kind} has no status; only a task has`);
  if (status !== "open" && status !== "done" && status !== "dropped") {
    throw new SkeinError("invalid", `merge: ${name}: there is no status ${quote(status)}`, {
      hint: '"open", "done" or "dropped"',
    });
  }
  return { take: "value", value, status };
}
