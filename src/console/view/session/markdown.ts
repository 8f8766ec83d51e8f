/**
 * What models write, as pieces with a little structure: paragraphs, headings, lists, quotes, code. Nothing in
 * it leads anywhere or becomes markup; whatever is not understood stays as it was written. One pass, so that
 * a text of any length takes time in proportion to it.
 */

export type Span =
  | { readonly kind: "plain"; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "strong"; readonly text: string };

export interface ListItem {
  /** How far in it stands: 0, 1, 2… */
  readonly depth: number;
  /** As written, of a numbered one: `3.`; null: a dot. */
  readonly number: string | null;
  readonly spans: readonly Span[];
}

export type Piece =
  | { readonly kind: "paragraph"; readonly spans: readonly Span[] }
  | { readonly kind: "heading"; readonly level: number; readonly spans: readonly Span[] }
  | { readonly kind: "quote"; readonly spans: readonly Span[] }
  | { readonly kind: "list"; readonly items: readonly ListItem[] }
  /** Also what stands in columns. `closed` is false while its end has not come yet. */
  | { readonly kind: "code"; readonly language: string; readonly text: string; readonly closed: boolean }
  | { readonly kind: "rule" };

const fenceForm = /^ {0,3}(`{3,}|~{3,}(?!~))([^`]*)$/;
const headingForm = /^ {0,3}(#{1,6})[ \t]+(.*)$/s;
const ruleForm = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})[ \t]*$/;
const itemForm = /^([ \t]*)(?:[-*+]|(\d{1,9}[.)]))[ \t]+(.*)$/s;
const depthMax = 5;
/** A line that is longer than this is text, whatever it begins with. */
const lineCharsMax = 10_000;

export function piecesOf(text: string): readonly Piece[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const pieces: Piece[] = [];
  for (let at = 0; at < lines.length;) {
    const [piece, next] = readPiece(lines, at);
    if (piece !== null) pieces.push(piece);
    at = next;
  }
  return pieces;
}

type Kind = "blank" | "fence" | "heading" | "rule" | "item" | "quote" | "columns" | "text";

function kindOf(line: string): Kind {
  if (line.length > lineCharsMax) return "text";
  if (line.trim() === "") return "blank";
  if (fenceForm.test(line)) return "fence";
  if (headingForm.test(line)) return "heading";
  if (ruleForm.test(line)) return "rule";
  if (itemForm.test(line)) return "item";
  if (line.startsWith(">")) return "quote";
  if (line.startsWith("|")) return "columns";
  return "text";
}

/** The piece that begins with this line, and the line after it. */
function readPiece(lines: readonly string[], at: number): readonly [Piece | null, number] {
  const line = lines[at] ?? "";
  const kind = kindOf(line);
  switch (kind) {
    case "blank":
      return [null, at + 1];
    case "fence":
      return readFence(lines, at);
    case "heading": {
      const [, marks = "#", title = ""] = headingForm.exec(line) ?? [];
      return [{ kind: "heading", level: marks.length, spans: spansOf(title.trimEnd()) }, at + 1];
    }
    case "rule":
      return [{ kind: "rule" }, at + 1];
    case "item":
      return readList(lines, at);
    case "quote":
    case "columns":
    case "text": {
      const next = whileKind(lines, at, kind);
      return [gathered(kind, lines.slice(at, next)), next];
    }
  }
}

function whileKind(lines: readonly string[], at: number, kind: Kind): number {
  let next = at + 1;
  while (next < lines.length && kindOf(lines[next] ?? "") === kind) next++;
  return next;
}

function gathered(kind: Kind, lines: readonly string[]): Piece {
  if (kind === "columns") return { kind: "code", language: "", text: lines.join("\n"), closed: true };
  if (kind !== "quote") return { kind: "paragraph", spans: spansOf(lines.join("\n")) };
  return { kind: "quote", spans: spansOf(lines.map((line) => line.replace(/^> ?/, "")).join("\n")) };
}

function readFence(lines: readonly string[], at: number): readonly [Piece, number] {
  const [, marks = "```", language = ""] = fenceForm.exec(lines[at] ?? "") ?? [];
  const isEnd = (line: string): boolean => {
    const bare = line.trim();
    return bare.length >= marks.length && bare === (marks[0] ?? "`").repeat(bare.length);
  };
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end] ?? "")) end++;
  const text = lines.slice(at + 1, end).join("\n");
  return [{ kind: "code", language: language.trim(), text, closed: end < lines.length }, end + 1];
}

/** Items one below the other; a line that stands further in goes on with the one above it. */
function readList(lines: readonly string[], at: number): readonly [Piece, number] {
  const found: { readonly indent: number; readonly number: string | null; readonly text: string[] }[] = [];
  let next = at;
  for (; next < lines.length; next++) {
    const line = lines[next] ?? "";
    const kind = kindOf(line);
    const [, space = "", number, text = ""] = kind === "item" ? (itemForm.exec(line) ?? []) : [];
    if (kind === "item") found.push({ indent: widthOf(space), number: number ?? null, text: [text] });
    else if (kind === "text" && /^\s/.test(line)) found.at(-1)?.text.push(line.trim());
    else break;
  }
  const indents: number[] = [];
  const items = found.map(({ indent, number, text }) => {
    while (indents.length > 0 && (indents.at(-1) ?? 0) > indent) indents.pop();
    if (indents.at(-1) !== indent) indents.push(indent);
    const depth = Math.min(depthMax, indents.length - 1);
    return { depth, number, spans: spansOf(text.join("\n")) };
  });
  return [{ kind: "list", items }, next];
}

const widthOf = (space: string): number => space.replaceAll("\t", "    ").length;

/** Code between backticks, and what stands between two stars. A mark without its other half is text. */
export function spansOf(text: string): readonly Span[] {
  const spans: Span[] = [];
  const next = { "`": -1, "**": -1 };
  // From where on there is no other half of a mark.
  const noneFrom: Record<string, number> = {};
  let [from, plainFrom] = [0, 0];
  const put = (kind: Span["kind"], part: string): void => {
    if (part !== "") spans.push({ kind, text: part });
  };
  for (;;) {
    for (const mark of ["`", "**"] as const) if (next[mark] < from) next[mark] = placeOf(text, mark, from);
    const start = Math.min(next["`"], next["**"]);
    if (start === Infinity) break;
    const mark = start === next["`"] ? runOf(text, start) : "**";
    const inner = start + mark.length;
    const end = inner >= (noneFrom[mark] ?? Infinity) ? Infinity : placeOf(text, mark, inner);
    if (end === Infinity) noneFrom[mark] = Math.min(inner, noneFrom[mark] ?? Infinity);
    from = inner;
    if (!isMarked(text, mark, inner, end)) continue;
    put("plain", text.slice(plainFrom, start));
    put(mark === "**" ? "strong" : "code", text.slice(inner, end));
    from = end + mark.length;
    plainFrom = from;
  }
  put("plain", text.slice(plainFrom));
  return spans;
}

function placeOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found === -1 ? Infinity : found;
}

/** As many backticks as stand there; runs of more than three are the same as three. */
function runOf(text: string, at: number): string {
  let length = 1;
  while (length < 3 && text[at + length] === "`") length++;
  return "`".repeat(length);
}

/** With nothing between them, or a space right inside of stars, these are no marks. */
function isMarked(text: string, mark: string, from: number, end: number): boolean {
  if (end === Infinity || end <= from) return false;
  return mark !== "**" || (text[from] !== " " && text[end - 1] !== " ");
}
