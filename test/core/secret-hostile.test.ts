/**
 * Secret detection takes linear time on hostile texts. Each attack is a piece to repeat, from the patterns
 * that were quadratic or exponential once and from the alphabets of those in use: a text twice as long may
 * take twice as long, and no text takes long.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeRedactor } from "../../src/core/secret/redactor.ts";

const charsMax = 262_144;

/** What stands before, what is repeated, and what makes the match fail at the end. */
const attacks: readonly (readonly [before: string, repeated: string, after: string])[] = [
  ["password: ", "_", "1"],
  ["password: a", "_$", "1"],
  ["password: a", "._", "1"],
  ["password: a", "/-", "1 "],
  ["password=", "a.", "\u0000"],
  ["secret = '", "-_", ""],
  ["-----BEGIN PRIVATE KEY-----", "nnnnnnnnnnnnnnnnnn\\", "\u0000"],
  ["-----BEGIN PRIVATE KEY-----", "AAAAAAAAAAAAAAAAAAAA\\n", "\u0000"],
  ["-----BEGIN PRIVATE KEY-----", " ", "\u0000"],
  ["-----BEGIN ", "A ", ""],
  ["-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----", ""],
  ["", "-----BEGIN RSA PRIVATE KEY-----\n", ""],
  ["eyJ", "a", ""],
  ["", "eyJaaaaaaaa.", ""],
  ["", "eyJaaaaaaaa.eyJaaaa.", ""],
  ["SG.", "aaaaaaaaaaaaaaaaaaaaaa.", ""],
  ["skn_", "a_", ""],
  ["", "skn_aa_", ""],
  ["", "sk-ant-", ""],
  ["", "AKIAAAAAAAAAAAAAAAAA ", ""],
  ["", "://a:", ""],
  ["://", ":", "@"],
  ["", "://u:p@", ""],
  ["authorization: bearer ", "a", " "],
  ["", "bearer ", ""],
  ["", 'authorization\\\\\\\\"', ""],
  ["", "password: ", ""],
  ["", "api_key=", ""],
  ["", "_TOKEN", "="],
  ["", "\\", "n"],
  ["a", "\\n", "b"],
  ["a", "\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\n", "b"],
  ["a\n", " ", "b"],
  ["a", '\n"', "b"],
  ["", "%41", ""],
  ["", "%2541", "%"],
  ["", "+", ""],
  ["", '{"password":', ""],
  ["", '"token":"', ""],
  ["x", "\u2028", "y"],
];

const redactor = makeRedactor();
redactor.register("REGISTERED", "correct horse battery staple");
redactor.register("BASE64", "c2VjcmV0LXZhbHVlLWZvci10ZXN0cw==");

/** Processor time, since the machine may be busy. */
function milliseconds(text: string): number {
  const started = process.cpuUsage();
  redactor.find(text);
  redactor.text(text);
  redactor.jsonText(JSON.stringify({ said: text, password: text.slice(0, 4_000) }));
  const { user, system } = process.cpuUsage(started);
  return (user + system) / 1_000;
}

/** The fastest of a few, without what compiling and collecting took. */
const fastest = (text: string): number => Math.min(...[1, 2, 3].map(() => milliseconds(text)));

const textOf = ([before, repeated, after]: (typeof attacks)[number], chars: number): string =>
  before + repeated.repeat(Math.ceil((chars - before.length) / repeated.length)) + after;

for (const attack of attacks) {
  test(`linear on ${JSON.stringify(attack[0] + attack[1])} …`, () => {
    // Small first: what is exponential never comes to the larger ones.
    for (const chars of [36, 64, 1_024])
      assert.ok(fastest(textOf(attack, chars)) < 250, `${chars} characters`);
    const [part, whole] = [charsMax / 8, charsMax].map((chars) => fastest(textOf(attack, chars)));
    assert.ok(part !== undefined && whole !== undefined);
    // Eight times as long takes eight times as long; what is quadratic takes 64 times.
    const ratio = whole / Math.max(part, 2);
    assert.ok(
      ratio < 28,
      `eight times as long takes ${ratio.toFixed(1)} times as long: ${part}, ${whole} ms`,
    );
    assert.ok(whole < 5_000, `${whole} ms for ${charsMax} characters`);
  });
}
