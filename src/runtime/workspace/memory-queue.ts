/**
 * The approval queue of memory: entries from turns that took in outside content. A person sees where each
 * comes from, and approves or rejects it. One subject: proposals, from the list to the decision.
 */
import { present } from "../../core/present.ts";
import { SkeinError } from "../../core/error.ts";
import { isSessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { promotedDraft } from "../../core/memory/memory.ts";
import { memoryId, nameIn } from "../../core/memory/name.ts";
import { rejectedDraft, type Doubt, type ProposalRef } from "../../core/memory/proposal.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { writeOnce } from "../log/workspace-log.ts";
import { mend } from "./memory-follow.ts";
import { checkFits, entryAt, readEntry, type MemoryEntry } from "./memory.ts";

/** An entry that waits for approval. `seq` names it in `approveMemory` and `rejectMemory`. */
export interface PendingMemory extends MemoryEntry {
  /** The outside content that it may come from. */
  readonly pending: Doubt;
  /** The entry that it would replace. */
  readonly replaces: MemoryEntry | null;
}

/** Options of `engine.pendingMemory`. */
export interface PendingMemoryOptions {
  /** Continues behind this position; from the page before. */
  readonly after?: number;
  /** At most this many; by default 50. */
  readonly limit?: number;
}

/** A page of the queue, the oldest first. */
export interface PendingMemoryPage {
  readonly proposals: readonly PendingMemory[];
  /** All that wait. */
  readonly total: number;
  /** The queue takes no more: rules propose nothing until some are decided. */
  readonly full: boolean;
  /** Where the next page begins; null at the end. */
  readonly after: number | null;
}

export async function pendingMemory(deps: Deps, options: PendingMemoryOptions): Promise<PendingMemoryPage> {
  const { memory } = await deps.memory.fold();
  const { after = 0, limit: most = 50 } = options;
  const total = memory.proposals.size;
  const open = [...memory.proposals.all()].filter(({ seq }) => seq > after).toSorted((a, b) => a.seq - b.seq);
  const shown = open.slice(0, most);
  const proposals: PendingMemory[] = [];
  for (const one of shown) {
    const before = memory.get(memoryId(one));
    const replaces = before === undefined ? null : await readEntry(deps, before);
    proposals.push({ ...(await readEntry(deps, one)), pending: one.doubt, replaces });
  }
  const last = open.length > shown.length ? (shown.at(-1)?.seq ?? null) : null;
  return { proposals, total, full: total >= limit.memoryPendingMax, after: last };
}

/** Options of `engine.approveMemory` and `engine.rejectMemory`. */
export interface DecideMemoryOptions {
  readonly because?: string;
}

/** Remembers a proposed entry, with the caller as the one who approved it. */
export async function approveMemory(
  deps: Deps,
  proposal: number,
  { because: reason }: DecideMemoryOptions,
): Promise<MemoryEntry> {
  let found: ProposalRef | null = null;
  let isLost = false;
  const before = await writeOnce(deps, async () => {
    const { memory } = await deps.memory.fold();
    const ref = memory.proposals.at(proposal);
    // Found before and missing now: after a lost answer this very call has decided it, or another.
    isLost = ref === undefined && found !== null;
    if (isLost) return [];
    if (ref === undefined) throw notWaiting(proposal);
    found = ref;
    const content = await readContent(deps.store, deps.store.workspace, ref.seq);
    if (content === undefined) {
      throw new SkeinError("refused", `approveMemory: the value of proposal ${proposal} was erased`, {
        hint: `skein memory reject ${proposal}`,
      });
    }
    const { value, because } = content as { value: unknown; because?: string };
    const { scope, owner, kind, key, origin, status } = ref;
    const name = { scope, owner, kind, key };
    const promotion = { ...name, value, because, status, by: "person", approved: true } as const;
    const whole = { ...promotion, ...present({ origin: origin ?? undefined, reason }) };
    checkFits(memory, whole);
    return [promotedDraft(whole)];
  });
  if (before !== null) return entryAt(deps, nameIn(JSON.parse(before.body)), before.seq);
  const ref = decided(found);
  const there = (await deps.memory.fold()).memory.get(memoryId(ref));
  const isDone = there?.approvedBy !== undefined && there.seq > ref.seq;
  if (isLost && !isDone) throw notWaiting(proposal);
  const { session = "" } = ref.origin ?? {};
  // The session may have moved on meanwhile.
  if (isSessionId(session)) await mend(deps, session, [ref]);
  const entry = (await deps.memory.fold()).memory.get(memoryId(ref));
  if (entry !== undefined) return readEntry(deps, entry);
  throw new SkeinError("conflict", "approveMemory: the entry was forgotten by another writer", {
    hint: "its item is gone: skein memory pending",
  });
}

/** Rejects a proposed entry for good: no rule and no tool proposes it again. Returns it. */
export async function rejectMemory(
  deps: Deps,
  proposal: number,
  { because: reason }: DecideMemoryOptions,
): Promise<MemoryEntry> {
  let found: ProposalRef | null = null;
  let isLost = false;
  const before = await writeOnce(deps, async () => {
    const { memory } = await deps.memory.fold();
    const ref = memory.proposals.at(proposal);
    isLost = ref === undefined && found !== null;
    if (isLost) return [];
    if (ref === undefined) throw notWaiting(proposal);
    found = ref;
    return [rejectedDraft(ref, { by: "person", ...present({ reason }) })];
  });
  if (before !== null) return entryAt(deps, nameIn(JSON.parse(before.body)), proposal);
  const ref = decided(found);
  const { memory } = await deps.memory.fold();
  if (isLost && !memory.proposals.isRejected(memoryId(ref))) throw notWaiting(proposal);
  return readEntry(deps, ref);
}

function decided(found: ProposalRef | null): ProposalRef {
  if (found === null) throw new Error("invariant: what was decided was found");
  return found;
}

const notWaiting = (proposal: number): SkeinError =>
  new SkeinError("not-found", `no memory entry ${proposal} waits for approval`, {
    hint: 'it may be decided, replaced or withdrawn: "skein memory pending" lists those that wait',
  });
