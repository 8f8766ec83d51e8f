/** What a compaction keeps beside its summary: the tree of its range, and what the summary leaves out. */
import { missingAfter, withMissing, type MissingValue } from "../../core/compaction/check.ts";
import type { Cut } from "../../core/compaction/plan.ts";
import { placeItems, type ExtractedItem, type PlacedMessage } from "../../core/compaction/text-source.ts";
import type { FoundItem } from "../../core/compaction/prompt.ts";
import { withoutInputs } from "../../core/compaction/summary.ts";
import { treeOf, type CompactionNode, type TreeTurn } from "../../core/compaction/tree.ts";
import { itemKey } from "../../core/item/fold.ts";
import { itemText } from "../../core/context/boundary.ts";
import type { MessagePart } from "../../core/context/part.ts";
import { readContent } from "../read/content.ts";
import { readItems } from "../read/projection.ts";
import type { CompactSurvey } from "./compact-survey.ts";
import type { StepWorld } from "./step.ts";

export interface CompleteSummary {
  /** With a list of what it left out, as far as that fits. */
  readonly summary: string;
  readonly missing: readonly MissingValue[];
  readonly nodes: readonly CompactionNode[];
}

/**
 * The items to record, with the places where they were said. Those with the value that is recorded already
 * are left out; so is what no person wrote, in place of what a person wrote or what was recorded on purpose.
 */
export async function placedItems(
  { deps, drive }: StepWorld,
  survey: CompactSurvey,
  toSeq: number,
  items: readonly FoundItem[],
): Promise<readonly ExtractedItem[]> {
  const { state } = survey;
  const range = messagesOf(survey, toSeq);
  const kept: ExtractedItem[] = [];
  for (const item of placeItems(items, range)) {
    const known = state.mind.items.get(itemKey(item.kind, item.key));
    if (known !== undefined) {
      if (item.extracted.untrusted === true && known.extracted?.untrusted !== true) continue;
      const content = await readContent(deps.store, drive.session, known.seq);
      const value = (content as { readonly value?: unknown } | undefined)?.value;
      const hasStatus = item.status === undefined || item.status === known.status;
      if (hasStatus && JSON.stringify(value) === JSON.stringify(item.value)) continue;
    }
    kept.push(item);
  }
  return kept;
}

/** Checks a summary against its range, and makes the tree. `items` are recorded in the same append. */
export async function completeSummary(
  { deps, drive }: StepWorld,
  survey: CompactSurvey,
  { toSeq, goneTokens }: Pick<Cut, "toSeq" | "goneTokens">,
  { summary, items }: { readonly summary: string; readonly items: readonly FoundItem[] },
): Promise<CompleteSummary> {
  const { boundary, state } = survey;
  const content = boundary === null ? null : await readContent(deps.store, drive.session, boundary.seq);
  const stored = (content as { readonly summary?: unknown } | null | undefined)?.summary;
  const earlier = typeof stored === "string" ? withoutInputs(stored) : null;
  const range = messagesOf(survey, toSeq);
  const recorded = await readItems(deps.store, drive.session, state);
  const known = [...recorded, ...items.map((item) => ({ status: null, ...item }))];
  const texts = known.map(({ kind, key, status, value, because }) =>
    itemText({ kind, key, status }, { value, because }),
  );
  const missing = missingAfter(
    range.map(({ message }) => message),
    { earlier, kept: [summary, ...texts] },
  );
  const { text } = withMissing(summary, missing, listCharsMax(goneTokens));
  const before = boundary === null ? null : { ...boundary, summary: earlier ?? "" };
  return { summary: text, missing, nodes: treeOf(turnsOf(range, survey, toSeq), before) };
}

/** Characters for the list of what is missing: at most about a third of what the compaction gains. */
const listCharsMax = (goneTokens: number): number => Math.min(1_600, Math.max(400, goneTokens));

/** The messages of the range, without the boundary before it. */
function messagesOf({ measured, boundary }: CompactSurvey, toSeq: number): PlacedMessage[] {
  const { parts, reasons } = measured.context;
  const placed = parts.flatMap((part, place) => {
    const reason = reasons[place];
    if (part.part !== "message" || reason === undefined) return [];
    return [{ message: part, fromSeq: reason.fromSeq, toSeq: reason.toSeq }];
  });
  const from = boundary?.toSeq ?? 0;
  return placed.filter((one) => one.fromSeq > from && one.toSeq > 0 && one.toSeq <= toSeq);
}

/** A message of the user with more than notes of Skein begins a turn. */
function turnsOf(
  range: readonly PlacedMessage[],
  { boundary, times }: CompactSurvey,
  toSeq: number,
): TreeTurn[] {
  const turns: { fromSeq: number; input: string; answer: string; calls: number }[] = [];
  for (const { message, fromSeq } of range) {
    const last = turns.at(-1);
    const said = textOf(message);
    const begins =
      message.role === "user" && said !== "" && (last === undefined || last.answer !== "" || last.calls > 0);
    if (begins || last === undefined) {
      turns.push({ fromSeq, input: message.role === "user" ? said : "", answer: "", calls: 0 });
      continue;
    }
    if (message.role !== "assistant") continue;
    if (said !== "") last.answer = said;
    last.calls += message.content.filter(({ type }) => type === "tool-call").length;
  }
  const first = (boundary?.toSeq ?? 0) + 1;
  return turns.map((turn, place) => ({
    ...turn,
    fromSeq: place === 0 ? Math.min(first, turn.fromSeq) : turn.fromSeq,
    toSeq: (turns[place + 1]?.fromSeq ?? toSeq + 1) - 1,
    at: times.get(turn.fromSeq) ?? times.get(turn.fromSeq + 1) ?? 0,
  }));
}

/** What was said; notes of Skein stand in brackets. */
const textOf = ({ content }: MessagePart): string =>
  content
    .flatMap((block) => (block.type === "text" && !block.text.startsWith("[") ? [block.text] : []))
    .join(" ");
