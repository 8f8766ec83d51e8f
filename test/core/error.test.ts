/** Errors: code, message, hint and cause; and the nearest right spelling. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as invariant, checkOptions, nearest, SkeinError } from "../../src/core/error.ts";

test("an error carries its code, hint and cause", () => {
  const cause = new Error("below");
  const error = new SkeinError("refused", "no", { hint: "ask", cause });
  assert.ok(error instanceof Error);
  assert.deepEqual(
    [error.name, error.code, error.message, error.hint, error.cause],
    ["SkeinError", "refused", "no", "ask", cause],
  );
  const bare = new SkeinError("invalid", "no");
  assert.deepEqual([bare.hint, "cause" in bare], [undefined, false]);
});

test("a broken invariant is not a SkeinError, so callers do not mistake it for a refusal", () => {
  assert.throws(
    () => invariant(false, "one is two"),
    (error: unknown) =>
      error instanceof Error && !(error instanceof SkeinError) && /invariant: one is two/.test(error.message),
  );
  invariant(true, "one is one");
});

test("an unknown option is refused with the nearest right spelling", () => {
  const known = ["fromSeq", "toSeq", "limit"];
  const refusal = (given: object) => {
    try {
      checkOptions("events", given, known);
    } catch (error) {
      return error instanceof SkeinError && [error.code, error.message, error.hint];
    }
    return null;
  };
  assert.equal(refusal({ fromSeq: 1, limit: undefined }), null);
  assert.deepEqual(refusal({ fromseq: 1 }), [
    "invalid",
    'events: unknown option "fromseq"',
    'did you mean "fromSeq"?',
  ]);
  assert.deepEqual(refusal({ colour: 1 }), [
    "invalid",
    'events: unknown option "colour"',
    "known options: fromSeq, toSeq, limit",
  ]);
});

test("the nearest word is the one with the fewest changes, if there are few enough", () => {
  const words = ["suspend", "activate", "archive", "append"];
  assert.equal(nearest("suspnd", words), "suspend");
  assert.equal(nearest("ACTIVATE", words), "activate");
  assert.equal(nearest("archiev", words), "archive");
  assert.equal(nearest("apend", words), "append");
  assert.equal(nearest("delete", words), undefined);
  // Two changes are let pass in a short word, a third of the letters in a long one.
  assert.equal(nearest("ab", ["abcd"]), "abcd");
  assert.equal(nearest("a", ["abcd"]), undefined);
  assert.equal(nearest("abcdefghi", ["abcdef"]), "abcdef");
  assert.equal(nearest("abcdefghij", ["abcdef"]), undefined);
});
