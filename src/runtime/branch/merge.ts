/**
 * Merge: brings what another session learned since the last merge into this one. Conflicts are values: while
 * one is not resolved by name, nothing changes. Merged items are copied with their origin, and the other log
 * is never read again.
 */
import type { CommandOf } from "../../core/command.ts";
import { checkCall } from "../../call/check.ts";
import type { ItemKind, ItemStatus } from "../../core/item/kind.ts";
import type { MergeNote } from "../../core/branch/commands.ts";
import { itemKey } from "../../core/item/fold.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import type { PossibleConflict } from "../../core/item/possible-conflict.ts";
import { limit } from "../../core/limit.ts";
import { mayIn, wayOut } from "../../core/session/lifecycle.ts";
import { resolve, takeTheirs } from "../../core/branch/merge.ts";
import type { MergeItem, MergeWrite, MergeResolution, Triple } from "../../core/branch/merge.ts";
import { mergeSummary, type ResolvedConflict } from "../../core/branch/merge-summary.ts";
import { readContent } from "../read/content.ts";
import { findSession } from "../read/find.ts";
import {
  findRetraction,
  lastAnswers,
  planMerge,
  readParty,
  type Party,
  type MergePlan,
} from "./merge-plan.ts";
import { mergedBefore } from "./merge-repeat.ts";
import { parseResolution, type MergeAnswer } from "./merge-answer.ts";
import type { Deps } from "../deps.ts";

/** One side's version of an item that both have changed, or the common base of it. */
export interface MergeSide {
  /** Null where it was removed. */
  readonly value: unknown;
  readonly status: ItemStatus | null;
  /** Who, when and why; null where that is unknown. */
  readonly actor: string | null;
  readonly at: number | null;
  readonly because: string | null;
  readonly seq: number | null;
  readonly gone: "erased" | "retracted" | "rewound" | null;
}

/** An item that both sides of a merge changed. */
export interface MergeConflict {
  /** `kind/key`: the name to resolve it by. */
  readonly name: string;
  readonly kind: ItemKind;
  readonly key: string;
  /** Null when both added it since. */
  readonly base: MergeSide | null;
  readonly ours: MergeSide;
  readonly theirs: MergeSide;
}

/** Options of `session.merge`: the other session, and answers to conflicts. */
export interface MergeOptions {
  /** The session to merge: its id, or a unique suffix. */
  readonly from: string;
  /** Only up to this position of it, as in a report you reviewed; defaults to all. */
  readonly toSeq?: number;
  /**
   * The resolution of each conflict, by `kind/key`; or an async function that is called for each. `ours`,
   * `theirs`, `both` (theirs under `key (from …)`), or a new value. The reason is kept.
   */
  readonly resolve?:
    | Readonly<Record<string, MergeAnswer>>
    | ((conflict: MergeConflict) => MergeAnswer | undefined | Promise<MergeAnswer | undefined>);
  /** Shows the result, and changes nothing. */
  readonly dryRun?: boolean;
  /** Replaces the summary of the other's work, which defaults to its objective and last answers. */
  readonly summary?: string;
}

/** The result of `session.merge`: open conflicts, or what was written. */
export interface MergeReport {
  /** False: there are unresolved conflicts, and nothing changed. */
  readonly ok: boolean;
  readonly from: SessionId;
  /** The merged range of the other session; null when nothing there is new. */
  readonly range: { readonly fromSeq: number; readonly toSeq: number } | null;
  /** The common base; null when they have nothing in common. */
  readonly base: { readonly session: SessionId; readonly seq: number } | null;
  /** Items that only they changed. */
  readonly taken: readonly MergeWrite[];
  /** Items that both changed to the same value, by `kind/key`. */
  readonly same: readonly string[];
  /** Items that they changed and that were erased since, so that they cannot be merged. */
  readonly left: readonly string[];
  readonly conflicts: readonly MergeConflict[];
  /** Resolved conflicts, with their results. */
  readonly resolved: readonly ResolvedConflict[];
  /**
   * Items that come in and may contradict others here: the same subject under another key. They are merged;
   * nothing is resolved. Absent without any.
   */
  readonly possible?: readonly PossibleConflict[];
  /** The summary that this session gets; null when there is none. */
  readonly summary: string | null;
  /** The position of `session.merged`; null when nothing was written. */
  readonly written: number | null;
}

export async function mergeSession(
  deps: Deps,
  session: SessionId,
  options: MergeOptions,
): Promise<MergeReport> {
  checkMerge(options);
  const from = await findSession(deps.store, options.from);
  if (from === session) {
    throw new SkeinError("invalid", "merge: from: expected another session, got the target itself", {
      hint: "name a fork of this session, or the session that it was forked from",
    });
  }
  const before = await mergedBefore(deps, session, from);
  if (before !== null) return before;
  const { toSeq } = options;
  const theirs = await readParty(deps, from, toSeq === undefined ? {} : { toSeq });
  const work: Work = { options, theirs, answers: new Map(), taken: [], settled: new Map() };
  for (let tries = 0; tries < limit.conflictRetriesMax; tries++) {
    const ours = await readParty(deps, session, { state: await deps.writer.current(session) });
    if (options.dryRun !== true) checkStatus(ours);
    const plan = await planMerge(deps, ours, theirs);
    const answered = await settleConflicts(deps, work, ours, plan);
    const report = await reportOf(deps, work, plan, answered);
    if (options.dryRun === true || !report.ok || report.range === null) return report;
    const written = await write(deps, work, ours, report);
    if (written !== null) return { ...report, written };
  }
  throw new SkeinError("conflict", `merge: ${session} changes too often; retries exhausted`, {
    hint: "retry later",
  });
}

/** The report of a merge, and the one command that writes it; null if there is nothing to write. */
export async function mergeCommand(
  deps: Deps,
  session: SessionId,
  options: MergeOptions,
): Promise<{ readonly report: MergeReport; readonly command: CommandOf<"merge"> | null }> {
  const theirs = await readParty(deps, options.from as SessionId, {});
  const work: Work = { options, theirs, answers: new Map(), taken: [], settled: new Map() };
  const ours = await readParty(deps, session, { state: await deps.writer.current(session) });
  const plan = await planMerge(deps, ours, theirs);
  const report = await reportOf(deps, work, plan, await settleConflicts(deps, work, ours, plan));
  if (!report.ok || report.range === null) return { report, command: null };
  const writes = [...report.taken, ...report.resolved.flatMap((one) => one.writes)];
  if (writes.length >= limit.appendRecordsMax)
    throw new SkeinError("refused", `merge: ${writes.length} items are too many for one call`, {
      hint: "a person merges them",
    });
  return { report, command: { do: "merge", from: report.from, writes, note: noteOf(report, theirs) } };
}

function checkMerge(options: MergeOptions): void {
  checkCall("session.merge", options);
}

/** Kept between attempts, when this session changes meanwhile. */
interface Work {
  readonly options: MergeOptions;
  readonly theirs: Party;
  /** Given answers, so that no question is asked twice. */
  readonly answers: Map<string, MergeResolution>;
  /** Items already written, of a merge that takes more than one append. */
  readonly taken: MergeWrite[];
  readonly settled: Map<string, ResolvedConflict>;
}

interface ConflictAnswer {
  readonly settled: readonly ResolvedConflict[];
  readonly open: readonly MergeConflict[];
}

function checkStatus({ session, state }: Party): void {
  const { status } = state.standing;
  if (mayIn(status, "write")) return;
  throw new SkeinError("refused", `merge: the session ${session} is ${status}`, {
    hint: wayOut[status],
  });
}

async function settleConflicts(
  deps: Deps,
  work: Work,
  ours: Party,
  plan: MergePlan,
): Promise<ConflictAnswer> {
  const shown: MergeConflict[] = [];
  for (const triple of plan.conflicts) shown.push(await showConflict(deps, ours, work.theirs, triple));
  const { resolve: given = {} } = work.options;
  if (typeof given !== "function") checkNames(given, shown);
  const settled: ResolvedConflict[] = [];
  const open: MergeConflict[] = [];
  const names = new Set([...ours.state.mind.items.keys(), ...plan.taken.map(({ name }) => name)]);
  for (const [place, triple] of plan.conflicts.entries()) {
    const conflict = shown[place] as MergeConflict;
    const before = work.settled.get(triple.name);
    const resolution = before === undefined ? await ask(work, conflict) : before.resolution;
    if (resolution === undefined) {
      open.push(conflict);
      continue;
    }
    const { kind, key, name } = triple;
    const writes =
      before?.writes ??
      resolve(triple, resolution, { from: work.theirs.session, isTaken: (one) => names.has(one) });
    for (const write of writes) names.add(itemKey(write.kind, write.key));
    settled.push(before ?? { name, kind, key, resolution, writes });
  }
  return { settled, open };
}

async function ask(
  { options, answers }: Work,
  conflict: MergeConflict,
): Promise<MergeResolution | undefined> {
  const { resolve: given = {} } = options;
  const question = JSON.stringify([conflict.name, conflict.ours.seq, conflict.theirs.seq]);
  const known = answers.get(question);
  if (known !== undefined) return known;
  const answer = typeof given === "function" ? await given(conflict) : ownAnswer(given, conflict.name);
  if (answer === undefined) return undefined;
  const resolution = parseResolution(conflict, answer);
  answers.set(question, resolution);
  return resolution;
}

const ownAnswer = (given: Readonly<Record<string, MergeAnswer>>, name: string): MergeAnswer | undefined =>
  Object.hasOwn(given, name) ? given[name] : undefined;

/** A name without a conflict is a mistake, or outdated: either way the caller should know. */
function checkNames(given: Readonly<Record<string, MergeAnswer>>, conflicts: readonly MergeConflict[]): void {
  const names = conflicts.map(({ name }) => name);
  const wrong = Object.keys(given).find((name) => !names.includes(name));
  if (wrong === undefined) return;
  const near = nearest(wrong, names);
  const list = names.slice(0, 10).join(", ");
  throw new SkeinError("not-found", `merge: resolve: no such conflict ${quote(wrong)}`, {
    hint:
      names.length === 0
        ? "the merge has no conflicts"
        : near === undefined
          ? `conflicts: ${list}`
          : `did you mean ${quote(near)}?`,
  });
}

async function showConflict(deps: Deps, ours: Party, theirs: Party, triple: Triple): Promise<MergeConflict> {
  const { name, kind, key, base } = triple;
  return {
    name,
    kind,
    key,
    base: base && sideOf(base),
    ours: triple.ours === null ? await goneSide(deps, ours, triple) : sideOf(triple.ours),
    theirs: triple.theirs === null ? await goneSide(deps, theirs, triple) : sideOf(triple.theirs),
  };
}

const sideOf = ({ value, status, actor, at, because, seq, erased }: MergeItem): MergeSide => ({
  value,
  status,
  actor,
  at,
  because,
  seq,
  gone: erased ? "erased" : null,
});

async function goneSide(deps: Deps, party: Party, item: Triple): Promise<MergeSide> {
  const found = await findRetraction(deps, party, item);
  const unknownAuthor = { actor: null, at: null, because: null, seq: null };
  return {
    value: null,
    status: null,
    ...(found ?? unknownAuthor),
    gone: found === null ? "rewound" : "retracted",
  };
}

async function reportOf(
  deps: Deps,
  work: Work,
  plan: MergePlan,
  { settled, open }: ConflictAnswer,
): Promise<MergeReport> {
  const { theirs, options } = work;
  const { session: from, state } = theirs;
  const taken = [...work.taken, ...plan.taken.map((triple) => shownTake(triple, from))];
  const names = new Set(work.taken.map(({ kind, key }) => itemKey(kind, key)));
  const same = plan.same.map(({ name }) => name).filter((name) => !names.has(name));
  const range = { fromSeq: plan.sinceSeq + 1, toSeq: state.seq };
  const hasNews = plan.isSaid || taken.length + same.length + plan.left.length + plan.conflicts.length > 0;
  const summary = !hasNews
    ? null
    : mergeSummary({
        from,
        ...range,
        objective: await objectiveOf(deps, theirs),
        taken,
        settled,
        answers: plan.isSaid ? await lastAnswers(deps, theirs, plan.sinceSeq) : [],
        words: options.summary,
      });
  return {
    ok: open.length === 0,
    from,
    range: hasNews ? range : null,
    base: plan.base,
    taken,
    same,
    left: plan.left.map(({ name }) => name),
    conflicts: open,
    resolved: settled,
    ...(plan.possible.length === 0 ? {} : { possible: plan.possible }),
    summary,
    written: null,
  };
}

/** The change, with the value that it replaces here. */
function shownTake(triple: Triple, from: string): MergeWrite {
  const write = takeTheirs(triple, from);
  const { ours } = triple;
  return write.write === "retract" || ours === null ? write : { ...write, was: ours.value };
}

async function objectiveOf({ store }: Deps, { session, state }: Party): Promise<string | null> {
  const { objective } = state.standing;
  const content = objective === null ? undefined : await readContent(store, session, objective.seq);
  const text = (content as { objective?: unknown } | undefined)?.objective;
  return typeof text === "string" ? text : null;
}

/**
 * One append; more only where there are more items than one can hold, and then the note comes last: after an
 * interruption, the same merge again does the rest. Null when this session changed meanwhile.
 */
async function write(
  { writer, actor }: Deps,
  work: Work,
  { session, state }: Party,
  report: MergeReport,
): Promise<number | null> {
  const pending: { readonly write: MergeWrite; readonly settled: ResolvedConflict | null }[] = [
    ...report.taken.slice(work.taken.length).map((one) => ({ write: one, settled: null })),
    ...report.resolved
      .filter(({ name }) => !work.settled.has(name))
      .flatMap((settled) => settled.writes.map((one) => ({ write: one, settled }))),
  ];
  const note = noteOf(report, work.theirs);
  let expectSeq = state.seq;
  for (;;) {
    const isLast = pending.length < limit.appendRecordsMax;
    const part = pending.splice(0, limit.appendRecordsMax - 1);
    const writes = part.map((one) => one.write);
    const command = { do: "merge", from: report.from, writes, ...(isLast ? { note } : {}) } as const;
    try {
      const change = await writer.change(session, command, { actor, expectSeq });
      // Another part of it was written under its key before the interruption: this one was not.
      if (change.duplicate) return null;
      if (isLast) return change.headSeq;
      expectSeq = change.headSeq;
    } catch (error) {
      if (error instanceof SkeinError && error.code === "conflict") return null;
      throw error;
    }
    for (const one of part) {
      if (one.settled === null) work.taken.push(one.write);
      else work.settled.set(one.settled.name, one.settled);
    }
  }
}

function noteOf(report: MergeReport, { state, hash }: Party): MergeNote {
  const { range, base, taken, resolved, summary } = report;
  return {
    fromSeq: range?.fromSeq ?? 1,
    toSeq: state.seq,
    toHash: hash,
    ...(base === null ? {} : { base }),
    taken: taken.length,
    resolved: resolved.length,
    summary: summary ?? "",
    resolutions: resolved.map(({ kind, key, resolution: { take, because } }) => ({
      kind,
      key,
      take,
      ...(because === undefined ? {} : { because }),
    })),
  };
}
