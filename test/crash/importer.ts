/** Imports the transcripts of a folder in a process that may be killed: prints `ready` before it begins. */
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { importTranscripts } from "../../src/transcripts/transcripts.ts";
import { workspace } from "../runtime/place.ts";

const [path = "", folder = ""] = process.argv.slice(2);
const world = realWorld();
const engine = new Engine({ store: await sqliteStore({ path, world, workspace }), world });
process.stdout.write("ready\n");
const machine = { home: folder, env: {}, nowMs: Date.now() + 1e9 };
for await (const { status, reason } of importTranscripts(engine, {
  tool: "claude-code",
  path: folder,
  machine,
}))
  if (status === "failed") throw new Error(String(reason));
await engine.close();
