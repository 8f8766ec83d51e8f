/**
 * Imported history as a transcript shows it: in the shape of Skein's own inputs, answers and calls, at the
 * original times. For reading only: nothing here was requested, leased or paid by Skein.
 */
import type { EventOf } from "../event.ts";

const noUsage = { inputTokens: 0, outputTokens: 0 };

export const importedInput = (event: EventOf<"input.imported">): EventOf<"input.received"> => ({
  ...event,
  type: "input.received",
  at: event.body.atMs ?? event.at,
  body: { input: event.seq, ...(event.body.from === "user" ? {} : { from: "system" as const }) },
});

export const importedAnswer = (event: EventOf<"answer.imported">): EventOf<"model.responded"> => ({
  ...event,
  type: "model.responded",
  at: event.body.atMs ?? event.at,
  body: {
    model: event.body.model ?? "unknown",
    finish: event.body.interrupted === true ? "other" : "stop",
    usage: event.body.usage ?? noUsage,
    costNanoUsd: event.body.costNanoUsd ?? null,
  },
});

export function importedCall(event: EventOf<"call.imported">): {
  readonly request: EventOf<"tool.requested">;
  readonly settled: EventOf<"tool.settled">;
} {
  const { body, content } = event;
  const call = `imported_${event.seq}`;
  const at = body.atMs ?? event.at;
  return {
    request: {
      ...event,
      type: "tool.requested",
      at,
      body: { call, tool: body.tool, effect: "read" },
      content: content === undefined ? undefined : { input: content.input },
    },
    settled: {
      ...event,
      type: "tool.settled",
      at,
      body: { call, status: body.status },
      content: content === undefined ? undefined : { output: content.output, blocks: content.blocks },
    },
  };
}
