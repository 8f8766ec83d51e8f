/**
 * Memory follows its source sessions: the records for the workspace's log that go with what a session records
 * and retracts, and the correction after a race of two programs.
 */
import type { ItemKind } from "../../core/item/kind.ts";
import { itemKey } from "../../core/item/fold.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import {
  defaultPromotion,
  isRuled,
  type Memory,
  followedBy,
  forgottenDraft,
  isOver,
  isTooLong,
  memoryDrafts,
  promotedDraft,
  type MemoryOwners,
  type MemoryRule,
} from "../../core/memory/memory.ts";
import { memoryId, nameIn, type MemoryRef } from "../../core/memory/name.ts";
import { proposedDraft, rejectedDraft } from "../../core/memory/proposal.ts";
import type { DraftEvent } from "../../core/decision.ts";
import type { State } from "../../core/state.ts";
import type { AlsoChange, WorkspaceEffects } from "../log/workspace-effects.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { doubtAt, doubtIn } from "./item-trust.ts";
import { writeWorkspace } from "../log/workspace-log.ts";
import { isDefined } from "./agents.ts";
import { agentOf } from "./session-agent.ts";

/**
 * The records for the workspace's log with a change of a session: what its agent's rules promote, and what
 * follows from replaced or retracted items. For a change with very many items the rest comes right after it.
 */
export function memoryBeside(deps: Deps, change: AlsoChange): Promise<WorkspaceEffects | null> | null {
  return change.drafts.some(isOfItem) ? besideItems(deps, change) : null;
}

const isOfItem = ({ type }: DraftEvent): boolean => type === "item.recorded" || type === "item.retracted";

async function besideItems(deps: Deps, change: AlsoChange): Promise<WorkspaceEffects | null> {
  const { session, state, drafts } = change;
  const items = drafts.filter(isOfItem);
  const stated = await rulesOf(deps, session, state);
  const rules = stated ?? defaultPromotion;
  const owners = rules.length === 0 ? noOwners : await ownersOf(deps, session, state);
  const folded = await deps.memory.fold().catch(ifDamaged);
  if (folded === undefined) return null;
  const { memory, ...head } = folded;
  const named = items.map(({ body }) => body as NamedEntry);
  const doubtOf = await doubtIn(deps, change, ({ body }) => {
    const { kind, key } = body as NamedEntry;
    return rules.some((rule) => isRuled(rule, kind, key)) || hasEntries(memory, session, kind, key);
  });
  const given = { session, firstSeq: state.seq + 1, drafts, rules, owners, doubtOf };
  const events = await withoutRepeats(deps, memory, memoryDrafts(memory, given));
  const room = limit.appendRecordsMax - drafts.length;
  if (events.length > 0 && events.length <= room) return { ...head, events };
  const after = async (): Promise<void> => {
    if (events.length > room) await writeRest(deps, given);
    const now = (await deps.store.head(deps.store.workspace))?.seq ?? 0;
    if (now !== head.headSeq) await mend(deps, session, named);
  };
  return { ...head, events: events.slice(0, room), after };
}

const hasEntries = (memory: Memory, session: string, kind: string, key: string): boolean =>
  memory.from(session, kind, key).length > 0 || memory.proposals.from(session, kind, key).length > 0;

/** Without proposals of the value that the entry has, or that waits already. */
async function withoutRepeats(
  { store }: Deps,
  memory: Memory,
  events: readonly DraftEvent[],
): Promise<readonly DraftEvent[]> {
  const kept: DraftEvent[] = [];
  for (const event of events) {
    const name = event.type === "memory.proposed" ? nameIn(event.body) : null;
    const { origin } = event.body as { readonly origin?: { readonly session: string } };
    const same =
      name === null ? [] : [memory.get(memoryId(name)), memory.proposals.get(name, origin?.session)];
    const asked = JSON.stringify((event.content as { value?: unknown } | undefined)?.value);
    let isRepeat = false;
    for (const one of same) {
      const content = one === undefined ? undefined : await readContent(store, store.workspace, one.seq);
      isRepeat ||= content !== undefined && JSON.stringify((content as { value: unknown }).value) === asked;
    }
    if (!isRepeat) kept.push(event);
  }
  return kept;
}

/** The principal behind an actor, if it is a person. */
export const principalOf = (actor: string): string | null => /^user:(prn_.+)$/.exec(actor)?.[1] ?? null;

/** The owners of a session's memory: its agent, and the person who opened it. */
export async function ownersOf(
  { store }: Deps,
  session: SessionId,
  { standing }: State,
): Promise<MemoryOwners> {
  const [first] = await store.read(session, { fromSeq: 1, toSeq: 1, limit: 1, contents: false });
  return { agent: standing.agent?.name ?? null, user: first === undefined ? null : principalOf(first.actor) };
}

/** A damaged workspace log does not keep a session from running without memory. */
export function ifDamaged(error: unknown): undefined {
  if (!(error instanceof SkeinError) || error.code !== "corrupt") throw error;
}

const noOwners: MemoryOwners = { agent: null, user: null };

/** Writes what did not fit into one append, in as many as it takes. */
async function writeRest(deps: Deps, given: Parameters<typeof memoryDrafts>[1]): Promise<void> {
  for (let left = true; left;) {
    const written = writeWorkspace(deps, async () => {
      const { memory } = await deps.memory.fold();
      const isOpen = ({ type, body }: DraftEvent): boolean => {
        const isProposal = type === "memory.proposed";
        const asked = nameIn(body);
        if (asked === null || (type !== "memory.promoted" && !isProposal)) return true;
        const name = { ...asked, ...(body as { origin: { seq: number } }) };
        const { proposals } = memory;
        const one = isProposal ? proposals.get(asked, given.session) : memory.get(memoryId(asked));
        const there = one?.origin;
        return there?.session !== given.session || there.seq < name.origin.seq;
      };
      return memoryDrafts(memory, given).filter(isOpen).slice(0, limit.appendRecordsMax);
    });
    left = (await written.catch(() => null)) !== null;
  }
}

interface NamedEntry {
  readonly kind: ItemKind;
  readonly key: string;
}

/**
 * Two programs may promote an item and replace it at one time. The later one checks again, and makes memory
 * follow the session's current item.
 */
export async function mend(deps: Deps, session: SessionId, items: readonly NamedEntry[]): Promise<void> {
  const done = writeWorkspace(deps, async () => {
    const { memory } = await deps.memory.fold();
    if (items.every(({ kind, key }) => !hasEntries(memory, session, kind, key))) return [];
    const state = await deps.writer.current(session);
    const events: DraftEvent[] = [];
    for (const { kind, key } of items) {
      const item = state.mind.items.get(itemKey(kind, key));
      const isStale = ({ origin }: MemoryRef): boolean => origin?.seq !== item?.seq;
      const stale = memory.from(session, kind, key).filter(isStale);
      const waiting = memory.proposals.from(session, kind, key).filter(isStale);
      if (stale.length + waiting.length === 0) continue;
      const content = item === undefined ? undefined : await readContent(deps.store, session, item.seq);
      const { value, because } = (content ?? {}) as { value?: unknown; because?: string };
      if (item === undefined || isOver(item.status) || value === undefined || isTooLong(key, value)) {
        events.push(...stale.map((name) => forgottenDraft(name, { by: "rule" })));
        events.push(...waiting.map((name) => rejectedDraft(name, { by: "rule" })));
        continue;
      }
      const doubt = await doubtAt(deps, session, state, item.seq);
      const { status } = item;
      for (const name of new Map([...waiting, ...stale].map((one) => [memoryId(one), one])).values()) {
        const how = followedBy(name.by, because);
        const origin = { session, seq: item.seq };
        const { scope, owner } = name;
        const promotion = { scope, owner, kind, key, value, origin, status, ...how };
        if (doubt === null) events.push(promotedDraft(promotion));
        else if (!memory.proposals.isRejected(memoryId(name)) && memory.proposals.roomFor(session) > 0)
          events.push(proposedDraft(promotion, doubt));
      }
    }
    return (await withoutRepeats(deps, memory, events)).slice(0, limit.appendRecordsMax);
  });
  // The main change is written, whether this succeeds or not; the item's next change corrects it.
  await done.catch(() => undefined);
}

/** Null: the agent states none, so the default applies. */
async function rulesOf(deps: Deps, session: SessionId, state: State): Promise<readonly MemoryRule[] | null> {
  const { agent, fork, labels } = state.standing;
  // What a replay records again is not new.
  const isReplay = fork !== null && labels.has("replay");
  if (agent === null || isReplay) return [];
  const kept = deps.shared.memoryRules;
  const place = `${session}@${agent.seq}`;
  const known = kept.get(place);
  if (known !== undefined) return known;
  const { agent: definition, agentUnknown } = await agentOf(deps, session, state);
  // A fork tries something else: by default that replaces nothing.
  const byDefault = agentUnknown || fork !== null ? [] : null;
  const stated = definition?.memory?.promote;
  const isWide = stated?.some(({ scope }) => scope === "workspace") ?? false;
  // What a session shares with all others is set by a person who may operate this workspace.
  const isForeign = isWide && definition !== null && !(await isDefined(deps, definition));
  const rules = (isForeign ? stated?.filter(({ scope }) => scope !== "workspace") : stated) ?? byDefault;
  kept.set(place, rules);
  return rules;
}

/** Whether a rule of the session's agent shares this item with the workspace. */
export async function isShared(
  deps: Deps,
  session: SessionId,
  state: State,
  { kind, key }: NamedEntry,
): Promise<boolean> {
  const rules = (await rulesOf(deps, session, state)) ?? [];
  return rules.some((rule) => rule.scope === "workspace" && isRuled(rule, kind, key));
}
