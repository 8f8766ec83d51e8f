/** Options of the calls of a session: validated here, before anything is decided. */
import { externalComplaint, sessionToolNames } from "../core/tool/external-options.ts";
import { present } from "../core/present.ts";
import { checkCall } from "../call/check.ts";
import type { ContentBlock } from "../core/schema.ts";
import type { AppendRecord } from "../core/turn/commands.ts";
import type { Binding } from "../core/tool/commands.ts";
import type { Budget } from "../core/budget/commands.ts";
import type { OpenOptions } from "../core/session/commands.ts";
import { sandboxComplaint } from "../core/tool/drafts.ts";
import { checkDeadline } from "../core/trigger/deadline.ts";
import { checkOptions, SkeinError } from "../core/error.ts";
import { isObject } from "../core/option-check.ts";
import { quote } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import { isStorableUsd } from "../core/text/money.ts";

/** Options of `session.ask`. */
export interface AskOptions extends WriteOptions {
  /** `queue`, the default: for the next turn. `steer`: for the next step of the turn in progress. */
  readonly mode?: "queue" | "steer";
  /** Aborted: the run stops before its next step. To end the turn, interrupt it. */
  readonly signal?: AbortSignal;
}

/** Options of `session.answer`: the calls, and the decision on them. */
export interface AnswerOptions {
  readonly allow: boolean;
  /** Ids of calls; defaults to all waiting ones. */
  readonly calls?: readonly string[];
  readonly reason?: string;
  /** A message to the model with it. */
  readonly text?: string;
  /**
   * What to allow besides these calls: `session`, every call of their tools in this session; `always`, the
   * same commands in every session of the workspace. Nothing by default.
   */
  readonly remember?: "session" | "always";
}

export function recordsOf(records: string | AppendRecord | readonly AppendRecord[]): readonly AppendRecord[] {
  if (typeof records === "string") return [{ type: "input.received", text: records }];
  const list = (Array.isArray(records) ? records : [records]) as readonly AppendRecord[];
  const wrong = list.findIndex((record: unknown) => typeof record !== "object" || record === null);
  if (wrong === -1) return list;
  throw new SkeinError("invalid", `append: records: expected a record, got ${quote(list[wrong])}`, {
    hint: 'pass a string, or an object with a type: "input.received" or "x.name"',
  });
}

export function checkAnswer(options: AnswerOptions): void {
  checkCall("session.answer", options);
  const { remember } = options;
  if (remember !== undefined && !options.allow) {
    throw new SkeinError("invalid", "answer: remember: only an allowed call can be remembered", {
      hint: '"skein grant ID TOOL deny" denies every call of a tool',
    });
  }
}

/** Why a run did not take its input, and that the input stays queued. */
export function stillWaiting(error: unknown, waits: boolean): unknown {
  if (!waits || !(error instanceof SkeinError)) return error;
  const hint = error.hint === undefined ? "" : `${error.hint}; `;
  return new SkeinError(error.code, error.message, {
    hint: `${hint}the input stays queued; run the session to process it`,
    detail: "input-queued",
    cause: error,
  });
}

/** An input as a record: a text, or blocks. */
export function inputRecord(
  input: string | readonly ContentBlock[],
  mode: "queue" | "steer" | undefined,
): Extract<AppendRecord, { readonly type: "input.received" }> {
  if (typeof input !== "string" && !Array.isArray(input)) {
    throw new SkeinError("invalid", `input: expected a string or an array of blocks, got ${quote(input)}`);
  }
  const blocks: readonly ContentBlock[] = typeof input === "string" ? [{ type: "text", text: input }] : input;
  return { type: "input.received", blocks, ...present({ mode }) };
}

/** An external tool is wrong at once, not at its first run: then the session could not run at all. */
function checkExternal({ kind, name = "", options }: Binding): void {
  if (kind !== "tool" || !isObject(options) || !("external" in options)) return;
  const isName = /^[A-Za-z0-9_-]{1,64}$/.test(name) && !sessionToolNames.includes(name);
  const wrong = isName ? externalComplaint(options) : null;
  if (isName && wrong === null) return;
  const example = 'options: { external: true, description: "…", input: { type: "object" } }';
  const hint = `for example { kind: "tool", name: "order", ${example} }`;
  if (wrong !== null) throw new SkeinError("invalid", `bind: options: ${wrong}`, { hint });
  const expected = "a tool name that is free, of letters, digits, - and _";
  throw new SkeinError("invalid", `bind: name: expected ${expected}, got ${quote(name)}`, { hint });
}

const bindingNames = "kind name mode path url command secrets options sandbox network".split(" ");

/** Lists must be lists: a text would be split into its characters. */
export function checkBinding(binding: Binding): void {
  if (!isObject(binding)) {
    throw new SkeinError("invalid", "bind: expected an object", {
      hint: 'for example { kind: "directory", name: "src", path: "src" }',
    });
  }
  checkOptions("bind", binding, bindingNames);
  const { kind, command, url, secrets } = binding;
  const wrong = sandboxComplaint(binding);
  if (wrong !== null) {
    throw new SkeinError("invalid", wrong, {
      hint: 'for example { kind: "shell", path: ".", sandbox: true }',
    });
  }
  if (kind === "mcp" && (command === undefined) === (url === undefined)) {
    throw new SkeinError("invalid", "bind: specify either command or url for an MCP server", {
      hint: 'for example { kind: "mcp", name: "docs", command: ["docs-server"] }',
    });
  }
  checkExternal(binding);
  for (const [name, list] of Object.entries({ command, secrets })) {
    if (list === undefined || Array.isArray(list)) continue;
    throw new SkeinError("invalid", `bind: ${name}: expected an array of strings`, {
      hint: 'for example ["ls", "-l"]',
    });
  }
}

export function checkBudget(budget: Budget): void {
  checkOptions("budget", budget, ["usd", "tokens", "steps", "turns", "toolCalls", "wallMs"]);
  for (const [name, value] of Object.entries(budget)) {
    if (
      typeof value === "number" &&
      value >= 0 &&
      (name === "usd" ? isStorableUsd(value) : Number.isInteger(value)) &&
      value <= Number.MAX_SAFE_INTEGER / 1e9 ** Number(name === "usd")
    )
      continue;
    throw new SkeinError("invalid", `budget: ${name}: expected a limit, got ${quote(value)}`, {
      hint: "limits are non-negative integers; usd may have a fraction of at least 0.000000001",
    });
  }
}

export function checkObjective(call: string, objective: unknown): void {
  if (typeof objective !== "string" || objective.trim() === "") {
    throw new SkeinError("invalid", `${call}: objective: missing`, {
      hint: "state the session's goal in a sentence",
    });
  }
  if (objective.length <= limit.objectiveCharsMax) return;
  throw new SkeinError(
    "invalid",
    `${call}: objective: expected at most ${limit.objectiveCharsMax} characters`,
  );
}

/**
 * Options of `open` as the description of the call has them. Triggers are validated where they are set, by
 * kind and time. In the process an agent may be pinned to a version (`reader@1`); over HTTP it may not.
 */
function described(options: OpenOptions): OpenOptions {
  if (typeof options !== "object" || options === null) return options;
  const { wake, agent, ...rest } = options;
  return {
    ...rest,
    ...(wake === undefined || Array.isArray(wake) ? {} : { wake }),
    ...(typeof agent === "string" ? { agent: agent.replace(/@[1-9]\d{0,8}$/, "") } : present({ agent })),
  };
}

export function checkOpen(options: OpenOptions): void {
  checkCall("engine.open", described(options));
  checkDeadline(options.labels);
  const { objective, from } = options;
  if (from === undefined || objective !== undefined) checkObjective("open", objective);
  for (const binding of options.bind ?? []) checkBinding(binding);
}

/** Options of every write: an idempotency key. */
export interface WriteOptions {
  /** A second change with the same key is not written; it returns the result of the first. */
  readonly key?: string;
}
