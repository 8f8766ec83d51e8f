/** What is called damage is damage. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openEngine } from "../../../src/index.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import { newPath, workspace } from "../../runtime/place.ts";

test("a full-text index that another program has merged is sound", async () => {
  const { path, remove } = newPath();
  const store = await sqliteStore({ path, world: realWorld(), workspace });
  const engine = await openEngine({ store: path });
  const session = await engine.open({ objective: "be found" });
  const other = new DatabaseSync(path);
  for (let round = 0; round < 3; round++) {
    await session.append(`the common word, and number ${round}`);
    await engine.search("common");
    assert.equal((await store.search("common", { limit: 100 })).length, round + 1);
    assert.deepEqual(await store.check(), [], `round ${round}`);
    await session.append(`something else, and number ${round}`);
    await engine.search("else");
    other.exec("INSERT INTO search (search) VALUES ('optimize')");
    assert.deepEqual(await store.check(), [], `round ${round}, merged`);
  }
  other.close();
  await engine.close();
  await store.close();
  remove();
});
