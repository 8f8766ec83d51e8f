/** Sessions that wait for others, on the command line; and the end of a whole tree. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeFolder, skeinIn } from "./skein.ts";

test("open --after waits for other sessions, and rejects unknown ones", async () => {
  const skein = skeinIn(makeFolder());
  const first = await skein.open("Find the rate");
  const { id } = await skein.json("open", "Use it", "--after", first.slice(-8), "--give", "facts");
  const [row] = await skein.look("state", String(id));
  assert.equal(row!["status"], "sleeping");
  for (const words of [
    ["--after", "zzzzzz"],
    ["--after", first, "--give", "all"],
    ["--give", "facts"],
  ]) {
    const { code, stderr } = await skein.run(["open", "Never", ...words]);
    assert.notEqual(code, 0);
    assert.match(stderr, /zzzzzz|--give|after\.sessions: expected at least 1 entry/);
  }
  const done = await skein.json("cancel", first, "--tree");
  assert.deepEqual(done["cancelled"], [first]);
});
