/**
 * Memory: what sessions of one workspace know from earlier ones. It is folded from the workspace's log alone.
 * An entry has a scope, an owner, a kind and a key; promoting it again supersedes it, and forgetting it
 * removes it for all later sessions.
 */
import { present } from "../present.ts";
import { kindPattern, type ItemKind } from "../item/kind.ts";
import type { AgentDefinition } from "../workspace/agent.ts";
import type { DraftEvent } from "../decision.ts";
import { limit } from "../limit.ts";
import { matchesName } from "../workspace/agent.ts";
import { roughTokens } from "../context/token-count.ts";

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
}

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

/** The event types that memory is folded from. */
export const memoryTypes = ["memory.promoted", "memory.forgotten", "content.erased"] as const;

/** The memory at a position of the workspace's log. Each reader has its own instance. */
export class Memory {
  readonly #entries = new Map<string, MemoryRef>();
  /** By source item. */
  readonly #from = new Map<string, Set<string>>();
  readonly #forgotten = new Set<string>();

  get size(): number {
    return this.#entries.size;
  }

  get(id: string): MemoryRef | undefined {
    return this.#entries.get(id);
  }

  entries(): IterableIterator<[string, MemoryRef]> {
    return this.#entries.entries();
  }

  /** The entries from this item of the session, in all scopes. */
  from(session: string, kind: string, key: string): MemoryRef[] {
    return [...(this.#from.get(itemOf(session, kind, key)) ?? [])].flatMap(
      (id) => this.#entries.get(id) ?? [],
    );
  }

  /** Whether a person or a model forgot it, so that no rule may bring it back. */
  isForgotten(id: string): boolean {
    return this.#forgotten.has(id);
  }

  /** Applies the next record. Returns the id of the changed entry; null if none changed. */
  apply(record: MemoryRecord): string | null {
    const named = nameIn(record.body);
    if (named === null) return null;
    const id = memoryId(named);
    const { origin, by, status } = record.body as {
      origin?: MemoryRef["origin"];
      by?: MemoryBy;
      status?: string;
    };
    if (record.type === "memory.promoted") {
      const { seq, at, actor } = record;
      this.#drop(id);
      this.#forgotten.delete(id);
      const entry = { ...named, seq, at, actor, origin: origin ?? null, by: by ?? null };
      this.#entries.set(id, { ...entry, ...present({ status }) });
      if (origin !== undefined && origin !== null) {
        const item = itemOf(origin.session, named.kind, named.key);
        this.#from.set(item, (this.#from.get(item) ?? new Set()).add(id));
      }
      return id;
    }
    if (record.type !== "memory.forgotten") return null;
    this.#drop(id);
    if (by !== "rule") this.#forgotten.add(id);
    return id;
  }

  #drop(id: string): void {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    if (entry === undefined || entry.origin === null) return;
    const item = itemOf(entry.origin.session, entry.kind, entry.key);
    const ids = this.#from.get(item);
    ids?.delete(id);
    if (ids?.size === 0) this.#from.delete(item);
  }
}

const itemOf = (session: string, kind: string, key: string): string => `${session}\n${kind}\n${key}`;

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
}

/** Longer values could never be carried. */
export const isTooLong = (key: string, value: unknown): boolean => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return (
    text.length > limit.memoryTokensMax * 20 || roughTokens(`${key} ${text}`) > limit.memoryTokensMax - 100
  );
};

export function promotedDraft({ scope, owner, kind, key, origin, by, ...rest }: Promotion): DraftEvent {
  const { value, because, actor } = rest;
  // An open task needs no word for it: an entry of a finished one is forgotten.
  const status = kind === "task" ? undefined : (rest.status ?? undefined);
  const whose = owner === null ? {} : { owner };
  const from = present({ origin });
  const why = because === undefined ? {} : { because: because.slice(0, limit.reasonCharsMax) };
  return {
    type: "memory.promoted",
    body: { scope, ...whose, kind, key, ...from, by, ...present({ status }) },
    content: { value, ...why },
    ...present({ actor }),
  };
}

export function forgottenDraft(
  { scope, owner, kind, key }: MemoryName,
  { by, reason, actor }: { readonly by: MemoryBy; readonly reason?: string; readonly actor?: string },
): DraftEvent {
  const whose = owner === null ? {} : { owner };
  return {
    type: "memory.forgotten",
    body: { scope, ...whose, kind, key, by },
    ...(reason === undefined ? {} : { content: { reason: reason.slice(0, limit.reasonCharsMax) } }),
    ...present({ actor }),
  };
}

/** The owners of a session's memory: the agent and user it works for. */
export interface MemoryOwners {
  readonly agent: string | null;
  readonly user: string | null;
}

export const ownerIn = (scope: MemoryScope, { agent, user }: MemoryOwners): string | null =>
  scope === "agent" ? agent : scope === "user" ? user : null;

export type MemoryRule = NonNullable<NonNullable<AgentDefinition["memory"]>["promote"]>[number];

/** The default kinds of a rule. */
const ruledKinds: readonly ItemKind[] = ["fact", "decision"];

const isRuled = ({ kinds = ruledKinds, keys }: MemoryRule, kind: string, key: string): boolean =>
  kinds.some((one) => one === kind) &&
  (keys === undefined || keys.some((pattern) => matchesName(pattern, key)));

/** What an agent without rules of its own promotes. */
export const defaultPromotion: readonly MemoryRule[] = [
  { kinds: ["decision", "constraint"], scope: "agent" },
  { kinds: ["preference"], scope: "user" },
];

export const isPromotedByDefault = (kind: string, key: string): boolean =>
  defaultPromotion.some((rule) => isRuled(rule, kind, key));

interface Change {
  readonly session: string;
  /** The position of the first draft. */
  readonly firstSeq: number;
  readonly drafts: readonly DraftEvent[];
  readonly rules: readonly MemoryRule[];
  readonly owners: MemoryOwners;
  /** Whether rules may promote what this draft records. */
  readonly mayPromote?: (draft: DraftEvent) => boolean;
}

/**
 * The workspace records that go with a session's records and retractions. An entry from this session follows
 * its item: a new value supersedes it, and a retraction or a finished task forgets it. A matching rule
 * promotes an item, unless the entry was forgotten. Nothing is refused here: an item is recorded even if it
 * is too long for memory, or memory is full.
 */
export function memoryDrafts(
  memory: Memory,
  { session, firstSeq, drafts, rules: all, owners, mayPromote = () => true }: Change,
): DraftEvent[] {
  const out = new Map<string, DraftEvent>();
  let size = memory.size;
  for (const [place, recorded] of drafts.entries()) {
    const { type, body, content, actor } = recorded;
    const isTrusted = mayPromote(recorded);
    const rules = isTrusted || type === "item.retracted" ? all : [];
    if (type !== "item.recorded" && type !== "item.retracted") continue;
    const { kind, key, status = null } = body as { kind: ItemKind; key: string; status?: string };
    const who = present({ actor });
    const own = memory.from(session, kind, key);
    if (type === "item.retracted" || isOver(status)) {
      const { because: said } = (content ?? {}) as { because?: string };
      const reason = said ?? (type === "item.retracted" ? undefined : `the task is ${status}`);
      const why = present({ reason });
      for (const name of own) out.set(memoryId(name), forgottenDraft(name, { by: "rule", ...why, ...who }));
      for (const name of ruledNames(rules, owners, kind, key)) {
        // Promoted in this same append, by an earlier draft.
        const id = memoryId(name);
        if (out.get(id)?.type !== "memory.promoted") continue;
        if (memory.get(id) === undefined) out.delete(id);
        else out.set(id, forgottenDraft(name, { by: "rule", ...why, ...who }));
      }
      continue;
    }
    const { value, because } = content as { value: unknown; because?: string };
    const origin = { session, seq: firstSeq + place };
    const named = new Map(own.map((name) => [memoryId(name), name as MemoryName]));
    for (const name of ruledNames(rules, owners, kind, key)) {
      const id = memoryId(name);
      if (memory.isForgotten(id) || named.has(id)) continue;
      const isAbsent = memory.get(id) === undefined && out.get(id)?.type !== "memory.promoted";
      if (isAbsent && size >= limit.memoryMax) continue;
      if (isAbsent) size++;
      named.set(id, name);
    }
    for (const [id, { scope, owner }] of named) {
      const name = { scope, owner, kind, key };
      if (!isTrusted && memory.get(id)?.by === "rule") {
        const reason = "its new value comes from a turn that took in outside content";
        out.set(id, forgottenDraft(name, { by: "rule", reason, ...who }));
      } else if (!isTooLong(key, value)) {
        const how = followedBy(own.find((one) => memoryId(one) === id)?.by, because);
        out.set(id, promotedDraft({ ...name, value, ...how, origin, status, ...who }));
      } else if (memory.get(id) !== undefined) {
        const reason = "the new value exceeds the size limit of memory";
        out.set(id, forgottenDraft(name, { by: "rule", reason, ...who }));
      } else out.delete(id);
    }
  }
  return [...out.values()];
}

/** Whether a task of this status is finished. */
export const isOver = (status: string | null): boolean => status === "done" || status === "dropped";

/** An entry that a person or a tool promoted keeps that author when it follows its session. */
export const followedBy = (
  by: MemoryBy | null | undefined,
  because: string | undefined,
): Pick<Promotion, "by" | "because"> =>
  by === "person" || by === "tool"
    ? { by, because: because ?? "it followed its session" }
    : { by: "rule", because };

function ruledNames(
  rules: readonly MemoryRule[],
  owners: MemoryOwners,
  kind: ItemKind,
  key: string,
): MemoryName[] {
  const scopes = new Set(rules.filter((rule) => isRuled(rule, kind, key)).map(({ scope }) => scope));
  return [...scopes].flatMap((scope): MemoryName[] => {
    const owner = ownerIn(scope, owners);
    return owner === null && scope !== "workspace" ? [] : [{ scope, owner, kind, key }];
  });
}
