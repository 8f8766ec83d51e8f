/**
 * Import of a conversation that another tool had. Each append holds whole entries and how far the import has
 * come, so that a run that dies resumes where it stopped, and a source that has grown adds only what is new.
 * The session arrives suspended: nothing of it runs before a person activates it.
 */
import type { HistoryEntry } from "../../core/history/commands.ts";
import { present } from "../../core/present.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { takesHistory } from "../../core/history/decide.ts";
import type { TokenPrice } from "../../core/budget/price.ts";
import type { OtherUsage } from "../../core/state.ts";
import type {
  PlannedBranch,
  PlannedEntries,
  ForeignEntry,
  TranscriptPlan,
  TranscriptTask,
} from "../../transcripts/model.ts";
import { roughTokens } from "../../core/context/token-count.ts";
import type { Deps } from "../deps.ts";
import { keepBytes } from "../log/redact.ts";
import { madeOrFree, requestDeps } from "../log/request-scope.ts";
import { callPlaces, childSource, forkBranches } from "./history-branches.ts";
import { count, cut, historyEntries, type EntryWorld } from "./history-entry.ts";
import { exportedSource, withoutMark, type ExportedSource } from "./history-export.ts";
import { countedElsewhere } from "./history-family.ts";
import { forkExported, openFor } from "./history-open.ts";
import { addId, idChain, keptStarts, noIds, type IdChain } from "./history-order.ts";
import { continued, restOfAnswer, type AnswerRest } from "./history-rest.ts";
import {
  addTexts,
  compareTexts,
  isUnchanged,
  lastImport,
  textDigest,
  type TextChain,
  type TextDigest,
} from "./history-texts.ts";
import {
  keepOriginal,
  RedactionCounter,
  redactOriginal,
  type OriginalChunk,
  type RedactionReport,
} from "./history-original.ts";

/** A transcript that was read: what is in it, and how to get at each part. */
export interface TranscriptSource {
  readonly plan: TranscriptPlan;
  /** Relative to the folder that was read; kept as a fact about the session. */
  readonly file: string;
  readonly bytes: number;
  /** SHA-256 of the source as it was read. */
  readonly digest: string;
  /** Bytes at the beginning of `file` that are as they were at the last import; 0 where that is unknown. */
  readonly unchangedBytes?: number;
  /** The last answer still waits for results: it is left for the next import. */
  readonly endsOpen?: boolean;
  /** Reads these entries, in order. */
  entries(planned: PlannedEntries): AsyncIterable<ForeignEntry>;
  /** The source's bytes, in order. */
  original(): AsyncIterable<OriginalChunk>;
}

/** Options of `engine.importTranscript`. */
export interface ImportTranscriptOptions {
  /** The price of a model by the name that the tool used; null when it is unknown. */
  readonly price?: (model: string) => TokenPrice | null;
  /** The session whose call started this one, where the tool keeps subagents apart. */
  readonly parent?: SessionId;
  /** The id that the tool gave that call. */
  readonly parentCall?: string;
  /** Imports a source that was rewritten, or continued here, as a new session. Later imports add to that. */
  readonly again?: boolean;
  /** The original is not kept beside. */
  readonly withoutOriginal?: boolean;
  /**
   * The source is still being written: its original and report are left for a later import without
   * this. A session that is followed line by line would store its whole file with each line.
   */
  readonly inProgress?: boolean;
  /** Keeps secrets as they are, in the session and in the original. Ask a person first. */
  readonly verbatim?: boolean;
  /** Called after each append with the entries written so far. */
  readonly progress?: (entries: number) => void;
}

/** The result of `engine.importTranscript`. */
export interface ImportTranscriptReport {
  readonly session: SessionId;
  /**
   * `new`: it was not here. `grown`: entries were added. `same`: nothing was new. `rewritten`: the source
   * differs from what was imported. `continued`: the session was continued here. `exported`: Skein wrote the
   * source from `session`, and the tool has added nothing. The last three change nothing.
   */
  readonly status: "new" | "grown" | "same" | "rewritten" | "continued" | "exported";
  /** The session that Skein wrote the source from, when it is in this store. */
  readonly origin: SessionId | null;
  /** Entries written by this import, and in all. */
  readonly added: number;
  readonly entries: number;
  /** Forks, one for each branch of the source. */
  readonly branches: readonly SessionId[];
  /** Sessions of subagents whose records lie in the same file. */
  readonly children: readonly SessionId[];
  /** The secrets of the source; null when this import did not read all of it, or kept it verbatim. */
  readonly redactions: RedactionReport | null;
}

export const importTranscript = (
  deps: Deps,
  source: TranscriptSource,
  options: ImportTranscriptOptions = {},
): Promise<ImportTranscriptReport> => importPart(deps, source, options);

/**
 * A whole transcript, or a child that lies in one. The newest copy of a source continues: the key of each
 * copy is made of the session before it.
 */
async function importPart(
  deps: Deps,
  given: TranscriptSource,
  options: AdditionOptions,
): Promise<ImportTranscriptReport> {
  const exported = await exportedSource(deps, given);
  if (exported?.added === "nothing") return leftAsExport(exported);
  const report = await importCopies(deps, exported?.source ?? withoutMark(given), exported, options);
  return { ...report, origin: exported?.origin ?? null };
}

const leftAsExport = ({ origin }: ExportedSource): ImportTranscriptReport => {
  const none = { entries: 0, added: 0, branches: [], children: [], redactions: null };
  return { session: origin, origin, status: "exported", ...none };
};

async function importCopies(
  deps: Deps,
  source: TranscriptSource,
  exported: ExportedSource | null,
  options: AdditionOptions,
): Promise<PartReport> {
  const { header, entries } = source.plan;
  if (entries.length - (source.endsOpen === true ? 1 : 0) <= 0) {
    throw new SkeinError("invalid", `import: ${source.file}: the transcript holds no messages`);
  }
  const within = options.copy === undefined ? "" : `/in/${options.copy}`;
  const of = exported?.added === "fork" ? `/from/${exported.origin}@${exported.seq}` : "";
  const key = `import/${header.tool}/${header.sourceId}${of}${within}`;
  const look = (before: SessionId | null) =>
    madeOrFree(before === null ? key : `${key}/after/${before}`, (one) => requestDeps(deps, { key: one }));
  let newest: SessionId | null = null;
  let isCopy = options.copy !== undefined;
  let next = await look(null);
  while (next.session !== null) {
    isCopy ||= newest !== null;
    newest = next.session;
    next = await look(newest);
  }
  if (newest !== null) {
    const report = await importInto(deps, newest, source, { ...options, isCopy });
    const isLeft = report.status === "rewritten" || report.status === "continued";
    if (!isLeft || options.again !== true) return report;
    isCopy = true;
  }
  const { scope } = next;
  const session =
    exported?.added === "fork"
      ? await forkExported(scope, source, exported)
      : await openFor(scope, source, options);
  return importInto(deps, session, source, { ...options, isCopy });
}

type PartReport = Omit<ImportTranscriptReport, "origin">;

async function importInto(
  deps: Deps,
  session: SessionId,
  source: TranscriptSource,
  options: AdditionOptions & { readonly isCopy: boolean },
): Promise<PartReport> {
  const { entries } = source.plan;
  const toEntry = entries.length - (source.endsOpen === true ? 1 : 0);
  const state = await deps.writer.current(session);
  const known = state.standing.source?.entries ?? 0;
  const ids = idChain(deps.world, entries, known);
  const none = { branches: [], children: [], redactions: null };
  const report = { session, entries: known, added: 0, ...none };
  const knownIds = state.standing.source?.ids ?? noIds;
  const last = await lastImport(deps, session, state);
  const isQuick = last.digest === source.digest || isUnchanged(source, known);
  const found = await knownPart(deps, session, source, { known, knownIds, ids, texts: last.texts, isQuick });
  if (found === "changed") return { ...report, status: "rewritten" };
  const { rest, texts } = found;
  if (known > toEntry) return { ...report, status: "same" };
  const hasMore = rest !== null || known < toEntry;
  if (known > 0 && !takesHistory(state)) return { ...report, status: hasMore ? "continued" : "same" };
  const isDone = !hasMore && (options.inProgress === true || last.digest !== null);
  let counted: Promise<ReadonlySet<string>> | undefined;
  const copied = (): Promise<ReadonlySet<string>> =>
    (counted ??= countedElsewhere(deps, session, state.standing.labels.get("family")));
  const own = { source, options, copied };
  const addition = { ...own, from: known, to: toEntry, ids, knownIds, rest, texts };
  const redactions = isDone ? null : await addEntries(deps, session, addition);
  const branches = await forkBranches(deps, session, source.plan, (fork, branch) =>
    addBranch(deps, fork, branch, own),
  );
  const children = await addChildren(deps, session, source, options);
  const status = !hasMore ? "same" : known === 0 ? "new" : "grown";
  const added = toEntry - known + (rest === null ? 0 : 1);
  return { session, status, entries: toEntry, added, branches, children, redactions };
}

/** What the last known entry has gained, and the texts up to it; "changed" when the source was rewritten. */
async function knownPart(
  deps: Deps,
  session: SessionId,
  source: TranscriptSource,
  { texts: stored, isQuick, ...at }: KnownPart,
): Promise<Pick<Addition, "rest" | "texts"> | "changed"> {
  if (at.known === 0) return { rest: null, texts: null };
  const entry = await restOfAnswer(deps, session, source, at);
  if (entry === "changed") return "changed";
  const texts = await compareTexts(deps.world, source, stored, { known: at.known, entry, isQuick });
  return texts === "changed" ? "changed" : { rest: entry.rest, texts };
}

interface KnownPart {
  readonly known: number;
  readonly knownIds: string;
  readonly ids: IdChain;
  readonly texts: TextDigest | null;
  readonly isQuick: boolean;
}

/** `part`: a branch or child, whose original and redactions stand with the session that it belongs to. */
type AdditionOptions = Omit<ImportTranscriptOptions, "withoutOriginal"> & {
  readonly withoutOriginal?: boolean | "part";
  /** The record of the parent's call. */
  readonly parentSeq?: number;
  /** Of a child: its parent, when that is not the first import of its source. */
  readonly copy?: SessionId;
};

interface Addition {
  readonly source: TranscriptSource;
  readonly options: AdditionOptions;
  /** Entries of the plan that the log holds already, and where this import ends. */
  readonly from: number;
  readonly to: number;
  /** The digest of the entries before `from`: as the source has them, and as the log does. */
  readonly ids: IdChain;
  readonly knownIds: string;
  /** What the last of those entries has gained. */
  readonly rest: AnswerRest | null;
  /** The texts of the entries that the log holds. */
  readonly texts: TextChain | null;
  /** Ids of answers whose tokens count in another session. */
  readonly copied: () => Promise<ReadonlySet<string>>;
}

/**
 * The most that one append takes, in records and in bytes of the source. No entry is split over two. Larger
 * batches take more memory and bring no speed.
 */
const batchRecordsMax = 250;
const tasksMax = 500;
const batchBytesMax = 524_288;

async function addEntries(
  deps: Deps,
  session: SessionId,
  addition: Addition,
): Promise<RedactionReport | null> {
  const { source, options, from, to, rest } = addition;
  const copied = await addition.copied();
  let redactions: RedactionReport | null = null;
  const { entries, tasks } = source.plan;
  const world = entryWorld(deps, source, options, copied);
  let batch: HistoryEntry[] = rest === null ? [] : continued(await historyEntries(world, rest));
  let after = from;
  let ids = addition.ids.last ?? noIds;
  let afterIds = addition.knownIds;
  let taken = from;
  let { texts } = addition;
  const write = async (isLast: boolean): Promise<void> => {
    const body = { tool: source.plan.header.tool, entries: taken, ids };
    const said = isLast
      ? await sourceFacts(deps, session, source, options)
      : { body: {}, content: {}, redactions };
    ({ redactions } = said);
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
            ...(texts === null ? {} : { texts: textDigest(deps.world, texts) }),
            ...said.content,
          },
        },
        tasks: isLast ? tasks.slice(0, tasksMax).map((task) => safeTask(world, task)) : [],
      },
      { actor: deps.actor, verbatim: options.verbatim },
    );
    after = taken;
    afterIds = body.ids;
    batch = [];
    options.progress?.(taken);
  };
  // Where each entry of this run begins, counted in records: a compaction keeps those from one of them on.
  const starts = await keptStarts(source, entries.slice(from, to));
  const begins = new Map<string, number>();
  let records = 0;
  let bytes = 0;
  for await (const entry of source.entries(entries.slice(from, to))) {
    const kept = entry.kind === "compaction" ? begins.get(entry.keptFrom ?? "") : undefined;
    const drafts = await historyEntries(world, entry, kept === undefined ? 0 : records - kept);
    if (starts.has(entry.id)) begins.set(entry.id, records);
    records += drafts.length;
    const size = entry.source.reduce((sum, { from: start, to: end }) => sum + end - start, 0);
    const isFull = batch.length + drafts.length > batchRecordsMax || bytes + size > batchBytesMax;
    if (batch.length > 0 && isFull) {
      await write(false);
      bytes = 0;
    }
    bytes += size;
    batch.push(...drafts);
    texts = addTexts(deps.world, texts, entry);
    const planned = entries.at(taken++);
    if (planned !== undefined) ids = addId(deps.world, ids, planned, planned.records.length);
  }
  if (batch.length + tasks.length > batchRecordsMax) await write(false);
  await write(true);
  return redactions;
}

/** The key of an item is stored for ever, so that a secret in one is refused. */
const safeTask = ({ safe }: EntryWorld, { key, text, status }: TranscriptTask): TranscriptTask => ({
  key: cut(safe(key), 200),
  text: cut(safe(text), 10_000),
  status,
});

function entryWorld(
  { store, world }: Deps,
  { plan: { written } }: TranscriptSource,
  { price, verbatim }: AdditionOptions,
  copied: ReadonlySet<string>,
): EntryWorld {
  const { redactor, ...unguarded } = world;
  const guard = verbatim === true ? undefined : redactor;
  return {
    keep: (bytes) =>
      keepBytes({ store, world: guard === undefined ? unguarded : world }, bytes, { begins: true }).catch(
        (error: unknown) => {
          if (error instanceof SkeinError && error.code === "invalid") return null;
          throw error;
        },
      ),
    safe: (text) => guard?.text(text) ?? text,
    safeJson: (text) => guard?.jsonText(text) ?? text,
    price: price ?? (() => null),
    tokens: roughTokens,
    isCopied: (id) => copied.has(id),
    isOwn: ({ id, source }) => written?.holds({ id, records: source }) === true,
  };
}

/** What stands with the last append: the facts about the session and, of a whole source, the original. */
async function sourceFacts(
  deps: Deps,
  session: SessionId,
  source: TranscriptSource,
  options: AdditionOptions,
) {
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
  const verbatim = options.verbatim === true ? { verbatim: true } : {};
  if (options.inProgress === true) return { body: verbatim, content: facts, redactions: null };
  const sum = (counts: Readonly<Record<string, number>>): number =>
    Object.values(counts).reduce((all, one) => all + one, 0);
  const counts = {
    bytes: source.bytes,
    digest: source.digest,
    records: sum(report.records),
    unknown: sum(report.unknownTypes),
    damaged: report.damagedCount,
  };
  const { blocks, redactions } = await originalFacts(deps, source, options);
  const other = otherUsage(source.plan, (await deps.writer.current(session)).standing.source?.other ?? null);
  const redacted = redactions === null ? {} : { redacted: redactions.count };
  const listed = redactions === null || redactions.count === 0 ? undefined : redactions.listed;
  const content = {
    ...facts,
    report: { ...report, damaged: report.damaged.slice(0, 20) },
    ...present({ blocks, redactions: listed?.map((one) => ({ ...one })) }),
  };
  return { body: { ...counts, ...other, ...redacted, ...verbatim }, content, redactions };
}

/** The original, redacted and kept, and what was redacted; a part of a source has none. */
async function originalFacts(
  deps: Deps,
  source: TranscriptSource,
  { withoutOriginal = false, verbatim = false }: AdditionOptions,
) {
  if (withoutOriginal === "part") return { blocks: undefined, redactions: null };
  const counter = new RedactionCounter();
  const clean = redactOriginal(verbatim ? undefined : deps.world.redactor, source.original(), counter);
  const blocks = withoutOriginal ? undefined : await keepOriginal(deps, clean, cut(source.file));
  if (withoutOriginal && !verbatim) for await (const _ of clean);
  return { blocks, redactions: verbatim ? null : counter.report() };
}

/** Tokens that belong to no answer: what the log does not count yet. */
function otherUsage({ otherUsage: total }: TranscriptPlan, known: OtherUsage | null) {
  if (total === null) return {};
  const inputTokens = Math.max(0, count(total.inputTokens) - (known?.inputTokens ?? 0));
  const outputTokens = Math.max(0, count(total.outputTokens) - (known?.outputTokens ?? 0));
  if (inputTokens + outputTokens === 0) return {};
  const nanoUsd = total.costUsd === null ? null : count(total.costUsd * 1e9);
  const costNanoUsd = nanoUsd === null ? null : Math.max(0, nanoUsd - (known?.nanoUsd ?? 0));
  return { usage: { inputTokens, outputTokens }, costNanoUsd };
}

/** Subagents whose records lie among the session's own. */
async function addChildren(
  deps: Deps,
  session: SessionId,
  source: TranscriptSource,
  { isCopy, ...options }: AdditionOptions & { readonly isCopy: boolean },
): Promise<SessionId[]> {
  const inline = source.plan.children.filter(({ entries }) => entries.length > 0);
  const calls = new Set(inline.flatMap(({ call }) => (call === null ? [] : [call])));
  const copy = isCopy ? session : undefined;
  let places: ReadonlyMap<string, number> | null = null;
  const made: SessionId[] = [];
  for (const child of inline) {
    places ??= await callPlaces(deps, session, calls);
    const parentSeq = child.call === null ? undefined : places.get(child.call);
    const own = {
      ...options,
      parent: session,
      withoutOriginal: "part",
      ...present({ parentSeq, copy }),
    } as const;
    made.push((await importPart(deps, await childSource(source, child), own)).session);
  }
  return made;
}

async function addBranch(
  deps: Deps,
  fork: SessionId,
  { entries }: PlannedBranch,
  { source, options, copied }: Pick<Addition, "source" | "options" | "copied">,
): Promise<void> {
  const plan = { ...source.plan, entries, branches: [], children: [], tasks: [], otherUsage: null };
  const state = await deps.writer.current(fork);
  const from = state.standing.source?.entries ?? 0;
  const knownIds = state.standing.source?.ids ?? noIds;
  const ids = idChain(deps.world, entries, from);
  if (from >= entries.length || ids.last !== knownIds || !takesHistory(state)) return;
  const own = { ...source, plan };
  const { texts: stored } = await lastImport(deps, fork, state);
  const at = { known: from, knownIds, ids, texts: stored, isQuick: isUnchanged(own, from) };
  const found = await knownPart(deps, fork, own, at);
  if (found === "changed") return;
  const kept = { ...options, withoutOriginal: "part" } as const;
  const whole = { from, to: entries.length, ids, knownIds, rest: null, texts: found.texts, copied };
  await addEntries(deps, fork, { source: own, options: kept, ...whole });
}
