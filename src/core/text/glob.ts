/**
 * Globs over paths: `*` and `?` within a name, `**` over directories, `[abc]`, `[a-z]`, `[!a]` and `{a,b}`.
 * Matching takes time proportional to pattern times path, for any pattern a model writes. A pattern without a
 * slash matches the last name of a path, as people expect of `*.ts`.
 */
import { SkeinError } from "../error.ts";

const patternCharsMax = 500;
const alternativesMax = 100;

export function globMatcher(pattern: string): (path: string) => boolean {
  if (pattern === "" || pattern.length > patternCharsMax)
    throw new SkeinError(
      "invalid",
      `glob: expected 1 to ${patternCharsMax} characters, got ${pattern.length}`,
    );
  const patterns = alternatives(pattern.replace(/^(\.?\/)+/, "")).map((one) =>
    (one.includes("/") ? one : `**/${one}`).split("/").map(tokensOf),
  );
  return (path) => {
    const names = path.split("/").map((name) => Array.from(name));
    return patterns.some((tokens) => matches(tokens, names, deepStar, matchName));
  };
}

/** Whether a bracket or a brace is unclosed, and so would be literal. */
export function isLeftOpen(pattern: string): boolean {
  return alternatives(pattern).some((one) =>
    one.split("/").some((name) => {
      const letters = Array.from(name);
      for (let at = 0; at < letters.length; at++) {
        if (letters[at] === "\\") at++;
        else if (letters[at] === "{") return true;
        else if (letters[at] === "[") {
          at = letters.indexOf("]", at + 2);
          if (at < 0) return true;
        }
      }
      return false;
    }),
  );
}

type Token = "*" | "?" | { readonly not: boolean; readonly ranges: readonly (readonly [string, string])[] };
type Name = readonly Token[] | "**";

const deepStar = (name: Name): boolean => name === "**";
const matchName = (name: Name, letters: readonly string[]): boolean =>
  name !== "**" && matches(name, letters, (token) => token === "*", matchLetter);

function matchLetter(token: Token, letter: string): boolean {
  if (token === "?") return true;
  if (token === "*") return false;
  return token.ranges.some(([from, to]) => from <= letter && letter <= to) !== token.not;
}

/** Matches tokens, some of which stand for any run, against a list. Backtracks to the last run only. */
function matches<T, U>(
  tokens: readonly T[],
  things: readonly U[],
  isRun: (token: T) => boolean,
  matchOne: (token: T, thing: U) => boolean,
): boolean {
  let [at, thing, runAt, runThing] = [0, 0, -1, 0];
  while (thing < things.length) {
    const token = tokens[at];
    if (token !== undefined && isRun(token)) [runAt, runThing, at] = [at, thing, at + 1];
    else if (token !== undefined && matchOne(token, things[thing] as U)) [at, thing] = [at + 1, thing + 1];
    else if (runAt >= 0) [at, thing, runThing] = [runAt + 1, runThing + 1, runThing + 1];
    else return false;
  }
  return tokens.slice(at).every(isRun);
}

function tokensOf(name: string): Name {
  if (name === "**") return name;
  const letters = Array.from(name);
  const tokens: Token[] = [];
  for (let at = 0; at < letters.length; at++) {
    const letter = letters[at] as string;
    const end = letter === "[" ? letters.indexOf("]", at + 2) : -1;
    if (letter === "*" || letter === "?") tokens.push(letter);
    else if (end > 0) {
      tokens.push(classOf(letters.slice(at + 1, end)));
      at = end;
    } else {
      if (letter === "\\" && at + 1 < letters.length) at++;
      const plain = letters[at] as string;
      tokens.push({ not: false, ranges: [[plain, plain]] });
    }
  }
  return tokens;
}

function classOf(letters: readonly string[]): Token {
  const not = letters[0] === "!" || letters[0] === "^";
  const rest = not ? letters.slice(1) : letters;
  const ranges: [string, string][] = [];
  for (let at = 0; at < rest.length; at++) {
    const from = rest[at] as string;
    const to = rest[at + 1] === "-" ? rest[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return { not, ranges };
}

/** `{a,b}` expanded, inner ones first. */
function alternatives(pattern: string): string[] {
  let open = [pattern];
  const done: string[] = [];
  while (open.length > 0) {
    const next: string[] = [];
    for (const one of open) {
      const braces = /^(.*?)\{([^{}]*)\}(.*)$/s.exec(one);
      const [, before = "", inner = "", after = ""] = braces ?? [];
      if (braces === null) done.push(one);
      else next.push(...inner.split(",").map((choice) => before + choice + after));
    }
    if (next.length + done.length > alternativesMax)
      throw new SkeinError("invalid", `glob: more than ${alternativesMax} alternatives in braces`);
    open = next;
  }
  return done;
}
