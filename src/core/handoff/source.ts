/** The input of a handoff. All of it comes from the log. */
import { itemKey } from "../item/fold.ts";
import { isSettled } from "../item/kind.ts";
import type { SessionLogEvent } from "../event.ts";
import type { RecordedChange } from "../tool/file-version.ts";
import { includes } from "../range.ts";
import type { ItemRef, Mind, State } from "../state.ts";

export interface HandoffSource {
  readonly state: State;
  /** The time of the last record, as text. */
  readonly at: string;
  /** Contents by position. A missing one was erased, or is older than the covered part. */
  readonly contents: ReadonlyMap<number, unknown>;
  /** Events beyond the state, of the types below, the oldest first. */
  readonly events: readonly HandoffEvent[];
  /** Changed files, the oldest first. */
  readonly changes: readonly RecordedChange[];
  /** Events and changes were read from here on; 1 if the whole log was read. */
  readonly fromSeq: number;
  /** Positions of queued inputs, in order. */
  readonly waiting: readonly number[];
  /** The last answer of a model; null if there is none. */
  readonly answerSeq: number | null;
  /** The session whose work this one continues. */
  readonly carriesOn: string | null;
  /** What it inherited from there and did not settle, the oldest first. */
  readonly inherited: readonly InheritedItem[];
  /** The conversation that another tool had; null for a session that began here. */
  readonly imported: ImportedPart | null;
}

/** The end of a conversation that another tool had. */
export interface ImportedPart {
  /** The record with the facts about it: directory, branch, version. */
  readonly seq: number;
  readonly tool: string;
  /** The last inputs of a person, each with the last words of its answer, the oldest first. */
  readonly said: readonly { readonly seq: number; readonly by: "person" | "model" }[];
}

/** The number of exchanges of another tool that a handoff shows. */
export const exchangesMax = 3;

/** An item of a predecessor; or, if that session is deleted, its line in the handoff. */
export type InheritedItem = {
  readonly kind: ItemRef["kind"];
  /** Where it lies: the item, or the loaded handoff. */
  readonly session: string;
  readonly seq: number;
} & (
  | { readonly key: string; readonly content: unknown }
  | { readonly origin: string; readonly line: string }
);

/** The event types that a handoff reads besides the state. */
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

/** How far back the log is read: earlier failures are outdated. */
export const scanRecordsMax = 10_000;

/** Events after which a handoff is still up to date: nothing was said or learned. */
const quiet: ReadonlySet<string> = new Set([
  "handoff.written",
  "lease.taken",
  "lease.released",
  "session.renamed",
  "session.labeled",
  "session.prioritized",
  "session.closed",
  "session.continued",
  "session.split",
  "input.forwarded",
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

/** Values read per kind; for older ones there is room for the key only. */
export const valuesMax = 500;
const failuresMax = 200;

/** The positions whose contents a handoff shows. */
export function wantedSeqs(
  source: Omit<HandoffSource, "contents" | "at" | "changes" | "carriesOn" | "inherited">,
): number[] {
  const { state, events, waiting, answerSeq, imported } = source;
  const { mind, standing } = state;
  const newest = (seqs: readonly number[], most: number): readonly number[] =>
    seqs.toSorted((a, b) => a - b).slice(-most);
  const items = [...mind.items.values()];
  const kinds = new Set(items.map(({ kind }) => kind));
  const shown = [...kinds].flatMap((kind) =>
    newest(
      items.flatMap((item) => (item.kind === kind && !isSettled(kind, item.status) ? [item.seq] : [])),
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
    ...(imported === null ? [] : [imported.seq, ...imported.said.map(({ seq }) => seq)]),
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

/** An item that was retracted and not recorded again, and the position of its last value. */
export interface Retraction {
  readonly seq: number;
  /** Null if the value is older than the part of the log that was read. */
  readonly recordedSeq: number | null;
}

/** The last retraction of each key without a current item, the oldest first. */
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

/** Tools that change the file their input names. */
export const isFileTool = (tool: string): boolean => /^(write|edit)_file$/.test(tool);
