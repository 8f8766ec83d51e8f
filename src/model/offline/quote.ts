/** Quoted pieces of a message, masked while it is parsed. */

const [begin, end] = ["\uE000", "\uE001"];
const placeholder = /\uE000(\d+)\uE001/g;
/** Fenced blocks with their lines, back quotes, double quotes; single quotes around whole words. */
const quoted = new RegExp(
  [
    /\s*```[^\n`]*\n([\s\S]*?)```[^\S\n]*\n?/,
    /`([^`\n]+)`/,
    /"([^"\n]*)"/,
    /“([^”\n]*)”/,
    /(?<=^|\s)'([^'\n]+)'(?=[\s.,;:!?]|$)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);

export interface MaskedText {
  /** Each quoted piece is one unbreakable word. */
  readonly text: string;
  /** The original, without its quotes if it is only a quote. */
  plain(piece: string): string;
  /** The original, verbatim. */
  exact(piece: string): string;
}

export function maskQuotes(given: string): MaskedText {
  const kept: { readonly exact: string; readonly plain: string }[] = [];
  const text = given.replace(/[\uE000\uE001]/g, "").replace(quoted, (exact: string, ...groups: unknown[]) => {
    const plain = groups.slice(0, 5).find((group) => typeof group === "string") as string;
    kept.push({ exact, plain });
    const word = `${begin}${kept.length - 1}${end}`;
    return exact.trimStart().startsWith("```") ? ` ${word} ` : word;
  });
  const put = (piece: string, field: "exact" | "plain"): string =>
    piece.replace(placeholder, (_, place: string) => kept[Number(place)]?.[field] ?? "");
  return {
    text,
    plain: (piece) => put(piece, /^\uE000\d+\uE001$/.test(piece.trim()) ? "plain" : "exact").trim(),
    exact: (piece) => put(piece, "exact"),
  };
}
