/** Events other than turns and calls, as text. */
import type { SessionEventType } from "../catalog.ts";
import type { EventOf } from "../event.ts";
import { amendedNote } from "../amend/text.ts";
import { present } from "../present.ts";
import { itemText, objectiveText } from "./boundary.ts";
import { carriedNote } from "./carried.ts";
import { documentText, isEarly, memoryText } from "./frame.ts";
import { lateDocument } from "./planned.ts";
import { retrievedText } from "./retrieved.ts";
import { boundaryOf, field, type ContextSource } from "./source.ts";
import { gap, share, textOf } from "./text.ts";

/** What the documents that were loaded since the plan take by now. */
export interface LateDocuments {
  lateTokens: number;
}

/** Null for events that a context does not show. */
type Note<T extends SessionEventType> = (
  event: EventOf<T>,
  source: ContextSource,
  late: LateDocuments,
) => string | null;

export const notes = {
  "item.recorded": (event, source) => {
    const { kind, key, status = null, confidence } = event.body;
    if (event.cause !== null || isAtBoundary(source, event.seq)) return null;
    if (event.seq <= (source.plan?.body.itemsToSeq ?? 0)) return null;
    const item = { kind, key, status, ...present({ confidence }) };
    return `[recorded meanwhile: ${itemText(item, event.content)}]`;
  },
  "item.retracted": ({ body, cause, content }) => {
    if (cause !== null) return null;
    const because = field(content, "because");
    const reason = typeof because === "string" ? `; because ${because}` : "";
    return `[no longer holds: ${body.kind} ${body.key}${reason}]`;
  },
  "item.pinned": ({ body, seq }, source) => {
    if (source.plan !== undefined && seq < source.plan.seq) return null;
    const { kind, key } = body;
    const item = source.events.get(body.item);
    const status = item?.type === "item.recorded" ? (item.body.status ?? null) : null;
    return `[pinned, it holds from here on: ${itemText({ kind, key, status }, item?.content)}]`;
  },
  "item.unpinned": ({ body, seq }, source) => {
    if (source.plan !== undefined && seq < source.plan.seq) return null;
    return `[not pinned any more: ${body.kind} ${body.key}]`;
  },
  "document.loaded": (event, source, late) => {
    const { kind, digest, supersedes } = event.body;
    const known = source.state.mind.documents.get(digest);
    if (supersedes !== undefined) return reloadedNote(event, source, late);
    // What was shown stays where it was shown, also once it is superseded.
    const isRepeated = known !== undefined && known.seq < event.seq;
    if (source.plan !== undefined) {
      if (event.seq < source.plan.seq || isRepeated) return null;
      const { words, tokens } = lateDocument(event, source.plan, late.lateTokens);
      late.lateTokens += tokens;
      return words;
    }
    if (isEarly(source.state, event) || isRepeated) return null;
    return documentText(event, { seq: event.seq, kind }, share.documentCharsMax);
  },
  "trigger.fired": ({ seq, body, content }, { plan }) => {
    const quiet = body.react !== "reload" && body.react !== "wake";
    if (quiet || (plan !== undefined && seq < plan.seq)) return null;
    const note = content?.note;
    return note === undefined ? null : `[${note}]`;
  },
  "memory.carried": (event, source) => {
    const { plan } = source;
    if (plan === undefined ? isEarly(source.state, event) : event.seq < plan.seq) return null;
    if (plan !== undefined) return carriedNote(event);
    return memoryText(event.content, event.seq, share.memoryCharsMax) || null;
  },
  "source.imported": ({ body, seq, content }, { state }) => {
    if (state.standing.source?.seq !== seq) return null;
    const cwd = field(content, "cwd");
    const where = typeof cwd === "string" ? ` in ${cwd}` : "";
    return (
      `[the conversation up to here took place in another tool, ${body.tool}${where}. Tools that it called ` +
      "there are not available here unless they are offered to you. Files may have changed since.]"
    );
  },
  "context.retrieved": (event, { events }) => retrievedText(event, events),
  "zone.acted": ({ body, content }) => {
    const said = field(content, "text");
    return body.action === "tell-model" && typeof said === "string" ? `[${said}]` : null;
  },
  "session.amended": (event, { state }) => amendedNote(event, state),
  "session.forked": ({ body, content }) =>
    body.has.includes("objective") ? `[${objectiveText(content)}]` : null,
  "session.merged": ({ body, content }) => {
    const summary = content === undefined ? gap("what came of it") : textOf(field(content, "summary") ?? "");
    return `[merged from session ${body.from}]\n${summary}`;
  },
} satisfies { readonly [T in SessionEventType]?: Note<T> };

/** Items extracted by a compaction come after its range, and the boundary already shows them. */
function isAtBoundary(source: ContextSource, seq: number): boolean {
  const boundary = boundaryOf(source);
  if (boundary === null || seq > boundary.seq) return false;
  for (const item of boundary.items.values()) if (item.seq === seq) return true;
  return false;
}

/** A diff says what changed, unless it is longer than the document. */
function reloadedNote(
  event: EventOf<"document.loaded">,
  source: ContextSource,
  late: LateDocuments,
): string | null {
  if (source.plan !== undefined && event.seq < source.plan.seq) return null;
  const { path = "a document", diff = "", text = "" } = event.content ?? {};
  if (event.content === undefined) return `[${gap("a document that was loaded again")}]`;
  const heading = `[${path} has changed. This holds in place of what it said before.]`;
  if (diff !== "" && diff.length <= Math.min(text.length + 1_000, diffCharsMax))
    return `${heading}\n\n${diff.toWellFormed()}`;
  const about = { seq: event.seq, kind: event.body.kind };
  if (source.plan === undefined) return `${heading}\n\n${documentText(event, about, share.documentCharsMax)}`;
  const { words, tokens } = lateDocument(event, source.plan, late.lateTokens);
  late.lateTokens += tokens;
  return `${heading}\n\n${words}`;
}

const diffCharsMax = 16_000;
