/** Puts checkpoints with writes on one thread, each on the latest there is; another process does the same. */
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { openEngine } from "../../../src/index.ts";
import { SkeinSaver } from "../../../src/adapter/langgraph/langgraph.ts";

const [path, name = "", count = "0"] = process.argv.slice(2);
if (path === undefined) throw new Error("put-runner: expected the path of a store");
await using engine = await openEngine({ store: path });
const saver = new SkeinSaver(engine);
const thread = { thread_id: "shared", checkpoint_ns: "" };
for (let turn = 0; turn < Number(count); turn++) {
  const before = await saver.getTuple({ configurable: thread });
  const said = (before?.checkpoint.channel_values["messages"] ?? []) as readonly string[];
  const messages = [...said, `${name} ${turn} `.padEnd(100, "x")];
  const version = Number(before?.checkpoint.channel_versions["messages"] ?? 0) + 1;
  const versions = { messages: version };
  const id = uuid6(turn);
  await saver.put(
    { configurable: { ...thread, ...before?.config.configurable } },
    { ...emptyCheckpoint(), id, channel_values: { messages }, channel_versions: versions },
    { source: "loop", step: version, parents: {} },
    versions,
  );
  await saver.putWrites(
    { configurable: { ...thread, checkpoint_id: id } },
    [["messages", messages.length]],
    name,
  );
}
