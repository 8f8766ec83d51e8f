/** A server that is killed in the middle of a response: the next one finishes it, and the stream goes on. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import OpenAI from "openai";

interface Child extends AsyncDisposable {
  readonly client: OpenAI;
  kill(): Promise<void>;
}

async function start(store: string, wordMs: number): Promise<Child> {
  const child = fork(join(import.meta.dirname, "../words-runner.ts"), [store, String(wordMs)]);
  const [{ url, token }] = (await once(child, "message")) as [{ url: string; token: string }];
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  const client = new OpenAI({ apiKey: token, baseURL: `${url}/openai/v1`, maxRetries: 0 });
  return { client, kill, [Symbol.asyncDispose]: kill };
}

const whole = Array.from({ length: 30 }, (_, n) => `word-${n} `).join("");

test("a server is killed in the middle of a response: the next one finishes it", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-openai-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const store = join(folder, "skein.db");
  let id = "";
  let last = -1;
  const early: unknown[] = [];
  {
    await using first = await start(store, 40);
    const stream = await first.client.responses.create({ model: "test/words", input: "Talk", stream: true });
    await assert.rejects(async () => {
      for await (const event of stream) {
        if (event.type === "response.created") id = event.response.id;
        last = event.sequence_number;
        early.push(event);
        if (event.type === "response.output_text.delta" && event.delta === "word-7 ") await first.kill();
      }
    });
  }
  assert.ok(early.length > 8 && early.length < 60, `${early.length} events before the kill`);
  await using second = await start(store, 5);
  const resumed = await second.client.responses.retrieve(id, { stream: true, starting_after: last });
  let text = "";
  const rest: unknown[] = [];
  for await (const event of resumed) {
    assert.ok(event.sequence_number > last, `${event.sequence_number} after ${last}`);
    last = event.sequence_number;
    rest.push(event);
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  assert.equal(text, whole);
  const done = await second.client.responses.retrieve(id);
  assert.deepEqual([done.status, done.output_text], ["completed", whole]);
  await second.kill();
  // A third server has the same events, from the log alone.
  await using third = await start(store, 0);
  const again: unknown[] = [];
  for await (const event of await third.client.responses.retrieve(id, { stream: true })) again.push(event);
  assert.deepEqual(again.slice(-rest.length), rest);
});
