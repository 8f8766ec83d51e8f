/** What a plan chose, as parts: documents and memory, then pinned items, the summary and the other items. */
import { excerptText, documentExcerpt } from "../rank/excerpt.ts";
import type { EventOf, SessionLogEvent } from "../event.ts";
import { defaultStatus } from "../item/kind.ts";
import { present } from "../present.ts";
import type { ItemRef } from "../state.ts";
import { text } from "./block.ts";
import { summaryBlocks } from "./boundary.ts";
import { renderFront, say } from "./frame.ts";
import { readOnWith } from "./plan-documents.ts";
import { keyText, pinText } from "./plan-items.ts";
import { memoryLine } from "./plan-memory.ts";
import { boundaryOf, field, put, type ContextSource, type LoggedPlan, type Sheet } from "./source.ts";
import { gap, share } from "./text.ts";

type Spans = readonly (readonly [number, number])[];

export function renderPlanned(source: ContextSource, plan: LoggedPlan, sheet: Sheet): void {
  renderFront(source, sheet);
  for (const { seq, ranges } of plan.choice.documents ?? []) renderDocument(source, sheet, seq, ranges);
  for (const chosen of plan.choice.memory ?? []) renderMemory(source, sheet, chosen);
  const overlay = boundaryOf(source);
  renderPinned(source, plan, sheet);
  if (overlay === null) return;
  const range = [overlay.fromSeq, overlay.toSeq] as const;
  const summary = ["summary", `compaction (${overlay.strategy})`] as const;
  put(sheet, { part: "message", role: "user", content: summaryBlocks(source, overlay) }, summary, range);
  const items = itemsText(source, plan);
  if (items === null) return;
  const why = ["items", "items, the most important first to fit"] as const;
  put(sheet, { part: "message", role: "user", content: [text(items)] }, why, range);
}

function renderDocument(source: ContextSource, sheet: Sheet, seq: number, ranges: Spans | null): void {
  const event = source.events.get(seq);
  const kind = event?.type === "document.loaded" ? event.body.kind : "file";
  const { name, said, path } = documentOf(event, kind);
  const words = said === null ? null : wordsOf(said, ranges, { path, readOn: readOnWith(seq) });
  const shown = words === null ? gap(`a document (${kind})`) : `Document ${name}:\n\n${words}`;
  const why = kind === "agents-md" ? "a project's instructions" : `a document (${kind})`;
  const part = ranges === null ? "" : ", sections of it";
  say(sheet, shown, ["document", `${why}${part}`], seq);
}

const wordsOf = (
  said: string,
  ranges: Spans | null,
  options: { readonly path: string | null; readonly readOn: string },
): string => (ranges === null ? said : excerptText(said, ranges, options));

/** A document that was loaded after the plan: as much as the plan left over, and never less than before. */
export function lateDocument(event: EventOf<"document.loaded">, { body }: LoggedPlan): string {
  const { kind } = event.body;
  const { name, said, path } = documentOf(event, kind);
  if (said === null) return gap(`a document (${kind})`);
  const tier = body.tiers.find((one) => one.tier === "documents");
  const left = tier === undefined ? 0 : Math.max(0, tier.roomTokens - tier.usedTokens);
  const charsMax = Math.max(share.documentCharsMax, left * lateCharsPerToken);
  const { text: shown } = documentExcerpt(said, charsMax, "", { path, readOn: readOnWith(event.seq) });
  return `Document ${name}:\n\n${shown}`;
}

const lateCharsPerToken = 3;

function documentOf(
  event: SessionLogEvent | undefined,
  kind: string,
): { readonly name: string; readonly path: string | null; readonly said: string | null } {
  const said = field(event?.content, "text");
  const given = field(event?.content, "path");
  const path = typeof given === "string" ? given : null;
  const name = path === null ? kind : `${path} (${kind})`;
  return { name, path, said: typeof said === "string" ? said.toWellFormed() : null };
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
    const { kind, key, status = defaultStatus(kind), confidence } = event.body;
    return [{ item: { kind, key, status, ...present({ confidence }) }, content: event.content }];
  });
}

/** Every position of some ranges. */
export const seqsIn = (ranges: Spans): number[] =>
  ranges.flatMap(([from, to]) =>
    Array.from({ length: Math.max(0, to - from + 1) }, (_, place) => from + place),
  );
