/** The Managed Agents API of `skein serve` as a process: the example, and a server killed in mid-answer. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { suite, test } from "node:test";
import { promisify } from "node:util";
import { makeFolder, skeinIn, type Skein } from "../../cli/skein.ts";
import { root } from "../../repo/source.ts";
import { clientOf, isTurnEnd, listed, message, typesOf } from "./client.ts";

async function urlOf(child: Skein): Promise<string> {
  for await (const line of createInterface({ input: child.stdout })) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url === undefined) continue;
    child.stdout.resume();
    return url;
  }
  return assert.fail("the server did not say where it is");
}

async function serving(
  folder: string,
  env: Record<string, string>,
  work: (url: string, token: string, child: Skein) => Promise<void>,
) {
  const child = skeinIn(folder).start(["serve", "--port", "0"], { env });
  child.stderr.resume();
  const ended = new Promise((resolve) => child.once("exit", resolve));
  try {
    const url = await urlOf(child);
    await work(url, readFileSync(`${folder}/skein.db.token`, "utf8").trim(), child);
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

suite("/anthropic of skein serve", () => {
  test("the example runs its tool and prints the answer", async () => {
    await serving(makeFolder(), {}, async (url, token) => {
      const env = { ...process.env, SKEIN_URL: url, SKEIN_TOKEN: token };
      const file = join(root, "examples/claude-agents/main.ts");
      const { stdout } = await promisify(execFile)(process.execPath, [file], { env, timeout: 60_000 });
      assert.match(stdout, /ran weather\n/);
      assert.match(stdout, /sunny in Oslo/);
    });
  });

  test("a server killed in mid-answer: another one finishes the turn, and ids stay", async () => {
    const folder = makeFolder();
    const seen = new Map<string, unknown>();
    let id = "";
    await serving(folder, { SKEIN_OFFLINE_PACE_MS: "60" }, async (url, token, child) => {
      const { beta } = clientOf(url, token);
      const agent = await beta.agents.create({ name: "Keeper", model: "offline/offline" });
      const environment = await beta.environments.create({ name: "here", config: { type: "self_hosted" } });
      ({ id } = await beta.sessions.create({ agent: agent.id, environment_id: environment.id }));
      const stream = await beta.sessions.events.stream(id, { event_deltas: ["agent.message"] });
      await beta.sessions.events.send(id, { events: [message("remember base-rate is 4.1")] });
      const broken = (async () => {
        for await (const event of stream) {
          if ("id" in event) seen.set(event.id, event);
          if (event.type === "event_delta") child.kill("SIGKILL");
        }
      })();
      await assert.rejects(broken);
    });
    await serving(folder, {}, async (url, token) => {
      const client = clientOf(url, token);
      const stream = await client.beta.sessions.events.stream(id);
      if ((await client.beta.sessions.retrieve(id)).status === "running")
        for await (const event of stream) if (isTurnEnd(event)) break;
      const all = await listed(client, id);
      const types = typesOf(all);
      assert.equal(types.at(-1), "session.status_idle");
      assert.ok(types.includes("agent.message"));
      assert.equal(types.filter((type) => type === "user.message").length, 1);
      const ids = all.map((event) => event.id);
      for (const one of seen.keys()) assert.ok(ids.includes(one), one);
      assert.ok(seen.size >= 3);
    });
  });
});
