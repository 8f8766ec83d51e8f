/**
 * Retrieval for an input: ranks the items, the document sections and the earlier turns that the context does
 * not show, and chooses those that the input is about. It runs once for an input. It costs by what is left
 * out: where nothing was compacted and documents are whole, nothing is ranked. Earlier turns come from
 * the words of the session's own log.
 */
import type { Settings } from "../../core/context/part.ts";
import { entryText, saidIn, saidTypes, type RetrievedEntry } from "../../core/context/retrieved.ts";
import { rendererNow } from "../../core/context/context.ts";
import { needsPlan } from "../../core/context/plan.ts";
import { boundaryOf } from "../../core/context/source.ts";
import type { SessionLogEvent } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import { wordsOf } from "../../core/memory/words.ts";
import { fuse, type Fused } from "../../core/rank/hybrid.ts";
import { outlineOf } from "../../core/rank/outline.ts";
import { rank, rankIn, type Ranked } from "../../core/rank/rank.ts";
import { includes } from "../../core/range.ts";
import type { State } from "../../core/state.ts";
import type { BodyOf } from "../../core/catalog.ts";
import type { ConsumedInputs } from "../../core/turn/commands.ts";
import type { WordLog } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { ancestry, ownerOf, type Ancestor } from "../read/ancestry.ts";
import { sideBySide } from "../read/content.ts";
import { freshen, readOne } from "../read/event-cache.ts";
import { indexWords, rankLogs } from "../read/log-words.ts";
import { nextContext } from "./context-reader.ts";
import { indexDocument, indexItems, type ItemWords } from "./retrieval-index.ts";
import type { MemoryAccess } from "./memory-news.ts";
import {
  relevantMemory,
  type FoundMemory,
  type IndexedMemory,
  type RelevantMemoryOptions,
} from "./memory-relevant.ts";
import { queryOf } from "./retrieval-query.ts";
import { similaritiesTo, type EmbeddedText } from "./vectors.ts";
import { ifDamaged } from "../workspace/memory-follow.ts";
import { memoryLine } from "../../core/context/plan-memory.ts";
import { roughTokens } from "../../core/context/token-count.ts";
import type { CarriedMemory } from "../../core/item/commands.ts";
import type { CarriedEntry } from "../../core/memory/choice.ts";

export type RetrievedBody = BodyOf<"context.retrieved">;

export interface RetrieveOptions {
  readonly inputs: ConsumedInputs;
  readonly settings: Settings;
  readonly windowTokens: number;
  /** Null: without memory. */
  readonly memory: MemoryWanted | null;
  /** What is found is not written: it only prepares indexes and vectors. */
  readonly isRehearsal: boolean;
}

interface MemoryWanted {
  readonly access: MemoryAccess;
  /** What the same append brings anyway. */
  readonly news: CarriedMemory | null;
  /** Tokens for more entries. */
  readonly room: () => Promise<number>;
}

export interface Retrieval {
  readonly body: RetrievedBody;
  /** Entries of memory to be carried with it: those at position 0, by their number. */
  readonly carried: readonly CarriedEntry[];
}

/** The share of the window that one input may bring in, in characters. */
const room = { share: 0.04, charsPerToken: 4, charsMin: 2_000, charsMax: 24_000 } as const;
const entriesMax = 10;
/** Records of earlier turns that are looked at for one input. */
const searchedTurnsMax = 24;
/** Texts of one kind that are compared by meaning. */
const embeddedMax = 2_000;
/** Records whose words are added for one input, if they are missing: those of a compaction are far fewer. */
const indexedRecordsMax = 1_000;
/** Longer texts of earlier turns are brought in by their best section. */
const saidCharsMax = 2_000;

interface Found extends Fused {
  readonly entry: Pick<RetrievedEntry, "kind" | "seq" | "range" | "number">;
  readonly event: SessionLogEvent | undefined;
  readonly memory?: FoundMemory;
}

/** Null: nothing that the context does not show is relevant. */
export async function retrieve(
  deps: Deps,
  session: SessionId,
  state: State,
  { inputs, settings, windowTokens, memory: wanted, isRehearsal }: RetrieveOptions,
): Promise<Retrieval | null> {
  const renderer = state.standing.renderer ?? rendererNow;
  if (inputs.length === 0 || renderer < 2) return null;
  const { items, documents } = state.mind;
  const hasOwn = boundaryOf({ state }) !== null || documents.size + items.size > 0;
  const memory = wanted === null ? null : await memoryOf(deps, wanted);
  if (!hasOwn && memory === null) return null;
  await freshen(deps, session);
  const seqs = inputs.map(([seq]) => seq);
  const query = await queryOf(deps, session, seqs);
  if (wordsOf(query).length === 0) return null;
  const chain = await ancestry(deps, session, state.seq);
  const ranking: Ranking = { deps, session, state, query, chain, ranker: "bm25", note: null };
  const own = hasOwn ? await ownParts(ranking, renderer) : [];
  const found = [...own, ...(memory === null ? [] : await memoryParts(ranking, memory))];
  // That a provider fails is said once, also where nothing is brought in.
  const { note } = ranking;
  if (note === "embedding-failed" && !isRehearsal) deps.shared.vectors.outage = "told";
  const nothing = note === "embedding-failed" ? { body: bodyOf(ranking, seqs, []), carried: [] } : null;
  if (found.length === 0) return nothing;
  const shown = own.length === 0 ? "" : await shownText(deps, session, state, settings);
  const { entries, carried } = fitting(ranking, found, {
    shown,
    windowTokens,
    tokensMax: found.some(isNewMemory) ? ((await wanted?.room()) ?? 0) : 0,
  });
  return entries.length === 0 ? nothing : { body: bodyOf(ranking, seqs, entries), carried };
}

const bodyOf = (
  { ranker, note }: Ranking,
  inputs: RetrievedBody["inputs"],
  entries: RetrievedBody["entries"],
): RetrievedBody => ({ inputs, entries, ranker, ...(note === null ? {} : { note }) });

const isNewMemory = ({ memory }: Found): boolean => memory !== undefined && memory.place === null;

/** The best that fit and are not shown. */
function fitting(
  { deps }: Ranking,
  found: readonly Found[],
  { shown, windowTokens, tokensMax }: { shown: string; windowTokens: number; tokensMax: number },
): { readonly entries: RetrievedEntry[]; readonly carried: readonly CarriedEntry[] } {
  const entries: RetrievedEntry[] = [];
  const carried: CarriedEntry[] = [];
  const { share, charsPerToken, charsMin, charsMax } = room;
  let left = Math.min(charsMax, Math.max(charsMin, windowTokens * share * charsPerToken));
  let tokens = tokensMax;
  for (const { entry, event, memory, score, why } of found.toSorted((a, b) => b.score - a.score)) {
    if (entries.length === entriesMax) break;
    const rough = { ...entry, digest: "", score: Math.round(score * 100) / 100, why };
    const text = memory === undefined ? entryText(rough, event) : memoryLine(memory.item);
    if (text.length > left || (memory === undefined && shown.includes(bareText(text)))) continue;
    const isCarried = memory !== undefined && memory.place === null;
    const more = isCarried ? roughTokens(`${text}\n`) : 0;
    if (more > tokens) continue;
    left -= text.length;
    tokens -= more;
    if (isCarried) carried.push(memory.item);
    const number = isCarried ? { number: carried.length } : {};
    entries.push({ ...rough, ...number, digest: deps.world.digest("", text) });
  }
  return { entries, carried };
}

/** Of this session's own log. */
async function ownParts(ranking: Ranking, renderer: number): Promise<readonly Found[]> {
  // A plan that is due is made with this input, and chooses items and sections itself.
  const isPlanned = !needsPlan(ranking.state, renderer);
  return [
    ...(isPlanned ? await leftOutItems(ranking) : []),
    ...(isPlanned ? await sectionsOf(ranking) : []),
    ...(await earlierTurns(ranking)),
  ];
}

/** The index of memory; null without any entry, or if the workspace's log is damaged. */
async function memoryOf(
  { memory: reader }: Deps,
  wanted: MemoryWanted,
): Promise<(MemoryWanted & { readonly indexed: IndexedMemory }) | null> {
  const { upTo } = wanted.access;
  const indexed = upTo === 0 ? undefined : await reader.index(upTo).catch(ifDamaged);
  return indexed === undefined || indexed.memory.size === 0 ? null : { ...wanted, indexed };
}

async function memoryParts(
  ranking: Ranking,
  { access, indexed, news }: MemoryWanted & { readonly indexed: IndexedMemory },
): Promise<readonly Found[]> {
  const { deps, session, state, query } = ranking;
  const isHybrid = (await deps.models?.())?.embedder !== undefined;
  const choose: RelevantMemoryOptions["choose"] = (byWords, texts) => chooseOf(ranking, byWords, texts);
  const options = { access, indexed, news, query, choose, isHybrid };
  const found = await relevantMemory(deps, session, state, options);
  return found.map((memory): Found => {
    const { seq, number } = memory.place ?? { seq: 0, number: 1 };
    const { id, score, words, isRelevant, why } = memory;
    return {
      id,
      score,
      words,
      isRelevant,
      why,
      entry: { kind: "memory", seq, number },
      event: undefined,
      memory,
    };
  });
}

/** One retrieval. */
interface Ranking {
  readonly deps: Deps;
  readonly session: SessionId;
  readonly state: State;
  readonly query: string;
  /** The logs that hold its records. */
  readonly chain: readonly Ancestor[];
  ranker: "bm25" | "hybrid";
  /** What was missing. */
  note: "search-behind" | "embedding-failed" | "embedding-down" | null;
}

/** The relevant ones, by words, and by meaning where there is an embedding model. */
async function chooseOf(
  ranking: Ranking,
  byWords: readonly Ranked[],
  texts: readonly EmbeddedText[],
): Promise<readonly Fused[]> {
  if (texts.length === 0) return [];
  const { deps, query } = ranking;
  const similarities = await similaritiesTo(deps, query, texts.slice(0, embeddedMax));
  const isFused = similarities !== null && typeof similarities === "object";
  // Of several kinds of parts the first one finds out that it failed.
  if (similarities === "failed") ranking.note = "embedding-failed";
  else if (similarities === "down" && ranking.note !== "embedding-failed") ranking.note = "embedding-down";
  else if (isFused) ranking.ranker = "hybrid";
  const ranked = isFused
    ? fuse(byWords, similarities)
    : byWords.map((one): Fused => ({ ...one, why: "words" }));
  return ranked.filter(({ isRelevant }) => isRelevant).slice(0, entriesMax);
}

/** Without the line that says where it is from. */
function bareText(text: string): string {
  const line = text.indexOf("\n");
  return line === -1 ? text.slice(2) : text.slice(line + 1);
}

/** Everything that the context shows now. */
async function shownText(deps: Deps, session: SessionId, state: State, settings: Settings): Promise<string> {
  const { parts } = await nextContext(deps, session, { state, settings, inputs: [] });
  const texts: string[] = [];
  for (const part of parts) {
    if (part.part === "system") texts.push(part.text);
    if (part.part !== "message") continue;
    for (const block of part.content) if ("text" in block) texts.push(block.text);
  }
  return texts.join("\n");
}

/** Items that the plan could have shown: where it left some out, they are ranked. */
async function leftOutItems(ranking: Ranking): Promise<Found[]> {
  const { deps, session, state, query } = ranking;
  const planSeq = state.standing.plan;
  const plan = planSeq === null ? undefined : await readOne(deps, session, planSeq);
  const {
    listed = 0,
    left = 0,
    itemsToSeq = boundaryOf({ state })?.seq ?? 0,
  } = plan?.type === "context.planned" ? plan.body : { listed: 1 };
  if (listed + left === 0) return [];
  const items = new Map([...state.mind.items.entries()].filter(([, { seq }]) => seq <= itemsToSeq));
  if (items.size === 0) return [];
  const read = async (seq: number): Promise<ItemWords | null> => {
    const event = await readOne(deps, session, seq);
    const content = event?.content as { value?: unknown; because?: string } | undefined;
    if (content === undefined) return null;
    const { value = "", because = "" } = content;
    return { value: typeof value === "string" ? value : JSON.stringify(value), because };
  };
  const { relevance } = await indexItems(deps.shared.retrieval, session, items, (refs) =>
    sideBySide(refs, ({ seq }) => read(seq)),
  );
  const texts = [...items.values()].map(({ seq, key, hash }): EmbeddedText => ({
    id: String(seq),
    digest: `item ${hash ?? ""} ${key}`,
    ...ownerOf(ranking.chain, seq),
    read: async () => {
      const words = await read(seq);
      return words === null ? null : `${key}: ${words.value}`;
    },
  }));
  const chosen = await chooseOf(ranking, rankIn(relevance, query), texts);
  const found = await sideBySide(chosen, async (one): Promise<Found[]> => {
    const event = await readOne(deps, session, Number(one.id));
    return event?.content === undefined ? [] : [{ ...one, entry: { kind: "item", seq: event.seq }, event }];
  });
  return found.flat();
}

async function sectionsOf(ranking: Ranking): Promise<Found[]> {
  const { deps, session, state, query } = ranking;
  const found: Found[] = [];
  for (const [digest, { seq }] of state.mind.documents.entries()) {
    const read = async (): Promise<{ text: string; path: string | null } | null> => {
      const event = await readOne(deps, session, seq);
      const text = saidIn(event);
      const path = event?.type === "document.loaded" ? (event.content?.path ?? null) : null;
      return text === null ? null : { text, path };
    };
    const index = await indexDocument(deps.shared.retrieval, digest, read);
    if (index === null) continue;
    let whole: string | null | undefined;
    const owner = ownerOf(ranking.chain, seq);
    const texts = index.sections.map(({ from, to }, place): EmbeddedText => ({
      id: String(place),
      digest: `section ${digest} ${place}`,
      ...owner,
      read: async () => {
        whole ??= (await read())?.text ?? null;
        return whole?.slice(from, to) ?? null;
      },
    }));
    const relevant = await chooseOf(ranking, rankIn(index.relevance, query), texts);
    if (relevant.length === 0) continue;
    const event = await readOne(deps, session, seq);
    if (event === undefined) continue;
    for (const one of relevant) {
      const section = index.sections[Number(one.id)];
      if (section === undefined) continue;
      const range: [number, number] = [section.from, section.to];
      found.push({ ...one, entry: { kind: "section", seq, range }, event });
    }
  }
  return found;
}

/** What was said in turns before the last compaction, by the words of the log. */
async function earlierTurns(ranking: Ranking): Promise<readonly Found[]> {
  const { deps, session, state, query, chain } = ranking;
  const boundary = boundaryOf({ state });
  if (boundary === null) return [];
  const logs = chain.map((log) => ({ session: log.session, toSeq: Math.min(log.seq, boundary.toSeq) }));
  if (!(await haveWords(deps, logs))) ranking.note ??= "search-behind";
  const hits = await rankLogs(deps.store, query, { logs, texts: "said", limit: searchedTurnsMax });
  const seqs = hits.map(({ seq }) => seq).filter((seq) => !includes(state.mind.lost, seq));
  const events = await sideBySide(
    seqs.toSorted((a, b) => b - a),
    (seq) => readOne(deps, session, seq),
  );
  const said = new Map<string, { readonly event: SessionLogEvent; readonly text: string }>();
  for (const event of events) {
    if (event === undefined || !saidTypes.has(event.type)) continue;
    const text = saidIn(event);
    if (text !== null && text !== "") said.set(String(event.seq), { event, text });
  }
  const candidates = [...said].map(([id, { text }]) => ({ id, title: "", text }));
  // What shares one common word is no candidate, whatever it means.
  const byWords = rank(query, candidates).filter(({ words, isRelevant }) => words.length > 1 || isRelevant);
  const texts = byWords.map(({ id }): EmbeddedText => {
    const { text = "" } = said.get(id) ?? {};
    return { id, digest: `turn ${text}`, ...ownerOf(chain, Number(id)), read: async () => text };
  });
  const chosen = await chooseOf(ranking, byWords, texts);
  return chosen.flatMap((one): Found[] => {
    const known = said.get(one.id);
    if (known === undefined) return [];
    const range = bestRange(known.text, query);
    return [{ ...one, entry: { kind: "turn", seq: known.event.seq, ...range }, event: known.event }];
  });
}

/** Adds the words of records that came since, of some at most. True if none are missing. */
async function haveWords({ store, shared }: Deps, logs: readonly WordLog[]): Promise<boolean> {
  const { words } = shared.retrieval;
  const budget = { records: indexedRecordsMax };
  let isWhole = true;
  for (const log of logs) {
    if ((words.get(log.session) ?? 0) >= log.toSeq) continue;
    if (await indexWords(store, log, budget)) words.set(log.session, log.toSeq);
    else isWhole = false;
  }
  return isWhole;
}

function bestRange(text: string, query: string): { readonly range?: [number, number] } {
  if (text.length <= saidCharsMax) return {};
  const sections = outlineOf(text);
  const [best] = rank(
    query,
    sections.map(({ title, from, to }, place) => ({ id: String(place), title, text: text.slice(from, to) })),
  );
  const section = sections[Number(best?.id ?? 0)];
  return section === undefined ? {} : { range: [section.from, section.to] };
}
