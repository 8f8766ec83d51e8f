/**
 * The context: what a model is sent in one step, rendered from the log.
 *
 * A renderer is pure and total: whatever the log holds, it gives parts that every provider takes. It has a
 * number, which stands in each `model.requested`, so that every context can be rebuilt byte for byte. So what
 * renderer 1 gives never changes: other bytes are another renderer, with files of its own, and the old one
 * stays.
 *
 * Parts: settings, tools, system (agent, session, documents, memory), then messages. After a compaction the
 * first message is the boundary. A call has the id `call_` and the position of its request.
 */
import type { Digest } from "./chain.ts";
import { renderBoundary } from "./context/boundary.ts";
import { renderFrame } from "./context/frame.ts";
import { blankSheet, boundaryOf, type ContextSource, type Rendered } from "./context/source.ts";
import { renderTranscript } from "./context/transcript.ts";
import type { Part } from "./part.ts";

export function renderContext(source: ContextSource): Rendered {
  const sheet = blankSheet();
  renderFrame(source, sheet);
  const boundary = boundaryOf(source);
  if (boundary !== null) renderBoundary(source, boundary, sheet);
  renderTranscript(source, sheet);
  return sheet;
}

/** Every renderer there ever was, by its number. */
export const renderers: Readonly<Record<number, (source: ContextSource) => Rendered>> = { 1: renderContext };

/** For sessions that begin now, and for others from their next compaction, rewind or migration on. */
export const rendererNow = 1;

/** What `model.requested` says of the context: SHA-256 of its JSON. */
export const contextDigest = (digest: Digest, parts: readonly Part[]): string =>
  digest("", JSON.stringify(parts));
