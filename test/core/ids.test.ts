/** Ids: made of time and randomness, sorted by time, parsed once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  isSessionId,
  isWorkspaceId,
  makePrincipalId,
  makeSessionId,
  makeWorkspaceId,
  parseLogId,
  parseSessionId,
  principalFor,
  quote,
} from "../../src/core/ids.ts";
import { digest } from "./digest.ts";

const zeros = new Uint8Array(10);
const seeds = fc.record({
  nowMs: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  random: fc.uint8Array({ minLength: 10, maxLength: 10 }),
});

test("an id spells time and randomness in Crockford's base 32", () => {
  const random = Uint8Array.from([0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  // 1,700,000,000,000 is 1HF7YAT00 in base 32; 0xff 0x00 … begins 11111 11100 and ends 00001.
  assert.equal(makeSessionId({ nowMs: 1_700_000_000_000, random }), "ses_01hf7yat00zw00000000000001");
  assert.equal(makeWorkspaceId({ nowMs: 31, random: zeros }), "wsp_000000000z0000000000000000");
  assert.equal(makePrincipalId({ nowMs: 32, random: zeros }), "prn_00000000100000000000000000");
});

test("made ids are parsed, and other kinds are refused", () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const session = makeSessionId(seed);
      const workspace = makeWorkspaceId(seed);
      assert.equal(parseSessionId(session), session);
      assert.equal(parseLogId(session), session);
      assert.equal(parseLogId(workspace), workspace);
      assert.deepEqual([isSessionId(workspace), isWorkspaceId(session)], [false, false]);
      assert.throws(() => parseSessionId(workspace), { code: "invalid" });
    }),
  );
});

test("ids sort by time first, and different seeds give different ids", () => {
  fc.assert(
    fc.property(seeds, seeds, (a, b) => {
      const [one, two] = [makeSessionId(a), makeSessionId(b)];
      if (a.nowMs !== b.nowMs) assert.equal(one < two, a.nowMs < b.nowMs);
      const same = a.nowMs === b.nowMs && Buffer.compare(a.random, b.random) === 0;
      assert.equal(one === two, same);
    }),
  );
});

test("an id takes exactly ten random bytes", () => {
  for (const length of [0, 9, 11]) {
    assert.throws(() => makeSessionId({ nowMs: 1, random: new Uint8Array(length) }), RangeError);
  }
});

test("an invalid id is rejected with the expected format", () => {
  const good = makeSessionId({ nowMs: 1, random: zeros });
  const wrong = ["", "ses_", good.slice(0, -1), `${good}0`, `${good}\n`, good.toUpperCase(), ` ${good}`];
  // The letters i, l, o and u are not in the alphabet.
  const letters = ["i", "l", "o", "u"].map((letter) => good.slice(0, -1) + letter);
  for (const text of [...wrong, ...letters, "wsp_x"]) {
    assert.throws(() => parseLogId(text), { code: "invalid", hint: /"ses_" and 26 characters/ }, text);
  }
});

test("a local name always has the same principal, another in each workspace", () => {
  const one = makeWorkspaceId({ nowMs: 1, random: zeros });
  const two = makeWorkspaceId({ nowMs: 2, random: zeros });
  assert.match(principalFor(digest, one, "ann"), /^prn_0{10}[0-9a-hjkmnp-tv-z]{16}$/);
  assert.equal(principalFor(digest, one, "ann"), principalFor(digest, one, "ann"));
  const others = [principalFor(digest, two, "ann"), principalFor(digest, one, "bob")];
  assert.equal(new Set([principalFor(digest, one, "ann"), ...others]).size, 3);
});

test("typed text is shown short and on one line", () => {
  assert.equal(quote("a\nb"), String.raw`"a\nb"`);
  assert.equal(quote(undefined), "undefined");
  const long = quote("x".repeat(200));
  assert.deepEqual([long.length, long.slice(-2)], [79, '…"']);
});
