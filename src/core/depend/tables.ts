/** The tables that a SQL statement names, by its words alone: enough to find who depends on a table. */

interface Token {
  /** A name in lower case, or a sign. */
  readonly text: string;
  readonly kind: "word" | "quoted" | "sign";
}

const letter = /[\p{L}_]/u;
const part = /[\p{L}\p{N}_$]/u;
const closing: Readonly<Record<string, string>> = { '"': '"', "`": "`", "[": "]" };

/** Words, quoted names and signs; texts and comments are skipped. One pass. */
function* tokensOf(sql: string): Generator<Token> {
  for (let at = 0; at < sql.length;) {
    const sign = sql.charAt(at);
    const close = closing[sign];
    if (sql.startsWith("--", at)) at = after(sql, "\n", at);
    else if (sql.startsWith("/*", at)) at = after(sql, "*/", at + 2);
    else if (sign === "'") at = after(sql, "'", at + 1);
    else if (close !== undefined) {
      const end = after(sql, close, at + 1);
      yield { text: sql.slice(at + 1, end - 1).toLowerCase(), kind: "quoted" };
      at = end;
    } else if (letter.test(sign)) {
      let end = at + 1;
      while (end < sql.length && part.test(sql.charAt(end))) end++;
      yield { text: sql.slice(at, end).toLowerCase(), kind: "word" };
      at = end;
    } else {
      if (sign.trim() !== "") yield { text: sign, kind: "sign" };
      at++;
    }
  }
}

const after = (sql: string, end: string, from: number): number => {
  const at = sql.indexOf(end, from);
  return at === -1 ? sql.length : at + end.length;
};

const leading: ReadonlySet<string> = new Set(["from", "join", "into", "update", "table"]);
const skipped: ReadonlySet<string> = new Set(["only", "lateral", "if", "not", "exists", "select", "values"]);
const ends: ReadonlySet<string> = new Set(
  "where group order limit on set using union select values".split(" "),
);
const tablesMax = 50;

/** In lower case, without a schema, each once, in order of appearance. */
export function tablesIn(sql: string): readonly string[] {
  const tables = new Set<string>();
  const own = new Set<string>();
  const names = new CommonNames(own);
  /** `name`: one is expected. `dot`: one just came. `part`: its rest comes. `list`: a comma may follow. */
  let next = "none" as "name" | "dot" | "part" | "list" | "none";
  let last = "";
  const take = (name: string): void => {
    tables.add(name);
    [next, last] = ["dot", name];
  };
  for (const token of tokensOf(sql)) {
    const { text, kind } = token;
    names.read(token);
    if (kind === "sign") next = afterSign(text, next);
    else if (next === "part") {
      tables.delete(last);
      take(text);
    } else if (kind === "word" && leading.has(text)) next = "name";
    else if (next === "name" && (kind === "quoted" || !skipped.has(text))) take(text);
    else if (next === "dot" || next === "list") next = kind === "word" && ends.has(text) ? "none" : "list";
    if (tables.size >= tablesMax) break;
  }
  return [...tables].filter((one) => !own.has(one));
}

function afterSign<T extends string>(sign: string, next: T): T | "part" | "name" | "none" {
  if (sign === "." && next === "dot") return "part";
  if (sign !== ",") return "none";
  return next === "dot" || next === "list" ? "name" : next;
}

/** Names that a WITH clause defines: `name AS (`, or `name (columns) AS (`. */
class CommonNames {
  readonly #own: Set<string>;
  readonly #open: string[] = [];
  #name = "";
  #isAs = false;

  constructor(own: Set<string>) {
    this.#own = own;
  }

  read({ text, kind }: Token): void {
    if (kind !== "sign") {
      const isBetween = this.#isAs && (text === "not" || text === "materialized");
      if (kind === "word" && text === "as") this.#isAs = this.#name !== "";
      else if (!isBetween) [this.#name, this.#isAs] = [text, false];
      return;
    }
    if (text === "(") {
      if (this.#isAs) this.#own.add(this.#name);
      this.#open.push(this.#name);
    }
    this.#name = text === ")" ? (this.#open.pop() ?? "") : "";
    this.#isAs = false;
  }
}
