/**
 * Makes raw HTML in Markdown text plain: `<` becomes `\<`, except in code, where a backslash would be shown.
 *
 * Without a full parser some code is not certain to be code for every reader of the page: a fence inside a
 * list item, a span that goes over lines or over a table's cells. There `<` is escaped: a backslash too many
 * is harmless, a tag that gets through is not.
 */

interface Fence {
  readonly mark: string;
  readonly length: number;
  readonly indent: number;
}

export function escapeHtml(text: string): string[] {
  let fence: Fence | null = null;
  /** Fences can no longer be distinguished from text. */
  let unsure = false;
  /** A span of code may reach over from a line above. */
  let openSpan = false;
  return text.split(/\r\n|\n|\r/).map((line) => {
    const run = fenceIn(line);
    if (fence !== null && !unsure) {
      if (fence.indent > 0 && mayLeave(fence, line, run)) unsure = true;
      else {
        if (run !== null && closes(fence, run)) fence = null;
        return line;
      }
    }
    if (unsure) return escapeAll(line);
    if (line.trim() === "") openSpan = false;
    if (run !== null && run.indent <= 3 && run.prefix === "" && opens(run)) {
      fence = run;
      openSpan = false;
      return escapeAll(line);
    }
    if (run !== null && (run.indent > 3 || run.prefix !== "")) unsure = true;
    const { escaped, isOpen } = openSpan ? { escaped: escapeAll(line), isOpen: true } : escapeLine(line);
    openSpan = isOpen;
    return escaped;
  });
}

const escapeAll = (text: string): string => text.replaceAll("<", "\\<");

const indentOf = (line: string): number => /^ */.exec(line)?.[0].length ?? 0;

/** An indented fence may be one of a list item, which ends with the item, and may be closed further right. */
function mayLeave(fence: Fence, line: string, run: FenceRun | null): boolean {
  if (line.trim() !== "" && indentOf(line) < fence.indent) return true;
  return run !== null && run.indent > 3 && closes(fence, { ...run, indent: 0 });
}

interface FenceRun extends Fence {
  /** Signs of a list or a quotation before it. */
  readonly prefix: string;
  readonly info: string;
}

/** A possible fence, wherever it stands. */
function fenceIn(line: string): FenceRun | null {
  const [, space = "", prefix = "", run, info = ""] =
    /^([ \t]*)((?:(?:[-*+]|\d{1,9}[.)]|>)[ \t]*)*)(`{3,}|~{3,})(.*)$/s.exec(line) ?? [];
  if (run === undefined) return null;
  const indent = space.includes("\t") ? 4 : space.length;
  return { mark: run.charAt(0), length: run.length, indent, prefix, info };
}

const opens = ({ mark, info }: FenceRun): boolean => mark === "~" || !info.includes("`");

const closes = (fence: Fence, { mark, length, indent, prefix, info }: FenceRun): boolean =>
  prefix === "" && mark === fence.mark && length >= fence.length && indent <= 3 && info.trim() === "";

/** A line of text: leaves spans of code that end on it alone. */
function escapeLine(line: string): { readonly escaped: string; readonly isOpen: boolean } {
  if (/\\`/.test(line)) return { escaped: escapeAll(line), isOpen: true };
  let escaped = "";
  let from = 0;
  for (const { 0: ticks, index } of line.matchAll(/`+/g)) {
    if (index < from) continue;
    const start = index + ticks.length;
    const end = endOfSpan(line, start, ticks.length);
    if (end === -1) return { escaped: escaped + escapeAll(line.slice(from)), isOpen: true };
    const span = line.slice(index, end + ticks.length);
    escaped += escapeAll(line.slice(from, index)) + (span.includes("|") ? escapeAll(span) : span);
    from = end + ticks.length;
  }
  return { escaped: escaped + escapeAll(line.slice(from)), isOpen: false };
}

/** The next run of exactly so many backticks; -1 when there is none on the line. */
function endOfSpan(line: string, from: number, length: number): number {
  for (const { 0: ticks, index } of line.slice(from).matchAll(/`+/g))
    if (ticks.length === length) return from + index;
  return -1;
}
