/**
 * Splits a statement into the tokens of PostgreSQL's lexer, closely enough to see every name that the server
 * would resolve. A text with an ambiguous end is an error.
 */

export interface SqlToken {
  /** `escaped` is E'…', `dollar` is $tag$…$tag$. */
  readonly kind: "word" | "quoted" | "text" | "escaped" | "dollar" | "number" | "sign";
  /** A name as the server compares it; of other tokens, the text itself. */
  readonly value: string;
  readonly end: number;
}

const space = /[ \t\n\r\f\v]+|--[^\n\r]*/y;
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;
const shapes: readonly (readonly [SqlToken["kind"], RegExp])[] = [
  ["escaped", /[eE]'(?:[^'\\]|''|\\[^])*'/y],
  ["text", /'(?:[^']|'')*'/y],
  ["quoted", /"(?:[^"]|"")+"/y],
  ["number", /\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?/y],
  ["word", /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y],
  ["sign", /[^]/y],
];

/** The tokens, or the flaw of the text. */
export function tokenizeSql(sql: string): SqlToken[] | string {
  const tokens: SqlToken[] = [];
  let at = 0;
  const match = (shape: RegExp): string | undefined => {
    shape.lastIndex = at;
    return shape.exec(sql)?.[0];
  };
  const push = (kind: SqlToken["kind"], length: number): void => {
    const value = valueOf(kind, sql.slice(at, at + length));
    at += length;
    tokens.push({ kind, value, end: at });
  };
  while (at < sql.length) {
    if (sql.startsWith("/*", at)) {
      at = commentEnd(sql, at);
      if (at < 0) return "a comment is not ended";
      continue;
    }
    const skipped = match(space);
    const tag = match(dollarTag);
    if (skipped !== undefined) at += skipped.length;
    else if (tag !== undefined) {
      const end = sql.indexOf(tag, at + tag.length);
      if (end < 0) return "a text is not ended";
      push("dollar", end + tag.length - at);
    } else {
      for (const [kind, shape] of shapes) {
        const found = match(shape);
        if (found === undefined) continue;
        push(kind, found.length);
        break;
      }
      // Such a name or text has its letters as numbers.
      if (/^u$/i.test(tokens.at(-1)?.value ?? "") && /^&["']/.test(sql.slice(at, at + 2)))
        return "Unicode escapes (U&'…') are not accepted";
    }
  }
  return tokens;
}

function valueOf(kind: SqlToken["kind"], text: string): string {
  if (kind === "word") return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  return kind === "quoted" ? text.slice(1, -1).replaceAll('""', '"') : text;
}

/** Comments nest; -1 without an end. */
function commentEnd(sql: string, from: number): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = from;
  let depth = 0;
  for (let mark = marks.exec(sql); mark !== null; mark = marks.exec(sql)) {
    depth += mark[0] === "/*" ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return -1;
}
