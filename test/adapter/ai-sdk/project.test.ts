/** The projection, on random logs: the package accepts its chunks and messages, whatever was heard. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DefaultChatTransport,
  readUIMessageStream,
  safeValidateUIMessages,
  uiMessageChunkSchema,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import fc from "fast-check";
import { buildMessage } from "../../../src/adapter/ai-sdk/message.ts";
import { TurnProjection } from "../../../src/adapter/ai-sdk/project.ts";
import { chunkResponse } from "../../../src/adapter/ai-sdk/response.ts";
import type { SessionUpdate } from "../../../src/runtime/turn/ask.ts";
import { makeTurn, session, turnPlan } from "./logs.ts";
import { plain } from "./chats.ts";

function chunksOf(updates: readonly SessionUpdate[]): UIMessageChunk[] {
  const projection = new TurnProjection({ session, urlOf: ({ blob }) => `https://files.test/${blob}` });
  const chunks = updates.flatMap((update) =>
    "delta" in update ? projection.delta(update) : projection.event(update),
  );
  return projection.isOver ? chunks : [...chunks, ...projection.pause()];
}

async function clientMessage(chunks: readonly UIMessageChunk[]): Promise<UIMessage | undefined> {
  let last: UIMessage | undefined;
  const stream = ReadableStream.from(chunks);
  for await (const message of readUIMessageStream({ stream, terminateOnError: true })) last = message;
  return last;
}

test("the client's message depends on the log alone, whatever deltas came", async () => {
  const schema = uiMessageChunkSchema();
  await fc.assert(
    fc.asyncProperty(turnPlan, async (plan) => {
      const { updates, log } = makeTurn(plan);
      const live = chunksOf(updates);
      for (const chunk of live) {
        const checked = await schema.validate?.(plain(chunk));
        assert.ok(checked?.success, JSON.stringify(chunk));
      }
      const expected = buildMessage(chunksOf(log));
      const built = buildMessage(live);
      assert.deepEqual(plain(built), plain(expected));
      assert.deepEqual(plain(await clientMessage(live)), plain(expected));
      const messages = [plain(expected)];
      const valid = await safeValidateUIMessages({ messages });
      assert.ok(valid.success, valid.success ? "" : String(valid.error));
    }),
    { numRuns: 150 },
  );
});

class Reader extends DefaultChatTransport<UIMessage> {
  read(body: ReadableStream<Uint8Array>): ReadableStream<UIMessageChunk> {
    return this.processResponseStream(body);
  }
}

test("no text ends its frame: the transport reads the chunks that were sent", async () => {
  await fc.assert(
    fc.asyncProperty(turnPlan, async (plan) => {
      const chunks = chunksOf(makeTurn(plan).updates);
      async function* all(): AsyncGenerator<UIMessageChunk, void> {
        yield* chunks;
      }
      const { body } = chunkResponse(all());
      assert.ok(body);
      const read: UIMessageChunk[] = [];
      for await (const chunk of new Reader().read(body)) read.push(chunk);
      assert.deepEqual(plain(read), plain(chunks));
    }),
    { numRuns: 50 },
  );
});

test("the part of an answer that was streamed is not sent again", () => {
  const { updates } = makeTurn({
    steps: [
      {
        failed: [],
        steers: false,
        compacts: false,
        blocks: [{ type: "text", text: "x".repeat(100_000) }],
        heard: "all",
        cut: 1_000,
        calls: [],
        erased: false,
        pauses: null,
      },
    ],
    broken: null,
    outcome: "completed",
  } as never);
  const chunks = chunksOf(updates);
  const deltas = chunks.filter(({ type }) => type === "text-delta");
  assert.equal(deltas.length, 100);
  assert.ok(!chunks.some(({ type }) => type === "reset-step"));
});
