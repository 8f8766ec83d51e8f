/**
 * Erasure: contents go for good, hashes and everything that is counted stay. It is planned as a whole, so
 * that affected sessions can be listed before, and refused as a whole; then it runs in batches
 * (erase-write.ts), and finally the files of the store are scrubbed.
 */
import { checkCall } from "../../call/check.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { isSharedLogId, quote, type LogId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import * as range from "../../core/range.ts";
import type { Range, Ranges } from "../../core/range.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { findCopies, type EraseKept, type CopyHit } from "./erase-copies.ts";
import { readFamily, type SharedLogs, type OwnedRange } from "./erase-family.ts";
import { scrubIfDue } from "./erase-scrub.ts";
import { bytesOf, joinNeighbours, rangesOf, survey, type EraseSurvey } from "./erase-survey.ts";
import { makeBodyFinder, makeFinder } from "./erase-text.ts";
import { eraseTarget, notifySharers, type EraseTarget } from "./erase-write.ts";
import { assertProjectNotHeld } from "../project/project-status.ts";
import { headOf } from "../read/position.ts";
import type { IndexProgress } from "../read/projection.ts";
import { wayTo } from "../read/move-target.ts";
import type { EraseCopy } from "../workspace/memory.ts";

/** Options of `session.erase`: positions, a text, or everything. */
export interface EraseOptions {
  /** Positions, both inclusive. */
  readonly ranges?: readonly (readonly [fromSeq: number, toSeq: number])[];
  /** Only contents that hold this text. */
  readonly match?: string;
  /** Also the copies: see `copies` of the report. */
  readonly copies?: boolean;
  readonly reason?: string;
  /** Reports what would be erased, and changes nothing. */
  readonly dryRun?: boolean;
  readonly progress?: IndexProgress;
}

/** The result of `session.erase`: what is erased, and what remains elsewhere. */
export interface EraseReport {
  readonly session: SessionId;
  readonly dryRun: boolean;
  /** Erased contents of the session, or those to erase: positions, number, and total length. */
  readonly ranges: Ranges;
  readonly records: number;
  readonly bytes: number;
  /** Requested contents that were erased before. */
  readonly already: number;
  /** Sessions that share some of it, and lose it too. */
  readonly forks: readonly EraseShare[];
  /** Existing copies, whether erased too or not. */
  readonly copies: readonly EraseCopy[];
  /** True when the copies are erased too. */
  readonly withCopies: boolean;
  /**
   * Records that still hold the text where nothing is erased. With `match`: those whose body holds it, in all
   * of the store. Else: bindings named after their erased path or address.
   */
  readonly kept: readonly EraseKept[];
  /** False: the scrub is pending, and the files of the store may hold traces until it has run. */
  readonly scrubbed: boolean;
}

/** A session that shared erased contents. */
export interface EraseShare {
  readonly session: SessionId;
  readonly records: number;
  readonly bytes: number;
  /** It lives elsewhere, and keeps there what is erased here. */
  readonly elsewhere?: true;
}

interface Plan {
  readonly own: EraseTarget;
  /** Copies, log by log; empty unless they are erased too. */
  readonly others: readonly EraseTarget[];
  readonly copies: readonly EraseCopy[];
  readonly forks: readonly EraseShare[];
  readonly kept: readonly EraseKept[];
}

export async function eraseSession(
  deps: Deps,
  session: SessionId,
  options: EraseOptions = {},
): Promise<EraseReport> {
  checkErase(options);
  const { dryRun = false, copies: withCopies = false, reason } = options;
  const plan = await planErasure(deps, session, options);
  const { survey: found } = plan.own;
  const { doomed } = found;
  const report = {
    session,
    dryRun,
    ranges: rangesOf(doomed),
    records: doomed.length,
    bytes: bytesOf(doomed),
    already: found.gone.length,
    forks: plan.forks,
    copies: plan.copies,
    withCopies,
    kept: plan.kept,
  };
  if (dryRun) return { ...report, scrubbed: false };
  const targets = [plan.own, ...plan.others];
  let records = 0;
  const done = (more: number): void => {
    records += more;
    options.progress?.({ records, sessions: 0 });
  };
  for (const target of targets) await eraseTarget(deps, target, reason, done);
  const family = await readFamily(deps);
  for (const target of targets)
    await notifySharers(deps, target, await sharersOf(family, target.session), reason);
  return { ...report, scrubbed: await scrubIfDue(deps.store) };
}

function checkErase(options: EraseOptions): void {
  checkCall("session.erase", options);
  const { match, reason, ranges } = options as { readonly [K in keyof EraseOptions]: unknown };
  if (match !== undefined && (typeof match !== "string" || match.trim() === "")) {
    throw new SkeinError("invalid", "erase: match: expected a text", {
      hint: "pass the text to erase; white space alone matches everything",
    });
  }
  if (reason !== undefined && (typeof reason !== "string" || reason.length > limit.reasonCharsMax)) {
    throw new SkeinError("invalid", `erase: reason: expected at most ${limit.reasonCharsMax} characters`);
  }
  if (ranges === undefined) return;
  const isRange = (one: unknown): boolean =>
    Array.isArray(one) && one.length === 2 && one.every((seq) => Number.isSafeInteger(seq) && seq >= 1);
  if (!Array.isArray(ranges) || ranges.length === 0 || !ranges.every(isRange)) {
    throw new SkeinError("invalid", "erase: ranges: expected pairs of positions", {
      hint: "for example [[3, 7], [12, 12]]",
    });
  }
  const turned = (ranges as Range[]).find(([fromSeq, toSeq]) => fromSeq > toSeq);
  if (turned === undefined) return;
  throw new SkeinError("invalid", `erase: ranges: ${turned[0]} is greater than ${turned[1]}`, {
    hint: `swap them: ${turned[1]} to ${turned[0]}`,
  });
}

async function planErasure(deps: Deps, session: SessionId, options: EraseOptions): Promise<Plan> {
  const { store } = deps;
  await checkHere(deps, session);
  const family = await readFamily(deps);
  const stretches = await family.stretches(session);
  const ranges = await wantedRanges(deps, session, stretches, options);
  const finds = options.match === undefined ? undefined : makeFinder(store, options.match);
  // The record of who erased what and why stays, unless it is selected by position.
  const isAll = options.ranges === undefined && finds === undefined;
  const picks = finds ?? (({ type }: StoredRecord) => !isAll || type !== "content.erased");
  const own = await survey(store, session, ranges, { picks });
  // Whether an erased content held the text is unknown.
  const sources = finds === undefined ? [...own.gone, ...own.doomed] : own.doomed;
  const findsInBody = options.match === undefined ? undefined : makeBodyFinder(options.match);
  const looking = { finds, findsInBody, progress: options.progress };
  const { found, kept } = await findCopies(deps, family, sources, looking);
  const target: EraseTarget = { session, survey: own, sharers: await family.sharers(session) };
  const others = options.copies === true ? await targetsOf(deps, family, found) : [];
  // Copies within the session itself count as part of it.
  const inside = others.find((one) => one.session === session);
  const whole = inside === undefined ? target : { ...target, survey: joined(target, inside) };
  const elsewhere = others.filter((one) => one !== inside);
  await checkTargets(deps, [whole, ...elsewhere]);
  return {
    own: whole,
    others: elsewhere,
    copies: found.map(({ copy }) => asShared(copy, session, stretches)),
    forks: (await sharesOf(deps, [whole, ...elsewhere])).filter((one) => one.session !== session),
    kept: finds === undefined ? await namedAfter(deps, session, own) : kept,
  };
}

/** What a fork shares with its parent is not a copy: it stands in the parent, for both. */
function asShared(copy: EraseCopy, session: SessionId, stretches: readonly OwnedRange[]): EraseCopy {
  const { seq } = copy;
  const isShared = stretches.some(
    ({ owner, range: [fromSeq, toSeq] }) =>
      owner !== session && owner === copy.session && seq >= fromSeq && seq <= toSeq,
  );
  if (!isShared) return copy;
  return { ...copy, why: "it stands in the log of its parent, for both", shared: true };
}

/** Bindings to erase whose name is their path or address. */
async function namedAfter(
  { store }: Deps,
  session: SessionId,
  { doomed }: EraseSurvey,
): Promise<readonly EraseKept[]> {
  const kept: EraseKept[] = [];
  for (const { seq, type } of doomed) {
    if (type !== "resource.bound") continue;
    const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
    const { name = "" } = JSON.parse(record?.body ?? "{}") as { readonly name?: string };
    const content = (await readContent(store, session, seq)) as { path?: string; url?: string } | undefined;
    const isPlace = name === content?.path || content?.url?.includes(name.replace(/^.*:\/\//, "")) === true;
    if (isPlace) kept.push({ session, seq, type });
  }
  return kept;
}

/** A copy holds nothing that is not elsewhere, and a moved session is not ours to change. */
async function checkHere(deps: Deps, session: SessionId): Promise<void> {
  const { store, writer } = deps;
  const head = await headOf(deps, session);
  if (head.copy === true) {
    throw new SkeinError("refused", `${session} is a read-only copy of a session in another store`, {
      hint: "delete the copy here, and erase in the original store",
    });
  }
  const state = await writer.current(session);
  if (state.standing.status !== "moved") return;
  throw new SkeinError("refused", `${session} was moved to another store`, {
    hint: `delete it here, and erase in its new store: ${await wayTo(store, session, state)}`,
  });
}

/** What may be erased through a session: its own log, and the rest of deleted ancestors. */
async function wantedRanges(
  deps: Deps,
  session: SessionId,
  stretches: readonly OwnedRange[],
  { ranges, match }: EraseOptions,
): Promise<Ranges> {
  const own = stretches.filter(({ owner }) => owner === session);
  if (ranges === undefined) {
    const usual =
      match === undefined ? own : stretches.filter(({ owner, present }) => owner === session || !present);
    return range.union(
      [],
      usual.map((one) => one.range),
    );
  }
  const headSeq = stretches.at(-1)?.range[1] ?? 0;
  const past = ranges.find(([, toSeq]) => toSeq > headSeq);
  if (past !== undefined) {
    throw new SkeinError(
      "not-found",
      `position ${past[1]} does not exist in ${session}, which ends at ${headSeq}`,
      {
        hint: `expected positions from 1 to ${headSeq}`,
      },
    );
  }
  const wanted = range.union([], ranges);
  for (const { range: each, owner, present } of stretches) {
    if (owner === session || !present) continue;
    const theirs = range.subtract([each], range.subtract([each], wanted))[0];
    if (theirs !== undefined) throw await ofParent(deps, session, owner, theirs);
  }
  return wanted;
}

async function ofParent(
  { store }: Deps,
  session: SessionId,
  owner: SessionId,
  [fromSeq, toSeq]: Range,
): Promise<SkeinError> {
  const place = fromSeq === toSeq ? `position ${fromSeq}` : `positions ${fromSeq} to ${toSeq}`;
  const isCopy = (await store.head(owner))?.copy === true;
  return new SkeinError("refused", `${place} of ${session} belong to its parent ${owner}`, {
    hint: isCopy
      ? `the parent is a copy: delete it here first, and erase in the original store`
      : `erase them in the parent: skein erase ${owner} --seq ${fromSeq}..${toSeq}; the fork loses them too`,
  });
}

const sharersOf = async (family: SharedLogs, session: LogId): Promise<ReadonlyMap<SessionId, number>> =>
  isSharedLogId(session) ? new Map() : family.sharers(session);

/** The logs that hold copies, each with what to erase of it. */
async function targetsOf(deps: Deps, family: SharedLogs, found: readonly CopyHit[]): Promise<EraseTarget[]> {
  const byLog = new Map<LogId, number[]>();
  for (const { copy } of found) byLog.set(copy.session, [...(byLog.get(copy.session) ?? []), copy.seq]);
  const targets: EraseTarget[] = [];
  for (const [session, seqs] of byLog) {
    const ranges = seqs.reduce((all, seq) => range.add(all, [seq, seq]), [] as Ranges);
    const each = await survey(deps.store, session, ranges);
    targets.push({ session, survey: each, sharers: await sharersOf(family, session) });
  }
  return targets;
}

/** The selection and its copies, in order. */
function joined({ survey: { doomed, gone } }: EraseTarget, inside: EraseTarget): EraseSurvey {
  const more = inside.survey.doomed.map((one) => ({ ...one, joined: false }));
  return { doomed: joinNeighbours([...doomed, ...more]), gone };
}

/** Refuses all of it while an affected session is under a hold, or cannot be written to. */
async function checkTargets(deps: Deps, targets: readonly EraseTarget[]): Promise<void> {
  const { store, writer } = deps;
  for (const { session, survey: found, sharers } of targets) {
    const first = found.doomed[0]?.seq ?? Infinity;
    if (isSharedLogId(session) || first === Infinity) continue;
    const losers = [...sharers].filter(([, toSeq]) => toSeq >= first).map(([sharer]) => sharer);
    for (const loser of [session, ...losers]) {
      const { standing } = await writer.current(loser);
      const isCopy = (await store.head(loser))?.copy === true;
      const elsewhere = isCopy || standing.status === "moved";
      // A hold belongs to where the session lives, and protects what is there.
      const [held] = elsewhere ? [] : standing.holds.keys();
      if (held !== undefined) {
        throw new SkeinError("refused", `${loser} is under legal hold ${quote(held)}`, {
          hint: `nothing was erased; lift the hold first: skein hold ${loser} ${quote(held)} --lift`,
        });
      }
      const project = elsewhere ? null : standing.project;
      await assertProjectNotHeld(deps, { log: loser, project, nothing: "nothing was erased" });
      if (standing.newer !== null && !isCopy) {
        throw new SkeinError("refused", `${loser} is read-only: a newer version of Skein wrote it`, {
          hint: `nothing was erased; use Skein ${store.program} or later`,
        });
      }
      if (loser !== session || !elsewhere) continue;
      throw new SkeinError(
        "refused",
        `${session} has copies of the content, and was moved to another store`,
        {
          hint: "nothing was erased; delete it here first, or keep the copies",
        },
      );
    }
  }
}

async function sharesOf(deps: Deps, targets: readonly EraseTarget[]): Promise<EraseShare[]> {
  const shares = new Map<SessionId, EraseShare>();
  for (const { survey: found, sharers } of targets) {
    for (const [session, toSeq] of sharers) {
      const lost = found.doomed.filter(({ seq }) => seq <= toSeq);
      if (lost.length === 0) continue;
      const before = shares.get(session) ?? { records: 0, bytes: 0 };
      const elsewhere = await livesElsewhere(deps, session);
      shares.set(session, {
        session,
        records: before.records + lost.length,
        bytes: before.bytes + bytesOf(lost),
        ...(elsewhere ? { elsewhere: true as const } : {}),
      });
    }
  }
  return [...shares.values()];
}

async function livesElsewhere({ store, writer }: Deps, session: SessionId): Promise<boolean> {
  if ((await store.head(session))?.copy === true) return true;
  return (await writer.current(session)).standing.status === "moved";
}
