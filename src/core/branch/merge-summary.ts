/**
 * The message a session gets about a merge into it: the source, the items, the resolved conflicts, and the
 * last answers of the source. Deterministic, so that a merge can be previewed.
 */
import type { ItemKind } from "../item/kind.ts";
import { present } from "../present.ts";
import { itemText } from "../context/boundary.ts";
import { cut, isBlank } from "../context/text.ts";
import type { MergeWrite, MergeResolution } from "./merge.ts";

/** A conflict and its resolution. */
export interface ResolvedConflict {
  /** `kind/key`. */
  readonly name: string;
  readonly kind: ItemKind;
  readonly key: string;
  readonly resolution: MergeResolution;
  readonly writes: readonly MergeWrite[];
}

export interface SummarySource {
  readonly from: string;
  readonly fromSeq: number;
  readonly toSeq: number;
  /** The objective of the other session; null if it was erased. */
  readonly objective: string | null;
  readonly taken: readonly MergeWrite[];
  readonly settled: readonly ResolvedConflict[];
  /** The last answers of the other session, the newest last. */
  readonly answers: readonly string[];
  /** The caller's text, in place of objective and answers. */
  readonly words?: string | undefined;
}

/** In characters. A summary is part of every context that follows it. */
const charsMax = { objective: 1_000, answer: 2_000, items: 12_000, item: 1_000, words: 20_000 } as const;

export function mergeSummary(source: SummarySource): string {
  const { from, fromSeq, toSeq, objective, taken, settled, answers, words } = source;
  const shown = objective === null ? "[erased: its objective]" : shorten(objective, charsMax.objective);
  const said = answers.map((answer) => shorten(answer, charsMax.answer)).join("\n\n");
  return [
    `It worked on positions ${fromSeq} to ${toSeq} of its own log: ${from}@${fromSeq}-${toSeq}.`,
    words === undefined ? `Its objective: ${shown}` : shorten(words, charsMax.words),
    listed("What came in from there", taken.map(writeText)),
    listed("Where both had changed it", settled.map(settledText)),
    words !== undefined || isBlank(said) ? "" : `What was said last over there:\n${said}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function shorten(text: string, most: number): string {
  return cut(text.toWellFormed(), most, (left) => `${left} characters are left out`);
}

/** As many lines as fit; always with the total. */
function listed(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return "";
  const shown: string[] = [];
  let chars = 0;
  for (const line of lines) {
    const short = shorten(line, charsMax.item);
    chars += short.length;
    if (chars > charsMax.items) break;
    shown.push(`- ${short}`);
  }
  const rest = lines.length - shown.length;
  const more = rest === 0 ? [] : [`- and ${rest} more; recall with kind and key reads one`];
  return `${title}:\n${[...shown, ...more].join("\n")}`;
}

function writeText(write: MergeWrite): string {
  const { kind, key } = write;
  if (write.write === "retract") return `no longer holds: ${kind} ${key}`;
  const { status = null, confidence } = write;
  return itemText({ kind, key, status, ...present({ confidence }) }, write);
}

function settledText({ kind, key, resolution, writes }: ResolvedConflict): string {
  const { take, because } = resolution;
  const outcome = {
    ours: "it stays as it was here",
    theirs: "as it was there",
    both: "both are kept",
    value: "a new value",
  }[take];
  const now = writes.map(writeText).join("; ");
  // The reason of a value is the reason of the item, which is shown with it.
  const reason = because === undefined || take === "value" ? "" : `; because ${because}`;
  return `${kind} ${key}: ${outcome}${reason}${now === "" ? "" : `. ${now}`}`;
}
