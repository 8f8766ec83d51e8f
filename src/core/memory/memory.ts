/**
 * Memory: what sessions of one workspace know from earlier ones. It is folded from the workspace's log alone.
 * An entry has a scope, an owner, a kind and a key; promoting it again supersedes it, and forgetting it
 * removes it for all later sessions.
 */
import { present } from "../present.ts";
import type { ItemKind } from "../item/kind.ts";
import type { AgentDefinition } from "../workspace/agent.ts";
import type { DraftEvent } from "../decision.ts";
import { limit } from "../limit.ts";
import { matchesName } from "../workspace/agent.ts";
import { roughTokens } from "../context/token-count.ts";
import {
  memoryId,
  nameFields,
  nameIn,
  type MemoryBy,
  type MemoryName,
  type MemoryRecord,
  type MemoryRef,
  type MemoryScope,
  type Promotion,
} from "./name.ts";
import { Proposals, proposedDraft, rejectedDraft, type Doubt } from "./proposal.ts";

/** The event types that change entries. Memory is folded from these and `proposalTypes`. */
export const memoryTypes = ["memory.promoted", "memory.forgotten", "content.erased"] as const;

/** Types of a consolidation that change no entry. */
export const consolidationTypes = [
  "memory.disputed",
  "memory.consolidated",
  "consolidation.scheduled",
] as const;

/** When workers consolidate, and when it was done last. */
interface ConsolidationTimes {
  /** Null: not by workers. */
  readonly everyMs: number | null;
  readonly lastMs: number;
}

/** The memory at a position of the workspace's log. Each reader has its own instance. */
export class Memory {
  readonly #entries = new Map<string, MemoryRef>();
  /** By source item. */
  readonly #from = new Map<string, Set<string>>();
  readonly #forgotten = new Set<string>();
  /** Of each marked contradiction, its entries and their versions. */
  readonly #disputes = new Map<string, readonly (MemoryName & { readonly seq: number })[]>();
  #times: ConsolidationTimes = { everyMs: null, lastMs: 0 };
  /** What waits for approval. */
  readonly proposals = new Proposals();

  get consolidation(): ConsolidationTimes {
    return this.#times;
  }

  /** Whether a contradiction of these very versions is marked. */
  isDisputed(seqs: readonly number[]): boolean {
    return this.#disputes.has(disputeOf(seqs));
  }

  /** The others that it contradicts, by marks whose entries all hold as they were then. */
  disputes(id: string): readonly MemoryRef[] {
    const found = new Map<string, MemoryRef>();
    for (const entries of this.#disputes.values()) {
      const now = entries.map((one) => this.#entries.get(memoryId(one)));
      const all = now.flatMap((one, place) => (one?.seq === entries[place]?.seq ? (one ?? []) : []));
      if (all.length < entries.length || !all.some((one) => memoryId(one) === id)) continue;
      for (const one of all) if (memoryId(one) !== id) found.set(memoryId(one), one);
    }
    return [...found.values()];
  }

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
    this.#noteConsolidation(record);
    const named = nameIn(record.body);
    if (named === null) return null;
    const id = memoryId(named);
    this.proposals.apply(record);
    const { origin, by, status, approved } = record.body as {
      origin?: MemoryRef["origin"];
      by?: MemoryBy;
      status?: string;
      approved?: boolean;
    };
    if (record.type === "memory.promoted") {
      const { seq, at, actor } = record;
      this.#drop(id);
      this.#forgotten.delete(id);
      const entry = { ...named, seq, at, actor, origin: origin ?? null, by: by ?? null };
      const approvedBy = approved === true ? actor : undefined;
      this.#entries.set(id, { ...entry, ...present({ status, approvedBy }) });
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

  #noteConsolidation({ type, at, body }: MemoryRecord): void {
    const { everyMs = null, entries = [] } = body as {
      readonly everyMs?: number | null;
      readonly entries?: readonly { readonly seq: number }[];
    };
    if (type === "memory.consolidated") this.#times = { ...this.#times, lastMs: at };
    if (type === "consolidation.scheduled") this.#times = { ...this.#times, everyMs };
    if (type !== "memory.disputed") return;
    const named = entries.flatMap((one) => {
      const name = nameIn(one);
      return name === null ? [] : [{ ...name, seq: one.seq }];
    });
    if (named.length === entries.length) this.#disputes.set(disputeOf(named.map(({ seq }) => seq)), named);
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

const disputeOf = (seqs: readonly number[]): string => seqs.toSorted((a, b) => a - b).join();

const itemOf = (session: string, kind: string, key: string): string => `${session}\n${kind}\n${key}`;

/** Longer values could never be carried. */
export const isTooLong = (key: string, value: unknown): boolean => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return (
    text.length > limit.memoryTokensMax * 20 || roughTokens(`${key} ${text}`) > limit.memoryTokensMax - 100
  );
};

export function promotedDraft(promotion: Promotion): DraftEvent {
  const { kind, origin, by, value, because, actor, approved, reason } = promotion;
  // An open task needs no word for it: an entry of a finished one is forgotten.
  const status = kind === "task" ? undefined : (promotion.status ?? undefined);
  const cut = (text: string | undefined): string | undefined => text?.slice(0, limit.reasonCharsMax);
  const why = present({ because: cut(because), reason: cut(reason) });
  return {
    type: "memory.promoted",
    body: { ...nameFields(promotion), ...present({ origin, by, status, approved }) },
    content: { value, ...why },
    ...present({ actor }),
  };
}

export function forgottenDraft(
  name: MemoryName,
  { by, reason, actor }: { readonly by: MemoryBy; readonly reason?: string; readonly actor?: string },
): DraftEvent {
  return {
    type: "memory.forgotten",
    body: { ...nameFields(name), by },
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

export const isRuled = ({ kinds = ruledKinds, keys }: MemoryRule, kind: string, key: string): boolean =>
  kinds.some((one) => one === kind) &&
  (keys === undefined || keys.some((pattern) => matchesName(pattern, key)));

/** The default rules: for an agent that sets none. */
export const defaultPromotion: readonly MemoryRule[] = [
  { kinds: ["decision", "constraint"], scope: "agent" },
  { kinds: ["preference"], scope: "user" },
];

interface Change {
  readonly session: string;
  /** The position of the first draft. */
  readonly firstSeq: number;
  readonly drafts: readonly DraftEvent[];
  readonly rules: readonly MemoryRule[];
  readonly owners: MemoryOwners;
  /** The outside content that this draft may come from; null: it comes from people alone. */
  readonly doubtOf?: (draft: DraftEvent) => Doubt | null;
}

/**
 * The workspace records that go with a session's records and retractions. An entry from this session follows
 * its item: a new value supersedes it, and a retraction or a finished task forgets it. A matching rule
 * promotes an item, unless the entry was forgotten. A doubtful value waits for approval instead; until then
 * the entry keeps the value that it has. Nothing is refused here: an item is recorded even if it is too long
 * for memory, or memory is full.
 */
export function memoryDrafts(memory: Memory, change: Change): DraftEvent[] {
  const out: Out = { drafts: new Map(), size: memory.size, room: memory.proposals.roomFor(change.session) };
  for (const [place, recorded] of change.drafts.entries()) {
    if (recorded.type === "item.recorded") {
      const { status = null } = recorded.body as { status?: string };
      if (isOver(status)) dropEntries(memory, change, out, recorded);
      else follow(memory, change, out, recorded, change.firstSeq + place);
    } else if (recorded.type === "item.retracted") dropEntries(memory, change, out, recorded);
  }
  return [...out.drafts.values()];
}

interface Out {
  /** By entry; proposals and withdrawals by `waitingId`. */
  readonly drafts: Map<string, DraftEvent>;
  size: number;
  room: number;
}

const waitingId = (id: string): string => `${id}\n?`;

interface ItemBody {
  readonly kind: ItemKind;
  readonly key: string;
  readonly status?: string;
}

/** Its item was retracted or finished. */
function dropEntries(memory: Memory, change: Change, { drafts }: Out, recorded: DraftEvent): void {
  const { type, content, actor } = recorded;
  const { kind, key, status } = recorded.body as ItemBody;
  const { because: said } = (content ?? {}) as { because?: string };
  const reason = said ?? (type === "item.retracted" ? undefined : `the task is ${status}`);
  const how = { by: "rule", ...present({ reason, actor }) } as const;
  for (const name of memory.from(change.session, kind, key))
    drafts.set(memoryId(name), forgottenDraft(name, how));
  const waiting = new Set<string>();
  for (const one of memory.proposals.from(change.session, kind, key)) {
    waiting.add(waitingId(memoryId(one)));
    drafts.set(waitingId(memoryId(one)), rejectedDraft(one, how));
  }
  // Promoted or proposed in this same append, by an earlier draft.
  for (const name of ruledNames(change.rules, change.owners, kind, key)) {
    const id = memoryId(name);
    if (!waiting.has(waitingId(id))) drafts.delete(waitingId(id));
    if (drafts.get(id)?.type !== "memory.promoted") continue;
    if (memory.get(id) === undefined) drafts.delete(id);
    else drafts.set(id, forgottenDraft(name, how));
  }
}

/** Its item was recorded: the entries that get its value, now or once a person approves. */
function follow(memory: Memory, change: Change, out: Out, recorded: DraftEvent, seq: number): void {
  const { content, actor } = recorded;
  const { kind, key, status } = recorded.body as ItemBody;
  const { value, because } = content as { value: unknown; because?: string };
  const { session, rules, owners } = change;
  const doubt = change.doubtOf?.(recorded) ?? null;
  const own = memory.from(session, kind, key);
  const waiting = memory.proposals.from(session, kind, key);
  const named = new Map([...own, ...waiting].map((name) => [memoryId(name), name as MemoryName]));
  for (const name of ruledNames(rules, owners, kind, key)) {
    const id = memoryId(name);
    if (memory.isForgotten(id) || named.has(id)) continue;
    const isAbsent = memory.get(id) === undefined && out.drafts.get(id)?.type !== "memory.promoted";
    if (isAbsent && out.size >= limit.memoryMax) continue;
    if (isAbsent) out.size++;
    named.set(id, name);
  }
  const open = ruledNames(
    rules.filter(({ outside }) => outside === "promote"),
    owners,
    kind,
    key,
  ).map(memoryId);
  for (const [id, { scope, owner }] of named) {
    const name = { scope, owner, kind, key };
    const isOwn = (one: MemoryRef): boolean => memoryId(one) === id;
    const before = own.find(isOwn) ?? waiting.find(isOwn);
    const how = followedBy(before?.by, because);
    const promotion = { ...name, value, ...how, origin: { session, seq }, status, actor };
    if (doubt !== null && !open.includes(id)) propose(memory, out, promotion, doubt);
    else if (!isTooLong(key, value)) {
      out.drafts.delete(waitingId(id));
      out.drafts.set(id, promotedDraft(promotion));
    } else if (memory.get(id) !== undefined) {
      const reason = "the new value exceeds the size limit of memory";
      out.drafts.set(id, forgottenDraft(name, { by: "rule", reason, ...present({ actor }) }));
    } else out.drafts.delete(id);
  }
}

/** Nothing where it was rejected before, would never fit, or the queue is full. */
function propose(memory: Memory, out: Out, promotion: Promotion, doubt: Doubt): void {
  const id = memoryId(promotion);
  if (memory.proposals.isRejected(id) || isTooLong(promotion.key, promotion.value)) return;
  const takesRoom =
    memory.proposals.get(promotion, promotion.origin?.session) === undefined &&
    !out.drafts.has(waitingId(id));
  if (takesRoom && out.room <= 0) return;
  if (takesRoom) out.room--;
  // Behind what an earlier draft of this append promoted.
  out.drafts.delete(waitingId(id));
  out.drafts.set(waitingId(id), proposedDraft(promotion, doubt));
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
