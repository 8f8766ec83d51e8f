/**
 * Memory of a workspace: read from its log, cached for an engine, and brought up to the head on every read.
 * Writes go through the workspace's log; a session's change carries its memory records in the same append.
 * One subject: what a workspace remembers.
 */
import { readPages, readRecords } from "../read/record-pages.ts";
import { isBuiltInKind, itemKinds, kindPattern, type ItemKind } from "../../core/item/kind.ts";
import { AgentName } from "../../core/schema.ts";
import { itemKey } from "../../core/item/fold.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import { checkTexts } from "../../core/option-check.ts";
import { isPrincipalId, type LogId, quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import {
  consolidationTypes,
  forgottenDraft,
  isOver,
  isTooLong,
  Memory,
  memoryTypes,
  ownerIn,
  promotedDraft,
} from "../../core/memory/memory.ts";
import {
  memoryId,
  memoryScopes,
  nameIn,
  type MemoryBy,
  type MemoryName,
  type MemoryRef,
  type MemoryScope,
  type Promotion,
} from "../../core/memory/name.ts";
import { proposalTypes, proposedDraft, type Doubt } from "../../core/memory/proposal.ts";
import { present } from "../../core/present.ts";
import { Relevance } from "../../core/memory/relevance.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import type { Also } from "../log/workspace-effects.ts";
import { contentOf, readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { doubtAt } from "./item-trust.ts";
import { ifDamaged, isShared, mend, ownersOf, principalOf } from "./memory-follow.ts";
import type { WorkspaceHeadReader } from "../read/known-heads.ts";
import { showAgent } from "./agents.ts";
import { writeOnce } from "../log/workspace-log.ts";

/** A memory entry with its value. */
export interface MemoryEntry extends MemoryRef {
  /** Null when it was erased. */
  readonly value: unknown;
  readonly because: string | null;
  readonly erased: boolean;
  /** It is not in memory yet: it waits for approval, since it may come from this. */
  readonly pending?: Doubt;
  /** In lists: the entries that it contradicts, marked for a person to settle. */
  readonly contradicts?: readonly MemoryName[];
}

export interface MemoryReader {
  /** The entries at the head of the workspace's log. */
  fold(): Promise<{ readonly memory: Memory; readonly headSeq: number; readonly headHash: string }>;
  /** The same, with search words, and values that are not long, by id; at least up to a known position. */
  index(knownSeq?: number): Promise<{
    readonly memory: Memory;
    readonly relevance: Relevance;
    readonly values: ReadonlyMap<string, unknown>;
    readonly headSeq: number;
  }>;
}

const readTypes: readonly string[] = [...memoryTypes, ...proposalTypes, ...consolidationTypes];

/** Longer values are read when they are carried. */
const keptValueCharsMax = 2_000;

export function makeMemoryReader(store: Store, workspace: WorkspaceHeadReader): MemoryReader {
  let memory = new Memory();
  let relevance = new Relevance();
  let values = new Map<string, unknown>();
  let [foldedSeq, indexedSeq, times] = [0, 0, 0];
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other, so that no record is applied twice. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = last.then(work, work);
    last = mine.catch(() => undefined);
    return mine;
  }

  function begin(): void {
    [memory, relevance] = [new Memory(), new Relevance()];
    values = new Map<string, unknown>();
    [foldedSeq, indexedSeq] = [0, 0];
  }

  async function advance(
    contents: boolean,
  ): Promise<{ readonly headSeq: number; readonly headHash: string }> {
    const head = await workspace.read();
    if (head.times !== times) begin();
    ({ times } = head);
    const headSeq = head.seq;
    // Of all types, since memory is most of the log, and a store returns whole pages faster.
    const range = [(contents ? indexedSeq : foldedSeq) + 1, headSeq] as const;
    for await (const page of readPages(store, store.workspace, range, { contents })) {
      for (const record of page) {
        if (!readTypes.some((type) => type === record.type)) continue;
        const body = bodyOf(record);
        if (record.seq > foldedSeq) memory.apply({ ...record, body });
        if (contents) note({ ...record, body }, await textOf(store, record));
      }
    }
    foldedSeq = Math.max(foldedSeq, headSeq);
    if (contents) indexedSeq = Math.max(indexedSeq, headSeq);
    return { headSeq, headHash: head.hash };
  }

  function note(record: { readonly seq: number; readonly type: string; readonly body: unknown }, text: Text) {
    if (record.type === "content.erased") {
      const { ranges = [] } = record.body as { ranges?: readonly (readonly [number, number])[] };
      for (const [id, { seq }] of memory.entries())
        if (ranges.some(([from, to]) => seq >= from && seq <= to)) drop(id);
      return;
    }
    const id = memoryId(record.body as MemoryName);
    const entry = memory.get(id);
    // Of superseded entries only the last counts.
    if (entry !== undefined && entry.seq !== record.seq) return;
    drop(id);
    if (entry === undefined || text === null) return;
    relevance.set(id, { key: entry.key, value: text.words, because: text.because });
    if (text.words.length <= keptValueCharsMax) values.set(id, text.value);
  }

  function drop(id: string): void {
    relevance.remove(id);
    values.delete(id);
  }

  return {
    fold: () =>
      inTurn(async () => {
        const head = await advance(false);
        return { ...head, memory };
      }),
    index: (knownSeq = Infinity) =>
      inTurn(async () => {
        const { headSeq } = indexedSeq >= knownSeq ? { headSeq: indexedSeq } : await advance(true);
        return { memory, relevance, values, headSeq };
      }),
  };
}

export function bodyOf({
  body,
  seq,
  session,
}: {
  readonly body: string;
  readonly seq: number;
  session: string;
}) {
  try {
    return JSON.parse(body) as unknown;
  } catch (cause) {
    throw new SkeinError("corrupt", `record ${seq} of ${session} cannot be read: its body is not JSON`, {
      hint: `run "skein verify ${session}" to see what is damaged`,
      cause,
    });
  }
}

type Text = { readonly value: unknown; readonly words: string; readonly because: string } | null;

/** Null also for a damaged content. */
async function textOf(store: Store, record: Parameters<typeof contentOf>[1]): Promise<Text> {
  if (record.type !== "memory.promoted") return null;
  const content = await contentOf(store, record).catch(ifDamaged);
  if (content === undefined) return null;
  const { value, because = "" } = content as { value: unknown; because?: string };
  return { value, words: typeof value === "string" ? value : JSON.stringify(value), because };
}

/** The entry with its current value in the store. */
export async function readEntry({ store }: Pick<Deps, "store">, entry: MemoryRef): Promise<MemoryEntry> {
  return withContent(entry, await readContent(store, store.workspace, entry.seq));
}

function withContent(entry: MemoryRef, content: unknown): MemoryEntry {
  const { value = null, because = null } = (content ?? {}) as { value?: unknown; because?: string };
  const { doubt, ...ref } = entry as MemoryRef & { readonly doubt?: Doubt };
  return { ...ref, value, because, erased: content === undefined, ...present({ pending: doubt }) };
}

/** Filters of `engine.memory`. */
export interface MemoryOptions {
  readonly scope?: MemoryScope;
  /** An agent's name, or a principal. */
  readonly owner?: string;
  /** Only entries with all these words. */
  readonly text?: string;
}

/** The entries, the newest first. */
export async function listMemory(deps: Deps, options: MemoryOptions): Promise<MemoryEntry[]> {
  const { store, memory: reader } = deps;
  const { scope, owner, text = "" } = options;
  checkTexts("memory", { owner, text });
  if (scope !== undefined) checkScope("memory", scope);
  const { memory } = await reader.fold();
  const wanted = [...memory.entries()]
    .map(([, entry]) => entry)
    .filter((entry) => (scope ?? entry.scope) === entry.scope && (owner ?? entry.owner) === entry.owner)
    .toSorted((a, b) => b.seq - a.seq);
  const contents = await contentsOf(store, wanted);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return wanted
    .map((entry) => ({ ...withContent(entry, contents.get(entry.seq)), ...disputesOf(memory, entry) }))
    .filter((entry) => {
      const said = `${entry.key}\n${saidIn(entry.value)}\n${entry.because ?? ""}`.toLowerCase();
      return words.every((word) => said.includes(word));
    });
}

function disputesOf(memory: Memory, entry: MemoryRef): Pick<MemoryEntry, "contradicts"> {
  const others = memory.disputes(memoryId(entry));
  if (others.length === 0) return {};
  return { contradicts: others.map(({ scope, owner, kind, key }) => ({ scope, owner, kind, key })) };
}

/** As it reads: without the quotes of JSON. */
function saidIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .map(([field, one]) => `${Array.isArray(value) ? "" : field} ${saidIn(one)}`)
    .join("\n");
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
  const range = [entries.at(-1)?.seq ?? 1, entries[0]?.seq ?? 0] as const;
  const only = { types: ["memory.promoted"], contents: true };
  for await (const record of readRecords(store, store.workspace, range, only))
    if (wanted.has(record.seq)) contents.set(record.seq, await contentOf(store, record));
  return contents;
}

/** Options of `engine.remember`. */
export interface RememberOptions {
  readonly scope: MemoryScope;
  /** An agent's name, or a principal; defaults to the actor. The workspace's scope has none. */
  readonly owner?: string;
  readonly kind: ItemKind;
  readonly key: string;
  readonly value: unknown;
  readonly because?: string;
  /** It waits for approval: for programs that pass on what a page or a model says. */
  readonly propose?: boolean;
}

/** Adds an entry that comes from no session. */
export async function remember(deps: Deps, options: RememberOptions): Promise<MemoryEntry> {
  const { value, because } = options;
  const name = nameOf("remember", deps, options);
  if (name.scope !== "workspace") checkOwner(name.scope, name.owner);
  if (!isBuiltInKind(name.kind)) await checkAgentKind(deps, name);
  if (value === undefined) {
    throw new SkeinError("invalid", `remember: ${name.kind} ${quote(name.key)}: value: missing`, {
      hint: "pass a value, or forget the entry",
    });
  }
  const doubt: Doubt = { why: "caller" };
  const how = options.propose === true ? ({ by: "tool", doubt } as const) : ({ by: "person" } as const);
  return promote(deps, async () => ({ ...name, value, because, ...how }));
}

/** Without a session only the newest version of an agent says which further kinds there are. */
async function checkAgentKind(deps: Deps, { scope, owner, kind }: MemoryName): Promise<void> {
  const agent = scope === "agent" && owner !== null ? await showAgent(deps, owner).catch(() => null) : null;
  if (Object.hasOwn(agent?.definition.kinds ?? {}, kind)) return;
  const near = nearest(kind, itemKinds);
  throw new SkeinError(
    "invalid",
    `remember: kind: expected one of ${itemKinds.join(", ")}, got ${quote(kind)}`,
    {
      hint:
        near === undefined
          ? "a kind of an agent's own needs the scope of that agent"
          : `did you mean ${near}?`,
    },
  );
}

/** With a doubt it becomes a proposal. */
type PromotionRequest = Promotion & { readonly doubt?: Doubt | undefined };

/** Writes an entry or a proposal, unless it exists already, word for word. */
async function promote(deps: Deps, build: () => Promise<PromotionRequest>): Promise<MemoryEntry> {
  const { store, memory: reader } = deps;
  const find = async (asked: PromotionRequest): Promise<MemoryRef | undefined> => {
    const { memory } = await reader.fold();
    if (asked.doubt === undefined) return memory.get(memoryId(asked));
    return memory.proposals.get(asked, asked.origin?.session);
  };
  let asked: PromotionRequest | null = null;
  const before = await writeOnce(deps, async () => {
    asked = await build();
    const { memory } = await reader.fold();
    if (asked.doubt === undefined) checkFits(memory, asked);
    else checkProposal(memory, asked);
    const entry = await find(asked);
    // After a lost answer this also finds what was written after all.
    if (entry !== undefined && isSame(await readEntry({ store }, entry), asked)) return [];
    return [asked.doubt === undefined ? promotedDraft(asked) : proposedDraft(asked, asked.doubt)];
  });
  if (before !== null) return entryAt(deps, nameIn(bodyOf(before)), before.seq);
  const entry = asked === null ? undefined : await find(asked);
  if (entry === undefined) {
    throw new SkeinError("conflict", "the entry was forgotten by another writer", { hint: "retry" });
  }
  return readEntry(deps, entry);
}

/** The entry or proposal of a name, at a position of the workspace's log, with what is left of its value. */
export async function entryAt(
  { store }: Pick<Deps, "store">,
  name: MemoryName | null,
  toSeq: number,
): Promise<MemoryEntry> {
  const memory = new Memory();
  const types = ["memory.promoted", "memory.proposed"];
  for await (const record of readRecords(store, store.workspace, [1, toSeq], { types }))
    memory.apply({ ...record, body: bodyOf(record) });
  const entry = memory.proposals.at(toSeq) ?? (name === null ? undefined : memory.get(memoryId(name)));
  if (entry === undefined) throw new Error("invariant: what was written about was remembered");
  return readEntry({ store }, entry);
}

const isSame = ({ origin, value, because, erased, by }: MemoryEntry, asked: Promotion): boolean =>
  !erased &&
  by === asked.by &&
  origin?.session === asked.origin?.session &&
  origin?.seq === asked.origin?.seq &&
  because === (asked.because ?? null) &&
  JSON.stringify(value) === JSON.stringify(asked.value);

/** Refuses a proposal that a person rejected, or without room in the queue. */
function checkProposal(memory: Memory, asked: PromotionRequest): void {
  const { kind, key, origin } = asked;
  checkLength(asked);
  if (memory.proposals.isRejected(memoryId(asked))) {
    throw new SkeinError("refused", `a person rejected ${kind} ${quote(key)} as memory`, {
      hint: 'only a person can still add it: "skein memory promote --approve", or "skein memory remember"',
    });
  }
  const { proposals } = memory;
  const session = origin?.session;
  if (proposals.get(asked, session) !== undefined || proposals.roomFor(session) > 0) return;
  const isOwn = proposals.size < limit.memoryPendingMax;
  const most = isOwn ? limit.memoryPendingOfSessionMax : limit.memoryPendingMax;
  throw new SkeinError(
    "refused",
    `${isOwn ? "a session" : "a workspace"} has at most ${most} memory entries that wait for approval`,
    { hint: '"skein memory pending" lists them; approve or reject some' },
  );
}

/** Refuses an entry without room in memory. */
export function checkFits(memory: Memory, promotion: Promotion): void {
  checkLength(promotion);
  if (memory.get(memoryId(promotion)) !== undefined || memory.size < limit.memoryMax) return;
  throw new SkeinError("refused", `a workspace has at most ${limit.memoryMax} memory entries`, {
    hint: '"skein memory forget" removes entries',
  });
}

function checkLength({ kind, key, value }: Promotion): void {
  if (!isTooLong(key, value)) return;
  throw new SkeinError("invalid", `${kind} ${quote(key)}: value: too long to be remembered`, {
    hint: `a session carries at most ${limit.memoryTokensMax} tokens in all: shorten it`,
  });
}

/** Options of `engine.forget`. */
export interface ForgetOptions {
  readonly scope: MemoryScope;
  readonly owner?: string;
  readonly kind: ItemKind;
  readonly key: string;
  readonly reason?: string;
  /** Also erases the contents of all its versions from the store. */
  readonly erase?: boolean;
}

/** The former entry; when it was also erased, what was erased and what was not. */
export interface ForgetResult extends MemoryEntry {
  readonly erasure?: MemoryErasure;
}

/** Ends it for all sessions that are opened later. Rejects with `not-found` when it does not exist. */
export async function forget(deps: Deps, options: ForgetOptions): Promise<MemoryEntry> {
  const name = nameOf("forget", deps, options);
  const id = memoryId(name);
  let found: MemoryEntry | null = null;
  const before = await writeOnce(deps, async () => {
    const { memory } = await deps.memory.fold();
    const entry = memory.get(id);
    // Found before and missing now: after a lost answer this very call has forgotten it, or another.
    if (entry === undefined && found !== null) return [];
    if (entry === undefined) throw notThere(memory, name);
    found = await readEntry(deps, entry);
    const { reason } = options;
    return [forgottenDraft(name, { by: "person", ...(reason === undefined ? {} : { reason }) })];
  });
  if (before !== null) return entryAt(deps, name, before.seq);
  if (found === null) throw new Error("invariant: what was forgotten was found");
  return found;
}

export function notThere(memory: Memory, { scope, owner, kind, key }: MemoryName): SkeinError {
  const keys = [...memory.entries()].flatMap(([, one]) =>
    one.scope === scope && one.owner === owner && one.kind === kind ? [one.key] : [],
  );
  const near = nearest(key, keys);
  const whose = scope === "workspace" ? "of the workspace" : `of the ${scope} ${quote(owner ?? "")}`;
  return new SkeinError("not-found", `the memory ${whose} has no ${kind} ${quote(key)}`, {
    hint: near === undefined ? '"skein memory list" lists the entries' : `did you mean ${quote(near)}?`,
  });
}

function checkScope(where: string, scope: unknown): asserts scope is MemoryScope {
  if (memoryScopes.some((one) => one === scope)) return;
  throw new SkeinError("invalid", `${where}: scope: unknown scope ${quote(scope)}`, {
    hint: `one of ${memoryScopes.join(", ")}`,
  });
}

function checkKind(where: string, kind: unknown): asserts kind is ItemKind {
  if (typeof kind === "string" && kindPattern.test(kind)) return;
  throw new SkeinError("invalid", `${where}: kind: unknown kind ${quote(kind)}`, {
    hint: `one of ${itemKinds.join(", ")}, or a kind that an agent declares`,
  });
}

export function nameOf(
  where: string,
  { actor }: Deps,
  given: { readonly scope: unknown; readonly owner?: string; readonly kind: unknown; readonly key: unknown },
): MemoryName {
  const { scope, owner, kind, key } = given;
  checkScope(where, scope);
  checkKind(where, kind);
  if (typeof key !== "string" || key === "")
    throw new SkeinError("invalid", `${where}: key: invalid key ${quote(key)}`, {
      hint: "use a short name of one line",
    });
  if (scope === "workspace") {
    if (owner === undefined) return { scope, owner: null, kind, key };
    throw new SkeinError("invalid", `${where}: owner: not allowed with the scope "workspace"`, {
      hint: 'omit it, or use the scope "agent" or "user"',
    });
  }
  const whose = owner ?? ownerIn(scope, { agent: null, user: principalOf(actor) });
  if (whose !== null) return { scope, owner: whose, kind, key };
  throw new SkeinError("invalid", `${where}: owner: missing`, {
    hint: scope === "agent" ? "pass the agent's name as owner" : "pass the principal, prn_…, as owner",
  });
}

/** An entry of an impossible owner would never reach a session. */
function checkOwner(scope: "agent" | "user", owner: unknown): void {
  const isOne = scope === "agent" ? AgentName.safeParse(owner).success : isPrincipalId(owner);
  if (isOne) return;
  const what = scope === "agent" ? "the name of an agent" : "a principal";
  throw new SkeinError("invalid", `remember: owner: expected ${what}, got ${quote(owner)}`, {
    hint:
      scope === "agent"
        ? "up to 64 lower-case letters, digits and . _ -, as in the agent's definition"
        : "a principal is prn_ and 26 characters, as the actor of your events: user:prn_…",
  });
}

/** Options of `session.promote`. */
export interface PromoteOptions {
  readonly scope: MemoryScope;
  /** Why it is worth remembering; defaults to the item's reason. */
  readonly because?: string;
  /** Approves it at once if it may come from outside content; otherwise it then waits for approval. */
  readonly approve?: boolean;
}

type MemoryQuery = PromoteOptions & { readonly kind: ItemKind; readonly key: string };

/** Promotes an item of a session, with its value and origin, for later sessions. */
export async function promoteItem(deps: Deps, session: SessionId, asked: MemoryQuery): Promise<MemoryEntry> {
  checkScope("promote", asked.scope);
  checkKind("promote", asked.kind);
  const build = async (): Promise<PromotionRequest> => {
    const state = await deps.writer.current(session);
    const found = await promotionOf(deps, session, state, { ...asked, by: "person" });
    const doubt = await doubtAt(deps, session, state, found.origin?.seq ?? 0);
    if (doubt === null) return found;
    return asked.approve === true ? { ...found, approved: true } : { ...found, doubt };
  };
  const entry = await promote(deps, build);
  // The session may have moved on meanwhile.
  await mend(deps, session, [asked]);
  return entry;
}

/** The entry that promoting an item adds. */
async function promotionOf(
  deps: Deps,
  session: SessionId,
  state: State,
  { scope, kind, key, because, by }: MemoryQuery & { readonly by: MemoryBy },
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
  if (isOver(item.status)) {
    throw new SkeinError("refused", `promote: task ${quote(key)} is ${item.status}`, {
      hint: "record the task again if it is open, or record its result as a fact",
    });
  }
  const owners = await ownersOf(deps, session, state);
  const person = by === "person" ? principalOf(deps.actor) : null;
  const owner = scope === "user" ? (person ?? owners.user) : ownerIn(scope, owners);
  if (owner === null && scope !== "workspace") {
    throw new SkeinError("refused", `promote: scope: the session has no ${scope}`, {
      hint: 'promote it with the scope "workspace"',
    });
  }
  const content = await readContent(deps.store, session, item.seq);
  if (content === undefined)
    throw new SkeinError("refused", `the value of ${kind} ${quote(key)} was erased`, {
      hint: "record it again",
    });
  const { value, because: own } = content as { value: unknown; because?: string };
  const origin = { session, seq: item.seq };
  return { scope, owner, kind, key, value, because: because ?? own, origin, status: item.status, by };
}

/** What a model has remembered: at once, or once a person approves. */
export interface RememberEffects {
  /** Null: at once. */
  readonly doubt: Doubt | null;
  /** The records for the workspace's log, in the append of the call's result. */
  readonly also: Also;
}

export async function rememberBeside(
  deps: Deps,
  session: SessionId,
  state: State,
  asked: MemoryQuery,
): Promise<RememberEffects> {
  const item = state.mind.items.get(itemKey(asked.kind, asked.key));
  const isAllowed = asked.scope !== "workspace" || (await isShared(deps, session, state, asked));
  const doubt: Doubt | null =
    item === undefined
      ? null
      : ((await doubtAt(deps, session, state, item.seq)) ?? (isAllowed ? null : { why: "scope" }));
  const also: Also = async (change) => {
    const found = await promotionOf(deps, change.session, change.state, { ...asked, by: "tool" });
    const promotion = { ...found, actor: "tool:remember" };
    const { memory, ...head } = await deps.memory.fold();
    if (doubt === null) checkFits(memory, promotion);
    else checkProposal(memory, promotion);
    return { ...head, events: [doubt === null ? promotedDraft(promotion) : proposedDraft(promotion, doubt)] };
  };
  return { doubt, also };
}

/** What was erased with a forgotten entry, and what was not. */
export interface MemoryErasure {
  /** Erased contents of the workspace's log, and their total length. */
  readonly records: number;
  readonly bytes: number;
  /** Where else it stands: the item it came from, sessions that carry it, and copies of these. */
  readonly copies: readonly EraseCopy[];
  /** True when the files of the store certainly hold nothing of it any more. */
  readonly scrubbed: boolean;
}

/** A copy of erased contents in another log. */
export interface EraseCopy {
  /** The log, and the position in it. */
  readonly session: LogId;
  readonly seq: number;
  readonly type: string;
  readonly bytes: number;
  readonly why: string;
  /** Not a copy: the session shares it with its parent, in whose log it stands. */
  readonly shared?: true;
}
