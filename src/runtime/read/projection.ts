/**
 * The projections that search and queries read: texts and items, made from the feed off the append path, and
 * brought up to the head before each answer.
 */
import type { ItemKind, ItemStatus } from "../../core/item/kind.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { present } from "../../core/present.ts";
import { dependencyTypes, dependencyWords } from "../../core/depend/dependency.ts";
import { readEvent, type SessionLogEvent } from "../../core/event.ts";
import { SkeinError } from "../../core/error.ts";
import { isSharedLogId, type LogId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { includes } from "../../core/range.ts";
import { transcriptRanges, type ItemRef, type State } from "../../core/state.ts";
import type { ItemRow, Store } from "../../store/port.ts";
import { contentOf, readContent, sideBySide } from "./content.ts";
import type { StateReader } from "./state-reader.ts";

/** The progress so far. */
export type IndexProgress = (done: { readonly records: number; readonly sessions: number }) => void;

/** Records in one step: one transaction of less than 20 ms. */
const stepRecords = 200;
/** The definitions of tools: noise, as every session has them. An index of an older version has them, too. */
export const unsearched: ReadonlySet<string> = new Set(["tools.bound"]);
const changesItems = /^(item\.|session\.(opened|forked|rewound|merged)$|content\.erased$)/;

/** Up to the head, or by so many steps. False: there is more. */
export async function catchUp(
  store: Store,
  states: StateReader,
  progress?: IndexProgress,
  stepsMax = Infinity,
): Promise<boolean> {
  for (let records = 0, steps = 0; steps < stepsMax; steps++) {
    const from = await store.projected();
    const page = await store.feed(from, stepRecords);
    if (page.position === from || (from === null && page.records.length === 0)) return true;
    const texts: { session: LogId; seq: number; text: string }[] = [];
    const touched = new Map<SessionId, number>();
    for (const record of page.records) {
      if (!isSharedLogId(record.session) && changesItems.test(record.type))
        touched.set(record.session, record.seq);
      if (record.content === null || unsearched.has(record.type)) continue;
      const content = await contentOf(store, record).catch(ifDamaged);
      const text = [textOf(content), ...sourceWords(record, content)].join("\n");
      if (text.trim() !== "") texts.push({ session: record.session, seq: record.seq, text });
    }
    const items = [];
    for (const [session, seq] of touched) {
      const rows = await itemRows(store, states, session, seq).catch(ifDamaged);
      if (rows !== undefined && rows !== null) items.push({ session, rows });
    }
    // False: another process took this step. The next round starts from where it left off.
    await store.project({ from, to: page.position, texts, items });
    records += page.records.length;
    progress?.({ records, sessions: 0 });
  }
  return false;
}

/** What a record depends on, as words that `affected` searches for. */
function sourceWords(record: StoredRecord, content: unknown): readonly string[] {
  if (!dependencyTypes.some((type) => type === record.type)) return [];
  const { event, kind } = readEvent(record, false);
  return kind === "known" ? dependencyWords({ ...event, content } as SessionLogEvent) : [];
}

/**
 * What cannot be read is not found; verify says where it is. One damaged record must not take search and
 * queries away from all sessions.
 */
export function ifDamaged(error: unknown): undefined {
  if (!(error instanceof SyntaxError) && !(error instanceof SkeinError && error.code === "corrupt"))
    throw error;
}

/** Null when a later item is still to come in the feed: then the items are projected with that one. */
async function itemRows(
  store: Store,
  states: StateReader,
  session: SessionId,
  uptoSeq: number,
): Promise<ItemRow[] | null> {
  const head = await store.head(session);
  if (head === undefined) return [];
  const state = await states.at(session, head.seq);
  for (const { seq } of state.mind.items.values()) if (seq > uptoSeq) return null;
  const rows: ItemRow[] = [];
  for (const item of await readItems(store, session, state)) {
    const { kind, key, seq, at, status, value, because, erased } = item;
    const text = erased ? null : typeof value === "string" ? value : JSON.stringify(value);
    rows.push({ kind, key, seq, at, status, value: text, because });
  }
  return rows;
}

/** An item with its value. */
export interface SessionItem {
  readonly kind: ItemKind;
  readonly key: string;
  readonly value: unknown;
  readonly because: string | null;
  /** Of a task or a hypothesis; "rejected" of a decision: an idea that was turned down. */
  readonly status: ItemStatus | null;
  /** Of a hypothesis or a finding, from 0 to 1. */
  readonly confidence?: number;
  /** A compaction found it: where it was said, and whether it may come from a tool or another session. */
  readonly extracted?: { readonly saidAt?: number | undefined; readonly untrusted?: boolean | undefined };
  /** What speaks for a hypothesis or a finding. */
  readonly evidence?: readonly string[];
  /** Every context shows it in full. */
  readonly pinned?: true;
  readonly seq: number;
  readonly at: number;
  readonly erased: boolean;
}

export const readItems = (
  store: Store,
  session: LogId,
  { mind }: State,
  read: ReadSaid = (seq) => readSaid(store, session, seq),
): Promise<SessionItem[]> =>
  sideBySide([...mind.items.entries()], async ([name, ref]) => ({
    ...(await readItem(session, ref, read)),
    ...(mind.pins.has(name) && { pinned: true as const }),
  }));

/**
 * The time and content of a record; the content is undefined when it was erased, and the result when there is
 * no record.
 */
export type ReadSaid = (
  seq: number,
) => Promise<{ readonly at: number; readonly content?: unknown } | undefined>;

export async function readSaid(store: Store, session: LogId, seq: number): ReturnType<ReadSaid> {
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: true });
  return record && { at: record.at, content: await contentOf(store, record) };
}

export async function readItem(
  session: LogId,
  { kind, key, status, confidence, extracted, seq }: ItemRef,
  read: ReadSaid,
): Promise<SessionItem> {
  const found = await read(seq);
  if (found === undefined) throw new SkeinError("corrupt", `record ${seq} of ${session} is missing`);
  const { at, content } = found;
  const {
    value = null,
    because = null,
    evidence,
  } = (content as { value: unknown; because?: string; evidence?: readonly string[] } | undefined) ?? {};
  const more = present({ confidence, evidence, extracted });
  return { kind, key, value, because, status, ...more, seq, at, erased: content === undefined };
}

/** Every string in a content, in order, as one text. */
export function textOf(content: unknown): string {
  const words: string[] = [];
  const walk = (value: unknown): void => {
    if (typeof value === "string") words.push(value);
    else if (typeof value === "number") words.push(String(value));
    else if (Array.isArray(value)) value.forEach(walk);
    else if (typeof value === "object" && value !== null) {
      for (const [key, one] of Object.entries(value)) if (key !== "type") walk(one);
    }
  };
  walk(content);
  return words.join("\n");
}

/** A match of `engine.search`. */
export interface SearchHit {
  readonly session: LogId;
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  /** The matching text, in one line. */
  readonly snippet: string;
  /** Whether the session still has it: `rewound` away, `compacted` in the context, or `live`. */
  readonly mind: "live" | "rewound" | "compacted";
}

/** Where to look: by default everywhere. */
interface SearchIn {
  readonly limit?: number;
  readonly session?: LogId;
  /** Only in these logs. */
  readonly logs?: readonly LogId[];
}

export async function search(
  store: Store,
  states: StateReader,
  text: string,
  options: SearchIn & { readonly progress?: IndexProgress },
): Promise<SearchHit[]> {
  await catchUp(store, states, options.progress);
  return hitsIn(store, states, text, options);
}

/** As far as the index goes. */
async function hitsIn(
  store: Store,
  states: StateReader,
  text: string,
  options: SearchIn,
): Promise<SearchHit[]> {
  const count = Math.min(options.limit ?? 20, limit.searchMax);
  const { session, logs } = options;
  const among = present({ session, logs });
  const minds = new Map<LogId, State>();
  const hits: SearchHit[] = [];
  for (const { session: log, record } of await foundIn(store, text, { count, ...among })) {
    const found = await readHit(store, states, { session: log, seq: record.seq }, { text, minds });
    if (found !== null) hits.push(found.hit);
  }
  return hits;
}

/** The matching records without their contents. Asks for more while an older index has what is left out. */
async function foundIn(
  store: Store,
  text: string,
  { count, ...among }: Pick<SearchIn, "session" | "logs"> & { readonly count: number },
): Promise<{ readonly session: LogId; readonly record: StoredRecord }[]> {
  for (let most = count; ; most = Math.min(2 * most, limit.searchMax)) {
    const found = await store.search(text, { limit: most, ...among });
    const kept = [];
    for (const { session: log, seq } of found) {
      const [record] = await store.read(log, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
      if (record !== undefined && !unsearched.has(record.type)) kept.push({ session: log, record });
    }
    if (kept.length >= count || found.length < most || most >= limit.searchMax) return kept.slice(0, count);
  }
}

/** A match with its whole text; null if it was deleted since. States are kept in `minds`. */
export async function readHit(
  store: Store,
  states: StateReader,
  { session: log, seq }: { readonly session: LogId; readonly seq: number },
  { text, minds }: { readonly text: string; readonly minds: Map<LogId, State> },
): Promise<{ readonly hit: SearchHit; readonly whole: string } | null> {
  const [record] = await store.read(log, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  const head = await store.head(log);
  if (record === undefined || head === undefined) return null;
  const state = minds.get(log) ?? (isSharedLogId(log) ? undefined : await states.at(log, head.seq));
  if (state !== undefined) minds.set(log, state);
  const { at, type } = readEvent(record, false).event;
  const whole = textOf(await readContent(store, log, seq));
  const mind = state === undefined ? "live" : mindOf(state, seq);
  return { hit: { session: log, seq, at, type, snippet: snippetOf(whole, text), mind }, whole };
}

function mindOf({ mind }: State, seq: number): SearchHit["mind"] {
  if (includes(mind.lost, seq)) return "rewound";
  const hidden = mind.overlays.some(({ fromSeq, toSeq }) => fromSeq <= seq && seq <= toSeq);
  return hidden && includes(transcriptRanges(mind), seq) ? "compacted" : "live";
}

const snippetChars = 100;

function snippetOf(text: string, words: string): string {
  const flat = text.replaceAll(/\s+/g, " ");
  const low = flat.toLowerCase();
  const places = words
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .map((word) => low.indexOf(word))
    .filter((place) => place !== -1);
  const start = Math.max(0, Math.min(...places, flat.length) - snippetChars / 4);
  const shown = places.length === 0 ? flat.slice(0, snippetChars) : flat.slice(start, start + snippetChars);
  const before = places.length > 0 && start > 0 ? "…" : "";
  const after = start + snippetChars < flat.length ? "…" : "";
  return `${before}${shown}${after}`.toWellFormed();
}
