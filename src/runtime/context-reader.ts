/**
 * Reading contexts: gathers from the store what a renderer needs, and has it rendered. What is read follows
 * the window: the records since the last compaction, and what the state refers to; never the history.
 */
import { contextDigest, rendererNow, renderers } from "../core/context.ts";
import { isEarly } from "../core/context/frame.ts";
import { boundaryOf, pruning, type ContextSource, type PartReason } from "../core/context/source.ts";
import { share } from "../core/context/text.ts";
import { transcriptTypes } from "../core/context/transcript.ts";
import type { Digest, StoredRecord } from "../core/chain.ts";
import type { Taken } from "../core/command/turn.ts";
import { SkeinError } from "../core/error.ts";
import { readEvent, type EventOf, type SessionEvent } from "../core/event.ts";
import type { SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import type { Part, Settings } from "../core/part.ts";
import { subtract, type Ranges } from "../core/range.ts";
import type { Overlay, State } from "../core/state.ts";
import type { Store } from "../store/port.ts";
import { blobReference, inflate, makeWhole } from "./content.ts";
import { nextTaken } from "./inbox.ts";
import { readSaid, type ReadSaid } from "./projection.ts";
import type { StateReader } from "./state-reader.ts";

export interface ContextWorld {
  readonly store: Store;
  readonly states: Pick<StateReader, "at">;
  readonly world: { readonly digest: Digest };
  /** Spares reading again what is shown in every step. */
  readonly cache?: EventCache;
}

/**
 * Events by log and position. Whoever erases contents forgets them here too; what another process erased is
 * found in the log, see `freshen`.
 */
export interface EventCache {
  /** The head when it was last looked whether something was erased; undefined when nothing is held. */
  checked(session: SessionId): number | undefined;
  setChecked(session: SessionId, headSeq: number): void;
  /** How often something was forgotten: what was read before that is not to be kept after it. */
  forgotten(): number;
  get(session: SessionId, seq: number): SessionEvent | undefined;
  set(session: SessionId, event: SessionEvent): void;
  /** What was read of a session's transcript last, so that a step reads only what is new. */
  window(session: SessionId): Window | undefined;
  setWindow(session: SessionId, window: Window): void;
  /** All that is held, or all of one session. */
  forget(session?: SessionId): void;
}

/** The events of a transcript up to a position, and the inputs among them. */
interface Window {
  /** What it was read for: the same boundary, prunes and rewinds. */
  readonly key: string;
  readonly toSeq: number;
  readonly events: readonly SessionEvent[];
}

export interface Context {
  readonly parts: readonly Part[];
  /** One a part. */
  readonly reasons: readonly PartReason[];
  readonly digest: string;
  readonly renderer: number;
  readonly model: string;
  readonly settings: Settings;
  /** What it was rendered from, and the inputs that it takes up. */
  readonly state: State;
  readonly inputs: Taken;
  /** The request that sent exactly this; null for what would be sent next. */
  readonly requestSeq: number | null;
  /** Whether the digest is the one that the request recorded; null where there is nothing to compare. */
  readonly matches: boolean | null;
}

export interface ContextOptions {
  readonly atSeq: number;
  /** For what would be sent next; else those of the last request. */
  readonly settings?: Settings;
  readonly renderer?: number;
  /** Everything, as if nothing had ever been compacted. */
  readonly uncompacted?: boolean;
  /** To be given out: refused when it is too much for that. A run is not: it reads it to make it smaller. */
  readonly whole?: boolean;
}

/** What was sent by the request at a position, or what the next one after it would send. */
export async function readContext(
  context: ContextWorld,
  session: SessionId,
  options: ContextOptions,
): Promise<Context> {
  const { atSeq, uncompacted = false, whole = false } = options;
  await freshen(context, session);
  const event = await readOne(context, session, atSeq);
  if (event?.type === "model.requested") return rebuild(context, session, event, { uncompacted, whole });
  const state = await context.states.at(session, atSeq);
  return nextContext(context, session, {
    state,
    settings: options.settings ?? (await lastSettings(context, session, state)),
    inputs: await nextTaken(context.store, session, state),
    uncompacted,
    whole,
    ...(options.renderer === undefined ? {} : { renderer: options.renderer }),
  });
}

export interface NextOptions {
  readonly state: State;
  readonly settings: Settings;
  /** What the request takes up. */
  readonly inputs: Taken;
  readonly renderer?: number;
  readonly uncompacted?: boolean;
  readonly whole?: boolean;
  /** Nothing after this position: for a summary of what came before. */
  readonly toSeq?: number;
  /** What is asked after it. */
  readonly prompt?: string;
}

/** What a request right after a state would send. Its digest is the one that the request must record. */
export async function nextContext(
  context: ContextWorld,
  session: SessionId,
  options: NextOptions,
): Promise<Context> {
  const { state, settings, inputs, uncompacted = false, whole = false, toSeq = state.seq } = options;
  const renderer = options.renderer ?? state.standing.renderer ?? rendererNow;
  const render = renderers[renderer];
  if (render === undefined) {
    throw new SkeinError("invalid", `there is no renderer ${renderer}`, {
      hint: `this program has renderers 1 to ${rendererNow}; a newer one may have more`,
    });
  }
  const taken = inputs.map(([seq]) => seq);
  await freshen(context, session);
  const source = await gather(context, session, { state, settings, taken, uncompacted, whole, toSeq });
  const asked = options.prompt === undefined ? {} : { prompt: options.prompt };
  const { parts, reasons } = render({ ...source, ...asked });
  const digest = contextDigest(context.world.digest, parts);
  const { model } = settings;
  const made = { parts, reasons, digest, renderer, model, settings, state, inputs };
  return { ...made, requestSeq: null, matches: null };
}

async function rebuild(
  context: ContextWorld,
  session: SessionId,
  { seq, body, content }: EventOf<"model.requested">,
  { uncompacted, whole }: Pick<Wanted, "uncompacted" | "whole">,
): Promise<Context> {
  const settings = (content?.settings as Settings | undefined) ?? { model: body.model, images: false };
  const next = await nextContext(context, session, {
    state: await context.states.at(session, seq - 1),
    settings,
    inputs: body.inputs,
    renderer: body.renderer,
    uncompacted,
    whole,
    ...(body.purpose === "compaction" ? summaryOf(body.toSeq, content?.prompt) : {}),
  });
  return { ...next, requestSeq: seq, matches: uncompacted ? null : next.digest === body.context };
}

/** A summary is asked for with a prompt, about what stands up to a position. */
const summaryOf = (toSeq: number | undefined, prompt: string | undefined): Partial<NextOptions> => ({
  ...(toSeq === undefined ? {} : { toSeq }),
  ...(prompt === undefined ? {} : { prompt }),
});

/** Those of the last request; without one, of the session's model, of which nothing more is known. */
async function lastSettings({ store }: ContextWorld, session: SessionId, state: State): Promise<Settings> {
  const range = { fromSeq: 1, toSeq: state.seq, reverse: true, limit: 1, contents: true };
  const [record] = await store.read(session, { ...range, types: ["model.requested"] });
  const event = record === undefined ? undefined : await understand(store, record);
  const settings = event?.type === "model.requested" ? event.content?.settings : undefined;
  const model = state.standing.model ?? "offline/offline";
  return (settings as Settings | undefined) ?? { model, images: false };
}

interface Wanted {
  readonly state: State;
  readonly settings: Settings;
  readonly taken: readonly number[];
  readonly uncompacted: boolean;
  readonly whole: boolean;
  readonly toSeq: number;
}

async function gather(context: ContextWorld, session: SessionId, wanted: Wanted): Promise<ContextSource> {
  const { state, settings, taken, uncompacted, whole, toSeq } = wanted;
  const { mind, standing } = state;
  const boundary = boundaryOf(wanted);
  const events = new Map<number, SessionEvent>();
  const add = whole ? makeWhole(session) : () => undefined;
  const fetch = async (seqs: readonly number[]): Promise<void> => {
    for (const seq of new Set(seqs)) {
      const event = events.get(seq) ?? (await readOne(context, session, seq));
      if (event === undefined) continue;
      add(event);
      events.set(seq, event);
    }
  };
  const objectiveSeq = await objectiveAt(context, session, state, boundary);
  const prunes = mind.overlays.filter(({ strategy }) => strategy === "prune");
  await fetch([
    1,
    ...(standing.agent === null ? [] : [standing.agent.seq]),
    ...standing.tools.slice(0, 1).map(({ seq }) => seq),
    ...[...mind.documents.values(), ...mind.memory]
      .filter((ref) => isEarly(state, ref))
      .map(({ seq }) => seq),
    ...(uncompacted ? [] : prunes.map(({ seq }) => seq)),
    ...(boundary === null ? [] : [boundary.seq, objectiveSeq, ...itemSeqs(boundary)]),
  ]);
  const isPruned = pruning({ state, events, uncompacted });
  const transcript: SessionEvent[] = [];
  const fromSeq = (boundary?.toSeq ?? 0) + 1;
  const key = JSON.stringify([fromSeq, prunes.map(({ seq }) => seq), uncompacted, mind.lost]);
  const window = { fromSeq, toSeq, key, lost: mind.lost, add };
  for (const event of await readWindow(context, session, window, isPruned)) {
    if (isInput(event)) events.set(event.seq, event);
    else transcript.push(event);
  }
  await fetch([...transcript.flatMap(takenBy), ...taken]);
  return { state, settings, events, transcript, taken, objectiveSeq, uncompacted };
}

/** Forgets what is held of a session if its log says since that something was erased. */
async function freshen({ store, cache }: ContextWorld, session: SessionId): Promise<void> {
  if (cache === undefined) return;
  const checked = cache.checked(session);
  const headSeq = (await store.head(session))?.seq ?? 0;
  if (checked === headSeq) return;
  cache.setChecked(session, headSeq);
  if (checked === undefined) return;
  const range = { fromSeq: checked + 1, toSeq: headSeq, limit: 1, contents: false };
  const found = await store.read(session, { ...range, types: ["content.erased"] });
  if (found.length === 0) return;
  cache.forget(session);
  cache.setChecked(session, headSeq);
}

/** Records never change but by erasure, so what was read for the last step is still true of this one. */
async function readWindow(
  { store, cache }: ContextWorld,
  session: SessionId,
  wanted: {
    readonly fromSeq: number;
    readonly toSeq: number;
    readonly key: string;
    readonly lost: Ranges;
    /** Told of what is shown in any case: an input is only once it is taken. */
    readonly add: (event: SessionEvent) => void;
  },
  isPruned: (seq: number) => boolean,
): Promise<readonly SessionEvent[]> {
  const { toSeq, key, lost, add } = wanted;
  const last = cache?.window(session);
  const forgotten = cache?.forgotten();
  const known = last?.key === key && last.toSeq <= toSeq ? last : null;
  const events = [...(known?.events ?? [])];
  const count = (event: SessionEvent): void => {
    if (!isInput(event)) add(event);
  };
  events.forEach(count);
  const types = [...transcriptTypes, "input.received", "message.received"];
  for (const range of subtract([[(known?.toSeq ?? wanted.fromSeq - 1) + 1, toSeq]], lost)) {
    for await (const event of readRange(store, session, range, types, isPruned)) {
      count(event);
      events.push(event);
    }
  }
  if (cache?.forgotten() === forgotten) cache?.setWindow(session, { key, toSeq, events });
  return events;
}

const isInput = ({ type }: SessionEvent): boolean => type === "input.received" || type === "message.received";

const itemSeqs = ({ items }: Overlay): readonly number[] =>
  items.size > share.itemsMax ? [] : [...items.values()].map(({ seq }) => seq);

function takenBy(event: SessionEvent): readonly number[] {
  const takes = event.type === "turn.started" || event.type === "model.requested";
  return takes ? event.body.inputs.map(([seq]) => seq) : [];
}

/** A fork made since has an objective of its own, so that the state no longer knows which one held then. */
async function objectiveAt(
  { states }: ContextWorld,
  session: SessionId,
  state: State,
  boundary: Overlay | null,
): Promise<number> {
  const now = state.standing.objective?.seq ?? 1;
  if (boundary === null || now <= boundary.toSeq) return now;
  const then = await states.at(session, boundary.toSeq);
  return then.standing.objective?.seq ?? 1;
}

async function readOne(
  { store, cache }: ContextWorld,
  session: SessionId,
  seq: number,
): Promise<SessionEvent | undefined> {
  const known = cache?.get(session, seq);
  if (known !== undefined) return known;
  const forgotten = cache?.forgotten();
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: true });
  const event = record === undefined ? undefined : await understand(store, record);
  if (event !== undefined && cache?.forgotten() === forgotten) cache?.set(session, event);
  return event;
}

/**
 * Reads records one by one, and knows those that were read lately: whoever looks at one position after the
 * other is shown the same items again and again. Of one reading they hold no more than can be shown at once.
 */
export async function makeReadSaid(context: ContextWorld, session: SessionId): Promise<ReadSaid> {
  await freshen(context, session);
  const add = makeWhole(session);
  return async (seq) => {
    const event = await readOne(context, session, seq);
    if (event === undefined) return readSaid(context.store, session, seq);
    add(event);
    return event;
  };
}

async function* readRange(
  store: Store,
  session: SessionId,
  [firstSeq, toSeq]: readonly [number, number],
  types: readonly string[],
  isPruned: (seq: number) => boolean = () => false,
): AsyncGenerator<SessionEvent> {
  let fromSeq = firstSeq;
  while (fromSeq <= toSeq) {
    const range = { fromSeq, toSeq, limit: limit.pageRecordsMax, types, contents: true };
    const page = await store.read(session, range);
    if (page.length === 0) return;
    for (const record of page) {
      const event = await understand(store, record, isPruned(record.seq));
      if (event !== undefined) yield event;
      fromSeq = record.seq + 1;
    }
  }
}

/** The event of a record, its content whole; undefined for what this program does not know. */
async function understand(
  store: Store,
  record: StoredRecord,
  isPruned = false,
): Promise<SessionEvent | undefined> {
  const { kind, event } = readEvent(record, true);
  if (kind !== "known") return undefined;
  const known = event as SessionEvent;
  const reference = blobReference(known.content);
  if (reference === null) return known;
  const { bytes: contentBytes } = reference;
  // Of what is pruned only the length is shown.
  if (isPruned) return { ...known, contentBytes };
  return { ...known, contentBytes, content: await inflate(store, known.content) } as SessionEvent;
}

/** Sessions whose transcript is kept at hand, and sessions of which anything is. */
const windowsMax = 8;
const headsMax = 1_000;

/** A cache that holds at most so many bytes of contents, the latest used. */
export function makeEventCache(bytesMax = 8_388_608): EventCache {
  const held = new Map<string, SessionEvent>();
  let bytes = 0;
  const sizeOf = (event: SessionEvent): number => 500 + 2 * (event.contentBytes ?? 0);
  const drop = (key: string, event: SessionEvent): void => {
    held.delete(key);
    bytes -= sizeOf(event);
  };
  const windows = new Map<SessionId, Window>();
  const heads = new Map<SessionId, number>();
  let forgotten = 0;
  return {
    checked: (session) => heads.get(session),
    forgotten: () => forgotten,
    setChecked(session, headSeq) {
      heads.delete(session);
      heads.set(session, headSeq);
      const [oldest] = heads.keys();
      if (heads.size > headsMax && oldest !== undefined) this.forget(oldest);
    },
    window: (session) => windows.get(session),
    setWindow(session, window) {
      windows.delete(session);
      const total = window.events.reduce((sum, event) => sum + sizeOf(event), 0);
      if (total > bytesMax) return;
      windows.set(session, window);
      const [oldest] = windows.keys();
      if (windows.size > windowsMax && oldest !== undefined) windows.delete(oldest);
    },
    get(session, seq) {
      const key = `${session} ${seq}`;
      const event = held.get(key);
      if (event === undefined) return undefined;
      held.delete(key);
      held.set(key, event);
      return event;
    },
    set(session, event) {
      const key = `${session} ${event.seq}`;
      const before = held.get(key);
      if (before !== undefined) drop(key, before);
      held.set(key, event);
      bytes += sizeOf(event);
      for (const [oldest, one] of held) {
        if (bytes <= bytesMax) break;
        drop(oldest, one);
      }
    },
    forget(session) {
      forgotten += 1;
      for (const one of session === undefined ? [...windows.keys()] : [session]) windows.delete(one);
      for (const one of session === undefined ? [...heads.keys()] : [session]) heads.delete(one);
      const prefix = session === undefined ? "" : `${session} `;
      for (const [key, event] of held) if (key.startsWith(prefix)) drop(key, event);
    },
  };
}
