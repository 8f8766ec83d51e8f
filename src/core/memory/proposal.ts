/**
 * Proposals: entries that wait for a person's approval, because they come from a turn that took in outside
 * content. They are folded from the workspace's log like memory itself; none is carried into a session.
 */
import { present } from "../present.ts";
import type { DraftEvent } from "../decision.ts";
import { limit } from "../limit.ts";
import {
  memoryId,
  nameIn,
  nameFields,
  type MemoryBy,
  type MemoryName,
  type MemoryRecord,
  type MemoryRef,
  type Promotion,
} from "./name.ts";

/**
 * What makes an item doubtful. `tool`: a result of a tool other than the session's own. `input`: an input
 * that no person typed. `file`: an attachment or a document. `caller`: a program proposed it. `scope`: no
 * rule of the agent lets the model share it with the workspace.
 */
export const doubtSources = [
  "tool",
  "input",
  "file",
  "merge",
  "compaction",
  "import",
  "caller",
  "scope",
] as const;
/** Why an item needs approval. */
export interface Doubt {
  readonly why: (typeof doubtSources)[number];
  /** The tool that brought it. */
  readonly tool?: string;
  /** Its position in the session that the item comes from. */
  readonly seq?: number;
}

/** A proposal at its position of the workspace's log. */
export interface ProposalRef extends MemoryRef {
  readonly doubt: Doubt;
}

export const proposalTypes = ["memory.proposed", "memory.rejected"] as const;

/** One session has one proposal for an entry: a newer one replaces it. */
const proposalId = (name: MemoryName, session: string | undefined): string =>
  `${memoryId(name)}\n${session ?? ""}`;

/** The queue at a position of the workspace's log. */
export class Proposals {
  /** By id, the oldest first. */
  readonly #waiting = new Map<string, ProposalRef>();
  readonly #bySession = new Map<string, number>();
  /** Entries that a person rejected. */
  readonly #rejected = new Set<string>();

  get size(): number {
    return this.#waiting.size;
  }

  all(): IterableIterator<ProposalRef> {
    return this.#waiting.values();
  }

  at(seq: number): ProposalRef | undefined {
    for (const one of this.all()) if (one.seq === seq) return one;
    return undefined;
  }

  get(name: MemoryName, session: string | undefined): ProposalRef | undefined {
    return this.#waiting.get(proposalId(name, session));
  }

  /** Those from this item of the session. */
  from(session: string, kind: string, key: string): ProposalRef[] {
    if (!this.#bySession.has(session)) return [];
    return [...this.all()].filter(
      (one) => one.origin?.session === session && one.kind === kind && one.key === key,
    );
  }

  isRejected(id: string): boolean {
    return this.#rejected.has(id);
  }

  /** How many more fit: of this session, and of all. */
  roomFor(session: string | undefined): number {
    const own = limit.memoryPendingOfSessionMax - (this.#bySession.get(session ?? "") ?? 0);
    return Math.min(own, limit.memoryPendingMax - this.#waiting.size);
  }

  apply(record: MemoryRecord): void {
    const name = nameIn(record.body);
    if (name === null) return;
    const body = record.body as Partial<Omit<ProposalRef, keyof MemoryName>>;
    const { origin, by, status, doubt } = body;
    const session = origin?.session;
    switch (record.type) {
      case "memory.proposed": {
        this.#drop(name, session);
        const { seq, at, actor } = record;
        const ref = { ...name, seq, at, actor, origin: origin ?? null, by: by ?? null };
        this.#waiting.set(proposalId(name, session), {
          ...ref,
          ...present({ status }),
          doubt: doubt ?? { why: "caller" },
        });
        this.#bySession.set(session ?? "", (this.#bySession.get(session ?? "") ?? 0) + 1);
        return;
      }
      case "memory.promoted":
        this.#drop(name, session);
        if (by === "person") this.#rejected.delete(memoryId(name));
        return;
      case "memory.rejected":
        this.#drop(name, session);
        if (by === "person") this.#rejected.add(memoryId(name));
    }
  }

  #drop(name: MemoryName, session: string | undefined): void {
    if (!this.#waiting.delete(proposalId(name, session))) return;
    const left = (this.#bySession.get(session ?? "") ?? 1) - 1;
    if (left === 0) this.#bySession.delete(session ?? "");
    else this.#bySession.set(session ?? "", left);
  }
}

export function proposedDraft(promotion: Promotion, doubt: Doubt): DraftEvent {
  const { origin, by, value, because, actor } = promotion;
  const status = promotion.kind === "task" ? undefined : (promotion.status ?? undefined);
  const why = because === undefined ? {} : { because: because.slice(0, limit.reasonCharsMax) };
  return {
    type: "memory.proposed",
    body: { ...nameFields(promotion), ...present({ origin, by, status }), doubt: { ...doubt } },
    content: { value, ...why },
    ...present({ actor }),
  };
}

/** By a person: rejected. By a rule: withdrawn, since its item is gone. */
export function rejectedDraft(
  name: MemoryName & { readonly origin: MemoryRef["origin"] },
  { by, reason, actor }: { readonly by: MemoryBy; readonly reason?: string; readonly actor?: string },
): DraftEvent {
  return {
    type: "memory.rejected",
    body: { ...nameFields(name), ...(name.origin === null ? {} : { origin: name.origin }), by },
    ...(reason === undefined ? {} : { content: { reason: reason.slice(0, limit.reasonCharsMax) } }),
    ...present({ actor }),
  };
}
