/** What a plan chose, as parts: documents and memory, then pinned items, the summary and the other items. */
import type { EventOf, SessionLogEvent } from "../event.ts";
import { defaultStatus } from "../item/kind.ts";
import { present } from "../present.ts";
import type { ItemRef } from "../state.ts";
import { text } from "./block.ts";
import { summaryBlocks } from "./boundary.ts";
import { renderFront, say } from "./frame.ts";
import { documentWords, fitDocument, type PlannedDocument } from "./plan-documents.ts";
import { keyText, pinText } from "./plan-items.ts";
import { memoryLine } from "./plan-memory.ts";
import { boundaryOf, field, put, type ContextSource, type LoggedPlan, type Sheet } from "./source.ts";
import { gap } from "./text.ts";
import { roughTokens } from "./token-count.ts";

type Spans = readonly (readonly [number, number])[];

export function renderPlanned(source: ContextSource, plan: LoggedPlan, sheet: Sheet): void {
  renderFront(source, sheet);
  for (const { seq, ranges } of plan.choice.documents ?? []) renderDocument(source, sheet, seq, ranges);
  for (const chosen of plan.choice.memory ?? []) renderMemory(source, sheet, chosen);
  const overlay = boundaryOf(source);
  renderPinned(source, plan, sheet);
  const range = overlay === null ? ([1, plan.seq] as const) : ([overlay.fromSeq, overlay.toSeq] as const);
  if (overlay !== null) {
    const why = ["summary", `compaction (${overlay.strategy})`] as const;
    put(sheet, { part: "message", role: "user", content: summaryBlocks(source, overlay) }, why, range);
  }
  const items = itemsText(source, plan);
  if (items === null) return;
  const why = ["items", "items, the most important first to fit"] as const;
  put(sheet, { part: "message", role: "user", content: [text(items)] }, why, range);
}

function renderDocument(source: ContextSource, sheet: Sheet, seq: number, ranges: Spans | null): void {
  const { text: said, ...document } = documentOf(source.events.get(seq), seq);
  const { kind } = document;
  const why = kind === "agents-md" ? "a project's instructions" : `a document (${kind})`;
  if (said === null) return say(sheet, gap(`a document (${kind})`), ["document", `${why}, erased`], seq);
  const part = ranges === null ? "" : ranges.length === 0 ? ", its name" : ", sections of it";
  say(sheet, documentWords({ ...document, text: said }, ranges), ["document", `${why}${part}`], seq);
}

/**
 * A document that was loaded after the plan, and its tokens. All such documents together have what the plan
 * left over of their tier, and a little without that. Counts of `roughTokens` are part of the renderer here.
 */
export function lateDocument(
  event: EventOf<"document.loaded">,
  { body }: LoggedPlan,
  lateTokens: number,
): { readonly words: string; readonly tokens: number } {
  const document = documentOf(event, event.seq);
  const { text: said } = document;
  if (said === null) return { words: gap(`a document (${document.kind})`), tokens: 0 };
  const tier = body.tiers.find((one) => one.tier === "documents");
  const left = tier === undefined ? 0 : tier.roomTokens - tier.usedTokens;
  const roomTokens = Math.max(0, Math.max(left, lateTokensMin) - lateTokens);
  const options = { roomTokens, count: roughTokens, measure: roughTokens, query: "" };
  const { ranges, tokens } = fitDocument(document, options);
  return { words: documentWords({ ...document, text: said }, ranges), tokens };
}

const lateTokensMin = 800;

function documentOf(event: SessionLogEvent | undefined, seq: number): PlannedDocument {
  const kind = event?.type === "document.loaded" ? event.body.kind : "file";
  const [said, path] = [field(event?.content, "text"), field(event?.content, "path")];
  return {
    seq,
    kind,
    path: typeof path === "string" ? path : null,
    text: typeof said === "string" ? said.toWellFormed() : null,
  };
}

function renderMemory(
  { events }: ContextSource,
  sheet: Sheet,
  { seq, shown, left: more = 0 }: NonNullable<LoggedPlan["choice"]["memory"]>[number],
): void {
  const items = field(events.get(seq)?.content, "items");
  if (!Array.isArray(items)) return say(sheet, gap("memory of earlier sessions"), memoryReason, seq);
  const lines = seqsIn(shown).flatMap((number) =>
    number > items.length ? [] : memoryLine(items[number - 1]),
  );
  if (more > 0) lines.push(`- and ${more} more; recall with fromSeq ${seq} reads them`);
  if (lines.length > 0) say(sheet, `Known from earlier sessions:\n${lines.join("\n")}`, memoryReason, seq);
}

const memoryReason = ["memory", "memory of earlier sessions"] as const;

function renderPinned({ events }: ContextSource, { choice, seq }: LoggedPlan, sheet: Sheet): void {
  const pinned = itemsAt(events, choice.pinned);
  if (pinned.length === 0) return;
  const lines = pinned.map(({ item, content }) => pinText(item, content)).join("");
  const part = { part: "message", role: "user", content: [text(`[Pinned: these hold.]\n${lines}`)] } as const;
  put(sheet, part, ["pinned", "pinned items"], [seq, seq]);
}

/** Items in full, then a list of keys; null without any. */
function itemsText({ events }: ContextSource, { choice, body }: LoggedPlan): string | null {
  const shown = itemsAt(events, choice.items);
  const listed = itemsAt(events, choice.listed);
  const { left = 0 } = body;
  if (shown.length + listed.length + left === 0) return null;
  const lines = shown.map(({ item, content }) => pinText(item, content)).join("");
  const keys = listed.map(({ item }) => keyText(item)).join(", ");
  const more = left === 0 ? "" : `${keys === "" ? "" : ", "}and ${left} more (recall with a kind lists them)`;
  const rest =
    listed.length + left === 0
      ? ""
      : `\nRecorded, too much to show here; recall with kind and key reads one: ${keys}${more}`;
  return `What is recorded:\n${lines}${rest}`.trimEnd();
}

/** The items recorded at these positions. */
function itemsAt(
  events: ContextSource["events"],
  ranges: Spans = [],
): { readonly item: Omit<ItemRef, "seq" | "hash">; readonly content: unknown }[] {
  return seqsIn(ranges).flatMap((seq) => {
    const event = events.get(seq);
    if (event?.type !== "item.recorded") return [];
    const { kind, key, status = defaultStatus(kind), confidence, extracted } = event.body;
    return [{ item: { kind, key, status, ...present({ confidence, extracted }) }, content: event.content }];
  });
}

/** Every position of some ranges. */
export const seqsIn = (ranges: Spans): number[] =>
  ranges.flatMap(([from, to]) =>
    Array.from({ length: Math.max(0, to - from + 1) }, (_, place) => from + place),
  );
