/**
 * Finds copies of contents to erase, by the origins that the records themselves name: summaries, handoffs,
 * merges, messages, memory; and copies of copies. It reads all logs of the store, without contents unless it
 * searches for a text.
 */
import { readPages } from "../read/record-pages.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { isSessionId, isSharedLogId, type LogId, type SessionId } from "../../core/ids.ts";
import * as range from "../../core/range.ts";
import type { Range, Ranges } from "../../core/range.ts";
import type { Deps } from "../deps.ts";
import { contentOf, readContent } from "../read/content.ts";
import type { SharedLogs } from "./erase-family.ts";
import { type ErasedContent } from "./erase-survey.ts";
import type { IndexProgress } from "../read/projection.ts";
import { everyLog } from "../read/every-log.ts";
import type { EraseCopy } from "../workspace/memory.ts";

/** A record that holds the text where nothing is ever erased: in a key, a label, a name. */
export interface EraseKept {
  readonly session: LogId;
  readonly seq: number;
  readonly type: string;
}

export interface CopyHit {
  readonly copy: EraseCopy;
}

export interface CopyOptions {
  /** Checks whether a content holds the text. */
  readonly finds: ((record: StoredRecord) => Promise<boolean>) | undefined;
  /** Checks whether a body does. */
  readonly findsInBody?: ((record: StoredRecord) => boolean) | undefined;
  readonly progress: IndexProgress | undefined;
}

/** A possible copy: of positions of another log, of a message, or because it holds the text. */
interface Candidate {
  readonly via: LogId;
  readonly record: Pick<StoredRecord, "session" | "seq" | "type" | "contentBytes">;
  readonly of: readonly { readonly session: string; readonly range: Range; readonly why: string }[];
  readonly message: string | null;
  readonly holds: boolean;
  /** For a document: its handoff. */
  readonly handoff: { readonly from: string; readonly digest: string } | null;
}

const provenance = [
  "session.opened",
  "session.merged",
  "item.recorded",
  "document.loaded",
  "memory.carried",
  "memory.promoted",
  "memory.proposed",
  "message.sent",
  "message.received",
  "transcript.compacted",
  "handoff.written",
  "resource.bound",
  "permission.set",
];

export async function findCopies(
  deps: Deps,
  family: SharedLogs,
  erased: readonly ErasedContent[],
  options: CopyOptions,
): Promise<{ readonly found: readonly CopyHit[]; readonly kept: readonly EraseKept[] }> {
  const { finds } = options;
  if (erased.length === 0 && finds === undefined) return { found: [], kept: [] };
  const { candidates, handoffs, kept } = await readCandidates(deps, family, options);
  const loss = new Loss(family);
  for (const [owner, ranges] of byOwner(erased)) loss.add(owner, ranges);
  for (const { message } of erased) loss.addMessage(message);
  const found = new Map<Candidate, string>();
  for (let before = -1; before < found.size;) {
    before = found.size;
    for (const candidate of candidates) {
      const { record, message } = candidate;
      if (found.has(candidate) || loss.touches(record.session, [record.seq, record.seq])) continue;
      const why = whyCopied(candidate, loss, handoffs);
      if (why === null) continue;
      found.set(candidate, why);
      loss.add(record.session, [[record.seq, record.seq]]);
      loss.addMessage(message);
    }
  }
  return { found: await stillThere(deps, found), kept };
}

/** What is lost so far, under every name that reaches it. */
class Loss {
  readonly #ranges = new Map<string, Ranges>();
  readonly #messages = new Set<string>();
  readonly #sharers = new Map<LogId, ReadonlyMap<SessionId, number>>();
  readonly #family: SharedLogs;

  constructor(family: SharedLogs) {
    this.#family = family;
  }

  add(owner: LogId, ranges: Ranges): void {
    this.#put(owner, ranges);
    for (const [sharer, toSeq] of this.#sharersOf(owner)) this.#put(sharer, range.clip(ranges, toSeq));
  }

  addMessage(message: string | null): void {
    if (message !== null) this.#messages.add(message);
  }

  #sharersOf(owner: LogId): ReadonlyMap<SessionId, number> {
    const known = this.#sharers.get(owner);
    if (known !== undefined) return known;
    const sharers = isSharedLogId(owner) ? new Map<SessionId, number>() : this.#family.below(owner);
    this.#sharers.set(owner, sharers);
    return sharers;
  }

  #put(session: string, ranges: Ranges): void {
    const before = this.#ranges.get(session);
    this.#ranges.set(session, before === undefined ? ranges : range.union(before, ranges));
  }

  /** True when something in the range is lost. */
  touches(session: string, [fromSeq, toSeq]: Range): boolean {
    const lost = this.#ranges.get(session) ?? [];
    let [low, high] = [0, lost.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((lost[middle]?.[1] ?? 0) < fromSeq) low = middle + 1;
      else high = middle;
    }
    const next = lost[low];
    return next !== undefined && next[0] <= toSeq;
  }

  hasMessage(message: string): boolean {
    return this.#messages.has(message);
  }
}

function byOwner(erased: readonly ErasedContent[]): ReadonlyMap<LogId, Ranges> {
  const owners = new Map<LogId, [number, number][]>();
  for (const { owner, seq } of erased.toSorted((a, b) => a.seq - b.seq)) {
    const ranges = owners.get(owner) ?? [];
    const last = ranges.at(-1);
    if (last?.[1] === seq - 1) last[1] = seq;
    else ranges.push([seq, seq]);
    owners.set(owner, ranges);
  }
  return owners;
}

type Handoffs = ReadonlyMap<string, number>;

function whyCopied(candidate: Candidate, loss: Loss, handoffs: Handoffs): string | null {
  const { of, message, handoff, holds } = candidate;
  const source = of.find((one) => loss.touches(one.session, one.range));
  if (source !== undefined) return source.why;
  if (message !== null && loss.hasMessage(message)) return "the same message, in the other session";
  if (handoff !== null) {
    const toSeq = handoffs.get(handoff.digest) ?? Number.MAX_SAFE_INTEGER;
    if (loss.touches(handoff.from, [1, toSeq])) return `the handoff of ${handoff.from}`;
  }
  return holds ? "it holds the text" : null;
}

interface Candidates {
  readonly candidates: readonly Candidate[];
  /** By digest: the last position that a handoff covers. */
  readonly handoffs: Handoffs;
  readonly kept: readonly EraseKept[];
}

async function readCandidates(
  deps: Deps,
  family: SharedLogs,
  { finds, findsInBody, progress }: CopyOptions,
): Promise<Candidates> {
  const { store } = deps;
  const candidates: Candidate[] = [];
  const handoffs = new Map<string, number>();
  const kept: EraseKept[] = [];
  let records = 0;
  let sessions = 0;
  const only = finds === undefined ? { types: provenance, contents: false } : { contents: true };
  for await (const [session, ranges] of ownRanges(deps, family)) {
    let from: string | null = null;
    for (const each of ranges) {
      for await (const page of readPages(store, session, each, only)) {
        for (const record of page) {
          const { seq, type } = record;
          if (findsInBody?.(record) === true) kept.push({ session, seq, type });
          if (record.contentHash === null) continue;
          const body = provenance.includes(record.type) ? (JSON.parse(record.body) as Body) : {};
          if (record.type === "session.opened") from = body.from ?? null;
          if (record.type === "handoff.written" && body.digest !== undefined)
            handoffs.set(body.digest, body.toSeq ?? record.seq - 1);
          const candidate = await candidateOf(deps, session, record, { body, from, finds });
          if (candidate !== null) candidates.push(candidate);
        }
        records += page.length;
        progress?.({ records, sessions });
      }
    }
    sessions += 1;
  }
  return { candidates, handoffs, kept };
}

/** Every log, with its own positions. The rest of a deleted one is read with the first of its forks. */
export async function* ownRanges(
  { store }: Deps,
  family: SharedLogs,
): AsyncGenerator<readonly [LogId, readonly Range[]]> {
  const seen = new Map<LogId, Ranges>();
  for await (const session of everyLog(store)) {
    const head = await store.head(session);
    if (head === undefined) continue;
    if (head.parent === null || isSharedLogId(session)) {
      yield [session, [[1, head.seq]]];
      continue;
    }
    const ranges: Range[] = [];
    for (const { range: each, owner, present } of await family.stretches(session)) {
      if (owner !== session && present) continue;
      const before = seen.get(owner) ?? [];
      ranges.push(...range.subtract([each], before));
      seen.set(owner, range.add(before, each));
    }
    yield [session, ranges];
  }
}

/** The origin of a content, as bodies name it. */
interface Body {
  readonly from?: string;
  readonly fromSeq?: number;
  readonly toSeq?: number;
  readonly origin?: { readonly session: string; readonly seq: number };
  readonly kind?: string;
  readonly digest?: string;
  readonly message?: string;
}

async function candidateOf(
  { store }: Deps,
  via: LogId,
  record: StoredRecord,
  {
    body,
    from,
    finds,
  }: { readonly body: Body; readonly from: string | null; readonly finds: CopyOptions["finds"] },
): Promise<Candidate | null> {
  const { session, seq, type, contentBytes } = record;
  const carried = type === "memory.carried" ? await origins(store, via, record) : [];
  const taken = from === null ? [] : await takenOver(store, via, record, from);
  const of = [...sourcesOf(via, record, body), ...carried, ...taken];
  const message = body.message ?? null;
  const isHandoff = type === "document.loaded" && body.kind === "handoff" && from !== null;
  const handoff = isHandoff ? { from, digest: body.digest ?? "" } : null;
  const holds = finds !== undefined && (await finds(record));
  if (of.length === 0 && message === null && handoff === null && !holds) return null;
  return { via, record: { session, seq, type, contentBytes }, of, message, handoff, holds };
}

function sourcesOf(via: LogId, { seq, type }: StoredRecord, body: Body): Candidate["of"] {
  const { origin, from = "", fromSeq = 1, toSeq } = body;
  switch (type) {
    case "transcript.compacted":
      return [{ session: via, range: [fromSeq, toSeq ?? seq - 1], why: "a summary of it" }];
    case "handoff.written":
      return [{ session: via, range: [1, toSeq ?? seq - 1], why: "a handoff that was written after it" }];
    case "session.merged":
      return [{ session: from, range: [fromSeq, toSeq ?? fromSeq], why: `a summary, merged from ${from}` }];
    default:
      return origin === undefined ? [] : [originOf(origin, type)];
  }
}

const copyWords: Readonly<Record<string, string>> = {
  "item.recorded": "merged",
  "document.loaded": "taken along",
};

const originOf = (
  { session, seq }: { readonly session: string; readonly seq: number },
  type: string,
): Candidate["of"][number] => ({
  session,
  range: [seq, seq],
  why: `${copyWords[type] ?? "remembered"} from ${session}@${seq}`,
});

/** Carried items name their origin in the content. */
async function origins(store: Deps["store"], via: LogId, record: StoredRecord): Promise<Candidate["of"]> {
  const range1 = { fromSeq: record.seq, toSeq: record.seq, limit: 1, contents: true };
  const [whole] = record.content === null ? await store.read(via, range1) : [record];
  const content = whole === undefined ? undefined : await contentOf(store, whole);
  const { items = [] } = (content ?? {}) as {
    readonly items?: readonly { readonly origin?: Body["origin"] }[];
  };
  return items.flatMap(({ origin }) => (origin === undefined ? [] : [originOf(origin, record.type)]));
}

/** What a successor has of its predecessor: objective, bindings, rules. */
async function takenOver(
  store: Deps["store"],
  via: LogId,
  { seq, type }: StoredRecord,
  from: string,
): Promise<Candidate["of"]> {
  const isTaken = type === "session.opened" || type === "resource.bound" || type === "permission.set";
  const head = isTaken && isSessionId(from) ? await store.head(from) : undefined;
  if (head === undefined) return [];
  const ours = (await readContent(store, via, seq)) as Record<string, unknown> | undefined;
  const types = type === "session.opened" ? ["session.opened", "session.forked"] : [type];
  const of: Candidate["of"][number][] = [];
  for await (const page of readPages(store, head.session, [1, head.seq], { types, contents: true })) {
    for (const record of page) {
      const theirs = (await contentOf(store, record)) as Record<string, unknown> | undefined;
      if (!sharesField(ours, theirs)) continue;
      of.push({ session: from, range: [record.seq, record.seq], why: `taken over from ${from}` });
    }
  }
  return of;
}

const sharesField = (
  ours: Readonly<Record<string, unknown>> = {},
  theirs: Readonly<Record<string, unknown>> = {},
): boolean =>
  Object.entries(ours).some(([name, value]) => JSON.stringify(value) === JSON.stringify(theirs[name]));

/** Without those that were erased before. */
async function stillThere(
  { store }: Deps,
  found: ReadonlyMap<Candidate, string>,
): Promise<readonly CopyHit[]> {
  const copies: CopyHit[] = [];
  for (const [{ via, record }, why] of found) {
    const { seq, type, contentBytes } = record;
    const [now] = await store.read(via, { fromSeq: seq, toSeq: seq, limit: 1, contents: true });
    if (now === undefined || now.content === null) continue;
    copies.push({ copy: { session: via, seq, type, bytes: contentBytes ?? 0, why } });
  }
  return copies;
}
