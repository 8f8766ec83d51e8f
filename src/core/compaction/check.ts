/**
 * The check of a compaction: decisions, open tasks, paths, identifiers and numbers that were said in the
 * range and stand neither in the summary nor in an item. By rule: it looks at forms and a few words,
 * understands nothing, and reads a bounded amount of text in linear time.
 */
import type { MessagePart } from "../context/part.ts";

/** What the check looks for, the most important first. */
export const missingKinds = ["decision", "task", "path", "identifier", "number"] as const;
export type MissingKind = (typeof missingKinds)[number];

/** A value that only the log has now, with a few words around it. */
export interface MissingValue {
  readonly kind: MissingKind;
  readonly text: string;
}

const textCharsMax = 20_000;
/** Of the whole range, the latest. */
const rangeCharsMax = 400_000;
const tokenCharsMax = 160;
const sentenceCharsMax = 240;
/** Values that a compaction records as missing. */
export const missingMax = 100;
/** The share of a sentence's words that must stand elsewhere for it to count as kept. */
const keptShare = 0.6;

/** `earlier`: the summary before this one, which the range replaces too. `kept`: summary and items. */
export function missingAfter(
  messages: readonly MessagePart[],
  { earlier, kept }: { readonly earlier: string | null; readonly kept: readonly string[] },
): MissingValue[] {
  const known = knownIn(kept);
  const found = new Map<string, MissingValue>();
  const texts = [...(earlier === null ? [] : earlierTexts(earlier)), ...messages.flatMap(textsOf)];
  let left = rangeCharsMax;
  for (const { text, isSaid } of texts.toReversed()) {
    if (left <= 0) break;
    const read = text.slice(0, Math.min(left, textCharsMax));
    left -= read.length;
    if (isSaid) addSentences(read, known, found);
    addTokens(read, isSaid, known, found);
  }
  const all = [...found.values()];
  return missingKinds.flatMap((kind) => all.filter((one) => one.kind === kind)).slice(0, missingMax);
}

const heading = "Not in the summary above; recall with text finds where it was said:";

/** The summary with as much as fits of what is missing, the most important first. */
export function withMissing(
  summary: string,
  missing: readonly MissingValue[],
  charsMax: number,
): { readonly text: string; readonly added: number } {
  const lines: string[] = [];
  let left = charsMax - heading.length;
  for (const { kind, text } of missing) {
    const line = `- ${kind}: ${text}`;
    left -= line.length + 1;
    if (left < 0) break;
    lines.push(line);
  }
  if (lines.length === 0) return { text: summary, added: 0 };
  return { text: `${summary}\n\n${heading}\n${lines.join("\n")}`, added: lines.length };
}

interface CheckedText {
  readonly text: string;
  /** Said by a person or the model, not an argument of a call. */
  readonly isSaid: boolean;
}

/** Of an earlier summary: what it says, and what it already listed as missing, without the labels. */
function earlierTexts(summary: string): CheckedText[] {
  const labels = /^- (?:decision|task|path|identifier|number): /gm;
  return [{ text: summary.replace(heading, "").replace(labels, ""), isSaid: true }];
}

/** Tools of the session itself: what they record is an item. */
const sessionTools: ReadonlySet<string> = new Set([
  "record",
  "retract",
  "remember",
  "scratch",
  "recall",
  "lookup",
]);

/** Outputs of tools are not read: they are long, and the model repeats what matters of them. */
function textsOf({ content }: MessagePart): CheckedText[] {
  return content.flatMap((block): CheckedText[] => {
    if (block.type === "text") {
      // Skein's own notes stand in brackets; items among them are shown by their current value.
      return block.text.startsWith("[") ? [] : [{ text: block.text, isSaid: true }];
    }
    if (block.type !== "tool-call" || sessionTools.has(block.tool)) return [];
    const words = Object.values(block.input).filter((value) => typeof value === "string");
    return [{ text: words.join(" ").slice(0, textCharsMax), isSaid: false }];
  });
}

interface KnownTexts {
  readonly text: string;
  readonly tokens: ReadonlySet<string>;
}

function knownIn(kept: readonly string[]): KnownTexts {
  const text = kept.join("\n").toLowerCase();
  return { text, tokens: new Set(tokensOf(text)) };
}

const tokensOf = (text: string): string[] =>
  (text.match(/\S+/g) ?? []).map((token) => (token.length > tokenCharsMax ? "" : bare(token)));

const edges = new Set(`"'\`()[]{}<>,;:!?*|„“”‚‘’«»。、，`);

/** Without punctuation around it. */
function bare(token: string): string {
  let from = 0;
  let to = token.length;
  while (from < to && edges.has(token[from] ?? "")) from += 1;
  while (to > from && (edges.has(token[to - 1] ?? "") || token[to - 1] === ".")) to -= 1;
  return token.slice(from, to);
}

function addTokens(text: string, isSaid: boolean, known: KnownTexts, found: Map<string, MissingValue>): void {
  const words = text.match(/\S+/g) ?? [];
  for (let place = words.length - 1; place >= 0; place--) {
    const word = words[place] ?? "";
    if (word.length > tokenCharsMax || !/\d|[/\\_.]|\p{Ll}\p{Lu}/u.test(word)) continue;
    const token = bare(word);
    const kind = kindOf(token);
    if (kind === null || (!isSaid && kind === "number")) continue;
    const low = token.toLowerCase();
    const isKept = kind === "number" ? known.tokens.has(low) : known.text.includes(low);
    if (isKept || found.has(low)) continue;
    const around = kind === "path" ? token : words.slice(Math.max(0, place - 2), place + 2).join(" ");
    found.set(low, { kind, text: around.slice(0, tokenCharsMax).toWellFormed() });
  }
}

const extensions = new Set(
  [
    "ts tsx js jsx mjs cjs json md py rs go java kt rb php c h cc cpp cs swift sql yml yaml toml ini txt csv",
    "pdf html css scss sh ps1 pem lock log xml doc docx xls xlsx ppt pptx png jpg svg parquet tsv env",
  ].flatMap((line) => line.split(" ")),
);

function kindOf(token: string): MissingKind | null {
  if (token.length < 2) return null;
  if (token.includes("://")) return "identifier";
  if (isPath(token)) return "path";
  if (/^[$€£¥]?[+-]?\d[\d.,:]*(?:%|\p{L}{0,3})$/u.test(token)) return isTelling(token) ? "number" : null;
  return isIdentifier(token) ? "identifier" : null;
}

function isPath(token: string): boolean {
  if (!/^[\p{L}\p{N}_.\-/\\~@+:]+$/u.test(token)) return false;
  const segments = token.split(/[/\\]/).filter((segment) => segment !== "");
  const name = segments.at(-1) ?? "";
  const dot = name.lastIndexOf(".");
  const hasExtension = dot > 0 && extensions.has(name.slice(dot + 1).toLowerCase());
  if (hasExtension) return true;
  return segments.length >= 2 && (/^[~./\\]/.test(token) || segments.length >= 3) && /\p{L}/u.test(token);
}

/** Three digits, a fraction, a share or an amount: smaller counts say little by themselves. */
function isTelling(token: string): boolean {
  const digits = token.replace(/\D/g, "").length;
  return digits >= 3 || /[%$€£¥]|\d[.,:]\d/.test(token);
}

function isIdentifier(token: string): boolean {
  if (!/^[\p{L}\p{N}_.\-#:@]+$/u.test(token)) return false;
  if (/\p{L}/u.test(token) && /\d/.test(token)) return token.length >= 4;
  return /\p{L}_\p{L}/u.test(token) || /^\p{Ll}+\p{Lu}\p{Ll}/u.test(token);
}

const decisionWords = [
  "decided",
  "agreed to",
  "agreed that",
  "agreed on",
  "settled on",
  "we chose",
  "going with",
  "rejected",
  "must not",
  "must never",
  "entschieden",
  "beschlossen",
  "vereinbart",
  "abgelehnt",
  "décidé",
  "decidido",
  "acordado",
];
const taskWords = ["todo:", "fixme", "- [ ]", "still open", "remains to", "still has to", "still have to"];

function addSentences(text: string, known: KnownTexts, found: Map<string, MissingValue>): void {
  for (const sentence of text.split(/\n|(?<=[.!?。])\s/u).toReversed()) {
    const said = sentence.trim();
    if (said.length < 12 || said.length > sentenceCharsMax) continue;
    const low = said.toLowerCase();
    const says = (words: readonly string[]): boolean => words.some((word) => low.includes(word));
    const kind = says(decisionWords) ? "decision" : says(taskWords) ? "task" : null;
    if (kind === null || found.has(low) || isKept(low, known)) continue;
    found.set(low, { kind, text: said });
  }
}

function isKept(sentence: string, { text, tokens }: KnownTexts): boolean {
  if (text.includes(sentence)) return true;
  const words = tokensOf(sentence).filter((word) => word.length >= 4);
  const kept = words.filter((word) => tokens.has(word)).length;
  return words.length > 0 && kept / words.length >= keptShare;
}
