/**
 * The queue of appends: those of one turn of the event loop, or that arrive while others are in flight, go
 * together. No log is in two batches at once, so appends to it run in order of arrival.
 */
import { SkeinError } from "../../../core/error.ts";
import type { LogId } from "../../../core/ids.ts";
import type { Outcome, Part } from "../../port.ts";
import { partsFlaw } from "../../judge.ts";
import { appendJudged, type AppendVerdict } from "./append-judged.ts";
import { appendKnown, knownHead } from "./append-known.ts";
import type { Driver } from "../driver.ts";
import { makeEstimates } from "../derived/estimate.ts";
import type { CachedHeads, CachedHead } from "./heads.ts";
import { isUnique, ConnectionLost } from "../connection/errors.ts";

/** Batches in flight at once; more would only wait for one another. */
const batchesMax = 4;
/**
 * With so many queued or in flight, a batch takes half of them: while the server works on one, the other is
 * encoded or decoded here.
 */
const halvedMin = 32;
const batchAppendsMax = 128;
const batchRecordsMax = 1_000;
/** How often an append is judged again after a row appeared that was not visible before. */
const againMax = 5;

interface PendingAppend {
  readonly parts: readonly Part[];
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
  /** Its log has moved: judge it in a transaction. */
  judge: boolean;
  /** Set with its batch: the head it needs, if it needs nothing else. */
  head: CachedHead | null;
}

export interface Appender {
  append(parts: readonly Part[]): Promise<Outcome>;
  /** Resolves when nothing is in flight. */
  idle(): Promise<void>;
}

export function makeAppender(driver: Driver, heads: CachedHeads): Appender {
  const { world, database, changed } = driver;
  const estimates = makeEstimates(driver);
  let waiting: PendingAppend[] = [];
  const busy = new Set<LogId>();
  const resting: (() => void)[] = [];
  let batches = 0;
  /** Appends in them. */
  let underWay = 0;
  let planned = false;
  /** Appends in the batch that ended last. */
  let lastSize = 0;

  /** After this turn of the event loop: a caller that was just answered may append again, and joins. */
  function plan(): void {
    if (planned) return;
    planned = true;
    // A single append after a single append need not wait for others.
    if (batches === 0 && waiting.length === 1 && lastSize <= 1) queueMicrotask(pump);
    else world.defer(pump);
  }

  /** Starts as many batches as there is room for. */
  function pump(): void {
    planned = false;
    while (batches < batchesMax && waiting.length > 0) {
      const batch = take();
      if (batch.length === 0) break;
      batches += 1;
      underWay += batch.length;
      const sessions = batch.flatMap(({ parts }) => parts.map(({ session }) => session));
      for (const session of sessions) busy.add(session);
      void carryOut(batch).finally(() => {
        for (const session of sessions) busy.delete(session);
        batches -= 1;
        underWay -= batch.length;
        lastSize = batch.length;
        if (waiting.length > 0) plan();
        else tellResting();
      });
    }
    tellResting();
  }

  function tellResting(): void {
    if (batches === 0 && waiting.length === 0) for (const resolve of resting.splice(0)) resolve();
  }

  /** The next batch: the first append that can go, and all others of its kind that can join. */
  function take(): readonly PendingAppend[] {
    const taken: PendingAppend[] = [];
    const left: PendingAppend[] = [];
    const held = new Set(busy);
    const isClockOld = database.isClockOld();
    const all = waiting.length + underWay;
    const most = all < halvedMin ? batchAppendsMax : Math.min(batchAppendsMax, Math.ceil(all / 2));
    let records = 0;
    let kind: string | null = null;
    for (const pending of waiting) {
      const { parts } = pending;
      const free = parts.every(({ session }) => !held.has(session));
      for (const { session } of parts) held.add(session);
      const count = parts.reduce((sum, { drafts }) => sum + drafts.length, 0);
      const isFull = taken.length >= most || (taken.length > 0 && records + count > batchRecordsMax);
      if (!free || isFull) {
        left.push(pending);
        continue;
      }
      pending.head = pending.judge || isClockOld ? null : knownHead(heads, parts);
      const own = pending.head === null ? kindOf(parts) : "known";
      const fits = kind === null || (kind === own && own !== "alone");
      kind ??= own;
      if (fits) records += count;
      (fits ? taken : left).push(pending);
    }
    waiting = left;
    return taken;
  }

  async function carryOut(batch: readonly PendingAppend[]): Promise<void> {
    const known = batch.flatMap((pending) => {
      const { head, parts } = pending;
      const [part] = parts;
      return part !== undefined && head !== null ? [{ pending, part, head }] : [];
    });
    if (known.length < batch.length) return judge(batch);
    try {
      const outcomes = await appendKnown(driver, heads, known);
      for (const [place, { pending }] of known.entries()) {
        const outcome = outcomes[place] ?? null;
        if (outcome !== null) pending.resolve(outcome);
        else again(pending);
      }
      changed();
    } catch (error) {
      for (const { part } of known) heads.delete(part.session);
      if (isUnique(error)) for (const { pending } of known) again(pending);
      else answerLost(batch, error);
    }
  }

  /** It goes first, because it has waited longest. */
  function again(pending: PendingAppend): void {
    pending.judge = true;
    waiting.unshift(pending);
  }

  async function judge(batch: readonly PendingAppend[], tries = 1): Promise<void> {
    let judged: readonly AppendVerdict[];
    try {
      judged = await appendJudged(
        driver,
        heads,
        batch.map(({ parts }) => parts),
      );
    } catch (error) {
      // Another writer created a log or key that was not visible before.
      if (isUnique(error) && tries < againMax) return judge(batch, tries + 1);
      return answerLost(batch, error);
    }
    for (const [place, pending] of batch.entries()) {
      const outcome = judged[place];
      if (outcome === undefined || outcome instanceof SkeinError) pending.reject(outcome);
      else pending.resolve(outcome);
    }
    changed();
    estimates.grown(batch.length);
  }

  function answerLost(batch: readonly PendingAppend[], error: unknown): void {
    for (const pending of batch) {
      if (error instanceof ConnectionLost) pending.resolve({ kind: "unknown", cause: error });
      else pending.reject(error);
    }
  }

  return {
    append(parts) {
      const wrong = partsFlaw(parts);
      if (wrong !== null) return Promise.reject(new SkeinError("invalid", wrong));
      return new Promise((resolve, reject) => {
        waiting.push({ parts, resolve, reject, judge: false, head: null });
        plan();
      });
    },
    idle: () =>
      batches === 0 && waiting.length === 0
        ? Promise.resolve()
        : new Promise((resolve) => void resting.push(resolve)),
  };
}

/** An append that may throw on its own goes alone, so that it fails no other. */
const kindOf = (parts: readonly Part[]): "alone" | "judged" =>
  parts.some(
    ({ parent, drop, erase, drafts }) =>
      parent !== undefined ||
      drop !== undefined ||
      erase !== undefined ||
      drafts.some(({ blobs }) => blobs.length > 0),
  )
    ? "alone"
    : "judged";
