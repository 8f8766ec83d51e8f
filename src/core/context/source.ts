/** What a renderer is given, and what it gives: a context is made of nothing but this. */
import type { SessionLogEvent } from "../event.ts";
import type { ContextPart, Settings } from "./part.ts";
import type { Overlay, State } from "../state.ts";

export interface ContextSource {
  /** The state right before the request. */
  readonly state: State;
  readonly settings: Settings;
  /**
   * Events with their contents, by position: all that the state refers to and a context shows, and the inputs
   * that were taken up. One that is missing shows as if it were erased.
   */
  readonly events: ReadonlyMap<number, SessionLogEvent>;
  /** The events of the mind after the boundary, in order, with their contents, of `transcriptTypes`. */
  readonly transcript: readonly SessionLogEvent[];
  /** Positions of the inputs that this very request takes up. */
  readonly taken: readonly number[];
  /** The objective in force where the boundary ends; 1 is that of the session's beginning. */
  readonly objectiveSeq: number;
  /** Without overlays, as if nothing had ever been compacted. */
  readonly uncompacted?: boolean;
  /** What is asked after all of it, in a message of its own: for a summary. */
  readonly prompt?: string;
}

/**
 * What a part is, for whoever adds up what a window is filled with. A document is one that was loaded before
 * the first turn; a summary is what stands in place of all that was compacted. Whatever came in later, such
 * as a document or memory, is part of the transcript where it stands.
 */
export const partKinds = [
  "settings",
  "tools",
  "instructions",
  "document",
  "memory",
  "summary",
  "transcript",
] as const;
/** The origin of a part of the context. */
export type PartKind = (typeof partKinds)[number];

/** Why a part is there, and where in the log it comes from. 0 where it comes from no record. */
export interface PartReason {
  readonly kind: PartKind;
  readonly why: string;
  readonly fromSeq: number;
  readonly toSeq: number;
}

export interface Rendered {
  readonly parts: readonly ContextPart[];
  /** One a part. */
  readonly reasons: readonly PartReason[];
}

/** Parts as they are put together, each with its reason. */
export interface Sheet {
  readonly parts: ContextPart[];
  readonly reasons: PartReason[];
}

export const blankSheet = (): Sheet => ({ parts: [], reasons: [] });

export function put(
  sheet: Sheet,
  part: ContextPart,
  [kind, why]: readonly [PartKind, string],
  [fromSeq, toSeq]: readonly [number, number],
): void {
  sheet.parts.push(part);
  sheet.reasons.push({ kind, why, fromSeq, toSeq });
}

/** The compaction that the context begins with; null when it begins where the session does. */
export function boundaryOf({
  state,
  uncompacted = false,
}: Pick<ContextSource, "state" | "uncompacted">): Overlay | null {
  if (uncompacted) return null;
  return state.mind.overlays.findLast(({ strategy }) => strategy !== "prune") ?? null;
}

/** Whether the output that stands at a position is left out of the context. */
export function pruning({
  state,
  events,
  uncompacted = false,
}: Pick<ContextSource, "state" | "events" | "uncompacted">): (seq: number) => boolean {
  const overlays = uncompacted ? [] : state.mind.overlays.filter(({ strategy }) => strategy === "prune");
  const listed = new Set<number>();
  const whole: Overlay[] = [];
  for (const overlay of overlays) {
    const content: unknown = events.get(overlay.seq)?.content;
    const pruned = field(content, "pruned");
    // Which ones they were is gone with the content; all of the range stays as short as it was.
    if (!Array.isArray(pruned)) whole.push(overlay);
    else for (const seq of pruned as unknown[]) if (typeof seq === "number") listed.add(seq);
  }
  return (seq) => listed.has(seq) || whole.some(({ fromSeq, toSeq }) => fromSeq <= seq && seq <= toSeq);
}

/** After these a context may begin anew. */
const breaks: ReadonlySet<string> = new Set(["transcript.compacted", "session.rewound", "session.migrated"]);

/**
 * The tools that stand in front of the context; 0 when none do. Tools that were first bound after a request
 * was made without any stand where they were bound, until the context begins anew.
 */
export function frontToolsSeq({ state, transcript }: Pick<ContextSource, "state" | "transcript">): number {
  const first = state.standing.tools[0]?.seq ?? 0;
  const asked = transcript.find(isStep)?.seq ?? Infinity;
  const isSettled = first < asked || transcript.some(({ type, seq }) => seq > first && breaks.has(type));
  return isSettled ? first : 0;
}

const isStep = (event: SessionLogEvent): boolean =>
  event.type === "model.requested" && event.body.purpose !== "compaction";

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A field of a content, which may be anything at all. */
export const field = (content: unknown, name: string): unknown =>
  isObject(content) ? content[name] : undefined;
