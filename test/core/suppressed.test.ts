/** What went wrong first is what is told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../src/core/error.ts";
import { errorText, firstError } from "../../src/core/first-error.ts";

test("an error during cleanup does not hide the original error", async () => {
  const fails = (message: string) => ({ [Symbol.asyncDispose]: () => Promise.reject(new Error(message)) });
  const cause = new SkeinError("unavailable", "the database is read-only");
  const work = async (): Promise<void> => {
    await using _ = fails("no lease given back");
    await using __ = fails("no beat");
    throw cause;
  };
  const error: unknown = await work().catch((thrown: unknown) => thrown);
  assert.ok(error instanceof SuppressedError);
  assert.equal(firstError(error), cause);
  assert.equal(errorText(error), "the database is read-only");
});

test("any other error is reported unchanged", () => {
  const error = new Error("plain");
  assert.deepEqual([firstError(error), errorText(error), errorText("text")], [error, "plain", "text"]);
});
