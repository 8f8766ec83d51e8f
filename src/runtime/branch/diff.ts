/**
 * Diff: what differs between two positions of a session, or between two sessions: state, items, transcript
 * since the common position, and context. It changes nothing.
 */
import { checkCall } from "../../call/check.ts";
import { cut } from "../../core/context/text.ts";
import {
  diffFields,
  diffItems,
  diffLists,
  type FieldChange,
  type ItemChange,
} from "../../core/branch/diff.ts";
import { checkOptions } from "../../core/error.ts";
import { readEvent } from "../../core/event.ts";
import { type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { ContextPart } from "../../core/context/part.ts";
import { clip, subtract, type Ranges } from "../../core/range.ts";
import { transcriptRanges, type State } from "../../core/state.ts";
import { ancestry, ownerOf, sharedSeq, type Ancestor } from "../read/ancestry.ts";
import { inflate } from "../read/content.ts";
import { showContext, type RenderedContext } from "../context/context-view.ts";
import { diffFiles, type FilesDiff } from "./diff-files.ts";
import { findSession } from "../read/find.ts";
import { headOf, resolvePlace } from "../read/position.ts";
import type { Deps } from "../deps.ts";
import { viewState, type StateView } from "../read/state-view.ts";

/** A position or a checkpoint of the session itself; or another session, now or at a position of it. */
export type DiffPlace =
  | number
  | string
  | { readonly session: string; readonly at?: number | string | undefined };

export const diffAspects = ["state", "items", "transcript", "context", "files"] as const;
/** The aspects that `session.diff` can compare. */
export type DiffAspect = (typeof diffAspects)[number];

/** Options of `session.diff`. */
export interface DiffOptions {
  /** Defaults to all but context and files. */
  readonly only?: readonly DiffAspect[];
}

/** A transcript entry that one side has alone. */
export interface TranscriptEntry {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly actor: string;
  readonly text: string;
}

/** A part of the context that one side has alone. */
export interface DiffContextPart {
  readonly part: ContextPart;
  readonly digest: string;
  readonly why: string;
  readonly tokens: number;
}

/** The result of `session.diff`. */
export interface SessionDiff {
  readonly from: { readonly session: SessionId; readonly seq: number };
  readonly to: { readonly session: SessionId; readonly seq: number };
  /** The last position up to which both are one log; null when they have nothing in common. */
  readonly common: { readonly session: SessionId; readonly seq: number } | null;
  /** Each aspect is present if it was requested. */
  readonly state?: readonly FieldChange[];
  readonly items?: readonly ItemChange[];
  readonly transcript?: {
    readonly removed: readonly TranscriptEntry[];
    readonly added: readonly TranscriptEntry[];
    /** True when there is more than is shown. */
    readonly isCut: boolean;
  };
  readonly context?: {
    /** Digests of the whole. */
    readonly from: string;
    readonly to: string;
    /** How many parts are equal from the beginning on. */
    readonly shared: number;
    readonly removed: readonly DiffContextPart[];
    readonly added: readonly DiffContextPart[];
  };
  readonly files?: FilesDiff;
}

interface Side {
  readonly session: SessionId;
  readonly state: State;
  readonly chain: readonly Ancestor[];
}

export async function diffPlaces(
  deps: Deps,
  session: SessionId,
  places: { readonly from: DiffPlace; readonly to: DiffPlace | undefined },
  options: DiffOptions,
): Promise<SessionDiff> {
  const only = aspectsOf(options);
  const from = await sideAt(deps, session, places.from);
  const to = await sideAt(deps, session, places.to ?? { session });
  const commonSeq = sharedSeq(from.chain, to.chain);
  const isAsked = (aspect: DiffAspect): boolean => only.includes(aspect);
  const views = isAsked("state") || isAsked("items") ? [await view(deps, from), await view(deps, to)] : [];
  const [was, is] = views;
  return {
    from: placeOf(from),
    to: placeOf(to),
    common: commonSeq === 0 ? null : commonOf(from, to, commonSeq),
    ...(isAsked("state") && was && is ? { state: diffFields(fieldsOf(was), fieldsOf(is)) } : {}),
    ...(isAsked("items") && was && is ? { items: diffItems(was.items, is.items) } : {}),
    ...(isAsked("transcript") ? { transcript: await diffTranscript(deps, from, to, commonSeq) } : {}),
    ...(isAsked("context") ? { context: await diffContext(deps, from, to) } : {}),
    ...(isAsked("files") ? { files: await diffFiles(deps, placeOf(from), placeOf(to), commonSeq) } : {}),
  };
}

const placeOf = ({ session, state }: Side): SessionDiff["from"] => ({ session, seq: state.seq });

/** Within one session, the position is its own, though the record may be an ancestor's. */
const commonOf = (from: Side, to: Side, seq: number): Ancestor =>
  from.session === to.session ? { session: from.session, seq } : ownerOf(from.chain, seq);

function aspectsOf(options: DiffOptions): readonly DiffAspect[] {
  checkCall("session.diff", options);
  const { only = ["state", "items", "transcript"] } = options;
  return only;
}

async function sideAt(deps: Deps, own: SessionId, place: DiffPlace): Promise<Side> {
  const given = typeof place === "object" ? place : { session: own, at: place };
  checkOptions("diff", given, ["session", "at"]);
  const session = given.session === own ? own : await findSession(deps.store, given.session);
  const seq =
    given.at === undefined ? (await headOf(deps, session)).seq : await resolvePlace(deps, session, given.at);
  const state = await deps.states.at(session, seq);
  return { session, state, chain: await ancestry(deps, session, seq) };
}

const view = (deps: Deps, { session, state }: Side): Promise<StateView> => viewState(deps, session, state);

/** The fields of a state that can differ meaningfully. Lists of named things become fields of that name. */
function fieldsOf(state: StateView): object {
  const { status, why, name, objective, agent, model, labels, priority, scratch, budget, zone } = state;
  const { transcript, inbox, turn, lease, bindings, permissions, checkpoints, scores, erased } = state;
  return {
    status,
    why: why && { by: why.by, reason: why.reason },
    name,
    objective,
    agent: agent && (agent.version === 0 ? agent.name : `${agent.name}@${agent.version}`),
    model,
    labels,
    priority,
    scratch,
    compactions: transcript.compactions,
    openCalls: transcript.openCalls,
    inbox: inbox.count,
    turn: turn?.number ?? null,
    holder: lease?.holder ?? null,
    bindings: Object.fromEntries(bindings.map((one) => [one.name, `${one.kind}, ${one.mode}`])),
    permissions: Object.fromEntries(
      permissions.map(({ name: of, rule, tool, effect }) => [of, [rule, tool, effect].join(" ").trim()]),
    ),
    budget,
    checkpoints,
    scores: Object.fromEntries(Object.entries(scores).map(([score, { value }]) => [score, value])),
    zone,
    erased: erased.records,
  };
}

/** Positions up to the common one are the same records; after it each has its own. */
async function diffTranscript(
  deps: Deps,
  from: Side,
  to: Side,
  commonSeq: number,
): Promise<NonNullable<SessionDiff["transcript"]>> {
  const [was, is] = [transcriptRanges(from.state.mind), transcriptRanges(to.state.mind)];
  const removed = await readSaid(deps, from.session, subtract(was, clip(is, commonSeq)));
  const added = await readSaid(deps, to.session, subtract(is, clip(was, commonSeq)));
  const most = limit.diffSaidMax;
  return {
    removed: removed.slice(0, most),
    added: added.slice(0, most),
    isCut: removed.length > most || added.length > most,
  };
}

/** The text of an event that is part of a conversation. */
const words: Readonly<Record<string, (body: Fields, content: Fields) => string>> = {
  "input.received": (_, content) => blocksText(content),
  "message.received": (_, content) => blocksText(content),
  "model.responded": (_, content) => blocksText(content),
  "tool.requested": ({ tool }, { input }) => `${text(tool)} ${text(input)}`,
  "tool.settled": ({ status }, { output }) => `${text(status)}: ${text(output)}`,
  "transcript.compacted": ({ fromSeq, toSeq }, { summary }) =>
    `${text(fromSeq)} to ${text(toSeq)}: ${text(summary)}`,
  "session.merged": (_, { summary }) => text(summary),
};

type Fields = Readonly<Record<string, unknown>>;

const text = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);

/** Calls appear with their requests, and reasoning is left out. */
function blocksText({ blocks }: Fields): string {
  const list = Array.isArray(blocks) ? (blocks as Fields[]) : [];
  return list
    .flatMap(({ type, text: said, mediaType }) =>
      type === "text" ? [text(said)] : mediaType === undefined ? [] : [`[${text(type)}: ${text(mediaType)}]`],
    )
    .join("\n");
}

const saidCharsMax = 4_000;

/** At most one more than is shown, to detect that there are more. */
async function readSaid(
  { store }: Deps,
  session: SessionId,
  ranges: Ranges,
): Promise<readonly TranscriptEntry[]> {
  const said: TranscriptEntry[] = [];
  const types = Object.keys(words);
  for (const [first, toSeq] of ranges) {
    for (let fromSeq = first; fromSeq <= toSeq && said.length <= limit.diffSaidMax;) {
      const page = await store.read(session, { fromSeq, toSeq, limit: 200, types, contents: true });
      for (const record of page) {
        const { event } = readEvent(record, true);
        const content = ((await inflate(store, event.content)) ?? {}) as Fields;
        const text = words[event.type]?.(event.body as Fields, content) ?? "";
        const whole = event.erased ? "[erased]" : text;
        if (whole.trim() === "") continue;
        const short = cut(whole.toWellFormed(), saidCharsMax, (left) => `${left} characters are left out`);
        said.push({ seq: event.seq, at: event.at, type: event.type, actor: event.actor, text: short });
      }
      const last = page.at(-1);
      if (last === undefined) break;
      fromSeq = last.seq + 1;
    }
  }
  return said;
}

async function diffContext(deps: Deps, from: Side, to: Side): Promise<NonNullable<SessionDiff["context"]>> {
  const was = await showContext(deps, from.session, { atSeq: from.state.seq });
  const is = await showContext(deps, to.session, { atSeq: to.state.seq });
  const digestsOf = ({ parts }: RenderedContext): readonly string[] =>
    parts.map((part) => deps.world.digest("", JSON.stringify(part)));
  const [before, after] = [digestsOf(was), digestsOf(is)];
  const { shared, removed, added } = diffLists(before, after);
  const shown =
    ({ parts, reasons }: RenderedContext, digests: readonly string[]) =>
    (place: number): DiffContextPart[] => {
      const [part, reason] = [parts[place], reasons[place]];
      if (part === undefined || reason === undefined) return [];
      return [{ part, digest: digests[place] ?? "", why: reason.why, tokens: reason.tokens }];
    };
  return {
    from: was.digest,
    to: is.digest,
    shared,
    removed: removed.flatMap(shown(was, before)),
    added: added.flatMap(shown(is, after)),
  };
}
