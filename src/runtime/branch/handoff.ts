/**
 * Handoffs: the document for the next session, made from the state and the last records of the log, and
 * recorded in it. A handoff is returned again as long as nothing was said since.
 */
import { readRecords } from "../read/record-pages.ts";
import { checkCall } from "../../call/check.ts";
import type { CommandOf } from "../../core/command.ts";
import type { LoadedDocument } from "../../core/session/commands.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import { readEvent, type EventOf } from "../../core/event.ts";
import { readChange, type RecordedChange } from "../../core/tool/file-version.ts";
import {
  handoffTokensMin,
  writeHandoff,
  type HandoffRenderOptions as Manner,
} from "../../core/handoff/handoff.ts";
import {
  exchangesMax,
  handoffTypes,
  isQuiet,
  scanRecordsMax,
  wantedSeqs,
  type HandoffEvent,
  type HandoffSource,
  type ImportedPart,
} from "../../core/handoff/source.ts";
import { textIn } from "../../core/handoff/text.ts";
import { type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { mayIn } from "../../core/session/lifecycle.ts";
import { includes, subtract } from "../../core/range.ts";
import type { State } from "../../core/state.ts";
import { contentOf, inflate, readContent } from "../read/content.ts";
import { readEvents } from "../read/event-reader.ts";
import type { Deps } from "../deps.ts";
import { inheritedBy } from "./handoff-inherit.ts";
import { readWaiting } from "../read/inbox.ts";
import { safeText } from "../log/redact.ts";
import { writtenBefore } from "../log/workspace-log.ts";
import { stateNow } from "../read/state-now.ts";
import { carriedOn } from "../read/family.ts";

/** Options of `session.handoff`. */
export interface HandoffOptions {
  /**
   * A model writes prose about where the work stands and what to do next: the session's own, or the named
   * one.
   */
  readonly model?: true | string;
  /** The maximum length; defaults to the limit. */
  readonly tokensMax?: number;
  /** `false`: only the text. By default it is recorded where possible; `true` fails where it is not. */
  readonly write?: boolean;
}

/** The document for the next session, and the position of its record. */
export interface Handoff {
  readonly text: string;
  /** Its position in the log; null when it was not recorded. */
  readonly seq: number | null;
  readonly tokens: number;
  /** The last position that it covers. */
  readonly toSeq: number;
  /** The model that wrote the prose, if one did. */
  readonly model: string | null;
  /** Why the requested model did not; absent otherwise. */
  readonly failed?: string;
}

export async function handoffSession(
  deps: Deps,
  session: SessionId,
  options: HandoffOptions,
  { asked = false }: { readonly asked?: boolean } = {},
): Promise<Handoff> {
  const tokensMax = checkHandoff(options);
  const before = asked ? await writtenBefore(deps, session) : null;
  const first = before?.type === "handoff.written" ? await handoffIn(deps, before) : null;
  if (first !== null) return first;
  const state = await stateNow(deps, session);
  const last = await lastHandoff(deps, session, state);
  const isWanted = last !== null && last.tokens <= tokensMax && isBy(last, options.model);
  if (isWanted) return last;
  const write = options.write ?? (await isWritable(deps, session, state));
  if (!write) return makeText(deps, session, state, tokensMax);
  const { model } = options;
  if (model === undefined) return writeDown(deps, session, { tokensMax, asked });
  const made = await inProse(deps, session, state, { model, tokensMax });
  if ("text" in made) return made;
  return { ...(await writeDown(deps, session, { tokensMax, asked })), failed: made.failed };
}

async function inProse(
  deps: Deps,
  session: SessionId,
  { standing: { status } }: State,
  wanted: { readonly model: true | string; readonly tokensMax: number },
): Promise<Handoff | { readonly failed: string }> {
  if (!mayIn(status, "take")) return { failed: `the session is ${status} and cannot call a model` };
  return deps.late.proseHandoff(deps, session, wanted);
}

/** Any handoff suits a caller without a preference. */
const isBy = ({ model }: Handoff, wanted: true | string | undefined): boolean =>
  wanted === undefined || (wanted === true ? model !== null : model === wanted);

export function checkHandoff(options: HandoffOptions): number {
  checkCall("session.handoff", options);
  const { tokensMax = limit.handoffTokensMax } = options;
  if (tokensMax >= handoffTokensMin) return tokensMax;
  throw new SkeinError(
    "invalid",
    `handoff: tokensMax: expected at least ${handoffTokensMin}, got ${tokensMax}`,
  );
}

/** A session that lives elsewhere, or that only a newer program may write to, keeps its log as it is. */
async function isWritable({ store }: Deps, session: SessionId, state: State): Promise<boolean> {
  if (!mayIn(state.standing.status, "describe") || state.standing.newer !== null) return false;
  return (await store.head(session))?.copy !== true;
}

async function writeDown(
  deps: Deps,
  session: SessionId,
  { tokensMax, asked }: { readonly tokensMax: number; readonly asked: boolean },
): Promise<Handoff> {
  const { writer, actor } = deps;
  let made: Handoff | null = null;
  const build = async (state: State): Promise<CommandOf<"handoff">> => {
    made = await makeText(deps, session, state, tokensMax);
    return handoffCommand(deps, made);
  };
  const { firstSeq } = await writer.change(session, build, { actor, asked });
  // The build has run, or the change would have thrown.
  return { ...(made as unknown as Handoff), seq: firstSeq };
}

export const handoffCommand = (
  { world }: Deps,
  { text, toSeq, tokens, model }: Handoff,
): CommandOf<"handoff"> => ({
  do: "handoff",
  text,
  digest: world.hashBytes(new TextEncoder().encode(text)),
  toSeq,
  tokens,
  ...(model === null ? {} : { model }),
});

/** The handoff of a state, made from the log alone. */
export async function makeText(
  deps: Deps,
  session: SessionId,
  state: State,
  tokensMax: number,
  prose?: Manner["prose"],
): Promise<Handoff> {
  const source = await gatherHandoff(deps, session, state);
  const count = await deps.tokenizer.counter();
  const { text: written } = writeHandoff(source, { tokensMax, count, prose });
  // Returns what the log holds.
  const text = safeText(deps.world, written);
  return { text, tokens: count(text), seq: null, toSeq: state.seq, model: prose?.model ?? null };
}

/** The last one, if it is still current. */
async function lastHandoff(deps: Deps, session: SessionId, state: State): Promise<Handoff | null> {
  const { store } = deps;
  const { handoff } = state.standing;
  if (handoff === null) return null;
  for await (const { type } of readRecords(store, session, [handoff.seq + 1, state.seq]))
    if (!isQuiet(type)) return null;
  const [record] = await store.read(session, {
    fromSeq: handoff.seq,
    toSeq: handoff.seq,
    limit: 1,
    contents: true,
  });
  return record === undefined ? null : handoffIn(deps, record);
}

/** Null when its text was erased. */
async function handoffIn({ store, tokenizer }: Deps, record: StoredRecord): Promise<Handoff | null> {
  const content = await contentOf(store, record);
  if (content === undefined) return null;
  const { text } = content as { readonly text: string };
  const { seq } = record;
  const body = JSON.parse(record.body) as { tokens?: number; model?: string; toSeq?: number };
  const { tokens = await tokenizer.count(text), model = null, toSeq = seq } = body;
  return { text, seq, tokens, toSeq, model };
}

/** Records of changed files that are read; one may name many. */
const changesMax = 300;

async function gatherHandoff(deps: Deps, session: SessionId, state: State): Promise<HandoffSource> {
  const { store } = deps;
  const fromSeq = Math.max(1, state.seq - scanRecordsMax + 1);
  const events = await scan(deps, session, { fromSeq, toSeq: state.seq });
  const waiting = (await readWaiting(store, session, state)).map(({ seq }) => seq);
  const answerSeq = await lastAnswer(deps, session, state);
  const imported = await importedPart(deps, session, state);
  const contents = new Map<number, unknown>();
  for (const seq of wantedSeqs({ state, events, waiting, answerSeq, imported, fromSeq })) {
    const content = contents.has(seq) ? undefined : await readContent(store, session, seq);
    if (content !== undefined) contents.set(seq, content);
  }
  return {
    state,
    at: new Date(state.at).toISOString(),
    contents,
    events,
    changes: await readFileChanges(deps, session, events),
    fromSeq,
    waiting,
    answerSeq,
    carriesOn: await carriedOn(deps, session),
    inherited: await inheritedBy(deps, session, state),
    imported,
  };
}

/** Without their contents: most of them are not shown. */
async function scan(
  { store }: Deps,
  session: SessionId,
  range: { readonly fromSeq: number; readonly toSeq: number },
): Promise<HandoffEvent[]> {
  const events: HandoffEvent[] = [];
  const types = handoffTypes;
  for await (const record of readRecords(store, session, [range.fromSeq, range.toSeq], { types })) {
    const { kind, event } = readEvent(record, false);
    if (kind === "known") events.push(event as HandoffEvent);
  }
  return events;
}

async function readFileChanges(
  { store }: Deps,
  session: SessionId,
  events: readonly HandoffEvent[],
): Promise<RecordedChange[]> {
  const changes: RecordedChange[] = [];
  for (const { seq } of events.filter(({ type }) => type === "resource.changed").slice(-changesMax)) {
    const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: true });
    if (record === undefined) continue;
    const { event } = readEvent(record, true);
    const content = event.erased ? undefined : await inflate(store, event.content);
    const change = readChange(seq, event.body, content, event.erased);
    if (change !== null) changes.push(change);
  }
  return changes;
}

/** The last answer that was not rewound away; null when there is none in reach. */
async function lastAnswer({ store }: Deps, session: SessionId, { mind }: State): Promise<number | null> {
  const fromSeq = Math.max(1, mind.toSeq - scanRecordsMax + 1);
  const ranges = mind.toSeq === 0 ? [] : subtract([[fromSeq, mind.toSeq]], mind.lost);
  for (const [from, to] of ranges.toReversed()) {
    const range = { fromSeq: from, toSeq: to, reverse: true, limit: 1, contents: false };
    const [record] = await store.read(session, { ...range, types: ["model.responded"] });
    if (record !== undefined) return record.seq;
  }
  return null;
}

/** Imported records that are read for the last exchanges: answers may be many steps long. */
const importedRecordsMax = 300;

/** What another tool said last, and the facts about it. Rewound records are left out. */
async function importedPart(
  { store }: Deps,
  session: SessionId,
  { seq: toSeq, mind }: State,
): Promise<ImportedPart | null> {
  const facts = { toSeq, types: ["source.imported"], reverse: true, limit: 1 };
  const [last] = await Array.fromAsync(readEvents(store, session, facts));
  if (last === undefined) return null;
  const { tool } = last.body as EventOf<"source.imported">["body"];
  const said: ImportedPart["said"][number][] = [];
  const types = ["input.imported", "answer.imported"];
  let records = 0;
  let isAnswered = false;
  for await (const event of readEvents(store, session, { toSeq, types, reverse: true })) {
    if (++records > importedRecordsMax) break;
    if (includes(mind.lost, event.seq) || textIn(event.content).trim() === "") continue;
    const { seq, type, body } = event;
    const { from } = body as { readonly from?: string };
    if (type === "answer.imported" && !isAnswered) said.unshift({ seq, by: "model" });
    else if (from === "user") said.unshift({ seq, by: "person" });
    isAnswered = type === "answer.imported" || (isAnswered && from !== "user");
    if (said.filter(({ by }) => by === "person").length === exchangesMax) break;
  }
  return { seq: last.seq, tool, said };
}

/** The handoff of a session as a document that the next one starts with. */
export async function handoffDocument(deps: Deps, session: SessionId): Promise<LoadedDocument> {
  const { text, seq, toSeq } = await handoffSession(deps, session, {});
  return documentOf(deps, session, { text, seq: seq ?? toSeq });
}

/**
 * The same at a state, with the command that records it; none if the log has a current one. The command goes
 * first in the next append.
 */
export async function handoffAt(
  deps: Deps,
  session: SessionId,
  state: State,
): Promise<{ readonly document: LoadedDocument; readonly command?: Omit<CommandOf<"handoff">, "do"> }> {
  const last = await lastHandoff(deps, session, state);
  if (last !== null) {
    const { text, seq, toSeq } = last;
    return { document: documentOf(deps, session, { text, seq: seq ?? toSeq }) };
  }
  const made = await makeText(deps, session, state, limit.handoffTokensMax);
  const { do: _, ...command } = handoffCommand(deps, made);
  return { document: documentOf(deps, session, { text: made.text, seq: state.seq + 1 }), command };
}

function documentOf(
  { world }: Deps,
  session: SessionId,
  { text, seq }: { readonly text: string; readonly seq: number },
): LoadedDocument {
  const bytes = new TextEncoder().encode(text);
  return {
    kind: "handoff",
    path: `${session}@${seq}`,
    text,
    digest: world.hashBytes(bytes),
    bytes: bytes.length,
  };
}
