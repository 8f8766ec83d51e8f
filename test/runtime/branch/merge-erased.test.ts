/** Merging where contents are gone: nothing is made up, and nothing is lost in silence. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { inFile, type FilePlace } from "../place.ts";

/** Takes the content of a record out of the file, as erasure does. */
function erase({ path }: FilePlace, { id }: Session, seq: number): void {
  using database = new DatabaseSync(path);
  const { changes } = database
    .prepare(
      "UPDATE records SET content = NULL, salt = NULL " +
        "WHERE seq = ? AND log = (SELECT id FROM logs WHERE session = ?)",
    )
    .run(seq, id);
  assert.equal(changes, 1);
}

const names = (list: readonly { readonly name: string }[]): string[] => list.map(({ name }) => name);

test("an erased base counts as changed on both sides, and theirs that is erased is left", async () => {
  await using place = await inFile();
  const a = await place.engine.open({ objective: "o" });
  await a.record("fact", "base", 1);
  await a.record("fact", "kept", 1);
  const b = await a.fork();
  const { seq } = await b.record("fact", "gone", 2);
  await b.record("fact", "base", 2, { because: "b" });
  erase(place, a, 2);
  erase(place, a, 3);
  erase(place, b, seq);
  const report = await a.merge({ from: b.id });
  assert.deepEqual([report.ok, names(report.conflicts), report.left], [false, ["fact/base"], ["fact/gone"]]);
  const { base, ours, theirs } = report.conflicts[0]!;
  assert.deepEqual([base?.gone, ours.gone, theirs.value], ["erased", "erased", 2]);
  await assert.rejects(a.merge({ from: b.id, resolve: { "fact/base": "both" } }), { code: "invalid" });
  const done = await a.merge({ from: b.id, resolve: { "fact/base": "theirs" } });
  assert.equal(done.ok, true);
  assert.deepEqual(
    (await a.items()).map(({ key, value, erased }) => [key, value, erased]),
    [
      ["base", 2, false],
      ["kept", null, true],
    ],
  );
  const again = await a.merge({ from: b.id });
  assert.deepEqual([again.range, again.written], [null, null]);
});

test("the objective of a merged session may be erased", async () => {
  await using place = await inFile();
  const [a, b] = [await place.engine.open({ objective: "a" }), await place.engine.open({ objective: "b" })];
  await b.record("fact", "x", 1);
  erase(place, b, 1);
  const { summary } = await a.merge({ from: b.id });
  assert.match(summary ?? "", /Its objective: \[erased: its objective\]/);
});
