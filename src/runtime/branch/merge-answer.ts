/** The answers to a conflict, and their results. */
import { checkOptions, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { statusesOf, type ItemStatus } from "../../core/item/kind.ts";
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
      /** Defaults to their status. */
      readonly status?: ItemStatus;
    };

const hint = '"ours", "theirs", "both" or { value }; with a reason { take: "ours", because: "…" }';

export function parseResolution(conflict: MergeConflict, answer: unknown): MergeResolution {
  const where = `merge: ${conflict.name}`;
  const given = typeof answer === "string" ? { take: answer } : answer;
  if (typeof given !== "object" || given === null)
    throw new SkeinError("invalid", `${where}: expected a resolution, got ${quote(answer)}`, { hint });
  checkOptions(where, given, ["take", "value", "because", "status"]);
  const { because } = given as { readonly because?: unknown };
  if (because !== undefined && (typeof because !== "string" || because.length > limit.reasonCharsMax)) {
    throw new SkeinError("invalid", `${where}: because: expected a short text`, {
      hint: `at most ${limit.reasonCharsMax} characters`,
    });
  }
  const reason = because === undefined ? {} : { because };
  const take = "take" in given ? given.take : "value";
  if (take === "value") return { ...valueOf(conflict, given), ...reason };
  if (take !== "ours" && take !== "theirs" && take !== "both")
    throw new SkeinError("invalid", `${where}: take: unknown side ${quote(take)}`, { hint });
  if ("value" in given) {
    throw new SkeinError("invalid", `${where}: specify take or value, not both`, {
      hint: "remove one of them",
    });
  }
  const { ours, theirs } = conflict;
  if (take === "both" && (ours.gone !== null || theirs.gone !== null)) {
    throw new SkeinError(
      "invalid",
      `${where}: take: "both" is impossible, the item is ${ours.gone ?? theirs.gone} on one side`,
      {
        hint: 'use "ours" or "theirs"',
      },
    );
  }
  return { take, ...reason };
}

function valueOf({ name, kind }: MergeConflict, given: object): MergeResolution & { readonly take: "value" } {
  const { value, status } = given as { readonly value?: unknown; readonly status?: unknown };
  if (value === undefined) throw new SkeinError("invalid", `merge: ${name}: value: missing`, { hint });
  if (status === undefined) return { take: "value", value };
  const known = statusesOf(kind).find((one) => one === status);
  if (known !== undefined) return { take: "value", value, status: known };
  const statuses = statusesOf(kind);
  throw new SkeinError(
    "invalid",
    `merge: ${name}: status: ${statuses.length === 0 ? `not allowed for a ${kind}` : `got ${quote(status)}`}`,
    { hint: statuses.length === 0 ? "omit it" : `one of ${statuses.join(", ")}` },
  );
}
