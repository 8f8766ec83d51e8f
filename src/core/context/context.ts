/**
 * The context: what a model is sent in one step, rendered from the log.
 *
 * A renderer is pure and total: for any log it returns parts that every provider accepts. Each
 * `model.requested` records its number, so that every context can be rebuilt byte for byte. Therefore the
 * output of a renderer never changes: different bytes are a new renderer, which documents how it differs, and
 * the old one stays.
 *
 * Parts: settings, tools, system (agent, session, documents, memory), then messages. Pinned items come first;
 * after a compaction a summary and the items follow. A call has the id `call_` and the position of its
 * request.
 */
import type { Digest } from "../chain.ts";
import { renderBoundary } from "./boundary.ts";
import { renderFrame } from "./frame.ts";
import { renderPlanned } from "./planned.ts";
import { blankSheet, boundaryOf, type ContextSource } from "./source.ts";
import { beginTranscript, readTranscript, type TranscriptReading } from "./transcript.ts";
import type { ContextPart } from "./part.ts";

interface Differences {
  /** Shows the text of an interrupted call, marked as interrupted. */
  readonly showsInterrupted: boolean;
  /** Shows what the plan of the context chose, where there is one. */
  readonly isPlanned: boolean;
}

/**
 * Begins a context, up to the end of the source's transcript. `endTranscript` gives what a request there
 * would send, and `readTranscript` continues when the log has grown: at the same boundary, by the same plan.
 */
type Renderer = (source: ContextSource) => TranscriptReading;

const rendererWith =
  (differences: Differences): Renderer =>
  (source) => {
    const sheet = blankSheet();
    const boundary = boundaryOf(source);
    if (differences.isPlanned && source.plan !== undefined) renderPlanned(source, source.plan, sheet);
    else {
      renderFrame(source, sheet);
      if (boundary !== null) renderBoundary(source, boundary, sheet);
    }
    const reading = beginTranscript(source, sheet, differences);
    readTranscript(reading, source);
    return reading;
  };

/** Every renderer ever released, by number. The output of an earlier one never changes. */
export const renderers: Readonly<Record<number, Renderer>> = {
  1: rendererWith({ showsInterrupted: false, isPlanned: false }),
  /** Since 0.5. */
  2: rendererWith({ showsInterrupted: true, isPlanned: true }),
};

/** For new sessions, and for others from their next compaction, rewind or migration on. */
export const rendererNow = 2;

/**
 * The form of a context's digest in `model.requested`. 1: SHA-256 of the JSON of all parts. 2: a chain, one
 * link a part: SHA-256 of the digest so far, a line feed and the part's JSON; of no parts, the empty text. A
 * context that grows at the end continues the chain of the one before.
 */
export const digestFormOf = (renderer: number): number => (renderer >= 2 ? 2 : 1);

/** The next link of a digest of form 2. */
export const chainDigest = (digest: Digest, before: string, part: ContextPart): string =>
  digest("", `${before}\n${JSON.stringify(part)}`);

/** The digest of a context; null for a form of a newer program. */
export function contextDigest(digest: Digest, parts: readonly ContextPart[], form: number): string | null {
  if (form === 1) return digest("", JSON.stringify(parts));
  return form === 2 ? parts.reduce((before, part) => chainDigest(digest, before, part), "") : null;
}
