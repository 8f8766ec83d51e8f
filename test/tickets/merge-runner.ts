/** The program that merge-kill.test.ts kills: runs the merge queue, with a model that resolves conflicts. */
import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { openEngine } from "../../src/index.ts";
import { mergePlan, parsePlan } from "../../src/tickets/tickets.ts";
import { scripted, use, type Line } from "../runtime/turn/scripted.ts";
import type { ModelCall } from "../../src/model/port.ts";

/** In a conflict: both sides. Else nothing. */
const resolver = (call: ModelCall): Line => {
  const last = call.parts.findLast((part) => part.part === "message");
  if (last?.part === "message" && last.role !== "user") return "Done.";
  return [use("write_file", { path: "note.txt", text: "alpha\nbeta\n" })];
};

export interface MergeOrder {
  readonly top: string;
  readonly plan: string;
  readonly store: string;
  readonly method: "merge" | "rebase";
  /** Where it says its process id, for the Git that kills it. */
  readonly pidFile: string;
}

if (process.argv[1] === import.meta.filename) {
  const { top, plan, store, method, pidFile } = JSON.parse(process.argv[2] ?? "") as MergeOrder;
  writeFileSync(pidFile, String(process.pid));
  const models = scripted([resolver]).models;
  await using engine = await openEngine({ store, durability: "process", models });
  const rows = await mergePlan(engine, parsePlan(readFileSync(plan, "utf8"), { file: "plan.md" }), {
    base: "integration",
    directory: top,
    method,
    agent: "solver",
    bind: [{ kind: "shell" }],
  });
  writeSync(1, JSON.stringify(rows));
}
