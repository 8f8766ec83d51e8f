/** A model that says its words one by one, each when it is let. */
import type { ModelAnswer, Model, Models } from "../../src/model/port.ts";

export interface SlowModel {
  readonly models: Models;
  /** Lets the next word out, and every later one if `all`. */
  go(all?: "all"): void;
}

export function slowModel(words: readonly string[]): SlowModel {
  let allowed = 0;
  let changed = Promise.withResolvers<void>();
  let said = 0;

  async function turn(): Promise<void> {
    const isHeld = (): boolean => said >= allowed;
    while (isHeld()) await changed.promise;
    said += 1;
  }

  const model = (name: string): Model => ({
    name,
    facts: {
      windowTokens: 100_000,
      outputTokensMax: 4_000,
      images: false,
      price: { input: 1_000, output: 5_000, asOf: "2026-11-01" },
    },
    async *stream() {
      for (const text of words) {
        await turn();
        yield { type: "text", text };
      }
      await turn();
      const usage = { inputTokens: 100, outputTokens: words.length };
      const answer: ModelAnswer = {
        finish: "stop",
        usage,
        sent: null,
        blocks: [{ type: "text", text: words.join("") }],
      };
      return answer;
    },
  });
  return {
    models: { byDefault: "test/slow", model: async (name) => model(name), list: () => [] },
    go(all) {
      allowed = all === "all" ? Infinity : allowed + 1;
      changed.resolve();
      changed = Promise.withResolvers();
    },
  };
}
