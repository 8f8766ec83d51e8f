/**
 * Lookup: a model searches what it cannot see: memory in its scopes, its own items, and the earlier sessions
 * that it may read. It finds; recall reads what stands at a pointer. Results come in pages, by relevance.
 */
import { present } from "../../core/present.ts";
import type { SessionAct } from "../../core/tool/session-action.ts";
import type { LogId, SessionId } from "../../core/ids.ts";
import { wordsOf } from "../../core/memory/words.ts";
import { carriedValue, isOwn } from "../../core/memory/choice.ts";
import { corpusMin, rankIn, type Ranked } from "../../core/rank/rank.ts";
import type { State } from "../../core/state.ts";
import { shortId } from "../../core/text/short-id.ts";
import type { Deps } from "../deps.ts";
import { readContent, sideBySide } from "../read/content.ts";
import { indexWords, rankLogs } from "../read/log-words.ts";
import { readHit, type SearchHit } from "../read/projection.ts";
import { stateNow } from "../read/state-now.ts";
import { doubtAt } from "../workspace/item-trust.ts";
import { readEntry } from "../workspace/memory.ts";
import { ifDamaged } from "../workspace/memory-follow.ts";
import { permittedSessions, sessionPermission } from "./lookup-sessions.ts";
import { readersOf } from "./memory-changes.ts";
import { memoryAccess } from "./memory-news.ts";
import { indexItems } from "./retrieval-index.ts";

type Lookup = Omit<Extract<SessionAct, { act: "lookup" }>, "act">;

/** Results of a page, of a lookup in all, and characters of a value. */
const pageMax = 10;
const foundMax = 100;
const valueCharsMax = 600;
const hitsMax = 3;
const scoreMin = 0.1;
/** Records of all sessions whose words are added for one lookup, and that are ranked. */
const indexedRecordsMax = 2_000;
const rankedMax = 200;

/** A result before its texts are read. */
interface Found {
  readonly score: number;
  readonly show: () => Promise<Readonly<Record<string, unknown>> | null>;
}

export async function lookup(
  deps: Deps,
  session: SessionId,
  state: State,
  { text, in: where, page = 1 }: Lookup,
): Promise<unknown> {
  const found: Found[] = [];
  const notes: string[] = [];
  if (wordsOf(text).length > 0) {
    if (where !== "items" && where !== "sessions")
      found.push(...(await memoryFound(deps, session, state, text)));
    if (where !== "memory" && where !== "sessions")
      found.push(...(await itemsFound(deps, session, state, text)));
    if (where !== "memory" && where !== "items") {
      const { hits, isBehind } = await sessionsFound(deps, session, state, text);
      found.push(...hits);
      if (isBehind) notes.push("the search index is behind: older records of sessions may be missing");
    }
  }
  const sorted = found.toSorted((a, b) => b.score - a.score).slice(0, foundMax);
  const from = (page - 1) * pageMax;
  const shown = await sideBySide(sorted.slice(from, from + pageMax), ({ show }) => show());
  const isLast = from + pageMax >= sorted.length;
  return {
    found: shown.filter((one) => one !== null),
    of: sorted.length,
    ...(isLast ? {} : { readOn: `lookup with the same text and page ${page + 1}` }),
    ...(notes.length === 0 ? {} : { note: notes.join("; ") }),
  };
}

const cut = (value: unknown): Readonly<Record<string, unknown>> => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  if (text.length <= valueCharsMax) return { value };
  return { value: `${text.slice(0, valueCharsMax).toWellFormed()}…`, chars: text.length };
};

/** Whoever searches judges relevance: only what hardly shares a word is left out. */
const relevantOf = (ranked: readonly Ranked[]): readonly Ranked[] =>
  ranked.filter(({ score }) => score >= scoreMin).slice(0, foundMax);

async function memoryFound(deps: Deps, session: SessionId, state: State, text: string): Promise<Found[]> {
  const access = await memoryAccess(deps, session, state);
  if (access === null || access.upTo === 0) return [];
  const indexed = await deps.memory.index(access.upTo).catch(ifDamaged);
  if (indexed === undefined) return [];
  const { memory, relevance } = indexed;
  const owners = await readersOf(deps, session, state);
  const may = (id: string): boolean => {
    const entry = memory.get(id);
    return entry !== undefined && access.carry.scopes.includes(entry.scope) && isOwn(entry, owners);
  };
  const permission = await sessionPermission(deps, session, state);
  return relevantOf(rankIn(relevance.among(corpusMin), text, may)).flatMap(({ id, score }): Found[] => {
    const entry = memory.get(id);
    if (entry === undefined) return [];
    const show = async () => {
      const { value, because, erased } = await readEntry(deps, entry);
      if (erased) return null;
      const { scope, kind, key, origin } = entry;
      const pointer = origin !== null && (await permission?.mayRead(origin.session as SessionId)) === true;
      const from = pointer ? { session: shortId(origin.session), fromSeq: origin.seq } : {};
      const isChecked = entry.by === "person" || entry.approvedBy !== undefined || origin === null;
      const untrusted = isChecked ? {} : await doubtOf(deps, origin.session as SessionId, origin.seq);
      const said = present({ because: because ?? undefined });
      return {
        in: "memory",
        scope,
        kind,
        key,
        ...cut(carriedValue(entry, value)),
        ...said,
        ...from,
        ...untrusted,
      };
    };
    return [{ score, show }];
  });
}

/** Marks what may come from outside content. */
async function doubtOf(deps: Deps, session: SessionId, seq: number): Promise<{ readonly untrusted?: true }> {
  if ((await deps.store.head(session)) === undefined) return { untrusted: true };
  const doubt = await doubtAt(deps, session, await deps.states.at(session, seq), seq).catch(ifDamaged);
  return doubt === null ? {} : { untrusted: true };
}

async function itemsFound(deps: Deps, session: SessionId, state: State, text: string): Promise<Found[]> {
  const items = new Map(state.mind.items.entries());
  if (items.size === 0) return [];
  const bySeq = new Map([...items.values()].map((item) => [String(item.seq), item]));
  const read = async (seq: number) => {
    const content = (await readContent(deps.store, session, seq)) as
      | { readonly value?: unknown; readonly because?: string }
      | undefined;
    return content ?? null;
  };
  const { relevance } = await indexItems(deps.shared.retrieval, `lookup ${session}`, items, (refs) =>
    sideBySide(refs, async ({ seq }) => {
      const content = await read(seq);
      if (content === null) return null;
      const { value = "", because = "" } = content;
      return { value: typeof value === "string" ? value : JSON.stringify(value), because };
    }),
  );
  return relevantOf(rankIn(relevance, text)).flatMap(({ id, score }): Found[] => {
    const item = bySeq.get(id);
    if (item === undefined) return [];
    const show = async () => {
      const content = await read(item.seq);
      if (content === null) return null;
      const { kind, key, status, seq } = item;
      const more = present({ status: status ?? undefined, because: content.because });
      const untrusted = await doubtOf(deps, session, seq);
      return { in: "items", kind, key, ...cut(content.value), ...more, fromSeq: seq, ...untrusted };
    };
    return [{ score, show }];
  });
}

/** Items of another session whose keys have words of the query: the index has their values alone. */
async function itemsOfSession(
  deps: Deps,
  other: SessionId,
  asked: ReadonlySet<string>,
): Promise<readonly (Found & { readonly seq: number })[]> {
  const { mind } = await stateNow(deps, other);
  const shared = (key: string): number => new Set(wordsOf(key).filter((word) => asked.has(word))).size;
  return [...mind.items.values()]
    .map((item) => ({ ...item, score: Math.min(1, shared(item.key) / asked.size) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || b.seq - a.seq)
    .slice(0, hitsMax)
    .map(({ kind, key, status, seq, score }) => {
      const show = async () => {
        const content = (await readContent(deps.store, other, seq)) as
          | { readonly value?: unknown }
          | undefined;
        if (content === undefined) return null;
        const more = present({ status: status ?? undefined });
        const place = { session: shortId(other), fromSeq: seq };
        return {
          in: "sessions",
          ...place,
          kind,
          key,
          ...cut(content.value),
          ...more,
          ...(await doubtOf(deps, other, seq)),
        };
      };
      return { score, seq, show };
    });
}

/** What people typed; what a model said, perhaps of outside content. Everything else is from elsewhere. */
const typedTypes: ReadonlySet<string> = new Set(["input.received", "session.opened"]);
const saidTypes: ReadonlySet<string> = new Set(["model.responded", "item.recorded"]);

async function sessionsFound(
  deps: Deps,
  session: SessionId,
  state: State,
  text: string,
): Promise<{ readonly hits: readonly Found[]; readonly isBehind: boolean }> {
  const permitted = await permittedSessions(deps, session, state);
  if (permitted.length === 0) return { hits: [], isBehind: false };
  const { store, states } = deps;
  const asked = new Set(wordsOf(text));
  const logs = permitted.map((other) => ({ session: other, toSeq: Number.MAX_SAFE_INTEGER }));
  const budget = { records: indexedRecordsMax };
  let isBehind = false;
  for (const log of logs) if (!(await indexWords(store, log, budget))) isBehind = true;
  const ranked = await rankLogs(store, text, { logs, texts: "all", limit: rankedMax });
  const bySession = Map.groupBy(ranked, ({ session: other }) => other);
  const minds = new Map<LogId, State>();
  const hits: Found[] = [];
  for (const other of permitted) {
    const items = await itemsOfSession(deps, other, asked);
    hits.push(...items);
    const known = new Set(items.map(({ seq }) => seq));
    let count = 0;
    for (const place of bySession.get(other) ?? []) {
      if (count === hitsMax) break;
      if (known.has(place.seq)) continue;
      const found = await readHit(store, states, place, { text, minds });
      if (found === null || found.hit.mind === "rewound") continue;
      const shared = sharedWords(found.whole, asked);
      if (!isEnough(shared, asked)) continue;
      count++;
      hits.push({ score: Math.min(1, shared.length / asked.size), show: () => showHit(deps, found.hit) });
    }
  }
  return { hits, isBehind };
}

const sharedWords = (text: string, asked: ReadonlySet<string>): readonly string[] => [
  ...new Set(wordsOf(text).filter((word) => asked.has(word))),
];

/** One common word is not enough among others, unless it is an identifier. */
const isEnough = (shared: readonly string[], asked: ReadonlySet<string>): boolean =>
  shared.length > 1 ||
  shared.length === asked.size ||
  shared.some((word) => word.length > 5 && /\p{N}/u.test(word));

async function showHit(
  deps: Deps,
  { session, seq, type, snippet }: SearchHit,
): Promise<Readonly<Record<string, unknown>>> {
  const doubt = async () =>
    saidTypes.has(type) ? await doubtOf(deps, session as SessionId, seq) : { untrusted: true as const };
  const mark = typedTypes.has(type) ? {} : await doubt();
  return { in: "sessions", session: shortId(session), fromSeq: seq, type, text: snippet, ...mark };
}
