/** From words to values: what is taken, and what is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findVerb, parseWords } from "../../src/cli/command/args.ts";
import { parseMoment, parseSpan } from "../../src/cli/format/moment.ts";
import { verb, type Options } from "../../src/cli/command/verb.ts";

const options = {
  at: { type: "place", what: "a place" },
  from: { type: "seq", what: "a position" },
  count: { type: "count", short: "n", what: "a count" },
  usd: { type: "number", what: "money" },
  since: { type: "time", what: "a moment" },
  for: { type: "span", what: "a while" },
  label: { type: "list", what: "labels" },
  mode: { type: "text", choices: ["read", "write"], what: "a mode" },
  follow: { type: "flag", short: "f", what: "a flag" },
} as const satisfies Options;

const sample = verb({
  name: "try",
  line: "Try.",
  args: ["ID", "TEXT?"],
  options,
  examples: [],
  async run() {},
});
const parse = (...words: readonly string[]) => parseWords(sample, words, 10_000_000);

test("options of every type are read, before and after the arguments", () => {
  const words = [
    "-f",
    "id",
    "--at=good",
    "--from",
    "3",
    "-n",
    "0",
    "--usd",
    "-1.5",
    "text",
    "--label",
    "a=b",
  ];
  const { args, options } = parse(
    ...words,
    "--label=c=d",
    "--mode",
    "write",
    "--for",
    "2h",
    "--since",
    "1h",
    "--json",
  );
  assert.deepEqual(args, { ID: "id", TEXT: "text" });
  const { at, from, count, usd, label, mode, follow, json, since } = options;
  assert.deepEqual([at, from, count, usd, mode, follow, json], ["good", 3, 0, -1.5, "write", true, true]);
  assert.deepEqual([label, options["for"], since], [["a=b", "c=d"], 7_200_000, 6_400_000]);
});

test("missing options are undefined, empty or false; of two, the last counts", () => {
  const { options } = parse("id");
  assert.deepEqual([options["at"], options["label"], options["follow"]], [undefined, [], false]);
  assert.equal(parse("id", "--from", "1", "--from", "2").options["from"], 2);
});

test("a dash, a negative number and everything after -- are arguments", () => {
  assert.equal(parse("id", "-").args["TEXT"], "-");
  assert.equal(parse("id", "-4.1").args["TEXT"], "-4.1");
  assert.equal(parse("id", "--", "--from").args["TEXT"], "--from");
  assert.equal(parse("id", "--label", "- a dash and a space").args["TEXT"], undefined);
});

test("digits are a position and other words a checkpoint", () => {
  assert.equal(parse("id", "--at", "12").options["at"], 12);
  assert.equal(parse("id", "--at", "v12").options["at"], "v12");
});

test("invalid arguments are refused, with the nearest valid one", () => {
  const refusals: readonly (readonly [RegExp, ...string[]])[] = [
    [/ID is required/],
    [/unexpected argument/, "id", "text", "more"],
    [/unknown option "--form"/, "id", "--form", "1"],
    [/unknown option "-x"/, "id", "-x"],
    [/--from: value missing/, "id", "--from"],
    [/--from: value missing/, "id", "--from", "--json"],
    [/--follow takes no value/, "id", "--follow=yes"],
    [/--from: expected an integer, got "0"/, "id", "--from", "0"],
    [/--from: expected an integer, got "1.5"/, "id", "--from", "1.5"],
    [/--from: expected an integer, got "99999999999999999"/, "id", "--from", "99999999999999999"],
    [/--count: expected an integer, got "-1"/, "id", "--count", "-1"],
    [/--usd: expected a number, got "0x10"/, "id", "--usd", "0x10"],
    [/--usd: expected a number, got "1e999"/, "id", "--usd", "1e999"],
    [/--mode: expected one of .*, got "wirte"/, "id", "--mode", "wirte"],
    [/--for: expected a duration, got "2 hours"/, "id", "--for", "2 hours"],
  ];
  for (const [message, ...words] of refusals)
    assert.throws(() => parse(...words), { code: "invalid", message });
  assert.throws(() => parse("id", "--frmo", "1"), { hint: "did you mean --from?" });
  assert.throws(() => parse("id", "--mode", "wirte"), { hint: /did you mean write\?/ });
});

test("the verb is found behind options of every verb", () => {
  assert.deepEqual(findVerb(["--json", "--store", "ps", "log", "id"]), {
    name: "log",
    rest: ["--json", "--store", "ps", "id"],
  });
  assert.equal(findVerb(["--store=a.db"]).name, null);
  assert.throws(() => findVerb(["--from", "3", "log"]), { code: "invalid", message: /before the verb/ });
});

test("moments are dates, lengths of time ago, or milliseconds", () => {
  const nowMs = Date.parse("2026-11-15T12:00:00Z");
  const moments: Readonly<Record<string, string>> = {
    "2026-11-01": "2026-11-01T00:00:00.000Z",
    "2026-11-01T09:30": "2026-11-01T09:30:00.000Z",
    "2026-11-01 09:30:15.5": "2026-11-01T09:30:15.500Z",
    "2026-11-01T09:30:00+02:00": "2026-11-01T07:30:00.000Z",
    "2028-02-29": "2028-02-29T00:00:00.000Z",
    "90s": "2026-11-15T11:58:30.000Z",
    "1793000000000": "2026-10-26T07:33:20.000Z",
  };
  for (const [text, iso] of Object.entries(moments)) {
    assert.equal(new Date(parseMoment("--since", text, nowMs)).toISOString(), iso, text);
  }
  for (const text of ["", "yesterday", "2026", "2026-02-29", "2026-13-01", "2026-11-01T25:00", "1", "-2h"]) {
    assert.throws(() => parseMoment("--since", text, nowMs), { code: "invalid" }, text);
  }
  assert.equal(parseSpan("--for", "1.5h"), 5_400_000);
});
