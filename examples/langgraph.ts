/**
 * A LangGraph graph that keeps its threads in Skein: it stops to ask, a new process could answer, and a
 * branch from an earlier checkpoint lies beside the first one.
 *
 *   npx node --conditions=skein-source examples/langgraph.ts
 */
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { openEngine } from "skein";
import { SkeinSaver, SkeinStore } from "skein/langgraph";

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (log, more) => [...log, ...more], default: () => [] }),
});
const workflow = new StateGraph(State)
  .addNode("draft", () => ({ log: ["a draft"] }))
  .addNode("review", () => ({ log: [`reviewed: ${interrupt<string, string>("publish?")}`] }))
  .addEdge(START, "draft")
  .addEdge("draft", "review")
  .addEdge("review", END);

using folder = mkdtempDisposableSync(join(tmpdir(), "skein-"));
const path = join(folder.path, "skein.db");
const config = { configurable: { thread_id: "article-1" } };

{
  await using engine = await openEngine({ store: path });
  const graph = workflow.compile({ checkpointer: new SkeinSaver(engine), store: new SkeinStore(engine) });
  await graph.invoke({ log: ["asked for an article"] }, config);
  const { next, tasks } = await graph.getState(config);
  console.log(`waits in ${next.join()}: ${String(tasks[0]?.interrupts[0]?.value)}`);
}
// The engine is closed, as when the process had died.
await using engine = await openEngine({ store: path });
const graph = workflow.compile({ checkpointer: new SkeinSaver(engine) });
console.log((await graph.invoke(new Command({ resume: "yes" }), config)).log);

// Time travel: another note after the draft, and the question again on a branch of its own.
const history = await Array.fromAsync(graph.getStateHistory(config));
const waiting = history.find(({ next }) => next.includes("review"));
if (waiting !== undefined) {
  const branch = await graph.updateState(waiting.config, { log: ["a second look"] }, "draft");
  await graph.invoke(null, branch);
  console.log((await graph.invoke(new Command({ resume: "not yet" }), config)).log);
}

// The thread is a session. Its log shows every checkpoint, with its branch.
const [row] = (await engine.sessions({ labels: { adapter: "langgraph" } })).rows;
const session = await engine.session(row?.session ?? "");
for await (const { seq, body } of session.events({ types: ["x.langgraph.checkpoint"] })) {
  const { branch, step, source } = body as { branch: number; step: number; source: string };
  console.log(`${seq} branch ${branch}, step ${step}, ${source}`);
}
console.log(`verified: ${(await session.verify()).ok}`);
