/**
 * The plan of a merge: compares both sessions with their common base. It reads two or three states and the
 * items that differ; the length of the logs does not matter.
 */
import { present } from "../../core/present.ts";
import type { SessionId } from "../../core/ids.ts";
import {
  isOneRecord,
  mergeItems,
  type MergeItem,
  type MergeOutcome,
  type Triple,
} from "../../core/branch/merge.ts";
import { itemKey } from "../../core/item/fold.ts";
import { possibleConflicts, type PossibleConflict } from "../../core/item/possible-conflict.ts";
import { includes } from "../../core/range.ts";
import { emptyState, type ItemRef, type State } from "../../core/state.ts";
import { SkeinError } from "../../core/error.ts";
import { ancestry, knownSeq, ownerOf, sharedSeq, type Ancestor } from "../read/ancestry.ts";
import { contentOf, readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { headOf, positionIn } from "../read/position.ts";

/** One of the two sessions, as it was read. */
export interface Party {
  readonly session: SessionId;
  readonly state: State;
  readonly hash: string;
  readonly chain: readonly Ancestor[];
}

export interface MergePlan extends MergeOutcome {
  /** New records of the other session lie after this position. */
  readonly sinceSeq: number;
  /** The common base; null when they have nothing in common. */
  readonly base: { readonly session: SessionId; readonly seq: number } | null;
  /** True when the other session has said anything since. */
  readonly isSaid: boolean;
  /** What comes in and may contradict what is here, under another key. */
  readonly possible: readonly PossibleConflict[];
}

/** The current state, a state the caller already knows, or the state at a position. */
export async function readParty(
  deps: Deps,
  session: SessionId,
  { state, toSeq }: { readonly state?: State; readonly toSeq?: number } = {},
): Promise<Party> {
  const head = await headOf(deps, session);
  const seq = toSeq === undefined ? head.seq : await positionIn(deps, session, toSeq);
  const known = state ?? (await deps.states.at(session, seq));
  const hash = seq === head.seq ? head.hash : await hashAt(deps, session, seq);
  return { session, state: known, hash, chain: await ancestry(deps, session, known.seq) };
}

async function hashAt({ store }: Deps, session: SessionId, seq: number): Promise<string> {
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  if (record === undefined) throw new SkeinError("corrupt", `record ${seq} of ${session} is missing`);
  return record.hash;
}

export async function planMerge(deps: Deps, ours: Party, theirs: Party): Promise<MergePlan> {
  const sinceSeq = knownSeq(ours.chain, theirs.chain, ours.state.mind.bases);
  const since = await stateAt(deps, theirs.session, sinceSeq);
  const found = await commonGround(deps, ours, theirs, since);
  const { state: base, log } = found;
  const reader = itemReader(deps);
  const [before, here, there] = [new Map(), new Map(), new Map()] as Map<string, MergeItem>[];
  const names = new Set([...base.mind.items.keys(), ...theirs.state.mind.items.keys()]);
  for (const name of names) {
    const was = base.mind.items.get(name);
    const is = theirs.state.mind.items.get(name);
    if (isOneRecord(was, is)) continue;
    const own = ours.state.mind.items.get(name);
    if (was !== undefined) before?.set(name, await reader(log, was));
    if (is !== undefined) there?.set(name, await reader(theirs.session, is));
    if (own !== undefined) here?.set(name, await reader(ours.session, own));
  }
  const merged = mergeItems(before ?? new Map(), here ?? new Map(), there ?? new Map());
  const chain = log === ours.session ? ours.chain : theirs.chain;
  return {
    ...merged,
    sinceSeq,
    base: base.seq === 0 ? null : ownerOf(chain, base.seq),
    isSaid: hasSpoken(ours, since, theirs.state),
    possible: await possibleIn(ours, merged.taken, reader),
  };
}

/** Items here that are compared with what comes in, the newest of them. */
const comparedMax = 500;

async function possibleIn(
  { session, state }: Party,
  taken: readonly Triple[],
  reader: ReturnType<typeof itemReader>,
): Promise<readonly PossibleConflict[]> {
  const coming = taken.flatMap(({ theirs }) => (theirs === null ? [] : [theirs]));
  if (coming.length === 0) return [];
  const names = new Set(taken.map(({ name }) => name));
  const others = [...state.mind.items.entries()].filter(([name]) => !names.has(name));
  const here: MergeItem[] = [];
  for (const [, ref] of others.toSorted(([, a], [, b]) => b.seq - a.seq).slice(0, comparedMax))
    here.push(await reader(session, ref));
  const found = possibleConflicts([...here, ...coming].filter(({ erased }) => !erased));
  const isComing = ({ kind, key }: PossibleConflict["items"][number]): boolean =>
    names.has(itemKey(kind, key));
  return found.filter(({ items }) => items.some(isComing));
}

const stateAt = async ({ states }: Deps, session: SessionId, seq: number): Promise<State> =>
  seq === 0 ? emptyState : states.at(session, seq);

/**
 * The other session as it was when this one last merged it; or this one as it was when the other last merged
 * it, if that was later. Two that merged one another at once have no single base: then the first.
 */
async function commonGround(
  deps: Deps,
  ours: Party,
  theirs: Party,
  since: State,
): Promise<{ readonly state: State; readonly log: SessionId }> {
  const first = { state: since, log: theirs.session };
  const backSeq = knownSeq(theirs.chain, ours.chain, theirs.state.mind.bases);
  if (backSeq <= sharedSeq(ours.chain, theirs.chain)) return first;
  if (knownSeq(theirs.chain, ours.chain, since.mind.bases) >= backSeq) return first;
  const back = await stateAt(deps, ours.session, backSeq);
  const isLater = knownSeq(ours.chain, theirs.chain, back.mind.bases) >= since.seq;
  return isLater ? { state: back, log: ours.session } : first;
}

/**
 * Turns count, and merges of sessions unknown to this one; a fork that was only made, or labeled, has said
 * nothing.
 */
function hasSpoken(ours: Party, since: State, now: State): boolean {
  const going = since.standing.turn !== null && since.standing.session === now.standing.session;
  if (now.standing.lastTurn > since.standing.lastTurn) return true;
  if (going && now.mind.toSeq > since.mind.toSeq) return true;
  const own = new Map<string, number>(ours.chain.map(({ session, seq }) => [session, seq]));
  return [...now.mind.bases.entries()].some(([from, seq]) => {
    const known = Math.max(own.get(from) ?? 0, ours.state.mind.bases.get(from) ?? 0);
    return seq > known && since.mind.bases.get(from) !== seq;
  });
}

/** Reads an item once, though two sessions share it. */
function itemReader({ store }: Deps): (log: SessionId, ref: ItemRef) => Promise<MergeItem> {
  const seen = new Map<string, MergeItem>();
  return async (log, ref) => {
    const { seq, hash } = ref;
    const known = hash === null ? undefined : seen.get(hash);
    if (known !== undefined) return known;
    const [record] = await store.read(log, { fromSeq: seq, toSeq: seq, limit: 1, contents: true });
    if (record === undefined) throw new SkeinError("corrupt", `record ${seq} of ${log} is missing`);
    const content = (await contentOf(store, record)) as
      | { value: unknown; because?: string; evidence?: readonly string[] }
      | undefined;
    const { at, actor } = record;
    const { value = null, because = null, evidence } = content ?? {};
    const said = { value, because, ...present({ evidence }), erased: content === undefined };
    const item = { ...ref, at, actor, ...said };
    if (hash !== null) seen.set(hash, item);
    return item;
  };
}

/** Who retracted an item, when and why; null when a rewind removed it. */
export async function findRetraction(
  { store }: Deps,
  { session, state }: Party,
  item: { readonly kind: string; readonly key: string },
): Promise<{
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  because: string | null;
} | null> {
  for (let toSeq = state.seq; toSeq > 0;) {
    const range = {
      fromSeq: 1,
      toSeq,
      reverse: true,
      limit: 100,
      types: ["item.retracted"],
      contents: false,
    };
    const page = await store.read(session, range);
    const last = page.at(-1);
    if (last === undefined) return null;
    for (const { seq, at, actor, body } of page) {
      const { kind, key } = JSON.parse(body) as { kind: string; key: string };
      if (kind !== item.kind || key !== item.key || includes(state.mind.lost, seq)) continue;
      const content = (await readContent(store, session, seq)) as { because?: string } | undefined;
      return { seq, at, actor, because: content?.because ?? null };
    }
    toSeq = last.seq - 1;
  }
  return null;
}

/** Answers of one merge, and how far back the search goes. */
const answersMax = 3;
const lookBackSeqs = 2_000;

/** The last answers of the other session's model, the newest last. */
export async function lastAnswers(
  { store }: Deps,
  { session, state }: Party,
  sinceSeq: number,
): Promise<readonly string[]> {
  const toSeq = state.mind.toSeq;
  const fromSeq = Math.max(sinceSeq + 1, toSeq - lookBackSeqs);
  const answers: string[] = [];
  if (toSeq < fromSeq) return answers;
  const range = { fromSeq, toSeq, reverse: true, limit: 50, types: ["model.responded"], contents: true };
  for (const record of await store.read(session, range)) {
    if (answers.length === answersMax) break;
    if (includes(state.mind.lost, record.seq) || (await isAside(store, session, record.cause))) continue;
    const content = (await contentOf(store, record)) as
      | { readonly blocks?: readonly { readonly type: string; readonly text?: string }[] }
      | undefined;
    const texts = content?.blocks?.filter(({ type }) => type === "text").map(({ text = "" }) => text) ?? [];
    const said = texts.join("\n").trim();
    if (said !== "") answers.unshift(said);
  }
  return answers;
}

/** True when the request was for a summary, not for a step of a turn. */
async function isAside(store: Deps["store"], session: SessionId, cause: number | null): Promise<boolean> {
  if (cause === null) return false;
  const [record] = await store.read(session, { fromSeq: cause, toSeq: cause, limit: 1, contents: false });
  return record !== undefined && (JSON.parse(record.body) as { purpose?: string }).purpose === "compaction";
}
