/** Holds every error text of src against the pattern of errors: what failed, expected and got, a remedy. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { errorTexts, type ErrorText } from "./error-list.ts";
import { parseSource, readSources } from "./source.ts";

const texts = errorTexts(readSources("src"));

/** Prints each breach as `file:line: text`. */
function findBreaches(isBreach: (one: ErrorText) => boolean, from = texts): string[] {
  return from.filter(isBreach).map(({ where, message, hint }) => `${where}: ${message} | ${hint ?? ""}`);
}

/** Words of version 0.4.0 that a reader has to decode. */
const dialect = [
  /\b(?:whoever|nobody|somebody|whom|told|in vain|given up|which is no)\b/i,
  /\b(?:what there is|what is not|of its own)\b/i,
  /(?<!there )\b(?:is|are) no (?!longer\b|superuser\b)/i,
];
const british = /\b(?:catalogue|colour|behaviour|favour|honour|centre|licence|labelled)\b/i;
/** A question is allowed only as the usual offer of a spelling. */
const asks = (text: string): boolean => /\?/.test(text.replaceAll(/https?:\/\/\S+|\?[a-z]+=|\?\./g, ""));

test("no text asks, except for the offer of another spelling", () => {
  const isBreach = ({ literals }: ErrorText): boolean =>
    literals.some(
      (text, at) => asks(text) && !literals.slice(0, at + 1).some((one) => /did you mean/.test(one)),
    );
  assert.deepEqual(findBreaches(isBreach), []);
});

test("no text speaks the dialect, or British English", () => {
  assert.deepEqual(
    findBreaches(({ literals }) =>
      literals.some((text) => [...dialect, british].some((words) => words.test(text))),
    ),
    [],
  );
});

test("no text ends in a period; the console alone shows sentences", () => {
  const ends = ({ where, literals, made }: ErrorText): boolean =>
    !where.startsWith("src/console/") &&
    made !== "reason:" &&
    literals.some((text) => /^[a-z].*[a-z)]\.$/.test(text));
  assert.deepEqual(findBreaches(ends), []);
});

test("the list sees helpers, refusals, problems, reasons and hints", () => {
  const found = errorTexts([
    parseSource(
      "src/a.ts",
      [
        "class SkeinError extends Error {}",
        'const wrong = (what: string) => new SkeinError("invalid", `a: ${what}`, { hint: "b" });',
        'throw wrong("c: expected d");',
        'refuse("refused", "e is closed", "reopen it");',
        'makeProblem("invalid", "f: missing");',
        'const limitHint = "use at most 3";',
        'const step = { reason: "waits for approval" };',
      ].join("\n"),
    ),
  ]);
  assert.deepEqual(
    found.map(({ where, made, code, message, hint }) => [where.slice(-1), made, code, message, hint]),
    [
      ["2", "SkeinError", "invalid", "a: ${what}", "b"],
      ["3", "wrong", null, "c: expected d", null],
      ["4", "refuse", "refused", "e is closed", "reopen it"],
      ["5", "makeProblem", "invalid", "f: missing", null],
      ["6", "limitHint=", null, "use at most 3", null],
      ["7", "reason:", null, "waits for approval", null],
    ],
  );
});
