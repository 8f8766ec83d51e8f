/**
 * The program of demo.test.ts: runs the plan, then the merge queue, with a model that follows a script. It
 * may be killed at any point, and there may be several of it.
 */
import { appendFileSync, existsSync, readFileSync, writeSync } from "node:fs";
import * as z from "zod";
import { defineTool, openEngine } from "../../src/index.ts";
import { mergePlan, parsePlan, runPlan } from "../../src/tickets/tickets.ts";
import type { ModelCall } from "../../src/model/port.ts";
import { scripted, use, type Line } from "../runtime/turn/scripted.ts";

const demoAgent = "worker";
/** Their first version does not pass its check. */
const careless: ReadonlySet<string> = new Set(["t3", "t8"]);
/** Both write the same file. */
const sharing: ReadonlySet<string> = new Set(["t5", "t9"]);

const call = (tool: string, input: unknown, place: number) => use(tool, input, `${tool}-${place}`);

/** What the model says follows from what it is sent alone. */
function answer({ parts }: ModelCall): Line {
  const all = JSON.stringify(parts);
  const ticket = /This is ticket (\w+) of/.exec(all)?.[1];
  const last = parts.findLast((part) => part.part === "message");
  if (last?.part === "message" && last.role !== "user") return "Done.";
  const said = JSON.stringify(last);
  if (said.includes("conflicts with"))
    return [call("write_file", { path: "shared.txt", text: "from t5\nfrom t9\n" }, 1)];
  if (ticket === undefined) return "There is nothing to do.";
  if (said.includes("not accepted yet"))
    return [call("write_file", { path: `${ticket}.txt`, text: `${ticket} final\n` }, 2)];
  const state = careless.has(ticket) ? "draft" : "final";
  return [
    call("write_file", { path: `${ticket}.txt`, text: `${ticket} ${state}\n` }, 1),
    ...(sharing.has(ticket) ? [call("write_file", { path: "shared.txt", text: `from ${ticket}\n` }, 3)] : []),
    call("publish", { ticket }, 1),
    call("record", { kind: "decision", key: ticket, value: `value of ${ticket}`, because: "the plan" }, 1),
  ];
}

export interface DemoOrder {
  readonly top: string;
  readonly plan: string;
  readonly store: string;
  readonly witness: string;
  readonly base: string;
}

async function main({ top, plan: file, store, witness, base }: DemoOrder): Promise<void> {
  const publish = defineTool({
    name: "publish",
    description: "Publishes a ticket. It must not happen twice.",
    input: z.object({ ticket: z.string() }),
    run({ ticket }, { key }) {
      appendFileSync(witness, `${key} ${ticket}\n`);
      return "published";
    },
    probe: (key) =>
      existsSync(witness) && readFileSync(witness, "utf8").includes(`${key} `) ? "done" : "not done",
  });
  const { models } = scripted([answer]);
  const held = { store, models, tools: [publish], durability: "process", leaseMs: 2_000 } as const;
  await using engine = await openEngine(held);
  const plan = parsePlan(readFileSync(file, "utf8"), { file: "plan.md" });
  const bind = [{ kind: "shell" }, { kind: "tool", name: "publish" }] as const;
  let said = "";
  const tell = (now: readonly { readonly ticket: string; readonly status: string }[]): void => {
    const line = now.map(({ ticket, status }) => `${ticket}:${status}`).join(" ");
    if (line !== said) writeSync(1, `${line}\n`);
    said = line;
  };
  const shared = { directory: top, bind, agent: demoAgent, tell };
  const ran = await runPlan(engine, plan, { ...shared, worktrees: true, parallel: 3 });
  const rows = await mergePlan(engine, plan, { ...shared, base });
  const items: Record<string, unknown> = {};
  for (const { ticket, session } of ran)
    if (session !== null)
      for (const { key, value } of await (await engine.session(session)).items())
        if (key === ticket) items[ticket] = value;
  const statuses = ran.map(({ ticket, status, why }) => `${ticket} ${status} ${why ?? ""}`.trim());
  const merged = rows.map(({ ticket, status, why }) => `${ticket} ${status} ${why ?? ""}`.trim());
  writeSync(1, `end ${JSON.stringify({ statuses, merged, items })}\n`);
}

await main(JSON.parse(process.argv[2] ?? "") as DemoOrder);
