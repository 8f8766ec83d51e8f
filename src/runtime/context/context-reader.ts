/**
 * Reads contexts: gathers from the store what a renderer needs, and renders it. It reads the records since
 * the last compaction, and what the state refers to; never the whole history.
 */
import { frontSeqs } from "../../core/amend/text.ts";
import { present } from "../../core/present.ts";
import type { ConsumedInputs } from "../../core/turn/commands.ts";
import {
  chainDigest,
  contextDigest,
  digestFormOf,
  rendererNow,
  renderers,
} from "../../core/context/context.ts";
import { isEarly } from "../../core/context/frame.ts";
import { needsPlan, type PlanDraft, type Planning } from "../../core/context/plan.ts";
import { seqsIn } from "../../core/context/planned.ts";
import {
  boundaryOf,
  pruning,
  type ContextSource,
  type LoggedPlan,
  type PartReason,
} from "../../core/context/source.ts";
import { share } from "../../core/context/text.ts";
import { endTranscript, readTranscript, transcriptTypes } from "../../core/context/transcript.ts";
import type { Digest } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import type { EventOf, SessionLogEvent } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import type { ContextPart, Settings } from "../../core/context/part.ts";
import { subtract, type Ranges } from "../../core/range.ts";
import type { Overlay, State } from "../../core/state.ts";
import { makePlan, type UnloggedPlan } from "./plan-reader.ts";
import { makeWhole } from "../read/content.ts";
import { nextTaken } from "../read/inbox.ts";
import {
  type CachedRender,
  type ContextWorld,
  freshen,
  readOne,
  readRange,
  understand,
} from "../read/event-cache.ts";

export interface Context {
  readonly parts: readonly ContextPart[];
  /** One for each part. */
  readonly reasons: readonly PartReason[];
  readonly digest: string;
  /** How the digest is made: see core/context/context.ts. */
  readonly digestForm: number;
  readonly renderer: number;
  readonly model: string;
  readonly settings: Settings;
  /** The state it was rendered from, and the inputs that it takes. */
  readonly state: State;
  readonly inputs: ConsumedInputs;
  /** The plan that the request must log with it; null if there is one, or the renderer has none. */
  readonly newPlan: UnloggedPlan | null;
  /** The plan that it follows. */
  readonly plan: LoggedPlan | null;
  /** The request that sent exactly this; null for the next request. */
  readonly requestSeq: number | null;
  /**
   * True when the digest equals the one that the request recorded; null where there is nothing to compare,
   * as with an executor, which keeps its own context.
   */
  readonly matches: boolean | null;
}

export interface ContextOptions {
  readonly atSeq: number;
  /** A state that is known already: it is not read if it is the one at the position. */
  readonly known?: State;
  /** For the next request; else those of the last request. */
  readonly settings?: Settings;
  readonly renderer?: number;
  /** For the next request, if its context begins anew. */
  readonly planning?: Planning;
  /** Everything, as if nothing had ever been compacted. */
  readonly uncompacted?: boolean;
  /** For output: refused when it is too large. A run is not: it reads it to make it smaller. */
  readonly whole?: boolean;
}

/** What the request at a position sent, or what the next one after it would send. */
export async function readContext(
  deps: ContextWorld,
  session: SessionId,
  options: ContextOptions,
): Promise<Context> {
  const { atSeq, uncompacted = false, whole = false } = options;
  await freshen(deps, session);
  const event = await readOne(deps, session, atSeq);
  if (event?.type === "model.requested") return rebuild(deps, session, event, { uncompacted, whole });
  const { known } = options;
  const state = known?.seq === atSeq ? known : await deps.states.at(session, atSeq);
  return nextContext(deps, session, {
    state,
    settings: options.settings ?? (await lastSettings(deps, session, state)),
    inputs: await nextTaken(deps.store, session, state),
    uncompacted,
    whole,
    ...present({ renderer: options.renderer, planning: options.planning }),
  });
}

export interface NextContextOptions {
  readonly state: State;
  readonly settings: Settings;
  /** The inputs that the request takes. */
  readonly inputs: ConsumedInputs;
  readonly renderer?: number;
  /** Makes a plan if the context begins anew. Without it, such a context has none. */
  readonly planning?: Planning;
  readonly digestForm?: number;
  /** For a request: what is rendered is kept, so that the next one renders only what is new. */
  readonly isKept?: boolean;
  readonly uncompacted?: boolean;
  readonly whole?: boolean;
  /** Nothing after this position: for a summary of what came before. */
  readonly toSeq?: number;
  /** The prompt after it. */
  readonly prompt?: string;
}

/** What a request right after a state would send. Its digest is the one that the request must record. */
export async function nextContext(
  deps: ContextWorld,
  session: SessionId,
  options: NextContextOptions,
): Promise<Context> {
  const { state, settings, inputs, uncompacted = false, whole = false, toSeq = state.seq } = options;
  const renderer = options.renderer ?? state.standing.renderer ?? rendererNow;
  if (renderers[renderer] === undefined) {
    throw new SkeinError("invalid", `context: renderer: unknown version ${renderer}`, {
      hint: `this version of Skein has renderers 1 to ${rendererNow}`,
    });
  }
  const taken = inputs.map(([seq]) => seq);
  await freshen(deps, session);
  const wanted = { state, settings, taken, uncompacted, whole, toSeq, renderer };
  const { digestForm = digestFormOf(renderer), ...rest } = options;
  const made =
    (await renderMore(deps, session, wanted, rest)) ??
    (await renderWhole(deps, session, wanted, { ...rest, digestForm }));
  return {
    ...made,
    digestForm,
    renderer,
    model: settings.model,
    settings,
    state,
    inputs,
    requestSeq: null,
    matches: null,
  };
}

type RenderResult = Pick<Context, "parts" | "reasons" | "digest" | "newPlan" | "plan">;

/** Renders all of a context, and keeps it to be continued if that is asked for. */
async function renderWhole(
  deps: ContextWorld,
  session: SessionId,
  wanted: ContextRequest,
  options: NextContextOptions & { readonly digestForm: number },
): Promise<RenderResult> {
  const { state, renderer } = wanted;
  const { digest } = deps.world;
  const forgotten = deps.cache?.forgotten();
  const source = await gather(deps, session, wanted);
  const newPlan = await planFor(deps, session, source, { ...options, renderer });
  const plan = newPlan === null ? (source.plan ?? null) : { seq: state.seq + 1, ...newPlan.draft };
  const asked = present({ prompt: options.prompt, plan: plan ?? undefined });
  const render = renderers[renderer];
  if (render === undefined) throw new Error("invariant: a renderer was chosen");
  const reading = render({ ...source, ...asked });
  const key = keptKey(wanted, options);
  if (deps.cache?.forgotten() === forgotten && key !== null && plan !== null) {
    const render: CachedRender = { key, toSeq: state.seq, reading, digests: [], chars: 0 };
    const made = { ...endRender(digest, render), newPlan, plan };
    deps.cache?.setRender(session, render);
    return made;
  }
  const { parts, reasons } = endTranscript(reading);
  return {
    parts,
    reasons,
    digest: contextDigest(digest, parts, options.digestForm) ?? "",
    newPlan,
    plan,
  };
}

/** Continues the rendered context of the last request with what came since; null if there is none. */
async function renderMore(
  deps: ContextWorld,
  session: SessionId,
  wanted: ContextRequest,
  options: NextContextOptions,
): Promise<RenderResult | null> {
  const { state, taken, settings } = wanted;
  const { cache } = deps;
  const known = cache?.render(session);
  const key = keptKey(wanted, options);
  if (known === undefined || key === null || known.key !== key || known.toSeq > state.seq) return null;
  const { toSeq, reading } = known;
  const plan = reading.source.plan ?? null;
  const events = new Map<number, SessionLogEvent>();
  const transcript: SessionLogEvent[] = [];
  if (toSeq < state.seq) {
    for await (const event of readRange(deps.store, session, [toSeq + 1, state.seq], windowTypes)) {
      if (isInput(event)) events.set(event.seq, event);
      else transcript.push(event);
    }
  }
  for (const seq of new Set([...transcript.flatMap(referredBy), ...taken])) {
    const event = events.get(seq) ?? (await readOne(deps, session, seq));
    if (event !== undefined) events.set(seq, event);
  }
  // Another render of this session was first, or something was erased: that one is of no use now.
  if (cache?.render(session) !== known || known.toSeq !== toSeq) return null;
  const { objectiveSeq } = reading.source;
  const planned = present({ plan: plan ?? undefined });
  const source = { state, settings, events, transcript, taken, objectiveSeq, ...planned };
  readTranscript(reading, source);
  known.toSeq = state.seq;
  const made = { ...endRender(deps.world.digest, known), newPlan: null, plan };
  cache?.setRender(session, known);
  return made;
}

/** What a kept context depends on; null for one that is not kept. */
function keptKey(
  { state, settings, renderer, uncompacted, whole, toSeq }: ContextRequest,
  { isKept = false, prompt }: NextContextOptions,
): string | null {
  const { standing, mind } = state;
  const isPlain = !uncompacted && !whole && toSeq === state.seq && prompt === undefined;
  // Before the first request after a boundary, the tools at the front can still change.
  if (!isKept || !isPlain || renderer < 2 || standing.renderer === null || standing.plan === null)
    return null;
  const first = [standing.tools[0]?.seq, standing.source?.seq, mind.firstTurnSeq];
  const refs = [...frontSeqs(state), ...first];
  return JSON.stringify([standing.plan, renderer, settings, refs, standing.erased.records]);
}

/** The parts at the end of a render, and their digest. Only new parts are hashed. */
function endRender(digest: Digest, render: CachedRender): Pick<Context, "parts" | "reasons" | "digest"> {
  const { parts, reasons } = endTranscript(render.reading);
  const { digests, reading } = render;
  const stable = reading.sheet.parts;
  for (const part of stable.slice(digests.length)) {
    digests.push(chainDigest(digest, digests.at(-1) ?? "", part));
    render.chars += JSON.stringify(part).length;
  }
  const last = parts
    .slice(stable.length)
    .reduce((before, part) => chainDigest(digest, before, part), digests.at(-1) ?? "");
  return { parts, reasons, digest: last };
}

/** The plan of a context that begins anew; what it chose is then among the events. */
async function planFor(
  deps: ContextWorld,
  session: SessionId,
  source: ContextSource & { readonly events: Map<number, SessionLogEvent> },
  { state, planning, renderer, uncompacted = false }: NextContextOptions & { readonly renderer: number },
): Promise<UnloggedPlan | null> {
  if (planning === undefined || uncompacted || !needsPlan(state, renderer)) return null;
  const made = await makePlan(deps, session, source, { ...planning, renderer });
  for (const seq of chosenBy(made.draft)) {
    const event = source.events.get(seq) ?? (await readOne(deps, session, seq));
    if (event !== undefined) source.events.set(seq, event);
  }
  return made;
}

/** The records that a plan shows. */
const chosenBy = ({ choice }: PlanDraft): readonly number[] => [
  ...[choice.pinned, choice.items, choice.listed].flatMap((ranges) => seqsIn(ranges ?? [])),
  ...[...(choice.documents ?? []), ...(choice.memory ?? [])].map(({ seq }) => seq),
];

/** The plan in the log; undefined without one, or when what it chose was erased. */
async function loggedPlan(
  deps: ContextWorld,
  session: SessionId,
  { state, renderer }: Pick<ContextRequest, "state" | "renderer">,
): Promise<LoggedPlan | undefined> {
  const { plan: seq } = state.standing;
  const event = seq === null || renderer < 2 ? undefined : await readOne(deps, session, seq);
  if (event?.type !== "context.planned" || event.content === undefined) return undefined;
  return { seq: event.seq, body: event.body, choice: event.content };
}

async function rebuild(
  deps: ContextWorld,
  session: SessionId,
  { seq, body, content }: EventOf<"model.requested">,
  { uncompacted, whole }: Pick<ContextRequest, "uncompacted" | "whole">,
): Promise<Context> {
  const settings = (content?.settings as Settings | undefined) ?? { model: body.model, images: false };
  const next = await nextContext(deps, session, {
    state: await deps.states.at(session, seq - 1),
    settings,
    inputs: body.inputs,
    renderer: body.renderer,
    digestForm: body.digestForm ?? 1,
    uncompacted,
    whole,
    ...(body.purpose === "compaction" ? summaryOf(body.toSeq, content?.prompt) : {}),
  });
  // What an executor's model was sent is not known here.
  const isKnownForm = (body.digestForm ?? 1) <= digestFormOf(rendererNow);
  const isComparable = !uncompacted && body.outside !== true && isKnownForm;
  return { ...next, requestSeq: seq, matches: isComparable ? next.digest === body.context : null };
}

/** A summary needs a prompt, about the range up to a position. */
const summaryOf = (toSeq: number | undefined, prompt: string | undefined): Partial<NextContextOptions> => ({
  ...present({ toSeq, prompt }),
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

interface ContextRequest {
  readonly state: State;
  readonly renderer: number;
  readonly settings: Settings;
  readonly taken: readonly number[];
  readonly uncompacted: boolean;
  readonly whole: boolean;
  readonly toSeq: number;
}

async function gather(
  deps: ContextWorld,
  session: SessionId,
  wanted: ContextRequest,
): Promise<ContextSource & { readonly events: Map<number, SessionLogEvent> }> {
  const { state, settings, taken, uncompacted, whole, toSeq } = wanted;
  const { mind, standing } = state;
  const boundary = boundaryOf(wanted);
  const events = new Map<number, SessionLogEvent>();
  const add = whole ? makeWhole(session) : () => undefined;
  const fetch = async (seqs: readonly number[]): Promise<void> => {
    for (const seq of new Set(seqs)) {
      const event = events.get(seq) ?? (await readOne(deps, session, seq));
      if (event === undefined) continue;
      add(event);
      events.set(seq, event);
    }
  };
  const objectiveSeq = await objectiveAt(deps, session, state, boundary);
  const plan = await loggedPlan(deps, session, wanted);
  const prunes = mind.overlays.filter(({ strategy }) => strategy === "prune");
  await fetch([
    1,
    ...frontSeqs(state),
    ...standing.tools.slice(0, 1).map(({ seq }) => seq),
    ...(plan === undefined ? unplannedSeqs(state) : chosenBy(plan)),
    ...(uncompacted ? [] : prunes.map(({ seq }) => seq)),
    ...(boundary === null ? [] : [boundary.seq, objectiveSeq]),
    ...(boundary === null || plan !== undefined ? [] : itemSeqs(boundary)),
  ]);
  const isPruned = pruning({ state, events, uncompacted });
  const transcript: SessionLogEvent[] = [];
  const fromSeq = (boundary?.toSeq ?? 0) + 1;
  const key = JSON.stringify([fromSeq, prunes.map(({ seq }) => seq), uncompacted, mind.lost]);
  const window = { fromSeq, toSeq, key, lost: mind.lost, add };
  for (const event of await readWindow(deps, session, window, isPruned)) {
    if (isInput(event)) events.set(event.seq, event);
    else transcript.push(event);
  }
  await fetch([...transcript.flatMap(referredBy), ...taken]);
  const planned = present({ plan });
  return { state, settings, events, transcript, taken, objectiveSeq, uncompacted, ...planned };
}

/** Without a plan: what was there before the first turn. */
const unplannedSeqs = (state: State): readonly number[] =>
  [...state.mind.documents.values(), ...state.mind.memory]
    .filter((ref) => isEarly(state, ref))
    .map(({ seq }) => seq);

const windowTypes = [...transcriptTypes, "input.received", "message.received"];

/** Records never change but by erasure, so the last step's reads are still valid. */
async function readWindow(
  { store, cache }: ContextWorld,
  session: SessionId,
  wanted: {
    readonly fromSeq: number;
    readonly toSeq: number;
    readonly key: string;
    readonly lost: Ranges;
    /** Called for everything that is always shown: an input is shown only once it is taken. */
    readonly add: (event: SessionLogEvent) => void;
  },
  isPruned: (seq: number) => boolean,
): Promise<readonly SessionLogEvent[]> {
  const { toSeq, key, lost, add } = wanted;
  const last = cache?.window(session);
  const forgotten = cache?.forgotten();
  const known = last?.key === key && last.toSeq <= toSeq ? last : null;
  const events = [...(known?.events ?? [])];
  const count = (event: SessionLogEvent): void => {
    if (!isInput(event)) add(event);
  };
  events.forEach(count);
  for (const range of subtract([[(known?.toSeq ?? wanted.fromSeq - 1) + 1, toSeq]], lost)) {
    for await (const event of readRange(store, session, range, windowTypes, isPruned)) {
      count(event);
      events.push(event);
    }
  }
  if (cache?.forgotten() === forgotten) cache?.setWindow(session, { key, toSeq, events });
  return events;
}

const isInput = ({ type }: SessionLogEvent): boolean =>
  type === "input.received" || type === "message.received";

const itemSeqs = ({ items }: Overlay): readonly number[] =>
  items.size > share.itemsMax ? [] : [...items.values()].map(({ seq }) => seq);

/** Inputs that it takes, the item that it pins, parts that it brings in. */
function referredBy(event: SessionLogEvent): readonly number[] {
  if (event.type === "item.pinned") return [event.body.item];
  if (event.type === "context.retrieved") return event.body.entries.map(({ seq }) => seq);
  const takes = event.type === "turn.started" || event.type === "model.requested";
  return takes ? event.body.inputs.map(([seq]) => seq) : [];
}

/** A later fork has a new objective, so that the state no longer knows which one held then. */
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
