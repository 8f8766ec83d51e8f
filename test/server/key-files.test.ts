/** A rewind with files, sent again with its key after a restart: what was made of the files since stays. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { realWorld } from "../../src/runtime/world.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { openWorkplace, pictureOf } from "../runtime/turn/file-edits.ts";
import { workspace } from "../runtime/place.ts";
import { fine, served } from "./served.ts";

test("a rewind with files that is sent again with its key leaves the files as they are", async () => {
  const store = { ...memoryStore({ world: realWorld(), workspace }), close: async () => undefined };
  await using work = await openWorkplace({ store });
  const { token } = await work.engine.addToken({ scopes: ["admin"] });
  const write = (text: string): Promise<number> =>
    work.edit([{ do: "write", path: "a", bytes: Buffer.from(text), mode: 0o644 }]);
  const params = { place: await write("one"), files: true };
  await write("two");
  const given = { id: work.session.id, params, headers: { "idempotency-key": "k" }, token };
  const rewind = async (): Promise<object> => {
    await using place = await served({ store });
    return fine(await place.call("session.rewind", given)) as object;
  };
  const first = await rewind();
  const headSeq = await write("three");
  const picture = await pictureOf(work.root);
  const none = { restored: [], unkept: [] };
  assert.deepEqual(await rewind(), { ...first, headSeq, duplicate: true, files: none });
  assert.deepEqual(await pictureOf(work.root), picture);
});
