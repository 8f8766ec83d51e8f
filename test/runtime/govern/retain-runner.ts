/** The program that retain-kill.test.ts kills: retains, and says a line after each session. */
import { writeSync } from "node:fs";
import { openEngine } from "../../../src/index.ts";

const [, , path = ""] = process.argv;
await using engine = await openEngine({ store: path, durability: "process" });
writeSync(1, "begin\n");
await engine.retain({ progress: ({ sessions }) => void writeSync(1, `${sessions}\n`) });
writeSync(1, "end\n");
