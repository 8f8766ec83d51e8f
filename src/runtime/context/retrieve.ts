/**
 * Retrieval for an input: ranks the items, the document sections and the earlier turns that the context does
 * not show, and chooses those that the input is about. It runs once for an input. It costs by what is left
 * out: where nothing was compacted and documents are whole, nothing is ranked. Earlier turns come from the
 * store's search.
 */
import type { Settings } from "../../core/context/part.ts";
import { entryText, saidIn, saidTypes, type RetrievedEntry } from "../../core/context/retrieved.ts";
import { rendererNow } from "../../core/context/context.ts";
import { needsPlan } from "../../core/context/plan.ts";
import { boundaryOf } from "../../core/context/source.ts";
import type { SessionLogEvent } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import { wordsOf } from "../../core/memory/words.ts";
import { outlineOf } from "../../core/rank/outline.ts";
import { rank, rankIn, type Ranked } from "../../core/rank/rank.ts";
import { includes } from "../../core/range.ts";
import type { State } from "../../core/state.ts";
import type { BodyOf } from "../../core/catalog.ts";
import type { ConsumedInputs } from "../../core/turn/commands.ts";
import type { Deps } from "../deps.ts";
import { ancestry } from "../read/ancestry.ts";
import { sideBySide } from "../read/content.ts";
import { freshen, readOne } from "../read/event-cache.ts";
import { catchUp } from "../read/projection.ts";
import { nextContext } from "./context-reader.ts";
import { indexDocument, indexItems } from "./retrieval-index.ts";

export type RetrievedBody = BodyOf<"context.retrieved">;

export interface RetrieveOptions {
  readonly inputs: ConsumedInputs;
  readonly settings: Settings;
  readonly windowTokens: number;
}

/** The share of the window that one input may bring in, in characters. */
const room = { share: 0.04, charsPerToken: 4, charsMin: 2_000, charsMax: 24_000 } as const;
const entriesMax = 10;
/** Characters read of an input: its beginning and its end. */
const queryChars = { head: 6_000, tail: 4_000 } as const;
/** Words of an input that are looked for in earlier turns, in pairs; and records of each pair. */
const searchedWordsMax = 6;
const searchedHitsMax = 8;
/** Steps of 200 records by which the search index catches up for one input. */
const catchUpStepsMax = 5;
/** Longer texts of earlier turns are brought in by their best section. */
const saidCharsMax = 2_000;

interface Found extends Ranked {
  readonly entry: Pick<RetrievedEntry, "kind" | "seq" | "range">;
  readonly event: SessionLogEvent;
}

/** Null: nothing that the context does not show is relevant. */
export async function retrieve(
  deps: Deps,
  session: SessionId,
  state: State,
  { inputs, settings, windowTokens }: RetrieveOptions,
): Promise<RetrievedBody | null> {
  const renderer = state.standing.renderer ?? rendererNow;
  if (inputs.length === 0 || renderer < 2) return null;
  if (boundaryOf({ state }) === null && state.mind.documents.size === 0) return null;
  await freshen(deps, session);
  const seqs = inputs.map(([seq]) => seq);
  const query = await queryOf(deps, session, seqs);
  if (wordsOf(query).length === 0) return null;
  const turns = await earlierTurns(deps, session, state, query);
  // A plan that is due is made with this input, and chooses items and sections itself.
  const isPlanned = !needsPlan(state, renderer);
  const found = [
    ...(isPlanned ? await leftOutItems(deps, session, state, query) : []),
    ...(isPlanned ? await sectionsOf(deps, session, state, query) : []),
    ...turns.found,
  ];
  if (found.length === 0) return null;
  const shown = await shownText(deps, session, state, settings);
  const entries: RetrievedEntry[] = [];
  const { share, charsPerToken, charsMin, charsMax } = room;
  let left = Math.min(charsMax, Math.max(charsMin, windowTokens * share * charsPerToken));
  for (const { entry, event, score } of found.toSorted((a, b) => b.score - a.score)) {
    if (entries.length === entriesMax) break;
    const rough = { ...entry, digest: "", score: Math.round(score * 100) / 100, why: "words" };
    const text = entryText(rough, event);
    if (text.length > left || shown.includes(bareText(text))) continue;
    left -= text.length;
    entries.push({ ...rough, digest: deps.world.digest("", text) });
  }
  if (entries.length === 0) return null;
  const note = turns.isBehind ? { note: "search-behind" } : {};
  return { inputs: seqs, entries, ranker: "bm25", ...note };
}

/** Without the line that says where it is from. */
function bareText(text: string): string {
  const line = text.indexOf("\n");
  return line === -1 ? text.slice(2) : text.slice(line + 1);
}

async function queryOf(deps: Deps, session: SessionId, seqs: readonly number[]): Promise<string> {
  const texts = await sideBySide(seqs, async (seq) => saidIn(await readOne(deps, session, seq)) ?? "");
  const { head, tail } = queryChars;
  return texts
    .map((text) => (text.length <= head + tail ? text : `${text.slice(0, head)}\n${text.slice(-tail)}`))
    .join("\n");
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

/** Items from before the last compaction: it may have left them out. */
async function leftOutItems(deps: Deps, session: SessionId, state: State, query: string): Promise<Found[]> {
  const boundary = boundaryOf({ state });
  if (boundary === null) return [];
  const items = new Map([...state.mind.items.entries()].filter(([, { seq }]) => seq <= boundary.seq));
  if (items.size === 0) return [];
  const { relevance } = await indexItems(deps.shared.retrieval, session, items, (refs) =>
    sideBySide(refs, async ({ seq }) => {
      const event = await readOne(deps, session, seq);
      const content = event?.content as { value?: unknown; because?: string } | undefined;
      if (content === undefined) return null;
      const { value = "", because = "" } = content;
      return { value: typeof value === "string" ? value : JSON.stringify(value), because };
    }),
  );
  return withEvents(deps, session, relevantIn(rankIn(relevance, query)), (seq) => ({ kind: "item", seq }));
}

async function sectionsOf(deps: Deps, session: SessionId, state: State, query: string): Promise<Found[]> {
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
    const relevant = relevantIn(rankIn(index.relevance, query));
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

const relevantIn = (ranked: readonly Ranked[]): readonly Ranked[] =>
  ranked.filter(({ isRelevant }) => isRelevant).slice(0, entriesMax);

async function withEvents(
  deps: Deps,
  session: SessionId,
  ranked: readonly Ranked[],
  entryOf: (seq: number) => Found["entry"],
): Promise<Found[]> {
  const found: Found[] = [];
  for (const one of ranked) {
    const event = await readOne(deps, session, Number(one.id));
    if (event?.content !== undefined) found.push({ ...one, entry: entryOf(event.seq), event });
  }
  return found;
}

/** What was said in turns before the last compaction, by the store's search. */
async function earlierTurns(
  deps: Deps,
  session: SessionId,
  state: State,
  query: string,
): Promise<{ readonly found: readonly Found[]; readonly isBehind: boolean }> {
  const boundary = boundaryOf({ state });
  if (boundary === null) return { found: [], isBehind: false };
  const { store, states } = deps;
  const isCaughtUp = await catchUp(store, states, undefined, catchUpStepsMax);
  const chain = await ancestry({ store, states }, session, state.seq);
  const seqs = new Set<number>();
  const searched = searchesFor(query).flatMap((text) => chain.map((log) => ({ text, log })));
  for (const hits of await sideBySide(searched, ({ text, log }) =>
    store.search(text, { limit: searchedHitsMax, session: log.session }).then((all) => ({ all, log })),
  )) {
    for (const { seq } of hits.all) {
      if (seq <= hits.log.seq && seq <= boundary.toSeq && !includes(state.mind.lost, seq)) seqs.add(seq);
    }
  }
  const events = await sideBySide(
    [...seqs].toSorted((a, b) => b - a),
    (seq) => readOne(deps, session, seq),
  );
  const said = new Map<string, { readonly event: SessionLogEvent; readonly text: string }>();
  for (const event of events) {
    if (event === undefined || !saidTypes.has(event.type)) continue;
    const text = saidIn(event);
    if (text !== null && text !== "") said.set(String(event.seq), { event, text });
  }
  const candidates = [...said].map(([id, { text }]) => ({ id, title: "", text }));
  const found = relevantIn(rank(query, candidates)).flatMap((one): Found[] => {
    const known = said.get(one.id);
    if (known === undefined) return [];
    const range = bestRange(known.text, query);
    return [{ ...one, entry: { kind: "turn", seq: known.event.seq, ...range }, event: known.event }];
  });
  return { found, isBehind: !isCaughtUp };
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

/** Pairs of the most telling words: what shares only one is not relevant. Alone, only identifiers. */
function searchesFor(query: string): readonly string[] {
  const words = [...new Set(wordsOf(query))]
    .filter((word) => word.length > 2)
    .toSorted((a, b) => Number(/\p{N}/u.test(b)) - Number(/\p{N}/u.test(a)) || b.length - a.length)
    .slice(0, searchedWordsMax)
    .map((word) => `${word}*`);
  if (words.length === 1) return words;
  const alone = words.filter((word) => word.length > 5 && /\p{N}/u.test(word));
  return [
    ...alone,
    ...words.flatMap((one, place) => words.slice(place + 1).map((other) => `${one} ${other}`)),
  ];
}
