/**
 * Headings of a text: Markdown, numbered headings and headings in capitals of plain text, and declarations of
 * code. One pass over the lines, and of each line only its beginning.
 */
export interface Heading {
  readonly from: number;
  readonly title: string;
  /** 1 is the highest. */
  readonly level: number;
}

/** Characters read of a line. */
const lineCharsMax = 200;
/** Headings of a text; after that many, the rest of it has none. */
const headingsMax = 20_000;

const code =
  /\.(?:[cm]?[jt]sx?|py|rb|go|rs|java|kt|kts|swift|cs|c|h|cc|cpp|hpp|php|scala|sql|sh|lua|zig|dart|ex|exs)$/i;

export function headingsOf(text: string, path: string | null): readonly Heading[] {
  if (path !== null && code.test(path.slice(-100))) return scan(text, (line) => declaration(line.at));
  const marked = scan(text, markedHeading);
  return marked.length > 1 ? marked : scan(text, plainHeading);
}

/** A line with its neighbours, each shortened and without white space at its end. */
interface Line {
  readonly at: string;
  readonly before: string;
  readonly after: string;
}

type ReadHeading = (line: Line) => Omit<Heading, "from"> | null;

function scan(text: string, read: ReadHeading): readonly Heading[] {
  const found: Heading[] = [];
  let [before, fence] = ["", ""];
  let at = lineAt(text, 0);
  for (let from = 0; from < text.length && found.length < headingsMax;) {
    const end = text.indexOf("\n", from);
    const next = end === -1 ? text.length : end + 1;
    const after = lineAt(text, next);
    const mark = fenceOf(at);
    if (mark !== "") fence = fence === "" ? mark : fence === mark ? "" : fence;
    else if (fence === "" && at !== "") {
      const heading = read({ at, before, after });
      if (heading !== null) found.push({ from, ...heading });
    }
    [before, at, from] = [at, after, next];
  }
  return found;
}

const lineAt = (text: string, from: number): string => {
  const head = text.slice(from, from + lineCharsMax);
  const end = head.indexOf("\n");
  return (end === -1 ? head : head.slice(0, end)).trimEnd();
};

const fenceOf = (line: string): string => /^ {0,3}(```|~~~)/.exec(line)?.[1] ?? "";

const atx = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/;
const underline = /^ {0,3}(?:={3,}|-{3,})$/;

function markedHeading({ at, before, after }: Line): Omit<Heading, "from"> | null {
  const found = atx.exec(at);
  if (found !== null) {
    const [, marks = "", said = ""] = found;
    return { title: withoutMarks(said), level: marks.length };
  }
  if (before !== "" || !underline.test(after) || /^\s*[-*+|>]/.test(at)) return null;
  return { title: at.trim(), level: after.trimStart().startsWith("=") ? 1 : 2 };
}

/** `## Title ##` is a title too. */
function withoutMarks(said: string): string {
  let end = said.length;
  while (end > 0 && said[end - 1] === "#") end--;
  const rest = said.slice(0, end).trimEnd();
  return rest === "" ? said : rest;
}

const numbered = /^(?:§{1,2} ?)?(\d{1,4}(?:\.\d{1,4}){0,5})[.)]?[ \t]+(\S.{0,150})$/u;
const counter = /^(?:\d{1,4}|[ivxlc]{1,7}|[a-z])[.:]?$/i;
/** Words that begin a heading, by its level. */
const headed = new Map(
  [
    "part title teil",
    "chapter appendix annex schedule kapitel anhang",
    "section article clause abschnitt artikel",
  ]
    .map((words, place) => words.split(" ").map((word) => [word, place + 1] as const))
    .flat(),
);

function plainHeading({ at, before, after }: Line): Omit<Heading, "from"> | null {
  if (before !== "") return null;
  const [word = "", count = ""] = at.split(" ", 2);
  const headedLevel = headed.get(word.toLowerCase());
  if (headedLevel !== undefined && counter.test(count) && !/[,;]$/.test(at))
    return { title: at, level: headedLevel };
  const [, number, title = ""] = numbered.exec(at) ?? [];
  if (number !== undefined) {
    const level = number.split(".").length;
    // A single number may also begin an entry of a list.
    const isTitle = /^[\p{Lu}\p{Lo}"“]/u.test(title) && !/[.,;:]$/.test(title);
    return isTitle && (level > 1 || after === "") ? { title: at, level } : null;
  }
  const isShort = at.length >= 4 && at.length <= 80 && after === "";
  return isShort && at === at.toUpperCase() && /\p{Lu}{3}/u.test(at) ? { title: at.trim(), level: 1 } : null;
}

const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(" "));
const modifiers = wordSet(
  "export default public private protected internal static abstract async final sealed pub unsafe declare " +
    "create",
);
const declaring = wordSet(
  "function function* class interface enum type const def fn func fun struct impl trait mod module " +
    "namespace record object table view index",
);

function declaration(line: string): Omit<Heading, "from"> | null {
  const words = line.toLowerCase().split(" ", 8);
  const first = words.find((word) => !modifiers.has(word)) ?? "";
  if (!declaring.has(first) || first === words.at(-1)) return null;
  const body = line.indexOf("{");
  return { title: (body > 0 ? line.slice(0, body) : line).slice(0, 100).trim(), level: 1 };
}
