/**
 * Import of a conversation that another tool had. Each append holds whole entries and how far the import has
 * come, so that a run that dies goes on where it stopped, and a source that has grown adds only what is new.
 * The session arrives suspended: nothing of it runs before a person activates it.
 */
import type { HistoryEntry } from "../../core/history/commands.ts";
import { present } from "../../core/present.ts";
import type { EventOf } from "../../core/event.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { isUnreviewed } from "../../core/govern/review.ts";
import { limit } from "../../core/limit.ts";
import type { TokenPrice } from "../../core/budget/price.ts";
import type { State } from "../../core/state.ts";
import type {
  PlannedEntry,
  ForeignEntry,
  TranscriptHeader,
  TranscriptPlan,
  TranscriptUsage,
} from "../../transcripts/model.ts";
import { roughTokens } from "../../core/context/token-count.ts";
import { forkSession } from "../branch/fork.ts";
import type { Deps } from "../deps.ts";
import { keepBytes } from "../log/redact.ts";
import { keepStream } from "../log/blob-upload.ts";
import { madeBefore, newSessionId, requestDeps } from "../log/request-scope.ts";
import { readEvents } from "../read/event-reader.ts";
import { cut, historyEntries, type EntryWorld } from "./history-entry.ts";

/** A transcript that was read: what is in it, and how to get at each part. */
export interface TranscriptSource {
  readonly plan: TranscriptPlan;
  /** Relative to the folder that was read; kept as a fact about the session. */
  readonly file: string;
  readonly bytes: number;
  /** SHA-256 of the source as it was read. */
  readonly digest: string;
  /** The last answer still waits for results: it is left for the next import. */
  readonly endsOpen?: boolean;
  /** Reads these entries, in order. */
  entries(planned: readonly PlannedEntry[]): AsyncIterable<ForeignEntry>;
  /** The source's bytes. */
  original(): AsyncIterable<Uint8Array>;
}

/** Options of `engine.importTranscript`. */
export interface ImportTranscriptOptions {
  /** The price of a model by the name that the tool used; null when it is unknown. */
  readonly price?: (model: string) => TokenPrice | null;
  /** The session whose call started this one, where the tool keeps subagents apart. */
  readonly parent?: SessionId;
  /** Imports a rewritten source, or one that has continued here, as a separate session. */
  readonly again?: boolean;
  /** The original is not kept beside. */
  readonly withoutOriginal?: boolean;
  /**
   * The source is still being written: its original, digest and report are left for a later import without
   * this. A session that is followed line by line would store its whole file with each line.
   */
  readonly inProgress?: boolean;
  /** Called after each append with the entries written so far. */
  readonly progress?: (entries: number) => void;
}

/** The result of `engine.importTranscript`. */
export interface ImportTranscriptReport {
  readonly session: SessionId;
  /**
   * `new`: it was not here. `grown`: entries were added. `same`: nothing was new. `rewritten`: the source
   * differs from what was imported. `continued`: the session went on here. The last two change nothing.
   */
  readonly status: "new" | "grown" | "same" | "rewritten" | "continued";
  /** Entries written by this import, and in all. */
  readonly added: number;
  readonly entries: number;
  /** Forks, one for each branch of the source. */
  readonly branches: readonly SessionId[];
}

const nothing = "0".repeat(64);

export async function importTranscript(
  deps: Deps,
  source: TranscriptSource,
  options: ImportTranscriptOptions = {},
): Promise<ImportTranscriptReport> {
  const { header, entries } = source.plan;
  const toEntry = entries.length - (source.endsOpen === true ? 1 : 0);
  if (toEntry <= 0) {
    throw new SkeinError("invalid", `import: ${source.file}: the transcript holds no messages`);
  }
  const key = `import/${header.tool}/${header.sourceId}`;
  const scope = requestDeps(deps, { key: options.again === true ? `${key}/${source.digest}` : key });
  const session = (await madeBefore(scope)) ?? (await openFor(scope, source, options));
  const state = await deps.writer.current(session);
  const known = state.standing.source?.entries ?? 0;
  const ids = idChain(deps, entries);
  const knownIds = state.standing.source?.ids ?? nothing;
  const report = { session, entries: known, added: 0, branches: [] };
  const rest = known === 0 ? null : await restOfAnswer(deps, session, source, { known, knownIds, ids });
  if (rest === "changed") return { ...report, status: "rewritten" };
  if (known > toEntry) return { ...report, status: "same" };
  const hasMore = rest !== null || known < toEntry;
  const isDone = !hasMore && (options.inProgress === true || (await isWhole(deps, session, state)));
  if (!isDone && known > 0 && !isUnreviewed(state)) return { ...report, status: "continued" };
  const addition = { source, options, from: known, to: toEntry, ids, knownIds, rest };
  if (!isDone) await addEntries(deps, session, addition);
  const branches = await addBranches(deps, session, source, options);
  const status = !hasMore ? "same" : known === 0 ? "new" : "grown";
  return { session, status, added: toEntry - known + (rest === null ? 0 : 1), entries: toEntry, branches };
}

async function openFor(
  deps: Deps,
  { plan, file }: TranscriptSource,
  { parent }: ImportTranscriptOptions,
): Promise<SessionId> {
  const { writer, store, actor } = deps;
  const id = newSessionId(deps);
  const { header } = plan;
  const above = parent === undefined ? undefined : await writer.current(parent);
  const command = {
    do: "open",
    workspace: store.workspace,
    objective: objectiveOf(header, file),
    labels: { origin: header.tool },
    ...present({
      name: line(header.title ?? "", limit.nameCharsMax) || undefined,
      parent: parent === undefined ? undefined : { session: parent, seq: above?.seq ?? 1 },
      depth: above === undefined ? undefined : above.standing.depth + 1,
    }),
  } as const;
  await writer.begin(id, { command }, { actor });
  return id;
}

/** A transcript says what was done, not what for: the title is the best there is. */
const objectiveOf = ({ tool, title, cwd }: TranscriptHeader, file: string): string =>
  line(title ?? `Conversation of ${tool}${cwd === null ? `, ${file}` : ` in ${cwd}`}`, 1_000);

const line = (text: string, charsMax: number): string =>
  text
    .slice(0, charsMax)
    .toWellFormed()
    .replaceAll(/[\s\u0000-\u001f\u007f]+/g, " ")
    .trim();

/**
 * The digest of the first n entries, for every n: two imports of one source agree on each. An entry that has
 * gained records since, such as a result that was not there yet, gives another digest.
 */
function idChain({ world }: Deps, entries: readonly PlannedEntry[]): string[] {
  const chain = [nothing];
  for (const { id, records } of entries)
    chain.push(world.digest("", `${chain.at(-1) ?? ""}\n${id}\n${records.length}`));
  return chain;
}

/**
 * Tools write an answer in pieces, its usage last: the last answer of an import may have gained some since.
 * What it gained, as an entry that continues it; null when it gained nothing.
 */
async function restOfAnswer(
  { world, store }: Deps,
  session: SessionId,
  source: TranscriptSource,
  { known, knownIds, ids }: Pick<Addition, "knownIds" | "ids"> & { readonly known: number },
): Promise<AnswerRest | null | "changed"> {
  const planned = source.plan.entries[known - 1];
  const isSame = ids[known] === knownIds;
  if (planned?.kind !== "answer") return isSame ? null : "changed";
  const records = planned.records.toSorted((a, b) => (a.file === b.file ? a.from - b.from : 0));
  const digestOf = (count: number): string =>
    world.digest("", `${ids[known - 1] ?? nothing}\n${planned.id}\n${count}`);
  const count = isSame ? records.length : records.findIndex((_, at) => at > 0 && digestOf(at) === knownIds);
  if (count === -1) return "changed";
  const then = { ...planned, records: records.slice(0, count) };
  const [part, whole] = await Array.fromAsync(source.entries([then, planned]));
  if (part?.kind !== "answer" || whole?.kind !== "answer") return "changed";
  const begins = (all: readonly unknown[], first: readonly unknown[]): boolean =>
    JSON.stringify(all.slice(0, first.length)) === JSON.stringify(first);
  if (!begins(whole.blocks, part.blocks) || !begins(whole.calls, part.calls)) return "changed";
  const usage = usageSince(await storedUsage(store, session, planned.id), whole.usage);
  if (isSame && usage === null) return null;
  const blocks = whole.blocks.slice(part.blocks.length);
  return {
    ...whole,
    blocks,
    calls: whole.calls.slice(part.calls.length),
    usage,
    source: records.slice(count),
  };
}

type AnswerRest = Extract<ForeignEntry, { kind: "answer" }>;

type TokenCounts = Omit<TranscriptUsage, "costUsd">;
const noTokens = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

/** The tokens that the log has of an answer, which is the last one in it. */
async function storedUsage(
  store: Deps["store"],
  session: SessionId,
  id: string,
): Promise<TokenCounts & { readonly nanoUsd: number }> {
  const sum = { ...noTokens, nanoUsd: 0 };
  const types = ["answer.imported"];
  for await (const event of readEvents(store, session, { types, reverse: true })) {
    const { body, content } = event as EventOf<"answer.imported">;
    if (content?.id !== cut(id)) break;
    sum.inputTokens += body.usage?.inputTokens ?? 0;
    sum.outputTokens += body.usage?.outputTokens ?? 0;
    sum.cacheReadTokens += body.usage?.cachedInputTokens ?? 0;
    sum.cacheWriteTokens += body.usage?.cacheWriteTokens ?? 0;
    sum.reasoningTokens += body.usage?.reasoningTokens ?? 0;
    sum.nanoUsd += body.costNanoUsd ?? 0;
    if (body.continues !== true) break;
  }
  return sum;
}

/** What is not in the log yet; null when that is nothing. */
function usageSince(
  stored: Awaited<ReturnType<typeof storedUsage>>,
  whole: TranscriptUsage | null,
): TranscriptUsage | null {
  if (whole === null) return null;
  const since = { ...noTokens };
  for (const name of Object.keys(noTokens) as (keyof TokenCounts)[])
    since[name] = Math.max(0, whole[name] - stored[name]);
  if (Object.values(since).every((count) => count === 0)) return null;
  const costUsd = whole.costUsd === null ? null : Math.max(0, whole.costUsd - stored.nanoUsd / 1e9);
  return { ...since, costUsd };
}

/** Whether the last append of an import was written, which says how much of the source was read. */
async function isWhole({ store }: Deps, session: SessionId, state: State): Promise<boolean> {
  const seq = state.standing.source?.seq ?? 0;
  if (seq === 0) return false;
  for await (const event of readEvents(store, session, { fromSeq: seq, toSeq: seq }))
    return (event as EventOf<"source.imported">).body.bytes !== undefined;
  return false;
}

interface Addition {
  readonly source: TranscriptSource;
  readonly options: ImportTranscriptOptions;
  /** Entries of the plan that the log holds already, and where this import ends. */
  readonly from: number;
  readonly to: number;
  readonly ids: readonly string[];
  /** The digest of the entries that the log holds. */
  readonly knownIds: string;
  /** What the last of those entries has gained. */
  readonly rest: AnswerRest | null;
}

/** The most that one append takes; entries are never split over two. */
const batchRecordsMax = 500;

async function addEntries(deps: Deps, session: SessionId, addition: Addition): Promise<void> {
  const { source, options, from, to, ids, rest } = addition;
  const { entries, tasks } = source.plan;
  const world = entryWorld(deps, options);
  let batch: HistoryEntry[] = rest === null ? [] : continued(await historyEntries(world, rest));
  let after = from;
  let afterIds = addition.knownIds;
  let taken = from;
  const write = async (isLast: boolean): Promise<void> => {
    const body = { tool: source.plan.header.tool, entries: taken, ids: ids[taken] ?? nothing };
    const said = isLast ? await sourceFacts(deps, source, options) : { body: {}, content: {} };
    await deps.writer.change(
      session,
      {
        do: "import",
        after,
        afterIds,
        entries: batch,
        source: {
          body: { ...body, ...said.body },
          content: {
            sourceId: cut(source.plan.header.sourceId),
            ...said.content,
          },
        },
        tasks: isLast ? tasks.slice(0, batchRecordsMax) : [],
      },
      { actor: deps.actor },
    );
    after = taken;
    afterIds = body.ids;
    batch = [];
    options.progress?.(taken);
  };
  // Where each entry of this run begins, counted in records: a compaction keeps those from one of them on.
  const begins = new Map<string, number>();
  let count = 0;
  for await (const entry of source.entries(entries.slice(from, to))) {
    const kept = entry.kind === "compaction" ? begins.get(entry.keptFrom ?? "") : undefined;
    const records = await historyEntries(world, entry, kept === undefined ? 0 : count - kept);
    begins.set(entry.id, count);
    count += records.length;
    if (batch.length > 0 && batch.length + records.length > batchRecordsMax) await write(false);
    batch.push(...records);
    taken++;
  }
  await write(true);
}

/** An answer that continues one is no call of the model by itself. */
const continued = (records: readonly HistoryEntry[]): HistoryEntry[] =>
  records.map((one) => (one.type === "answer" ? { ...one, body: { ...one.body, continues: true } } : one));

const entryWorld = (deps: Deps, { price }: ImportTranscriptOptions): EntryWorld => ({
  keep: (bytes) => keepBytes(deps, bytes, { begins: true }),
  price: price ?? (() => null),
  tokens: roughTokens,
});

/** What stands with the last append: the facts about the session and, of a whole source, the original. */
async function sourceFacts(deps: Deps, source: TranscriptSource, options: ImportTranscriptOptions) {
  const { header, report } = source.plan;
  const fact = (text: string | null): string | undefined => (text === null ? undefined : cut(text, 4_000));
  const facts = present({
    file: fact(source.file),
    toolVersion: fact(header.toolVersion),
    cwd: fact(header.cwd),
    gitBranch: fact(header.gitBranch),
    gitCommit: fact(header.gitCommit),
    gitRemote: fact(header.gitRemote),
  });
  if (options.inProgress === true) return { body: {}, content: facts };
  const sum = (counts: Readonly<Record<string, number>>): number =>
    Object.values(counts).reduce((all, one) => all + one, 0);
  const body = {
    bytes: source.bytes,
    digest: source.digest,
    records: sum(report.records),
    unknown: sum(report.unknownTypes),
    damaged: report.damagedCount,
  };
  const original = options.withoutOriginal === true ? {} : { original: await keepOriginal(deps, source) };
  return {
    body,
    content: { ...facts, ...original, report: { ...report, damaged: report.damaged.slice(0, 20) } },
  };
}

const keepOriginal = (deps: Deps, source: TranscriptSource) =>
  Array.fromAsync(piecesOf(source.original()), async (piece) => ({
    type: "file" as const,
    blob: await keepStream(deps, piece),
    mediaType: "application/octet-stream",
    name: cut(source.file),
  }));

/** A blob has at most a gigabyte: a larger source is kept in several. */
const pieceBytesMax = 268_435_456;

/** Each piece must be read to its end before the next is asked for. */
async function* piecesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<AsyncIterable<Uint8Array>> {
  const source = chunks[Symbol.asyncIterator]();
  let next = await source.next();
  async function* piece(): AsyncGenerator<Uint8Array> {
    for (let size = 0; next.done !== true && size < pieceBytesMax; next = await source.next()) {
      size += next.value.length;
      yield next.value;
    }
  }
  while (next.done !== true) yield piece();
}

/** Another leaf of the source is a fork where it leaves: same prefix, nothing copied. */
async function addBranches(
  deps: Deps,
  session: SessionId,
  source: TranscriptSource,
  options: ImportTranscriptOptions,
): Promise<SessionId[]> {
  const { branches } = source.plan;
  const wanted = new Set(branches.flatMap(({ after }) => (after === null ? [] : [after])));
  /** Read when the first fork is made: importing the same source again reads nothing. */
  let places: Places | null = null;
  const forks: SessionId[] = [];
  for (const { id, after, entries } of branches) {
    if (entries.length === 0) continue;
    const scope = requestDeps(deps, { key: `import/branch/${session}/${id}` });
    let fork = await madeBefore(scope);
    if (fork === null) {
      places ??= await placesOf(deps, session, wanted);
      const place = after === null ? { session, seq: 1 } : places.get(after);
      if (place === undefined) continue;
      fork = await forkSession(scope, place.session, place.seq, { files: undefined, memory: false });
    }
    forks.push(fork);
    await addBranch(deps, fork, { ...source.plan, entries, branches: [], tasks: [] }, source, options);
    // A branch may leave from a branch.
    if (places !== null && entries.some((entry) => wanted.has(entry.id)))
      places = new Map([...(await placesOf(deps, fork, wanted)), ...places]);
  }
  return forks;
}

async function addBranch(
  deps: Deps,
  fork: SessionId,
  plan: TranscriptPlan,
  source: TranscriptSource,
  options: ImportTranscriptOptions,
): Promise<void> {
  const state = await deps.writer.current(fork);
  const known = state.standing.source;
  const from = known?.entries ?? 0;
  const ids = idChain(deps, plan.entries);
  if (from >= plan.entries.length || ids[from] !== (known?.ids ?? nothing) || !isUnreviewed(state)) return;
  const kept = { ...options, withoutOriginal: true };
  await addEntries(deps, fork, {
    source: { ...source, plan },
    options: kept,
    from,
    to: plan.entries.length,
    ids,
    knownIds: known?.ids ?? nothing,
    rest: null,
  });
}

type Places = ReadonlyMap<string, { readonly session: SessionId; readonly seq: number }>;

/** Where the entries end that branches leave from: of a fork, those that its parent does not have. */
async function placesOf(
  { store, writer }: Deps,
  session: SessionId,
  wanted: ReadonlySet<string>,
): Promise<Places> {
  const places = new Map<string, { readonly session: SessionId; readonly seq: number }>();
  const { seq: toSeq, standing } = await writer.current(session);
  const fromSeq = (standing.fork?.seq ?? 0) + 1;
  const types = ["input.imported", "answer.imported", "call.imported"] as const;
  let last: string | null = null;
  for await (const event of readEvents(store, session, { fromSeq, toSeq, types })) {
    const { type, content, seq } = event as EventOf<(typeof types)[number]>;
    if (type !== "call.imported") last = content?.id ?? null;
    if (last !== null && wanted.has(last)) places.set(last, { session, seq });
  }
  return places;
}
