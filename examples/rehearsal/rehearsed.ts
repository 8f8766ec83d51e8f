/**
 * A model for rehearsals: it answers by a function of yours, so an example runs without a key and always the
 * same way. With `SKEIN_EXAMPLE_MODEL=anthropic/claude-sonnet-5-5` and the provider's key in the environment
 * the examples use that model instead.
 */
import type { AnswerBlock, Model, ModelCall, Models } from "skein/model";

/** What the function is given: the newest message to the model, and the results of its last calls. */
export interface Turn {
  readonly said: string;
  readonly results: readonly { readonly tool: string; readonly text: string }[];
}

/** A text is an answer; an object is a call of a tool. */
export type Line = string | { readonly tool: string; readonly input: object };

const realModel = process.env["SKEIN_EXAMPLE_MODEL"];

/** The options of `openEngine` and the model's name for sessions. */
export function rehearsed(answer: (turn: Turn) => Line): {
  readonly model: string;
  readonly models?: Models;
} {
  if (realModel !== undefined) return { model: realModel };
  const model: Model = {
    name: "rehearsed/model",
    facts: {
      windowTokens: 200_000,
      outputTokensMax: 8_000,
      images: false,
      price: { input: 0, output: 0, asOf: "2026-11-01" },
    },
    async *stream(call) {
      const line = answer(turnOf(call));
      const blocks: AnswerBlock[] =
        typeof line === "string"
          ? [{ type: "text", text: line }]
          : [{ type: "tool-call", call: `call_${call.parts.length}`, ...line }];
      if (typeof line === "string") yield { type: "text", text: line };
      const finish = typeof line === "string" ? "stop" : "tool-calls";
      return { blocks, finish, usage: { inputTokens: 0, outputTokens: 0 }, sent: null };
    },
  };
  const models: Models = {
    byDefault: model.name,
    model: async () => model,
    list: () => [{ name: model.name, facts: model.facts, ready: true, hint: null }],
  };
  return { model: model.name, models };
}

/** Everything since the model last spoke to a person. */
function turnOf({ parts }: ModelCall): Turn {
  const messages = parts.flatMap((part) => (part.part === "message" ? [part] : []));
  const last = messages.findLast(({ role }) => role === "user");
  const said = (last?.content ?? []).flatMap((block) => ("text" in block ? [block.text] : [])).join("\n");
  const since = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
  const results = since.flatMap((message) =>
    message.role === "tool" ? message.content.map(({ tool, text }) => ({ tool, text })) : [],
  );
  return { said, results };
}
