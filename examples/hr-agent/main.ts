/**
 * One HR agent, three sessions: each has one objective and one log, and all of them know what the agent has
 * learned. The policy session records a decision; a rule promotes it to memory; the sessions that begin later
 * carry it. What is said about one candidate stays in the session about that candidate.
 *
 *   npx node --conditions=skein-source examples/hr-agent/main.ts
 */
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEngine, type Session } from "skein";
import { rehearsed } from "../rehearsal/rehearsed.ts";

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-hr-"));

const { model, models } = rehearsed(({ said, results }) => {
  const last = results.at(-1);
  if (last !== undefined) return `Noted: ${last.text}`;
  const note = /^(decision|fact) (\S+): (.*) because (.*)$/m.exec(said);
  const [, kind, key, value, because] = note ?? [];
  if (note !== null) return { tool: "record", input: { kind, key, value, because } };
  return "I have read it.";
});

await using engine = await openEngine({
  store: join(folder.path, "skein.db"),
  ...(models === undefined ? {} : { models }),
});
await engine.addAgent({
  name: "hr",
  instructions: "You work for the people team. Record decisions and facts under short keys.",
  model,
  memory: { promote: [{ kinds: ["decision"], scope: "agent" }], carry: { scopes: ["agent"] } },
});

const policy = await engine.open({ objective: "Vacation policy for 2027", agent: "hr" });
await say(
  policy,
  "decision vacation-days: 30 days, at least 10 in one piece because the works council agreed",
);

const hiring = await engine.open({ objective: "Hire a payroll clerk", agent: "hr" });
await say(hiring, "fact candidate-1: wants four days a week because of a child");

const leave = await engine.open({ objective: "Answer questions about vacation", agent: "hr" });
await say(leave, "How many days do I have?");

for (const session of [policy, hiring, leave]) {
  const { objective, cost } = await session.state();
  const context = JSON.stringify((await session.context()).parts);
  const knows = ["vacation-days", "candidate-1"].filter((key) => context.includes(key));
  const calls = cost.calls === 1 ? "1 model call" : `${cost.calls} model calls`;
  console.log(`${objective}: ${calls}, its model sees ${knows.join(", ") || "neither"}`);
}

const seen = JSON.stringify((await leave.context()).parts);
if (!seen.includes("30 days") || seen.includes("four days")) process.exitCode = 1;

async function say(to: Session, text: string): Promise<void> {
  for await (const update of to.ask(text))
    if ("delta" in update && update.delta.type === "text") process.stdout.write(update.delta.text);
  process.stdout.write("\n");
}
