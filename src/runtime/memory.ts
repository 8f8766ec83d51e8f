/**
 * Memory of a workspace: read from its log, kept at hand for an engine, and brought up to the head whenever
 * it is asked. What is written goes through the workspace's log; what a session records or retracts takes
 * its share of it along in the same append.
 */
import { itemKinds, type ItemKind } from "../core/catalogue/durable.ts";
import { nearest, SkeinError } from "../core/error.ts";
import { itemKey } from "../core/fold/durable.ts";
import { quote, type SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import {
  forgottenDraft,
  isTooLong,
  Memory,
  memoryDrafts,
  memoryId,
  memoryScopes,
  memoryTypes,
  ownerIn,
  promotedDraft,
  type MemoryBy,
  type MemoryName,
  type MemoryOwners,
  type MemoryRef,
  type MemoryRule,
  type MemoryScope,
  type Promotion,
} from "../core/memory.ts";
import { Relevance } from "../core/memory/relevance.ts";
import type { State } from "../core/state.ts";
import type { Store } from "../store/port.ts";
import { contentOf, readContent } from "./content.ts";
import { agentOf } from "./crew.ts";
import type { Context } from "./engine-context.ts";
import { writeWorkspace } from "./workspace.ts";
import type { Also, AlsoChange, Beside } from "./writer.ts";

/** What is remembered, with its value. */
export interface MemoryEntry extends MemoryRef {
  /** Null when it was erased. */
  readonly value: unknown;
  readonly because: string | null;
  readonly erased: boolean;
}

export interface MemoryReader {
  /** What is remembered at the head of the workspace's log. */
  fold(): Promise<{ readonly memory: Memory; readonly headSeq: number }>;
  /** The same, and what it is about. */
  index(): Promise<{ readonly memory: Memory; readonly relevance: Relevance }>;
}

export function makeMemoryReader(store: Store): MemoryReader {
  const memory = new Memory();
  const relevance = new Relevance();
  let [foldedSeq, indexedSeq] = [0, 0];
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other, so that no record is applied twice. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = last.then(work, work);
    last = mine.catch(() => undefined);
    return mine;
  }

  async function advance(contents: boolean): Promise<number> {
    const headSeq = (await store.head(store.workspace))?.seq ?? 0;
    for (let fromSeq = (contents ? indexedSeq : foldedSeq) + 1; fromSeq <= headSeq;) {
      // Of all types, since memory is most of the log, and a store gives whole pages faster.
      const range = { fromSeq, toSeq: headSeq, limit: limit.pageRecordsMax, contents };
      const page = await store.read(store.workspace, range);
      for (const record of page) {
        if (!memoryTypes.some((type) => type === record.type)) continue;
        const body: unknown = JSON.parse(record.body);
        if (record.seq > foldedSeq) memory.apply({ ...record, body });
        if (contents) note({ ...record, body }, await textOf(store, record));
      }
      fromSeq = (page.at(-1)?.seq ?? headSeq) + 1;
    }
    foldedSeq = Math.max(foldedSeq, headSeq);
    if (contents) indexedSeq = Math.max(indexedSeq, headSeq);
    return headSeq;
  }

  function note(record: { readonly seq: number; readonly type: string; readonly body: unknown }, text: Text) {
    if (record.type === "content.erased") {
      const { ranges = [] } = record.body as { ranges?: readonly (readonly [number, number])[] };
      for (const [id, { seq }] of memory.entries())
        if (ranges.some(([from, to]) => seq >= from && seq <= to)) relevance.remove(id);
      return;
    }
    const id = memoryId(record.body as MemoryName);
    const entry = memory.get(id);
    if (entry === undefined || (entry.seq === record.seq && text === null)) relevance.remove(id);
    else if (entry.seq === record.seq && text !== null) relevance.set(id, { key: entry.key, ...text });
  }

  return {
    fold: () => inTurn(async () => ({ headSeq: await advance(false), memory })),
    index: () => inTurn(async () => ({ headSeq: await advance(true), memory, relevance })),
  };
}

type Text = { readonly value: string; readonly because: string } | null;

async function textOf(store: Store, record: Parameters<typeof contentOf>[1]): Promise<Text> {
  const content = record.type === "memory.promoted" ? await contentOf(store, record) : undefined;
  if (content === undefined) return null;
  const { value, because = "" } = content as { value: unknown; because?: string };
  return { value: typeof value === "string" ? value : JSON.stringify(value), because };
}

/** The entry with its value as the store has it now. */
export async function readEntry({ store }: Pick<Context, "store">, entry: MemoryRef): Promise<MemoryEntry> {
  return withContent(entry, await readContent(store, store.workspace, entry.seq));
}

function withContent(entry: MemoryRef, content: unknown): MemoryEntry {
  const { value = null, because = null } = (content ?? {}) as { value?: unknown; because?: string };
  return { ...entry, value, because, erased: content === undefined };
}

export interface MemoryOptions {
  readonly scope?: MemoryScope;
  /** An agent's name, or a principal. */
  readonly owner?: string;
  /** Only what has all these words. */
  readonly text?: string;
}

/** What is remembered, the newest first. */
export async function listMemory(context: Context, options: MemoryOptions): Promise<MemoryEntry[]> {
  const { store, memory: reader } = context;
  const { scope, owner, text = "" } = options;
  if (scope !== undefined) checkScope("memory", scope);
  const { memory } = await reader.fold();
  const wanted = [...memory.entries()]
    .map(([, entry]) => entry)
    .filter((entry) => (scope ?? entry.scope) === entry.scope && (owner ?? entry.owner) === entry.owner)
    .toSorted((a, b) => b.seq - a.seq);
  const contents = await contentsOf(store, wanted);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return wanted
    .map((entry) => withContent(entry, contents.get(entry.seq)))
    .filter((entry) => {
      const said = `${entry.key} ${JSON.stringify(entry.value)} ${entry.because ?? ""}`.toLowerCase();
      return words.every((word) => said.includes(word));
    });
}

/** By position; page by page where there are many. */
async function contentsOf(
  store: Store,
  entries: readonly MemoryRef[],
): Promise<ReadonlyMap<number, unknown>> {
  const contents = new Map<number, unknown>();
  if (entries.length <= 20) {
    for (const { seq } of entries) contents.set(seq, await readContent(store, store.workspace, seq));
    return contents;
  }
  const wanted = new Set(entries.map(({ seq }) => seq));
  const toSeq = entries[0]?.seq ?? 0;
  for (let fromSeq = entries.at(-1)?.seq ?? 1; fromSeq <= toSeq;) {
    const range = { fromSeq, toSeq, limit: limit.pageRecordsMax, types: ["memory.promoted"], contents: true };
    const page = await store.read(store.workspace, range);
    for (const record of page)
      if (wanted.has(record.seq)) contents.set(record.seq, await contentOf(store, record));
    fromSeq = (page.at(-1)?.seq ?? toSeq) + 1;
  }
  return contents;
}

export interface RememberOptions {
  readonly scope: MemoryScope;
  /** An agent's name, or a principal; by default whoever acts. The workspace's scope has none. */
  readonly owner?: string;
  readonly kind: ItemKind;
  readonly key: string;
  readonly value: unknown;
  readonly because?: string;
}

/** Puts into memory what comes from no session. */
export async function remember(context: Context, options: RememberOptions): Promise<MemoryEntry> {
  const { value, because } = options;
  const name = nameOf("remember", context, options);
  if (value === undefined) {
    throw new SkeinError("invalid", `remember: ${name.kind} ${quote(name.key)} has no value`, {
      hint: "give one, or forget the entry",
    });
  }
  return promote(context, async () => ({ ...name, value, because, by: "person" }));
}

/** Writes what is to be remembered, unless it is there already, word for word. */
async function promote(context: Context, build: () => Promise<Promotion>): Promise<MemoryEntry> {
  const { store, memory: reader } = context;
  let id = "";
  await writeWorkspace(context, async () => {
    const promotion = await build();
    id = memoryId(promotion);
    const { memory } = await reader.fold();
    const entry = memory.get(id);
    checkFits(memory, promotion);
    // After a lost answer this is also how what was written after all is found.
    if (entry !== undefined && isSame(await readEntry({ store }, entry), promotion)) return [];
    return [promotedDraft(promotion)];
  });
  const entry = (await reader.fold()).memory.get(id);
  if (entry === undefined) {
    throw new SkeinError("conflict", "it was forgotten in the meantime", { hint: "try again" });
  }
  return readEntry(context, entry);
}

const isSame = ({ origin, value, because, erased, by }: MemoryEntry, asked: Promotion): boolean =>
  !erased &&
  by === asked.by &&
  origin?.session === asked.origin?.session &&
  origin?.seq === asked.origin?.seq &&
  because === (asked.because ?? null) &&
  JSON.stringify(value) === JSON.stringify(asked.value);

/** Refuses what memory has no room for. */
function checkFits(memory: Memory, promotion: Promotion): void {
  const { kind, key, value } = promotion;
  if (isTooLong(key, value)) {
    throw new SkeinError("invalid", `${kind} ${quote(key)} is too long to be remembered`, {
      hint: `a session carries at most ${limit.memoryTokensMax} tokens in all: shorten it`,
    });
  }
  if (memory.get(memoryId(promotion)) !== undefined || memory.size < limit.memoryMax) return;
  throw new SkeinError("refused", `a workspace remembers at most ${limit.memoryMax} things`, {
    hint: '"skein memory forget" ends what is needed no more',
  });
}

export interface ForgetOptions {
  readonly scope: MemoryScope;
  readonly owner?: string;
  readonly kind: ItemKind;
  readonly key: string;
  readonly reason?: string;
}

/** Ends it for all sessions that are opened later. Rejects with `not-found` when it is not there. */
export async function forget(context: Context, options: ForgetOptions): Promise<MemoryEntry> {
  const name = nameOf("forget", context, options);
  const id = memoryId(name);
  let found: MemoryEntry | null = null;
  await writeWorkspace(context, async () => {
    const { memory } = await context.memory.fold();
    const entry = memory.get(id);
    // Found before and gone now: after a lost answer it was forgotten by this very call, or by another.
    if (entry === undefined && found !== null) return [];
    if (entry === undefined) throw notThere(memory, name);
    found = await readEntry(context, entry);
    const { reason } = options;
    return [forgottenDraft(name, { by: "person", ...(reason === undefined ? {} : { reason }) })];
  });
  if (found === null) throw new Error("invariant: what was forgotten was found");
  return found;
}

function notThere(memory: Memory, { scope, owner, kind, key }: MemoryName): SkeinError {
  const keys = [...memory.entries()].flatMap(([, one]) =>
    one.scope === scope && one.owner === owner && one.kind === kind ? [one.key] : [],
  );
  const near = nearest(key, keys);
  const whose = scope === "workspace" ? "of the workspace" : `of the ${scope} ${quote(owner ?? "")}`;
  return new SkeinError("not-found", `the memory ${whose} has no ${kind} ${quote(key)}`, {
    hint: near === undefined ? '"skein memory list" shows what there is' : `did you mean ${quote(near)}?`,
  });
}

export function checkScope(where: string, scope: unknown): asserts scope is MemoryScope {
  if (memoryScopes.some((one) => one === scope)) return;
  throw new SkeinError("invalid", `${where}: there is no scope ${quote(scope)}`, {
    hint: `one of ${memoryScopes.join(", ")}`,
  });
}

function checkKind(where: string, kind: unknown): asserts kind is ItemKind {
  if (itemKinds.some((one) => one === kind)) return;
  throw new SkeinError("invalid", `${where}: there is no kind ${quote(kind)}`, {
    hint: `one of ${itemKinds.join(", ")}`,
  });
}

/** The principal behind an actor, if it is a person. */
export const principalOf = (actor: string): string | null => /^user:(prn_.+)$/.exec(actor)?.[1] ?? null;

function nameOf(
  where: string,
  { actor }: Context,
  given: { readonly scope: unknown; readonly owner?: string; readonly kind: unknown; readonly key: unknown },
): MemoryName {
  const { scope, owner, kind, key } = given;
  checkScope(where, scope);
  checkKind(where, kind);
  if (typeof key !== "string" || key === "")
    throw new SkeinError("invalid", `${where}: ${quote(key)} is no key`, { hint: "give a short name" });
  if (scope === "workspace") {
    if (owner === undefined) return { scope, owner: null, kind, key };
    throw new SkeinError("invalid", `${where}: what the workspace remembers has no owner`, {
      hint: 'leave it out, or give the scope "agent" or "user"',
    });
  }
  const whose = owner ?? ownerIn(scope, { agent: null, user: principalOf(actor) });
  if (whose !== null) return { scope, owner: whose, kind, key };
  throw new SkeinError("invalid", `${where}: whose memory is meant?`, {
    hint: scope === "agent" ? "give the agent's name as owner" : "give the principal, prn_…, as owner",
  });
}

export interface PromoteOptions {
  readonly scope: MemoryScope;
  /** Why it is worth remembering; by default the reason that the item has. */
  readonly because?: string;
}

type Asked = PromoteOptions & { readonly kind: ItemKind; readonly key: string };

/** An item of a session, with its value and where it stands, is remembered for later sessions. */
export async function promoteItem(context: Context, session: SessionId, asked: Asked): Promise<MemoryEntry> {
  checkScope("promote", asked.scope);
  checkKind("promote", asked.kind);
  const build = async (): Promise<Promotion> => {
    const state = await context.writer.current(session);
    return promotionOf(context, session, state, { ...asked, by: "person" });
  };
  const entry = await promote(context, build);
  // The session may have gone on while this was written.
  await mend(context, session, [asked]);
  return entry;
}

/** What promoting an item puts into memory. */
async function promotionOf(
  context: Context,
  session: SessionId,
  state: State,
  { scope, kind, key, because, by }: Asked & { readonly by: MemoryBy },
): Promise<Promotion> {
  const item = state.mind.items.get(itemKey(kind, key));
  if (item === undefined) {
    const near = nearest(
      key,
      [...state.mind.items.values()].filter((one) => one.kind === kind).map((one) => one.key),
    );
    throw new SkeinError("not-found", `there is no ${kind} ${quote(key)} to promote`, {
      hint: near === undefined ? "record it first" : `did you mean ${quote(near)}?`,
    });
  }
  const owners = await ownersOf(context, session, state);
  const person = by === "person" ? principalOf(context.actor) : null;
  const owner = scope === "user" ? (person ?? owners.user) : ownerIn(scope, owners);
  if (owner === null && scope !== "workspace") {
    throw new SkeinError("refused", `the session has no ${scope} whose memory it could go to`, {
      hint: 'promote it with the scope "workspace"',
    });
  }
  const content = await readContent(context.store, session, item.seq);
  if (content === undefined)
    throw new SkeinError("refused", `the value of ${kind} ${quote(key)} was erased`, {
      hint: "record it anew",
    });
  const { value, because: own } = content as { value: unknown; because?: string };
  const origin = { session, seq: item.seq };
  return { scope, owner, kind, key, value, because: because ?? own, origin, by };
}

/** Whom a session works for: its agent, and the person who opened it. */
async function ownersOf({ store }: Context, session: SessionId, { standing }: State): Promise<MemoryOwners> {
  const [first] = await store.read(session, { fromSeq: 1, toSeq: 1, limit: 1, contents: false });
  return { agent: standing.agent?.name ?? null, user: first === undefined ? null : principalOf(first.actor) };
}

/**
 * What goes into the workspace's log with a change of a session: what its agent's rules promote, and what
 * follows from its items being replaced or retracted.
 */
export async function memoryBeside(context: Context, change: AlsoChange): Promise<Beside | null> {
  const { session, state, drafts } = change;
  const items = drafts.filter(({ type }) => type === "item.recorded" || type === "item.retracted");
  if (items.length === 0) return null;
  const { memory, headSeq } = await context.memory.fold();
  const rules = await rulesOf(context, session, state);
  const owners = rules.length === 0 ? noOwners : await ownersOf(context, session, state);
  const events = memoryDrafts(memory, { session, firstSeq: state.seq + 1, drafts, rules, owners });
  if (events.length > 0) return { headSeq, events };
  const after = async (): Promise<void> => {
    const now = (await context.store.head(context.store.workspace))?.seq ?? 0;
    if (now !== headSeq)
      await mend(
        context,
        session,
        items.map(({ body }) => body as Named),
      );
  };
  return { headSeq, events, after };
}

/** What goes into the workspace's log when a model has one of its session's items remembered. */
export const rememberBeside =
  (context: Context, asked: Asked): Also =>
  async ({ session, state }) => {
    const promotion = await promotionOf(context, session, state, { ...asked, by: "tool" });
    const { memory, headSeq } = await context.memory.fold();
    checkFits(memory, promotion);
    return { headSeq, events: [promotedDraft({ ...promotion, actor: "tool:remember" })] };
  };

const noOwners: MemoryOwners = { agent: null, user: null };

interface Named {
  readonly kind: ItemKind;
  readonly key: string;
}

/**
 * Two programs may promote an item and replace it at one time. Whoever is done looks again, and lets memory
 * follow what the session says now.
 */
async function mend(context: Context, session: SessionId, items: readonly Named[]): Promise<void> {
  await writeWorkspace(context, async () => {
    const { memory } = await context.memory.fold();
    if (items.every(({ kind, key }) => memory.from(session, kind, key).length === 0)) return [];
    const state = await context.writer.current(session);
    const events = [];
    for (const { kind, key } of items) {
      const item = state.mind.items.get(itemKey(kind, key));
      const stale = memory.from(session, kind, key).filter(({ origin }) => origin?.seq !== item?.seq);
      if (stale.length === 0) continue;
      const content = item === undefined ? undefined : await readContent(context.store, session, item.seq);
      const { value, because } = (content ?? {}) as { value?: unknown; because?: string };
      for (const name of stale) {
        const gone = item === undefined || value === undefined || isTooLong(key, value);
        if (gone) events.push(forgottenDraft(name, { by: "rule" }));
        else {
          const origin = { session, seq: item.seq };
          events.push(promotedDraft({ ...name, actor: undefined, value, because, origin, by: "rule" }));
        }
      }
    }
    return events;
  });
}

/** Sessions whose rules are kept at hand. */
const keptRulesMax = 1_000;
const keptRules = new WeakMap<Store, Map<string, readonly MemoryRule[]>>();

async function rulesOf(context: Context, session: SessionId, state: State): Promise<readonly MemoryRule[]> {
  const { agent, fork, labels } = state.standing;
  // What a replay records again is no news.
  const isReplay = fork !== null && labels.has("replay");
  if (agent === null || agent.version === 0 || isReplay) return [];
  const kept = keptRules.get(context.store) ?? new Map<string, readonly MemoryRule[]>();
  keptRules.set(context.store, kept);
  const place = `${session}@${agent.seq}`;
  const known = kept.get(place);
  if (known !== undefined) return known;
  const rules = (await agentOf(context, session, state)).agent?.memory?.promote ?? [];
  if (kept.size >= keptRulesMax) kept.clear();
  kept.set(place, rules);
  return rules;
}
