/**
 * Where an item comes from: from people alone, or perhaps from outside content. Trusted are items that a
 * person recorded, and those of turns in which the model took in what people typed and nothing else. All
 * others wait for approval before they reach memory, so that a page, a file or a message plants nothing.
 */
import type { DraftEvent } from "../../core/decision.ts";
import { isSessionId, type SessionId } from "../../core/ids.ts";
import type { Doubt } from "../../core/memory/proposal.ts";
import { present } from "../../core/present.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import type { AlsoChange } from "../log/workspace-effects.ts";
import type { Deps } from "../deps.ts";
import { readEvents } from "../read/event-reader.ts";
import { readRecords } from "../read/record-pages.ts";

/** Session tools whose results are texts of elsewhere or of earlier. */
const readingTools: ReadonlySet<string> = new Set(["recall", "lookup"]);

/** How far a turn was read, and the first outside content that it took in. */
export interface TurnOrigin {
  readonly toSeq: number;
  /** Null: none so far. */
  readonly taken: { readonly at: number; readonly doubt: Doubt } | null;
}

/** What the items that this change records may come from; it asks about those in `isFollowed` alone. */
export async function doubtIn(
  deps: Deps,
  { session, state, drafts }: AlsoChange,
  isFollowed: (draft: DraftEvent) => boolean,
): Promise<(draft: DraftEvent) => Doubt | null> {
  if (isImported(state)) return () => ({ why: "import" });
  const recorded = drafts.filter((draft) => draft.type === "item.recorded" && isFollowed(draft));
  const doubts = new Map<DraftEvent, Doubt>();
  const put = (draft: DraftEvent, doubt: Doubt | null): void => {
    if (doubt !== null) doubts.set(draft, doubt);
  };
  // Items that a compaction extracts or an import brings come from elsewhere.
  const copied = drafts.map(({ type }) => copyTypes[type]).find((why) => why !== undefined);
  const startedSeq = state.standing.turn?.startedSeq;
  const own = recorded.filter((draft) => copied === undefined && originIn(draft.body) === undefined);
  const inTurn = own.some(({ turn }) => turn !== undefined)
    ? await turnDoubt(deps, session, startedSeq, state.seq)
    : null;
  for (const draft of own) put(draft, draft.turn === undefined ? null : inTurn);
  for (const draft of recorded) {
    const origin = originIn(draft.body);
    if (copied !== undefined) put(draft, { why: copied });
    else if (origin !== undefined) put(draft, await doubtOfOrigin(deps, origin, mergesMax));
  }
  return (draft) => doubts.get(draft) ?? null;
}

type Origin = { readonly session: string; readonly seq: number } | undefined;

const originIn = (body: unknown): Origin => (body as { readonly origin?: Origin }).origin;

/** Merges of merges that are looked through. */
const mergesMax = 8;

/** A merged item is as good as it was where it comes from. */
async function doubtOfOrigin(
  deps: Deps,
  origin: NonNullable<Origin>,
  mergesLeft: number,
): Promise<Doubt | null> {
  const { session, seq } = origin;
  const isHere = isSessionId(session) && (await deps.store.head(session)) !== undefined;
  if (!isHere || mergesLeft === 0) return { why: "merge" };
  const doubt = await doubtAt(deps, session, await deps.writer.current(session), seq, mergesLeft - 1);
  // A position in another session would mislead.
  return doubt === null ? null : { why: "merge" };
}

const copyTypes: Readonly<Record<string, Doubt["why"]>> = {
  "transcript.compacted": "compaction",
  "source.imported": "import",
};

const isImported = ({ standing }: State): boolean => standing.source !== null || standing.unreviewed;

/** What an item may come from that the session recorded at this position. */
export async function doubtAt(
  deps: Deps,
  session: SessionId,
  state: State,
  seq: number,
  mergesLeft = mergesMax,
): Promise<Doubt | null> {
  if (isImported(state)) return { why: "import" };
  const { store } = deps;
  const place = { fromSeq: seq, toSeq: seq, limit: 1, contents: false };
  const [record] = await store.read(session, place);
  if (record === undefined) return { why: "import" };
  const origin = originIn(JSON.parse(record.body));
  if (origin !== undefined) return doubtOfOrigin(deps, origin, mergesLeft);
  if (await isExtracted(store, session, seq)) return { why: "compaction" };
  if (record.turn === null) return null;
  const range = { fromSeq: 1, toSeq: seq, limit: 1, contents: false, reverse: true };
  const [started] = await store.read(session, { ...range, types: ["turn.started"] });
  return turnDoubt(deps, session, started?.seq, seq);
}

/** Items that a compaction extracts stand right behind it. */
async function isExtracted(store: Store, session: SessionId, seq: number): Promise<boolean> {
  const range = { fromSeq: Math.max(1, seq - 200), toSeq: seq - 1, limit: 200, contents: false };
  if (range.toSeq < range.fromSeq) return false;
  const before = await store.read(session, { ...range, reverse: true });
  return before.find(({ type }) => type !== "item.recorded")?.type === "transcript.compacted";
}

/** The first outside content that a turn took in up to a position; null: none, only what people typed. */
async function turnDoubt(
  { store, shared }: Deps,
  session: SessionId,
  startedSeq: number | undefined,
  toSeq: number,
): Promise<Doubt | null> {
  if (startedSeq === undefined) return { why: "input" };
  const key = `${session}@${startedSeq}`;
  const known = shared.turnOrigins.get(key);
  if (known !== undefined && known.taken !== null) return known.taken.at <= toSeq ? known.taken.doubt : null;
  if (known !== undefined && known.toSeq >= toSeq) return null;
  const taken = await firstTaken(store, session, known === undefined ? startedSeq : known.toSeq + 1, toSeq);
  shared.turnOrigins.set(key, { toSeq, taken });
  return taken?.doubt ?? null;
}

async function firstTaken(
  store: Store,
  session: SessionId,
  fromSeq: number,
  toSeq: number,
): Promise<TurnOrigin["taken"]> {
  const types = ["turn.started", "model.requested", "tool.requested", "session.merged", "document.loaded"];
  for await (const { type, seq, body: text } of readRecords(store, session, [fromSeq, toSeq], { types })) {
    const body = JSON.parse(text) as {
      readonly tool?: string;
      readonly effect?: string;
      readonly inputs?: readonly (readonly [number, number])[];
    };
    if (type === "session.merged") return { at: seq, doubt: { why: "merge", seq } };
    if (type === "document.loaded") return { at: seq, doubt: { why: "file", seq } };
    const isOutside = body.effect !== "session" || readingTools.has(body.tool ?? "");
    if (type === "tool.requested" && isOutside)
      return { at: seq, doubt: { why: "tool", ...present({ tool: body.tool }), seq } };
    for (const [place] of body.inputs ?? []) {
      const why = await inputDoubt(store, session, place);
      if (why !== null) return { at: seq, doubt: { why, seq: place } };
    }
  }
  return null;
}

/** Null: a person typed it, and nothing is attached. */
async function inputDoubt(store: Store, session: SessionId, place: number): Promise<"input" | "file" | null> {
  for await (const input of readEvents(store, session, { fromSeq: place, toSeq: place, limit: 1 })) {
    if (input.type !== "input.received" || !input.actor.startsWith("user:")) return "input";
    const { blocks = [] } = (input.content ?? {}) as { blocks?: readonly { readonly type: string }[] };
    if (blocks.length === 0) return "input";
    if (blocks.some(({ type }) => type !== "text")) return "file";
  }
  return null;
}
