/** A LangGraph thread in the console: its checkpoints with their branches, as the log shows them. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import type { Browser } from "playwright-core";
import { SkeinSaver } from "../../src/adapter/langgraph/langgraph.ts";
import { buildPage, noChromium, startChromium } from "./chromium.ts";
import { makeStand, type Stand } from "./stand.ts";

const skip = await noChromium();

suite("a LangGraph thread", { skip }, () => {
  let browser: Browser;
  let stand: Stand;
  before(async () => {
    buildPage();
    browser = await startChromium();
    stand = await makeStand({ concurrency: 0 });
  });
  after(async () => {
    await browser?.close();
    await stand?.[Symbol.asyncDispose]();
  });

  test("forks and time travel are lines of the log, with branch, source and parent", async () => {
    const State = Annotation.Root({
      log: Annotation<string[]>({ reducer: (log, more) => [...log, ...more], default: () => [] }),
    });
    const graph = new StateGraph(State)
      .addNode("draft", () => ({ log: ["drafted"] }))
      .addNode("review", () => ({ log: ["reviewed"] }))
      .addEdge(START, "draft")
      .addEdge("draft", "review")
      .addEdge("review", END)
      .compile({ checkpointer: new SkeinSaver(stand.engine) });
    const config = { configurable: { thread_id: "article-7" } };
    await graph.invoke({ log: ["asked"] }, config);
    const history = await Array.fromAsync(graph.getStateHistory(config));
    const drafted = history.find(({ next }) => next.includes("review"));
    assert.ok(drafted !== undefined);
    const forked = await graph.updateState(drafted.config, { log: ["a second look"] }, "draft");
    await graph.invoke(null, forked);

    const [row] = (await stand.engine.sessions({ labels: { adapter: "langgraph" } })).rows;
    const session = await stand.engine.session(row?.session ?? "");
    const records = await Array.fromAsync(
      session.events({ types: ["x.langgraph.checkpoint"] }),
      ({ seq, body }) => ({ seq, ...(body as { branch: number; step: number; source: string; id: string }) }),
    );
    const fork = records.find(({ source }) => source === "update");
    assert.deepEqual([...new Set(records.map(({ branch }) => branch))], [1, 2]);
    assert.ok(fork !== undefined && fork.branch === 2);

    await using shown = await stand.page(browser);
    const { page } = shown;
    await page.getByText("LangGraph thread article-7").first().click();
    await page.getByRole("navigation", { name: "Session views" }).getByText("Log").click();
    const lines = page.getByText("x.langgraph.checkpoint", { exact: true });
    await lines.first().waitFor();
    for (const { branch, step, source } of records)
      await page.getByText(`{"branch":${branch},"step":${step},"source":"${source}"`).first().waitFor();
    const parent = drafted.config.configurable?.["checkpoint_id"] as string;
    await page.getByText(`"source":"update","id":"${fork.id}","parent":"${parent}"`).first().waitFor();
    shown.calm();
  });
});
