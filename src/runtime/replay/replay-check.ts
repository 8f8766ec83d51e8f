/**
 * Recomputes: folds the whole log again from its first record, without snapshots, and compares it with its
 * own hashes: the hash of the mind at the end of each turn, the digest of each context. It only reads.
 */
import { readRecords } from "../read/record-pages.ts";
import { fold, recalledBy, recallingTypes } from "../../core/fold.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { readEvent, type SessionLogEvent } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { emptyState, mindForm, mindHash, type Mind, type State } from "../../core/state.ts";
import { rendererNow } from "../../core/context/context.ts";
import { readContext, type Context as Rendered } from "../context/context-reader.ts";
import { headOf } from "../read/position.ts";
import type { Deps } from "../deps.ts";
import { makeEventCache } from "../read/event-cache.ts";

/** A position where a recomputed hash differs. */
export interface ReplayMismatch {
  readonly seq: number;
  /** `mind`: what the session knew at the end of a turn. `context`: what a request sent. */
  readonly what: "mind" | "context";
  /** The recorded and the recomputed value. */
  readonly recorded: string;
  readonly found: string;
}

/** The result of a replay that only recomputes hashes. */
export interface ReplayCheck {
  readonly ok: boolean;
  readonly session: SessionId;
  readonly records: number;
  /** Ends of turns whose hash was recomputed. */
  readonly turns: number;
  /** Requests whose context was recomputed. */
  readonly requests: number;
  readonly mismatches: readonly ReplayMismatch[];
  /**
   * What cannot be recomputed: part of it was erased, a newer Skein wrote it, or an executor kept the context
   * outside.
   */
  readonly left: readonly { readonly seq: number; readonly why: "erased" | "newer" | "outside" }[];
}

export interface ReplayCheckOptions {
  readonly progress?: (done: number, of: number) => void;
  readonly signal?: AbortSignal | undefined;
}

interface Check {
  readonly deps: Deps;
  readonly session: SessionId;
  readonly report: {
    turns: number;
    requests: number;
    readonly mismatches: ReplayMismatch[];
    readonly left: { seq: number; why: "erased" | "newer" | "outside" }[];
  };
  /**
   * Saves reading what the next context shows too; separate from the engine's cache, which is not verified.
   */
  readonly cache: ReturnType<typeof makeEventCache>;
}

export async function recompute(
  deps: Deps,
  session: SessionId,
  { progress, signal }: ReplayCheckOptions = {},
): Promise<ReplayCheck> {
  const { seq: toSeq } = await headOf(deps, session);
  const report = { turns: 0, requests: 0, mismatches: [], left: [] };
  const check: Check = { deps, session, report, cache: makeEventCache() };
  const recalled = await rewindTargets(deps, session, toSeq);
  let state = emptyState;
  while (state.seq < toSeq) {
    const range = { fromSeq: state.seq + 1, toSeq, limit: limit.pageRecordsMax, contents: false };
    const page = await deps.store.read(session, range);
    for (const record of page) {
      signal?.throwIfAborted();
      const read = readEvent(record, false);
      const event = read.kind === "known" ? (read.event as SessionLogEvent) : null;
      if (event?.type === "model.requested") await checkContext(check, state, event);
      if (record.seq !== state.seq + 1) throw missing(session, state.seq + 1);
      state = fold(state, read, (seq) => mindAt(recalled, session, seq));
      if (recalled.has(state.seq)) recalled.set(state.seq, state.mind);
      if (event?.type === "turn.ended") checkMind(check, state, event);
    }
    if (page.length === 0) throw missing(session, state.seq + 1);
    progress?.(state.seq, toSeq);
  }
  const { turns, requests, mismatches, left } = report;
  return { ok: mismatches.length === 0, session, records: toSeq, turns, requests, mismatches, left };
}

/** Keeps only the minds that a rewind goes back to. */
async function rewindTargets(
  { store }: Deps,
  session: SessionId,
  toSeq: number,
): Promise<Map<number, Mind | null>> {
  const targets = new Map<number, Mind | null>();
  for await (const record of readRecords(store, session, [1, toSeq], { types: recallingTypes })) {
    const target = recalledBy(readEvent(record, false));
    if (target !== null) targets.set(target, target === 0 ? emptyState.mind : null);
  }
  return targets;
}

function mindAt(recalled: ReadonlyMap<number, Mind | null>, session: SessionId, seq: number): Mind {
  const mind = recalled.get(seq) ?? null;
  if (mind === null) throw missing(session, seq);
  return mind;
}

function checkMind({ deps, report }: Check, state: State, event: EventWith<"turn.ended">): void {
  const { seq, body } = event;
  if (body.mindForm !== mindForm) return void report.left.push({ seq, why: "newer" });
  report.turns += 1;
  const found = mindHash(deps.world.digest, state.mind);
  if (found !== body.mindHash) report.mismatches.push({ seq, what: "mind", recorded: body.mindHash, found });
}

type EventWith<T extends SessionLogEvent["type"]> = Extract<SessionLogEvent, { readonly type: T }>;

async function checkContext(
  check: Check,
  before: State,
  { seq, body }: EventWith<"model.requested">,
): Promise<void> {
  const { deps, session, report, cache } = check;
  if (body.outside === true) return void report.left.push({ seq, why: "outside" });
  if (body.renderer > rendererNow) return void report.left.push({ seq, why: "newer" });
  const { store, world, states } = deps;
  const at: typeof states.at = async (log, where) => (where === before.seq ? before : states.at(log, where));
  const rendered = await readContext({ store, world, states: { at }, cache }, session, { atSeq: seq });
  if (rendered.matches !== true && (await isErased(check, rendered, seq)))
    return void report.left.push({ seq, why: "erased" });
  report.requests += 1;
  if (rendered.matches !== true)
    report.mismatches.push({ seq, what: "context", recorded: body.context, found: rendered.digest });
}

/** True when part of the context, or of its request, was erased. */
async function isErased({ deps, session }: Check, rendered: Rendered, seq: number): Promise<boolean> {
  const { mind, standing } = rendered.state;
  const items = mind.overlays.flatMap((overlay) => [overlay, ...overlay.items.values()]);
  const kept = [...standing.tools, ...items].map((ref) => ref.seq);
  const ranges: (readonly [number, number])[] = [
    ...rendered.reasons.map(({ fromSeq, toSeq }) => [fromSeq, toSeq] as const),
    ...[seq, ...rendered.inputs.map(([input]) => input), ...kept].map((one) => [one, one] as const),
  ];
  // Inputs taken on the way are added, and checked in turn.
  for (const [first, toSeq] of ranges) {
    const range = [Math.max(1, first), toSeq] as const;
    for await (const record of readRecords(deps.store, session, range, { contents: true })) {
      if (record.contentHash !== null && record.content === null) return true;
      ranges.push(...takenBy(record));
    }
  }
  return false;
}

/** An input may stand long before the position where it is shown. */
function takenBy(record: StoredRecord): (readonly [number, number])[] {
  if (record.type !== "turn.started" && record.type !== "model.requested") return [];
  const { body } = readEvent(record, true).event as EventWith<"turn.started" | "model.requested">;
  return body.inputs.map(([input]) => [input, input] as const);
}

const missing = (session: SessionId, seq: number): SkeinError =>
  new SkeinError("corrupt", `record ${seq} of ${session} is missing`, {
    hint: `run "skein verify ${session}" to see what is damaged`,
  });
