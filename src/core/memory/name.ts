/** What names a memory entry, and what is known of it without its value. */
import { kindPattern, type ItemKind } from "../item/kind.ts";

/**
 * `agent`: for all sessions of an agent, its owner. `user`: for all sessions that a principal opens, its
 * owner. `workspace`: for all.
 */
export const memoryScopes = ["agent", "user", "workspace"] as const;
/** The readers of a memory entry: one agent, one user, or the workspace. */
export type MemoryScope = (typeof memoryScopes)[number];
/** The writer of a memory entry. */
export type MemoryBy = "rule" | "tool" | "person";

/** The scope, owner, kind and key that name a memory entry. */
export interface MemoryName {
  readonly scope: MemoryScope;
  /** Null in the workspace scope. */
  readonly owner: string | null;
  readonly kind: ItemKind;
  readonly key: string;
}

/** The position of an entry in the workspace's log, and its source. */
export interface MemoryRef extends MemoryName {
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  /** Null if it came from no session. */
  readonly origin: { readonly session: string; readonly seq: number } | null;
  readonly by: MemoryBy | null;
  /** Of a decision or a hypothesis: `rejected` is an idea that was turned down. */
  readonly status?: string;
  /** The person who approved it, if it waited for that. */
  readonly approvedBy?: string;
}

/** The name as records store it. */
export const nameFields = ({ scope, owner, kind, key }: MemoryName): Record<string, string> =>
  owner === null ? { scope, kind, key } : { scope, owner, kind, key };

export const memoryId = ({ scope, owner, kind, key }: MemoryName): string =>
  `${scope}\n${owner ?? ""}\n${kind}\n${key}`;

/** A record of the workspace's log, without its content. */
export interface MemoryRecord {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly actor: string;
  readonly body: unknown;
}

/** Ignores scopes and kinds that only a newer program knows. */
export function nameIn(body: unknown): MemoryName | null {
  const { scope, owner, kind, key } = body as Readonly<Record<string, unknown>>;
  if (!memoryScopes.some((one) => one === scope)) return null;
  if (typeof kind !== "string" || !kindPattern.test(kind)) return null;
  if (typeof key !== "string") return null;
  const whose = typeof owner === "string" ? owner : null;
  return { scope: scope as MemoryScope, owner: whose, kind, key };
}

/** An entry to put into memory. */
export interface Promotion extends MemoryName {
  readonly value: unknown;
  readonly because?: string | undefined;
  readonly origin?: { readonly session: string; readonly seq: number } | undefined;
  readonly by: MemoryBy;
  readonly actor?: string | undefined;
  readonly status?: string | null | undefined;
  /** True when a person approved it. */
  readonly approved?: true | undefined;
  /** Why it was approved. */
  readonly reason?: string | undefined;
}
