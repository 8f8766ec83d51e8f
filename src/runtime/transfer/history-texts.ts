/**
 * A digest of the texts that an import has read. A tool that rewrites a transcript may keep its ids, so that
 * the ids of the known entries do not show a rewrite. The digest is content: it is erased with the texts.
 */
import type { ContentOf } from "../../core/catalog.ts";
import type { EventOf } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { ForeignEntry } from "../../transcripts/model.ts";
import type { Deps } from "../deps.ts";
import { readEvents } from "../read/event-reader.ts";
import type { TranscriptSource } from "./history.ts";

/** The texts up to and with an entry: all before it as a chain, and the entry itself. */
export type TextDigest = NonNullable<ContentOf<"source.imported">["texts"]>;

/** What the log says about the last append of an import. */
export interface LastImport {
  /** The digest of the source; null when that import did not get to its end. */
  readonly digest: string | null;
  /** Null when the log has none, or its content is erased. */
  readonly texts: TextDigest | null;
}

export async function lastImport({ store }: Deps, session: SessionId, state: State): Promise<LastImport> {
  const seq = state.standing.source?.seq ?? 0;
  if (seq === 0) return { digest: null, texts: null };
  for await (const event of readEvents(store, session, { fromSeq: seq, toSeq: seq })) {
    const { body, content } = event as EventOf<"source.imported">;
    return { digest: body.digest ?? null, texts: content?.texts ?? null };
  }
  return { digest: null, texts: null };
}

type Hasher = Pick<Deps["world"], "digest">;

const nothing = "0".repeat(64);

/** A digest whose last entry is at hand: only the one that is stored needs the digest of its text, too. */
export interface TextChain {
  readonly before: string;
  readonly last: string;
  readonly entry: ForeignEntry;
}

/** The chain with one more entry. */
export const addTexts = (world: Hasher, before: TextChain | null, entry: ForeignEntry): TextChain =>
  chainAfter(world, before === null ? nothing : chainOf(world, before), entry);

const chainAfter = (world: Hasher, before: string, entry: ForeignEntry): TextChain => ({
  before,
  last: world.digest("", contentOf(entry)),
  entry,
});

/** As it is stored. */
export function textDigest(world: Hasher, { before, last, entry }: TextChain): TextDigest {
  const text = textOf(entry);
  return { before, last, text: world.digest("", text), chars: text.length };
}

const chainOf = (world: Hasher, { before, last }: TextChain): string =>
  world.digest("", `${before}\n${last}`);

/**
 * Usage, times and results of calls come later, and files beside the transcript may be gone: they do not
 * count.
 */
function contentOf(entry: ForeignEntry): string {
  if (entry.kind === "compaction") return JSON.stringify([entry.summary]);
  const texts = entry.blocks.flatMap((block) =>
    block.type === "attachment" ? [] : [[block.type, block.text]],
  );
  const calls = entry.kind === "input" ? [] : entry.calls.map(({ id, name, input }) => [id, name, input]);
  return JSON.stringify([texts, calls]);
}

const textOf = (entry: ForeignEntry): string =>
  entry.kind === "compaction"
    ? entry.summary
    : entry.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

/** Whether the entries before the last known one lie in bytes that are as they were at their import. */
export function isUnchanged({ plan, file, unchangedBytes = 0 }: TranscriptSource, known: number): boolean {
  if (unchangedBytes === 0) return false;
  for (const { records } of plan.entries.slice(0, known - 1))
    if (!records.every((one) => one.file === file && one.to <= unchangedBytes)) return false;
  return true;
}

/** The last known entry: as it was imported, and as the source has it now. */
export interface KnownEntry {
  readonly part: ForeignEntry;
  readonly whole: ForeignEntry;
}

/**
 * The digest of the known entries as the source has them now; "changed" when the log holds other texts.
 * `isQuick` compares only the last of them.
 */
export async function compareTexts(
  world: Hasher,
  source: TranscriptSource,
  stored: TextDigest | null,
  {
    known,
    entry,
    isQuick,
  }: { readonly known: number; readonly entry: KnownEntry; readonly isQuick: boolean },
): Promise<TextChain | "changed"> {
  if (stored !== null && !isTextOf(world, stored, entry.part)) return "changed";
  if (stored !== null && isQuick) return chainAfter(world, stored.before, entry.whole);
  let texts: TextChain | null = null;
  for await (const one of source.entries(source.plan.entries.slice(0, known - 1)))
    texts = addTexts(world, texts, one);
  const now = addTexts(world, texts, entry.whole);
  return stored === null || stored.before === now.before ? now : "changed";
}

/** An answer in a database or a document grows in place: its text may have become longer. */
function isTextOf(world: Hasher, stored: TextDigest, entry: ForeignEntry): boolean {
  if (world.digest("", contentOf(entry)) === stored.last) return true;
  if (entry.kind !== "answer") return false;
  const text = textOf(entry);
  return text.length >= stored.chars && world.digest("", text.slice(0, stored.chars)) === stored.text;
}
