/** Executors as models: the executor of that name runs the turns of a session with the model `acp/NAME`. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { TurnExecutor } from "../../core/turn/executor.ts";

/** The provider of all executors. */
export const executorProvider = "acp";

/** Agents that need no configuration: their commands, as their vendors install them. */
export const knownExecutors: Readonly<Record<string, readonly [string, ...string[]]>> = {
  "claude-code": ["claude-agent-acp"],
  codex: ["codex-acp"],
  gemini: ["gemini", "--acp"],
  opencode: ["opencode", "acp"],
};

/** An executor as a model driver. It runs turns and answers no other request. */
export function executorModel(name: string, executor: TurnExecutor) {
  return {
    name: `${executorProvider}/${name}`,
    // The agent keeps its own window; this one bounds what Skein renders for it.
    facts: { windowTokens: 200_000, outputTokensMax: limit.outputTokensMin, images: false, price: null },
    executor,
    // eslint-disable-next-line require-yield
    async *stream(): AsyncGenerator<never, never, void> {
      throw new SkeinError("refused", `${executorProvider}/${name} runs turns and answers no other request`, {
        hint: `name a model for it, such as --model anthropic/claude-sonnet-5-5; got ${quote(name)}`,
      });
    },
  };
}
