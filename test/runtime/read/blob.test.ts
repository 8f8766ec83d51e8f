/** Bytes that were kept come back by their hash, until nobody may have them. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { inMemory } from "../place.ts";

test("the bytes of an image come back whole, whatever they are", async () => {
  await using place = inMemory();
  const bytes = Uint8Array.from({ length: 600_000 }, (_, at) => (at * 7) % 256);
  const hash = await place.engine.putBlob(bytes);
  assert.equal(hash, createHash("sha256").update(bytes).digest("hex"));
  assert.deepEqual(new Uint8Array(await place.engine.blob(hash)), bytes);
  assert.equal((await place.engine.blob(await place.engine.putBlob(new Uint8Array(0)))).length, 0);
});

test("unknown and erased blobs are not found", async () => {
  await using place = inMemory();
  const { engine } = place;
  await assert.rejects(engine.blob("0".repeat(64)), { code: "not-found" });
  const session = await engine.open({ objective: "o" });
  const blob = await engine.putBlob(Buffer.from("a picture"));
  await session.input([{ type: "image", blob, mediaType: "image/png" }]);
  assert.equal(Buffer.from(await engine.blob(blob)).toString(), "a picture");
  await session.erase({ ranges: [[2, 2]] });
  await assert.rejects(engine.blob(blob), { code: "not-found" });
});

test("an invalid hash matches no blob", async () => {
  await using place = inMemory();
  for (const hash of ["", "abc", "../../etc/passwd", "F".repeat(64)])
    await assert.rejects(place.engine.blob(hash), { name: "SkeinError" });
});
