/** What callers may give to the calls of a session: checked here, before anything is decided. */
import type { ContentBlock } from "../core/schema.ts";
import type { AppendRecord } from "../core/turn/commands.ts";
import type { Binding } from "../core/tool/commands.ts";
import type { Budget } from "../core/budget/commands.ts";
import type { OpenOptions } from "../core/session/commands.ts";
import { sandboxComplaint } from "../core/tool/drafts.ts";
import { checkDeadline } from "../core/trigger/deadline.ts";
import { checkOptions, SkeinError } from "../core/error.ts";
import { checkLists, checkTextLists, checkTexts, isObject } from "../core/option-check.ts";
import { quote } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import { agentHint, isAgentWord } from "../core/workspace/agent.ts";

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
  /** Ids of calls; by default all that wait. */
  readonly calls?: readonly string[];
  readonly reason?: string;
  /** Something to tell the model with it. */
  readonly text?: string;
  /**
   * What is allowed besides these calls: `session`, every call of their tools in this session; `always`, the
   * same commands in every session of the workspace. By default nothing.
   */
  readonly remember?: "session" | "always";
}

export function recordsOf(records: string | AppendRecord | readonly AppendRecord[]): readonly AppendRecord[] {
  if (typeof records === "string") return [{ type: "input.received", text: records }];
  const list = (Array.isArray(records) ? records : [records]) as readonly AppendRecord[];
  const wrong = list.findIndex((record: unknown) => typeof record !== "object" || record === null);
  if (wrong === -1) return list;
  throw new SkeinError("invalid", `append: ${quote(list[wrong])} is no record`, {
    hint: 'give a text, or an object with a type: "input.received" or "x.name"',
  });
}

/** Items are named by two texts; an object with all that there is to say is easily given instead. */
export function checkNamed(call: keyof typeof besides, kind: unknown, key: unknown): void {
  const wrong = typeof kind === "string" ? { name: "key", value: key } : { name: "kind", value: kind };
  if (typeof wrong.value === "string") return;
  const is = wrong.value === undefined ? "is missing" : "is no text";
  throw new SkeinError("invalid", `${call}: its ${wrong.name} ${is}`, {
    hint: `it takes them one by one: ${call}("fact", "base-rate"${besides[call]})`,
  });
}

const besides = { record: ", 4.1", retract: "", promote: ', { scope: "agent" }' } as const;

export function checkAnswer(options: AnswerOptions): void {
  checkOptions("answer", options, ["allow", "calls", "reason", "text", "remember"]);
  const { remember } = options;
  if (remember !== undefined && remember !== "session" && remember !== "always") {
    throw new SkeinError(
      "invalid",
      `answer: remember: expected "session" or "always", got ${quote(remember)}`,
    );
  }
  if (typeof options.allow !== "boolean") {
    throw new SkeinError("invalid", `answer: allow is ${quote(options.allow)}`, { hint: "true or false" });
  }
  if (remember !== undefined && !options.allow) {
    throw new SkeinError("invalid", "answer: remember: only an allowed call can be remembered", {
      hint: '"skein grant ID TOOL deny" denies every call of a tool',
    });
  }
  const { calls } = options;
  if (calls === undefined || (Array.isArray(calls) && calls.every((call) => typeof call === "string")))
    return;
  throw new SkeinError("invalid", "answer: calls is no list of ids", { hint: 'for example ["call_1"]' });
}

/** What kept a run from taking up its input, and that the input is kept. */
export function stillWaiting(error: unknown, waits: boolean): unknown {
  if (!waits || !(error instanceof SkeinError)) return error;
  const hint = error.hint === undefined ? "" : `${error.hint}; `;
  return new SkeinError(error.code, error.message, {
    hint: `${hint}the input is kept and waits: run the session to take it up`,
    cause: error,
  });
}

/** An input as a record: a text, or blocks. */
export function inputRecord(
  input: string | readonly ContentBlock[],
  mode: "queue" | "steer" | undefined,
): Extract<AppendRecord, { readonly type: "input.received" }> {
  if (mode !== undefined && mode !== "queue" && mode !== "steer") {
    throw new SkeinError("invalid", `input: there is no mode ${quote(mode)}`, { hint: '"queue" or "steer"' });
  }
  if (typeof input !== "string" && !Array.isArray(input)) {
    throw new SkeinError("invalid", `input: ${quote(input)} is neither a text nor a list of blocks`);
  }
  const blocks: readonly ContentBlock[] = typeof input === "string" ? [{ type: "text", text: input }] : input;
  return { type: "input.received", blocks, ...(mode === undefined ? {} : { mode }) };
}

const bindingNames = "kind name mode path url command secrets options sandbox network".split(" ");

/** Lists must be lists: a text would be taken apart into its characters. */
export function checkBinding(binding: Binding): void {
  if (!isObject(binding)) {
    throw new SkeinError("invalid", "bind: a resource is an object", {
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
    throw new SkeinError("invalid", "bind: an MCP server has a command or a URL, and not both", {
      hint: 'for example { kind: "mcp", name: "docs", command: ["docs-server"] }',
    });
  }
  for (const [name, list] of Object.entries({ command, secrets })) {
    if (list === undefined || Array.isArray(list)) continue;
    throw new SkeinError("invalid", `bind: ${name} is not a list`, { hint: 'for example ["ls", "-l"]' });
  }
}

export function checkBudget(budget: Budget): void {
  checkOptions("budget", budget, ["usd", "tokens", "steps", "turns", "toolCalls", "wallMs"]);
  for (const [name, value] of Object.entries(budget)) {
    if (
      typeof value === "number" &&
      value >= 0 &&
      (name === "usd" || Number.isInteger(value)) &&
      value <= Number.MAX_SAFE_INTEGER / 1e9 ** Number(name === "usd")
    )
      continue;
    throw new SkeinError("invalid", `budget: ${name} is ${quote(value)}`, {
      hint: "limits are whole numbers, not negative; only usd may have a fraction",
    });
  }
}

export function checkObjective(call: string, objective: unknown): void {
  if (typeof objective !== "string" || objective.trim() === "") {
    throw new SkeinError("invalid", `${call}: a session needs an objective`, {
      hint: "say in a sentence what it is for",
    });
  }
  if (objective.length <= limit.objectiveCharsMax) return;
  throw new SkeinError("invalid", `${call}: an objective has at most ${limit.objectiveCharsMax} characters`);
}

export function checkOpen(options: OpenOptions): void {
  const known = ["objective", "name", "agent", "model", "instructions", "constraints", "labels", "priority"];
  const more = ["expiresAfterIdleMs", "bind", "files", "grant", "budget", "from", "handoffs", "memory"];
  const awaits = ["wake", "after"];
  checkOptions("open", options, [...known, ...more, ...awaits]);
  checkDeadline(options.labels);
  const { objective, from } = options;
  const isCarried = from !== undefined && objective === undefined;
  if (!isCarried) checkObjective("open", objective);
  const { bind, grant, constraints, files, wake } = options;
  checkLists("open", { bind, grant, constraints, files, wake });
  checkTextLists("open", { handoffs: options.handoffs });
  for (const binding of bind ?? []) checkBinding(binding);
  if (options.budget !== undefined) checkBudget(options.budget);
  if (options.priority !== undefined) checkPriority("open", options.priority);
  checkTexts("open", { agent: options.agent });
  if (options.agent === undefined || isAgentWord(options.agent)) return;
  throw new SkeinError("invalid", `open: ${quote(options.agent)} is no name of an agent`, {
    hint: agentHint,
  });
}

export function checkPriority(call: string, priority: unknown): void {
  if (Number.isInteger(priority) && Number(priority) >= 0 && Number(priority) <= limit.priorityMax) return;
  const given = typeof priority === "number" ? `is ${priority}` : "is no number";
  throw new SkeinError("invalid", `${call}: the priority ${given}`, {
    hint: `priorities are whole numbers from 0, the most urgent, to ${limit.priorityMax}`,
  });
}

/** Options of every write: an idempotency key. */
export interface WriteOptions {
  /** A second change with the same key is not written; it gives the result of the first. */
  readonly key?: string;
}
