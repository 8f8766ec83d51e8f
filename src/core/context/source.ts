/** The input and output of a renderer: a context depends on nothing else. */
import type { SessionLogEvent } from "../event.ts";
import type { ContextPart, Settings } from "./part.ts";
import type { PlanDraft } from "./plan.ts";
import type { Overlay, State } from "../state.ts";

/** A plan, and where it stands in the log. */
export interface LoggedPlan extends PlanDraft {
  readonly seq: number;
}

export interface ContextSource {
  /** The state just before the request. */
  readonly state: State;
  readonly settings: Settings;
  /**
   * Events with their contents, by position: everything the state refers to and a context shows, and the
   * consumed inputs. A missing one is rendered as erased.
   */
  readonly events: ReadonlyMap<number, SessionLogEvent>;
  /** The events of the mind after the boundary, in order, with their contents, of `transcriptTypes`. */
  readonly transcript: readonly SessionLogEvent[];
  /** Positions of the inputs that this request consumes. */
  readonly taken: readonly number[];
  /** The objective in force at the end of the boundary; 1 is the initial one. */
  readonly objectiveSeq: number;
  /** Without overlays, as if nothing had been compacted. */
  readonly uncompacted?: boolean;
  /** The plan that the context follows: renderer 2, since its last boundary. */
  readonly plan?: LoggedPlan;
  /** A final prompt in a separate message: the request for a summary. */
  readonly prompt?: string;
}

/**
 * The kind of a part, for the breakdown of a context window. `document`: loaded before the first turn, or
 * before the plan. `summary`: the replacement of the compacted range. Anything added later, such as a
 * document or memory, is part of the transcript.
 */
export const partKinds = [
  "settings",
  "tools",
  "instructions",
  "document",
  "memory",
  "pinned",
  "summary",
  "items",
  "transcript",
] as const;
/** The origin of a part of the context. */
export type PartKind = (typeof partKinds)[number];

/** Why a part is there, and its position in the log. 0 if it comes from no record. */
export interface PartReason {
  readonly kind: PartKind;
  readonly why: string;
  readonly fromSeq: number;
  readonly toSeq: number;
  /** What was brought into it for an input. */
  readonly brought?: readonly BroughtReason[];
  /** What retrieval for it lacked: `search-behind`, `embedding-failed`, `embedding-down`. */
  readonly lacked?: readonly string[];
}

/** Why an item, a section, an earlier turn or an entry of memory was brought in. */
export interface BroughtReason {
  readonly kind: string;
  readonly seq: number;
  /** Characters of the text at the position; absent: all. */
  readonly range?: readonly [from: number, to: number];
  /** Of memory: the number of the entry there. */
  readonly number?: number;
  /** 0 to 1: the share of the input that it is about. */
  readonly score: number;
  /** `words` in common, or `meaning`, or `both`. */
  readonly why: string;
}

export interface RenderedParts {
  readonly parts: readonly ContextPart[];
  /** One per part. */
  readonly reasons: readonly PartReason[];
}

/** Parts under construction, each with its reason. */
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
  { brought = [], lacked = [] }: Pick<PartReason, "brought" | "lacked"> = {},
): void {
  sheet.parts.push(part);
  const more = { ...(brought.length > 0 && { brought }), ...(lacked.length > 0 && { lacked }) };
  sheet.reasons.push({ kind, why, fromSeq, toSeq, ...more });
}

/** The compaction that the context begins with; null if it begins with the session. */
export function boundaryOf({
  state,
  uncompacted = false,
}: Pick<ContextSource, "state" | "uncompacted">): Overlay | null {
  if (uncompacted) return null;
  return state.mind.overlays.findLast(({ strategy }) => strategy !== "prune") ?? null;
}

/** Whether the output at a position is left out of the context. */
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
    // The content listed the pruned outputs and is erased, so the whole range stays pruned.
    if (!Array.isArray(pruned)) whole.push(overlay);
    else for (const seq of pruned as unknown[]) if (typeof seq === "number") listed.add(seq);
  }
  return (seq) => listed.has(seq) || whole.some(({ fromSeq, toSeq }) => fromSeq <= seq && seq <= toSeq);
}

/** Events after which a context may start fresh. */
const breaks: ReadonlySet<string> = new Set([
  "transcript.compacted",
  "overlay.lifted",
  "session.rewound",
  "session.migrated",
]);

/**
 * The tools at the front of the context; 0 if there are none. Tools first bound after a request without tools
 * appear where they were bound, until the context starts fresh.
 */
export function frontToolsSeq({ state, transcript }: Pick<ContextSource, "state" | "transcript">): number {
  const first = state.standing.tools[0]?.seq ?? 0;
  const asked = transcript.find(isStep)?.seq ?? Infinity;
  const isSettled = first < asked || transcript.some(({ type, seq }) => seq > first && breaks.has(type));
  return isSettled ? first : 0;
}

/** A request that sent the context, not one for a summary. */
export const isStep = (event: SessionLogEvent): boolean =>
  event.type === "model.requested" && event.body.purpose !== "compaction";

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A field of a content of any shape. */
export const field = (content: unknown, name: string): unknown =>
  isObject(content) ? content[name] : undefined;
