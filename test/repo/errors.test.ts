/** Holds every error text of src against the pattern of errors: what failed, expected and got, a remedy. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { localOperations } from "../../src/call/local.ts";
import { operationIds, operationOf } from "../../src/call/operations.ts";
import { errorTexts, type ErrorText } from "./error-list.ts";
import { lineAt, parseSource, placesIn, readSources, type Node } from "./source.ts";

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

/** A message begins with a name and a colon: a call, field, option, header or file, also one filled in. */
const name = String.raw`(?:\$\{[^}]*\}|--)?[\w.\-\[\]]*(?:\$\{[^}]*\}[\w.\-\[\]]*)*(?: \$?["{(\w][^:]*)?`;
const named = new RegExp(`^${name}: `);
const calls = [...operationIds.map(operationOf), ...Object.values(localOperations)];
/** Some are fields of another call: `bind` is also an option of `open`. */
const fields = new Set(calls.flatMap(({ params }) => Object.keys(params.shape)));
const callNames = new Set(calls.map(({ call }) => call).filter((call) => !fields.has(call)));
/** After the name of a call: a field, an option, an argument, or several to choose from. */
const field = /^(?:\$\{|[a-zA-Z]+(?:[.[$]\S*)?: |--|[A-Z]{2,}|specify |unknown option|unexpected )/;

/** Invalid input that is not a field: each with what it is. */
const fieldless: readonly (readonly [what: string, messages: RegExp])[] = [
  ["a file, by its path", /^\$\{(?:path|shown|spot\.shown|top|quote\(directory\))\} (?:is|has|already)/],
  ["a line of a file", /^\$\{(?:where|file)\}(?:, line|:\$\{line)/],
  ["a session or token, by its id", /^expected a session id|matches more than one (?:session|token)$/],
  [
    "a command",
    /^unknown command|^unknown option .* before the verb$|is not available in chat$|^no session is open yet$/,
  ],
  ["a terminal", /^export: a bundle is binary/],
  ["a request as a whole", /^the request (?:body|target)|^duplicate header/],
  ["a number in JSON", /^the number .* would lose precision$/],
  ["an image or a file of a tool", /^the binary data contains the secret/],
  ["rows of a query of a tool", /^the result has more than/],
  ["the answer of a model", /^the (?:response has no|summary is not)/],
  ["a helper names the field", /^wrong\b/],
];

test("an error about an argument names its field", () => {
  const isNamed = ({ message }: ErrorText): boolean => {
    const [call = ""] = message.split(": ", 1);
    if (callNames.has(call)) return field.test(message.slice(call.length + 2));
    return named.test(message);
  };
  const invalid = texts.filter(({ code, where }) => code === "invalid" && !where.startsWith("src/console/"));
  assert.ok(invalid.length > 300, `the list has ${invalid.length} errors about arguments`);
  const unnamed = invalid.filter((one) => !isNamed(one));
  assert.deepEqual(
    findBreaches(({ message }) => !fieldless.some(([, messages]) => messages.test(message)), unnamed),
    [],
  );
  const unused = fieldless.filter(([, messages]) => !unnamed.some(({ message }) => messages.test(message)));
  assert.deepEqual(unused, [], "exceptions that no error needs");
});

/** Errors for a model, a store driver or a client of another protocol; their readers have no commands. */
const withoutCommands = /^src\/(?:adapter|store|tool|transcripts|client)\/|\/recall-page\.ts/;
/** Races between programs, and answers that reveal nothing. */
const races = "message |call |webhook not|this worker|blob |database |(?:checkpoint: |score: )?position ";
const bareNotFound = new RegExp(String.raw`^(?:${races}|\$\{(?:top|path|session)\})`);

test("an error about something that does not exist names a way to find it", () => {
  assert.deepEqual(
    findBreaches(
      ({ where, code, message, hint }) =>
        code === "not-found" && hint === null && !withoutCommands.test(where) && !bareNotFound.test(message),
    ),
    [],
  );
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

/** Wordings of version 0.4.0 in any text, not only in errors. Model input of a released renderer stays. */
const words =
  "whoever,nobody,somebody,in vain,given up,left alone,goes on,any ending,once in effect,those who ask";
const replaced = new RegExp(`\\b(?:${words.replaceAll(",", "|")})\\b`, "i");
const released = /^src\/(?:store\/(?:conformance|postgres\/)|core\/(?:context|handoff|compaction|memory)\/)/;

test("no label, help text or reason in src uses a replaced wording", () => {
  const found: string[] = [];
  let seen = 0;
  for (const source of readSources("src")) {
    if (released.test(source.path)) continue;
    for (const { node } of placesIn(source.program)) {
      const text = textOf(node);
      if (!text.includes(" ")) continue;
      seen++;
      if (replaced.test(text)) found.push(`${source.path}:${lineAt(source, node.start)}: ${text}`);
    }
  }
  assert.ok(seen > 5_000, `${seen} texts seen`);
  assert.deepEqual(found, []);
});

function textOf(node: Node): string {
  if (node.type === "TemplateElement") return (node["value"] as { readonly cooked: string }).cooked;
  const holds = node.type === "Literal" || node.type === "JSXText";
  return holds && typeof node["value"] === "string" ? node["value"] : "";
}
