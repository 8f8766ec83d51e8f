/**
 * Merge: what another session learned since this one last knew of it comes into this one. Conflicts are
 * values: while one is not resolved by name, nothing is changed. What comes in is copied with its origin, and
 * the other log is never read again.
 */
import { checkOptionNames } from "../../call/check.ts";
import type { ItemKind } from "../../core/item/events.ts";
import type { MergeNote } from "../../core/branch/commands.ts";
import { itemKey } from "../../core/item/fold.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { mayIn, wayOut } from "../../core/session/lifecycle.ts";
import { resolve, takeTheirs } from "../../core/branch/merge.ts";
import type { MergeItem, MergeWrite, MergeResolution, Triple } from "../../core/branch/merge.ts";
import { mergeSummary, type ResolvedConflict } from "../../core/branch/merge-summary.ts";
import { readContent } from "../read/content.ts";
import { findSession } from "../read/find.ts";
import { findRetraction, lastAnswers, planMerge, readParty, type Party, type Plan } from "./merge-plan.ts";
import { mergedBefore } from "./merge-repeat.ts";
import { parseResolution, type MergeAnswer } from "./merge-answer.ts";
import type { Deps } from "../deps.ts";

/** What one session has of an item that both have changed, or what both had before. */
export interface MergeSide {
  /** Null where it is gone. */
  readonly value: unknown;
  readonly status: "open" | "done" | "dropped" | null;
  /** Who, when and why; null where nobody can say. */
  readonly actor: string | null;
  readonly at: number | null;
  readonly because: string | null;
  readonly seq: number | null;
  readonly gone: "erased" | "retracted" | "rewound" | null;
}

/** An item that both sides of a merge changed. */
export interface MergeConflict {
  /** `kind/key`: what it is resolved by. */
  readonly name: string;
  readonly kind: ItemKind;
  readonly key: string;
  /** Null when both came to have it since. */
  readonly base: MergeSide | null;
  readonly ours: MergeSide;
  readonly theirs: MergeSide;
}

/** Options of `session.merge`: the other session, and answers to conflicts. */
export interface MergeOptions {
  /** The session that it comes from: its id, or any ending that only one session has. */
  readonly from: string;
  /** Only up to this position of it, as of a report that was looked at; by default all that is there. */
  readonly toSeq?: number;
  /**
   * What is made of each conflict, by `kind/key`; or a function that is asked about each, and may take its
   * time. `ours`, `theirs`, `both` (theirs under `key (from …)`), or a value of its own. The reason is kept.
   */
  readonly resolve?:
    | Readonly<Record<string, MergeAnswer>>
    | ((conflict: MergeConflict) => MergeAnswer | undefined | Promise<MergeAnswer | undefined>);
  /** Shows what would happen, and changes nothing. */
  readonly dryRun?: boolean;
  /** What this session is told of the other's work, in place of its objective and last answers. */
  readonly summary?: string;
}

/** The result of `session.merge`: conflicts that are open, or what was written. */
export interface MergeReport {
  /** False: there are conflicts that nobody resolved, and nothing was changed. */
  readonly ok: boolean;
  readonly from: SessionId;
  /** The range of the other session that comes in; null when nothing there is new. */
  readonly range: { readonly fromSeq: number; readonly toSeq: number } | null;
  /** What both were held against; null when they have nothing in common. */
  readonly base: { readonly session: SessionId; readonly seq: number } | null;
  /** What only they changed. */
  readonly taken: readonly MergeWrite[];
  /** What both changed to the same, by `kind/key`. */
  readonly same: readonly string[];
  /** What they changed and was erased since, so that it cannot come in. */
  readonly left: readonly string[];
  readonly conflicts: readonly MergeConflict[];
  /** Conflicts that were resolved, with what came of them. */
  readonly resolved: readonly ResolvedConflict[];
  /** What this session is told; null when there is nothing to tell. */
  readonly summary: string | null;
  /** Where `session.merged` stands; null when nothing was written. */
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
    throw new SkeinError("invalid", "a session cannot be merged with itself", {
      hint: "name the session that it comes from",
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
  throw new SkeinError("conflict", `${session} changes too fast to be merged into`, {
    hint: "try again later",
  });
}

function checkMerge(options: MergeOptions): void {
  checkOptionNames("session.merge", options);
  const { resolve: given = {}, summary } = options as { readonly resolve?: unknown; summary?: unknown };
  if (summary !== undefined && typeof summary !== "string")
    throw new SkeinError("invalid", `merge: ${quote(summary)} is no summary`, { hint: "give a text" });
  if (typeof given === "function" || (typeof given === "object" && given !== null)) return;
  throw new SkeinError("invalid", `merge: ${quote(given)} resolves nothing`, {
    hint: 'for example { "fact/base-rate": "ours" }, or a function',
  });
}

/** What is kept from one try to the next, when this session changes meanwhile. */
interface Work {
  readonly options: MergeOptions;
  readonly theirs: Party;
  /** What was answered, so that nobody is asked the same twice. */
  readonly answers: Map<string, MergeResolution>;
  /** What has come in already, of a merge that takes more than one append. */
  readonly taken: MergeWrite[];
  readonly settled: Map<string, ResolvedConflict>;
}

interface Answered {
  readonly settled: readonly ResolvedConflict[];
  readonly open: readonly MergeConflict[];
}

function checkStatus({ session, state }: Party): void {
  const { status } = state.standing;
  if (mayIn(status, "write")) return;
  throw new SkeinError("refused", `${session} is ${status}: nothing can be merged into it`, {
    hint: wayOut[status],
  });
}

async function settleConflicts(deps: Deps, work: Work, ours: Party, plan: Plan): Promise<Answered> {
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

/** A name that is no conflict is a mistake, or was one once: either way somebody should know. */
function checkNames(given: Readonly<Record<string, MergeAnswer>>, conflicts: readonly MergeConflict[]): void {
  const names = conflicts.map(({ name }) => name);
  const wrong = Object.keys(given).find((name) => !names.includes(name));
  if (wrong === undefined) return;
  const near = nearest(wrong, names);
  const list = names.slice(0, 10).join(", ");
  throw new SkeinError("not-found", `merge: there is no conflict ${quote(wrong)}`, {
    hint:
      names.length === 0
        ? "there are no conflicts at all"
        : near === undefined
          ? `there are: ${list}`
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
  const nobody = { actor: null, at: null, because: null, seq: null };
  return { value: null, status: null, ...(found ?? nobody), gone: found === null ? "rewound" : "retracted" };
}

async function reportOf(
  deps: Deps,
  work: Work,
  plan: Plan,
  { settled, open }: Answered,
): Promise<MergeReport> {
  const { theirs, options } = work;
  const { session: from, state } = theirs;
  const taken = [...work.taken, ...plan.taken.map((triple) => takeTheirs(triple, from))];
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
    summary,
    written: null,
  };
}

async function objectiveOf({ store }: Deps, { session, state }: Party): Promise<string | null> {
  const { objective } = state.standing;
  const content = objective === null ? undefined : await readContent(store, session, objective.seq);
  const told = (content as { objective?: unknown } | undefined)?.objective;
  return typeof told === "string" ? told : null;
}

/**
 * One append; more only where there are more items than one can hold, and then the note comes last: broken
 * off in between, the same merge again does the rest. Null when this session changed meanwhile.
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
      // Another part of it was written under its key, before it was broken off: this one was not.
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
