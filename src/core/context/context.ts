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
import { blankSheet, boundaryOf, type ContextSource, type RenderedParts } from "./source.ts";
import { renderTranscript } from "./transcript.ts";
import type { ContextPart } from "./part.ts";

interface Differences {
  /** Shows the text of an interrupted call, marked as interrupted. */
  readonly showsInterrupted: boolean;
  /** Shows what the plan of the context chose, where there is one. */
  readonly isPlanned: boolean;
}

const rendererWith =
  (differences: Differences) =>
  (source: ContextSource): RenderedParts => {
    const sheet = blankSheet();
    const boundary = boundaryOf(source);
    if (differences.isPlanned && source.plan !== undefined) renderPlanned(source, source.plan, sheet);
    else {
      renderFrame(source, sheet);
      if (boundary !== null) renderBoundary(source, boundary, sheet);
    }
    renderTranscript(source, sheet, differences);
    return sheet;
  };

/** Every renderer ever released, by number. The output of an earlier one never changes. */
export const renderers: Readonly<Record<number, (source: ContextSource) => RenderedParts>> = {
  1: rendererWith({ showsInterrupted: false, isPlanned: false }),
  /** Since 0.5. */
  2: rendererWith({ showsInterrupted: true, isPlanned: true }),
};

/** For new sessions, and for others from their next compaction, rewind or migration on. */
export const rendererNow = 2;

/** The digest of the context in `model.requested`: SHA-256 of its JSON. */
export const contextDigest = (digest: Digest, parts: readonly ContextPart[]): string =>
  digest("", JSON.stringify(parts));
