/** The program that tickets-kill.test.ts kills: runs a plan, and says a line for each change. */
import { readFileSync, writeSync } from "node:fs";
import { openEngine } from "../../src/index.ts";
import { parsePlan, runPlan } from "../../src/tickets/tickets.ts";

const [, , directory = "", file = "", store = "", shell] = process.argv;
await using engine = await openEngine({ store, durability: "process" });
let said = "";
const rows = await runPlan(engine, parsePlan(readFileSync(file, "utf8"), { file: "plan.md" }), {
  directory,
  worktrees: true,
  ...(shell === undefined ? {} : { bind: [{ kind: "shell" }] }),
  parallel: 2,
  model: "offline/offline",
  tell(now) {
    const line = now.map(({ ticket, status }) => `${ticket}:${status}`).join(" ");
    if (line !== said) writeSync(1, `${line}\n`);
    said = line;
  },
});
writeSync(1, `end ${rows.every(({ status }) => status === "done")}\n`);
