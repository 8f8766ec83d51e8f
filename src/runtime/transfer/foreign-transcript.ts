/** Exports a session in the format of another tool, or as plain messages: reads its log and writes it. */
import type { exportFormats } from "../../call/field.ts";
import { SkeinError } from "../../core/error.ts";
import type { EventOf, SessionEvent } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import { transcriptRanges } from "../../core/state.ts";
import { isOf, lostRanges } from "../../core/transcript.ts";
import { writeTranscript } from "../../transcripts/writers.ts";
import type { TranscriptHeader, TranscriptTask, WrittenTranscript } from "../../transcripts/model.ts";
import type { Deps } from "../deps.ts";
import { readBindings } from "../read/bindings.ts";
import { readEvents } from "../read/event-reader.ts";
import { stateNow } from "../read/state-now.ts";
import { viewState, type StateView } from "../read/state-view.ts";
import { foreignEntries, foreignTypes } from "./foreign-entries.ts";

/** Options of `session.exportTranscript`. */
export interface ExportTranscriptOptions {
  /** A tool, or the API of plain messages. */
  readonly format: (typeof exportFormats)[number];
  /** The working directory of the session; by default the one it was imported with, or a bound directory. */
  readonly cwd?: string;
}

/** The result of `session.exportTranscript`: a file of the other tool. */
export interface ExportedTranscript extends WrittenTranscript {
  readonly session: SessionId;
  readonly format: string;
  readonly cwd: string | null;
  /** Inputs, answers and compactions in it. */
  readonly entries: number;
}

/** An attachment beyond this is written as its name: it would be in memory several times. */
const attachmentBytesMax = 33_554_432;

export async function exportTranscript(
  deps: Deps,
  session: SessionId,
  { format, cwd }: ExportTranscriptOptions,
): Promise<ExportedTranscript> {
  const { store } = deps;
  const state = await stateNow(deps, session);
  const events = await Array.fromAsync(readEvents(store, session, { toSeq: state.seq, types: foreignTypes }));
  const lost = lostRanges({ events, toSeq: state.seq, ranges: transcriptRanges(state.mind) });
  const blobs = await readBlobs(deps, events);
  const { entries, left } = foreignEntries({ events, lost, blob: (hash) => blobs.get(hash) ?? null });
  const view = await viewState(deps, session, state);
  const header = {
    ...headerOf(view, state, events),
    ...(cwd === undefined ? {} : { cwd }),
  };
  const placed =
    header.cwd === null ? { ...header, cwd: await boundDirectory(deps, session, state) } : header;
  const started = {
    ...placed,
    startedAtMs: entries.find(({ atMs }) => atMs !== null)?.atMs ?? view.openedAt,
  };
  if (entries.length === 0)
    throw new SkeinError("refused", `export: ${session} has no conversation yet`, {
      hint: `run it first: skein run ${session}; the formats bundle and jsonl export every record`,
    });
  const written = writeTranscript(format, {
    header: started,
    entries,
    tasks: tasksOf(view),
    // The same message, the same file: records after it do not change the mark.
    origin: { session, seq: state.mind.toSeq },
  });
  const all = [
    ...[...left, ...stateLeft(view, state)].map(([what, count]) => `${count} × ${what}`),
    ...written.left,
  ];
  return { ...written, left: all, session, format, cwd: started.cwd, entries: entries.length };
}

/**
 * The id is that of the session and its last message: a session with newer messages is another file, and the
 * same one the same file.
 */
function headerOf(view: StateView, { mind }: State, events: readonly SessionEvent[]): TranscriptHeader {
  const sources = events.filter((event) => isOf(event, "source.imported"));
  const facts: Partial<EventOf<"source.imported">["content"]> = {};
  for (const { content } of sources) Object.assign(facts, content);
  const tool = sources.at(-1)?.body.tool ?? "skein";
  return {
    tool,
    toolVersion: facts.toolVersion ?? null,
    sourceId: `${view.session}.${mind.toSeq}`,
    title: view.name ?? view.objective,
    tags: [],
    cwd: facts.cwd ?? null,
    gitBranch: facts.gitBranch ?? null,
    gitCommit: facts.gitCommit ?? null,
    gitRemote: facts.gitRemote ?? null,
    startedAtMs: null,
    parentId: null,
    forkedFrom: facts.sourceId ?? null,
  };
}

async function boundDirectory(deps: Deps, session: SessionId, state: State): Promise<string | null> {
  const bound = await readBindings(deps, session, state);
  return bound.find(({ kind, path }) => (kind === "directory" || kind === "shell") && path)?.path ?? null;
}

const tasksOf = ({ items }: StateView): TranscriptTask[] =>
  items.flatMap(({ kind, key, value, status }) =>
    kind === "task" && (status === "open" || status === "done" || status === "dropped")
      ? [{ key, text: typeof value === "string" ? value : (JSON.stringify(value) ?? key), status }]
      : [],
  );

/** What a session has and a conversation does not. */
function stateLeft({ items, bindings, checkpoints }: StateView, { mind }: State): [string, number][] {
  const counts = new Map<string, number>();
  for (const { kind } of items) if (kind !== "task") counts.set(kind, (counts.get(kind) ?? 0) + 1);
  counts.set("loaded document", mind.documents.size);
  counts.set("memory entry", mind.memory.length);
  counts.set("resource binding", bindings.length);
  counts.set("checkpoint", Object.keys(checkpoints).length);
  return [...counts].filter(([, count]) => count > 0);
}

/** The bytes of the images and files that the events name. */
async function readBlobs({ store }: Deps, events: readonly SessionEvent[]): Promise<Map<string, Uint8Array>> {
  const read = new Map<string, Uint8Array>();
  for (const { content, type } of events) {
    // The original of an import is not an attachment.
    if (type === "source.imported") continue;
    const { blocks = [] } = (content ?? {}) as { readonly blocks?: readonly { readonly blob?: string }[] };
    for (const { blob } of blocks) {
      if (blob === undefined || read.has(blob)) continue;
      const bytes = await readUpTo(await store.blob(blob), attachmentBytesMax);
      if (bytes !== null) read.set(blob, bytes);
    }
  }
  return read;
}

async function readUpTo(
  chunks: AsyncIterable<Uint8Array> | undefined,
  bytesMax: number,
): Promise<Uint8Array | null> {
  if (chunks === undefined) return null;
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > bytesMax) return null;
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}
