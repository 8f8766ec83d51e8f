/**
 * Executors from the configuration: `{ "executors": { "mine": { "command": ["my-agent", "acp"] } } }`. A
 * session names an executor; only this file decides what is started.
 */
import { present } from "../../core/present.ts";
import * as z from "zod";
import { acpExecutor, type AcpExecutor } from "../../adapter/acp/executor.ts";
import { executorModel, executorProvider, knownExecutors } from "../../adapter/acp/executor-model.ts";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { Model, Models } from "../../model/port.ts";
import type { World } from "../../runtime/world.ts";

const Name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "a name has small letters, digits, dots and dashes");
const Executor = z.strictObject({
  command: z.tuple([z.string().min(1)], z.string()),
  env: z.array(z.string().min(1)).default([]),
  model: z.string().min(1).optional(),
});
const Executors = z.record(Name, Executor);

/** Keys that the known agents read; they get those that are set. */
const knownKeys: Readonly<Record<string, readonly string[]>> = {
  "claude-code": ["ANTHROPIC_API_KEY"],
  codex: ["OPENAI_API_KEY", "CODEX_API_KEY"],
  gemini: ["GEMINI_API_KEY"],
};

/** The models, and the executors of the configuration and of the known agents beside them. */
export function withExecutors(
  models: Models,
  given: { readonly config: unknown; readonly path: string; readonly world: World },
): Models & AsyncDisposable {
  const configured = parseExecutors(given.config, given.path);
  const opened = new Map<string, { readonly model: Model; readonly executor: AcpExecutor }>();
  const make = (name: string): Model => {
    const before = opened.get(name);
    if (before !== undefined) return before.model;
    const known = knownExecutors[name];
    const { command, env, model } = configured[name] ?? { command: known, env: knownKeys[name] ?? [] };
    if (command === undefined) {
      throw new SkeinError("unavailable", `${executorProvider}/${name}: no such executor is configured`, {
        hint: `add it to "executors" in ${given.path}: { ${quote(name)}: { "command": ["…"] } }`,
      });
    }
    const executor = acpExecutor({
      world: given.world,
      command,
      env,
      ...(model === undefined ? {} : { model }),
    });
    const made = { executor, model: executorModel(name, executor) };
    opened.set(name, made);
    return made.model;
  };
  const prefix = `${executorProvider}/`;
  return {
    byDefault: models.byDefault,
    ...present({ embedder: models.embedder }),
    model: async (name) => (name.startsWith(prefix) ? make(name.slice(prefix.length)) : models.model(name)),
    list: () => [
      ...models.list(),
      ...Object.keys(configured).map((name) => {
        const { facts } = make(name);
        return { name: `${prefix}${name}`, facts, ready: true, hint: null };
      }),
    ],
    async [Symbol.asyncDispose]() {
      await Promise.all([...opened.values()].map(({ executor }) => executor[Symbol.asyncDispose]()));
    },
  };
}

function parseExecutors(config: unknown, path: string): Readonly<Record<string, z.infer<typeof Executor>>> {
  const parsed = Executors.safeParse(config ?? {});
  if (parsed.success) return parsed.data;
  throw new SkeinError("invalid", `${path}: executors: ${z.prettifyError(parsed.error)}`, {
    hint: 'for example { "executors": { "mine": { "command": ["my-agent", "acp"], "env": ["MY_KEY"] } } }',
  });
}

/** The model of `--executor acp:NAME`. */
export function executorWord(word: string): string {
  const name = /^acp:([a-z0-9][a-z0-9._-]{0,63})$/.exec(word)?.[1];
  if (name !== undefined) return `${executorProvider}/${name}`;
  throw new SkeinError("invalid", `--executor: expected acp:NAME, got ${quote(word)}`, {
    hint:
      `NAME is ${Object.keys(knownExecutors).join(", ")}, or one of "executors" in the ` +
      "configuration, which alone holds commands",
  });
}
