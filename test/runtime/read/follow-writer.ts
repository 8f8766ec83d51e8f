/**
 * A process that appends to a session of a file: as many inputs as it is told, each with the time it was
 * sent.
 */
import { setTimeout } from "node:timers/promises";
import { openEngine } from "../../../src/index.ts";

const [path = "", id = "", count = "0"] = process.argv.slice(2);
await using engine = await openEngine({ store: path });
const session = await engine.session(id);
for (let number = 0; number < Number(count); number++) {
  await setTimeout(number % 7);
  await session.append({ type: "x.sent", body: { number, sentAt: Date.now() } });
}
