/** The kinds of items, their statuses, and their order of importance. Loads without the catalog. */

/** The kinds that records of version 1 have. */
export const firstKinds = ["fact", "decision", "task", "artifact"] as const;

export const itemKinds = [...firstKinds, "constraint", "preference", "hypothesis", "finding"] as const;

/** The kinds that every session has. */
export type BuiltInKind = (typeof itemKinds)[number];

/** A kind of items: one that every session has, or one that the session's agent declares. */
export type ItemKind = string;

export const kindPattern = /^[a-z][a-z0-9-]{0,31}$/;

export const isBuiltInKind = (kind: unknown): kind is BuiltInKind =>
  (itemKinds as readonly unknown[]).includes(kind);

export const itemStatuses = ["open", "done", "dropped", "supported", "rejected"] as const;

/**
 * Of a task: open, done, dropped. Of a hypothesis: open, supported, rejected. A rejected decision is an idea
 * that was considered and turned down.
 */
export type ItemStatus = (typeof itemStatuses)[number];

/** The statuses of a kind, the default first; a decision has none by default. */
const statusesByKind: Readonly<Record<string, readonly ItemStatus[]>> = {
  task: ["open", "done", "dropped"],
  hypothesis: ["open", "supported", "rejected"],
  decision: ["rejected"],
};

export const statusesOf = (kind: string): readonly ItemStatus[] =>
  Object.hasOwn(statusesByKind, kind) ? (statusesByKind[kind] ?? []) : [];

export const defaultStatus = (kind: string): ItemStatus | null =>
  kind === "decision" ? null : (statusesOf(kind)[0] ?? null);

/** Kinds that state something uncertain: they may have a confidence and evidence. */
export const isUncertainKind = (kind: string): boolean => kind === "hypothesis" || kind === "finding";

/** Tasks that are finished and hypotheses that are refuted matter less than open ones. */
export const isSettled = (kind: string, status: string | null): boolean =>
  status === "done" || status === "dropped" || (kind === "hypothesis" && status === "rejected");

const importance = [
  "constraint",
  "decision",
  "task",
  "preference",
  "hypothesis",
  "finding",
  "fact",
  "artifact",
] as const;

/** The order of importance: 0 is the most important. Settled items come last, own kinds before them. */
export function kindRank(kind: string, status: string | null = null): number {
  if (isSettled(kind, status)) return importance.length + 1;
  const rank = (importance as readonly string[]).indexOf(kind);
  return rank === -1 ? importance.length : rank;
}

/** Whether a program that knows only version 1 understands the record. */
export function isFirstVersion(body: unknown, content: unknown): boolean {
  const { kind, status, confidence } = body as Readonly<Record<string, unknown>>;
  const { evidence } = (content ?? {}) as { readonly evidence?: unknown };
  if (!(firstKinds as readonly unknown[]).includes(kind)) return false;
  if (confidence !== undefined || evidence !== undefined) return false;
  return status === undefined || (statusesByKind["task"] ?? []).some((one) => one === status);
}
