/** The inbox: queued inputs, read from the position of the oldest. */
import { contentOf } from "./content.ts";
import { readRecords } from "./record-pages.ts";
import type { ConsumedInputs } from "../../core/turn/commands.ts";
import { readEvent } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { count } from "../../core/range.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";

export interface QueuedInput {
  readonly seq: number;
  readonly input: number;
  /** True when it is meant for the turn in progress. */
  readonly steers: boolean;
}

/** The queued inputs, in order of position, at most as many as one turn or step takes. */
export async function readWaiting(store: Store, session: SessionId, state: State): Promise<QueuedInput[]> {
  const { waiting, fromSeq } = state.standing.inbox;
  const wanted = Math.min(count(waiting), limit.takenMax);
  const found: QueuedInput[] = [];
  const types = ["input.received", "message.received"];
  if (wanted === 0) return found;
  for await (const record of readRecords(store, session, [fromSeq, state.seq], { types })) {
    const { body } = readEvent(record, false).event as { body: { input: number; mode?: string } };
    if (!waiting.some(([from, to]) => from <= body.input && body.input <= to)) continue;
    found.push({ seq: record.seq, input: body.input, steers: body.mode === "steer" });
    if (found.length === wanted) break;
  }
  return found;
}

export const takenOf = (waiting: readonly QueuedInput[]): ConsumedInputs =>
  waiting.map(({ seq, input }) => [seq, input]);

/** The inputs that the next request would take: in a turn those that steer it, else all queued ones. */
export async function nextTaken(store: Store, session: SessionId, state: State): Promise<ConsumedInputs> {
  if (state.standing.inbox.waiting.length === 0) return [];
  const waiting = await readWaiting(store, session, state);
  return takenOf(state.standing.turn === null ? waiting : waiting.filter(({ steers }) => steers));
}

/** A queued input with its content, and the caller's key. */
export interface QueuedRecord {
  readonly type: "input.received" | "message.received";
  readonly actor: string;
  readonly key: string | null;
  readonly body: Readonly<Record<string, unknown>>;
  readonly content: unknown;
}

/** All queued inputs whose content is not erased, in order of position. */
export async function readQueue(store: Store, session: SessionId, state: State): Promise<QueuedRecord[]> {
  const { waiting, fromSeq } = state.standing.inbox;
  if (waiting.length === 0) return [];
  const found: QueuedRecord[] = [];
  const how = { types: ["input.received", "message.received"], contents: true };
  for await (const record of readRecords(store, session, [fromSeq, state.seq], how)) {
    const body = JSON.parse(record.body) as { readonly input: number };
    if (!waiting.some(([from, to]) => from <= body.input && body.input <= to)) continue;
    const content = await contentOf(store, record);
    const { actor, key } = record;
    const type = record.type as QueuedRecord["type"];
    if (content !== undefined) found.push({ type, actor, key, body, content });
  }
  return found;
}
