/**
 * The marks on the timeline: few, and worth looking for. A log of any length has no more marks than there is
 * room for.
 */
import type { SummaryInput } from "../../../core/summary.ts";
import { toneOfEvent, summaryOf } from "../../ui/event-summary.ts";
import type { Ranges } from "../../../core/range.ts";
import { lostBy } from "../../../core/transcript.ts";

/** In a crowded spot the last of these wins. */
export const markKinds = ["turn", "compaction", "merge", "fork", "checkpoint", "rewind", "trouble"] as const;
export type MarkKind = (typeof markKinds)[number];

export interface TimelineMark {
  readonly seq: number;
  readonly kind: MarkKind;
  readonly words: string;
  /** Of a rewind: its target. */
  readonly toSeq?: number;
}

/** More turns than this say nothing, and are left out. */
export const turnsMax = 400;
export const marksMax = 1_000;

export const turnTypes = ["turn.started"] as const;
/** The queried types; each has few events, also in a long log. */
export const markedTypes = [
  "transcript.compacted",
  "session.merged",
  "session.forked",
  "session.rewound",
  "checkpoint.saved",
  "model.failed",
  "budget.reached",
  "session.suspended",
  "session.interrupted",
  "message.refused",
] as const;

const kinds: Readonly<Record<string, MarkKind>> = {
  "turn.started": "turn",
  "transcript.compacted": "compaction",
  "session.merged": "merge",
  "session.forked": "fork",
  "session.rewound": "rewind",
};

/** Null: not marked. A checkpoint is at its target. */
export function markOf(
  event: SummaryInput & { readonly seq: number; readonly turn: number | null },
): TimelineMark | null {
  if (event.type === "checkpoint.saved") {
    const { seq = event.seq } = event.body as { readonly seq?: number };
    return { seq, kind: "checkpoint", words: summaryOf(event) };
  }
  const kind = kinds[event.type] ?? (toneOfEvent(event) === null ? undefined : "trouble");
  if (kind === undefined) return null;
  const words = kind === "turn" && event.turn !== null ? `Turn ${event.turn}` : summaryOf(event);
  const { toSeq } = event.body as { readonly toSeq?: number };
  return { seq: event.seq, kind, words, ...(kind === "rewind" && toSeq !== undefined ? { toSeq } : {}) };
}

const rank = (kind: MarkKind): number => markKinds.indexOf(kind);

/** At most one per column of the bar: the most important, and of equals the first. */
export function sampleMarks(
  marks: readonly TimelineMark[],
  headSeq: number,
  columns: number,
): readonly TimelineMark[] {
  const chosen = new Map<number, TimelineMark>();
  for (const mark of marks) {
    if (mark.seq < 1 || mark.seq > headSeq) continue;
    const column = Math.floor(shareOf(mark.seq, headSeq) * (columns - 1));
    const there = chosen.get(column);
    if (there === undefined || rank(mark.kind) > rank(there.kind)) chosen.set(column, mark);
  }
  return [...chosen.entries()].toSorted(([a], [b]) => a - b).map(([, mark]) => mark);
}

/** The position on the bar, 0 to 1. */
export const shareOf = (seq: number, headSeq: number): number =>
  headSeq <= 1 ? 1 : Math.min(1, Math.max(0, (seq - 1) / (headSeq - 1)));

/** The log position at a point of the bar. */
export const seqAt = (share: number, headSeq: number): number =>
  Math.min(headSeq, Math.max(1, Math.round(share * (headSeq - 1)) + 1));

/** The rewound ranges, exactly as in the transcript. */
export function lostStretches(ranges: Ranges, marks: readonly TimelineMark[]): Ranges {
  const rewinds = marks.flatMap(({ seq, toSeq }) => (toSeq === undefined ? [] : [{ seq, toSeq }]));
  return lostBy(
    rewinds.toSorted((a, b) => b.seq - a.seq),
    ranges,
  );
}

/** The mark nearest to a position, if it is near enough. */
export function markNear(marks: readonly TimelineMark[], seq: number, within: number): TimelineMark | null {
  let best: TimelineMark | null = null;
  for (const mark of marks) {
    const far = Math.abs(mark.seq - seq);
    if (far > within) continue;
    const nearest = best === null ? Infinity : Math.abs(best.seq - seq);
    if (far < nearest || (far === nearest && best !== null && rank(mark.kind) > rank(best.kind))) best = mark;
  }
  return best;
}
