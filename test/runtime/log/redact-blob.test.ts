/** Blobs on their way to a store: kept without their secrets, or refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Redactor } from "../../../src/core/secret/redactor.ts";
import { keepBytes, openRedactor } from "../../../src/runtime/log/redact.ts";
import { all, inMemory } from "../place.ts";

const secret = "hunter-hunter-22";

test("a blob is stored without its secrets; binary data with a secret is refused", async () => {
  await using place = inMemory();
  const { store } = place;
  const kept = async (bytes: Uint8Array, redactor?: Redactor): Promise<Buffer> => {
    const world = { ...place.world, ...(redactor === undefined ? {} : { redactor }) };
    const chunks = await store.blob(await keepBytes({ store, world }, bytes));
    assert.ok(chunks !== undefined);
    return Buffer.concat(await all(chunks));
  };
  const redactor = openRedactor({ DB: secret });
  const binary = Buffer.from([0, 1, 0xff]);
  assert.equal(String(await kept(Buffer.from(`a ${secret}`), redactor)), "a [redacted: DB]");
  assert.equal(String(await kept(Buffer.from(`b ${secret}`))), `b ${secret}`);
  assert.deepEqual(await kept(binary, redactor), binary);
  await assert.rejects(kept(Buffer.concat([binary, Buffer.from(secret)]), redactor), {
    code: "invalid",
    message: /contains the secret DB/,
  });
});
