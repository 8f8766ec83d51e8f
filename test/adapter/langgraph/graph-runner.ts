/**
 * Runs a LangGraph graph on `SkeinSaver` until it is done, with an interrupt and its answer on the way. With
 * a number, the process kills itself at that call of the saver: on entry, or with `after` once it returned.
 */
import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { openEngine } from "../../../src/index.ts";
import { SkeinSaver, SkeinStore } from "../../../src/adapter/langgraph/langgraph.ts";

const [path, killAt = "0", when = "before"] = process.argv.slice(2);
if (path === undefined) throw new Error("graph-runner: expected the path of a store");

let calls = 0;
/** A saver that dies at one of its calls. */
class DyingSaver extends SkeinSaver {
  async #dying<T>(work: () => Promise<T>): Promise<T> {
    calls += 1;
    const isLast = calls === Number(killAt);
    if (isLast && when === "before") process.kill(process.pid, "SIGKILL");
    const result = await work();
    if (isLast) process.kill(process.pid, "SIGKILL");
    return result;
  }
  override getTuple(...given: Parameters<SkeinSaver["getTuple"]>) {
    return this.#dying(() => super.getTuple(...given));
  }
  override put(...given: Parameters<SkeinSaver["put"]>) {
    return this.#dying(() => super.put(...given));
  }
  override putWrites(...given: Parameters<SkeinSaver["putWrites"]>) {
    return this.#dying(() => super.putWrites(...given));
  }
}

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (list, more) => [...list, ...more], default: () => [] }),
});
const workflow = new StateGraph(State)
  .addNode("plan", () => ({ log: ["planned"] }))
  .addNode("ask", () => ({ log: [`answered ${interrupt<string, string>("really?")}`] }))
  .addNode("left", () => ({ log: ["left"] }))
  .addNode("right", () => ({ log: ["right"] }))
  .addEdge(START, "plan")
  .addEdge("plan", "ask")
  .addEdge("ask", "left")
  .addEdge("ask", "right")
  .addEdge("left", END)
  .addEdge("right", END);

await using engine = await openEngine({ store: path });
const graph = workflow.compile({ checkpointer: new DyingSaver(engine), store: new SkeinStore(engine) });
const config = { configurable: { thread_id: "kill" }, durability: "sync" as const };
const hasPending = async (): Promise<boolean> => {
  const { pendingWrites = [] } = (await new SkeinSaver(engine).getTuple(config)) ?? {};
  return pendingWrites.length > 0;
};
for (let rounds = 0; rounds < 10; rounds++) {
  const state = await graph.getState(config);
  const { next, tasks } = state;
  const { log = [] } = state.values as { readonly log?: readonly string[] };
  if (log.length === 0 && next.length === 0) await graph.invoke({ log: ["started"] }, config);
  else if (tasks.some(({ interrupts }) => interrupts.length > 0))
    await graph.invoke(new Command({ resume: "yes" }), config);
  // A task that is done and not yet applied is not named as next, whatever the checkpointer.
  else if (next.length > 0 || (await hasPending())) await graph.invoke(null, config);
  else {
    const steps = await Array.fromAsync(graph.getStateHistory(config), ({ metadata }) => metadata?.step);
    console.log(JSON.stringify({ log, steps, calls }));
    break;
  }
}
