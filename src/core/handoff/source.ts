/** What a handoff is written from. All of it comes from the log. */
import { itemKey } from "../item/fold.ts";
import type { SessionLogEvent } from "../event.ts";
import type { RecordedChange } from "../tool/file-version.ts";
import { includes } from "../range.ts";
import type { ItemRef, Mind, State } from "../state.ts";

export interface HandoffSource {
  readonly state: State;
  /** When the last record was written, as a person reads it. */
  readonly at: string;
  /** Contents by position. None: it was erased, or is older than what is told. */
  readonly contents: ReadonlyMap<number, unknown>;
  /** What the state does not tell, of the types below, the oldest first. */
  readonly events: readonly HandoffEvent[];
  /** Files that were changed, the oldest first. */
  readonly changes: readonly RecordedChange[];
  /** Events and changes were read from here on; 1 when that is all of the log. */
  readonly fromSeq: number;
  /** Positions of inputs that wait, in order. */
  readonly waiting: readonly number[];
  /** The last answer of a model; null when there is none. */
  readonly answerSeq: number | null;
  /** The session whose work this one carries on. */
  readonly carriesOn: string | null;
  /** What it took over from there and did not settle, the oldest first. */
  readonly inherited: readonly Inherited[];
}

/** An item of a session whose work is carried on; or, where that one is gone, what its handoff said of it. */
export type Inherited = {
  readonly kind: ItemRef["kind"];
  /** Where it stands: the item, or the handoff that was loaded. */
  readonly session: string;
  readonly seq: number;
} & (
  | { readonly key: string; readonly content: unknown }
  | { readonly origin: string; readonly line: string }
);

/** The events that are read for a handoff besides the state. */
export const handoffTypes = [
  "tool.requested",
  "tool.denied",
  "tool.settled",
  "model.failed",
  "item.recorded",
  "item.retracted",
  "session.rewound",
  "session.merged",
  "turn.ended",
  "resource.changed",
] as const;

export type HandoffEvent = Extract<SessionLogEvent, { readonly type: (typeof handoffTypes)[number] }>;

/** How far back the log is read: what failed before is old. */
export const scanRecordsMax = 10_000;

/** After these a handoff is as good as before: nothing was said, and nothing is known otherwise. */
const quiet: ReadonlySet<string> = new Set([
  "handoff.written",
  "lease.taken",
  "lease.released",
  "session.renamed",
  "session.labeled",
  "session.prioritized",
  "session.closed",
  "session.reopened",
  "session.archived",
  "session.moved",
  "session.arrived",
  "checkpoint.saved",
  "score.recorded",
  "hold.set",
  "hold.lifted",
  "message.delivered",
]);

export const isQuiet = (type: string): boolean => quiet.has(type) || type.startsWith("x.");

/** Values that are read of one kind; of what is older there is no room to say more than the key. */
export const valuesMax = 500;
const failuresMax = 200;

/** The positions whose contents a handoff shows. */
export function wantedSeqs(
  source: Omit<HandoffSource, "contents" | "at" | "changes" | "carriesOn" | "inherited">,
): number[] {
  const { state, events, waiting, answerSeq } = source;
  const { mind, standing } = state;
  const newest = (seqs: readonly number[], most: number): readonly number[] =>
    seqs.toSorted((a, b) => a - b).slice(-most);
  const items = [...mind.items.values()];
  const kinds = ["decision", "task", "fact", "artifact"] as const;
  const shown = kinds.flatMap((kind) =>
    newest(
      items.flatMap((item) => (item.kind === kind && item.status !== "done" ? [item.seq] : [])),
      valuesMax,
    ),
  );
  const failed = events.flatMap((event) => {
    if (event.type === "tool.settled") return event.body.status === "error" ? [event.seq] : [];
    return ["tool.denied", "model.failed", "item.retracted", "session.rewound"].includes(event.type)
      ? [event.seq]
      : [];
  });
  const retracted = retractions(events, mind).flatMap(({ recordedSeq }) => recordedSeq ?? []);
  const written = events.flatMap((event) =>
    event.type === "tool.requested" && isFileTool(event.body.tool) ? [event.seq] : [],
  );
  const handoffs = [...mind.documents.values()].filter(({ kind }) => kind === "handoff");
  return [
    ...(standing.objective === null ? [] : [standing.objective.seq]),
    ...(standing.why === null ? [] : [standing.why.seq]),
    ...(answerSeq === null ? [] : [answerSeq]),
    ...shown,
    ...newest(failed, failuresMax),
    ...newest(retracted, failuresMax),
    ...newest(written, failuresMax),
    ...newest(
      [...standing.asked.values(), ...standing.requests.values()].map(({ seq }) => seq),
      50,
    ),
    ...[...mind.calls.values()].map(({ seq }) => seq),
    ...waiting,
    ...handoffs.map(({ seq }) => seq),
  ];
}

/** An item that was retracted and not recorded again, and where its last value stands. */
export interface Retraction {
  readonly seq: number;
  /** Null when the value is older than what was read of the log. */
  readonly recordedSeq: number | null;
}

/** The last retraction of each key that has no item now, the oldest first. */
export function retractions(events: readonly HandoffEvent[], { items, lost }: Mind): Retraction[] {
  const recorded = new Map<string, number>();
  const found = new Map<string, Retraction>();
  for (const event of events) {
    if (event.type !== "item.recorded" && event.type !== "item.retracted") continue;
    if (includes(lost, event.seq)) continue;
    const name = itemKey(event.body.kind, event.body.key);
    found.delete(name);
    if (event.type === "item.recorded") recorded.set(name, event.seq);
    else if (!items.has(name)) found.set(name, { seq: event.seq, recordedSeq: recorded.get(name) ?? null });
  }
  return [...found.values()];
}

/** Tools that change the file which their input names. */
export const isFileTool = (tool: string): boolean => /^(write|edit)_file$/.test(tool);
