/** A provider on loopback that speaks the Messages API, Chat Completions, Responses and generateContent. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

export interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Upstream extends AsyncDisposable {
  readonly url: string;
  readonly asked: Asked[];
  /** Answers the next requests instead of the usual reply. */
  readonly next: ((response: ServerResponse, asked: Asked) => void)[];
}

const frames = (events: readonly object[]): string =>
  events
    .map((one) => `event: ${(one as { type?: string }).type ?? "message"}\ndata: ${JSON.stringify(one)}\n\n`)
    .join("");

const usage = { input_tokens: 12, output_tokens: 3, cache_read_input_tokens: 4 };

/** The stream of one answer of the Messages API. */
export const anthropicStream = (text: string): string =>
  frames([
    { type: "message_start", message: { id: "msg_1", role: "assistant", content: [], model: "m", usage } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...Array.from(text, (piece) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: piece },
    })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ]);

export async function startUpstream(): Promise<Upstream> {
  const asked: Asked[] = [];
  const next: Upstream["next"] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const one = {
        path: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      };
      asked.push(one);
      (next.shift() ?? usual)(response, one);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    next,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function usual(response: ServerResponse, { path, body }: Asked): void {
  const json = body === "" ? {} : (JSON.parse(body) as Record<string, unknown>);
  const send = (value: object): void => {
    response.setHeader("content-type", "application/json");
    response.setHeader("request-id", "req_1");
    response.end(JSON.stringify(value));
  };
  if (path.endsWith("/messages") && json["stream"] === true) {
    response.setHeader("content-type", "text/event-stream");
    response.end(anthropicStream("Hi there"));
  } else if (path.endsWith("/messages")) {
    send({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: json["model"],
      content: [{ type: "text", text: "Hello" }],
      stop_reason: "end_turn",
      usage,
    });
  } else if (path.endsWith("/chat/completions")) {
    send({
      id: "chatcmpl_1",
      model: json["model"],
      choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 10, completion_tokens: 2 },
    });
  } else if (path.endsWith("/responses")) {
    send({
      id: `resp_${Date.now()}_${Math.floor(performance.now() * 1_000)}`,
      status: "completed",
      created_at: 1,
      model: json["model"],
      output: [
        {
          type: "message",
          id: "msg_1",
          role: "assistant",
          content: [{ type: "output_text", text: "Hello", annotations: [] }],
        },
      ],
      usage: { input_tokens: 10, output_tokens: 2 },
    });
  } else if (path.includes(":generateContent")) {
    send({
      candidates: [{ content: { role: "model", parts: [{ text: "Hello" }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2, thoughtsTokenCount: 1 },
    });
  } else send({ data: [] });
}
