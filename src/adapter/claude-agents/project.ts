/**
 * Events of the Managed Agents API from the events of a log: pure, one record after the other. It can begin
 * at any position, with what the state there says of open calls; the result is that of a whole reading.
 */
import type { SessionEvent } from "../../core/event.ts";
import type { SessionId } from "../../core/ids.ts";
import type { ContentBlock } from "../../core/schema.ts";
import type { State } from "../../core/state.ts";
import { eventId, messageId, thinkingId } from "./ids.ts";
import { budgetOf } from "./money.ts";
import { timeText, type Fields } from "./values.ts";

/** An event of the API. */
export interface ClaudeEvent extends Fields {
  readonly id: string;
  readonly type: string;
}

interface RequestedCall {
  readonly seq: number;
  readonly tool: string;
  readonly asked: boolean;
  readonly external: boolean;
}

/** Tools of the agent toolset: their calls are `agent.tool_use` on either side. */
export const toolsetNames = ["bash", "edit", "read", "write", "glob", "grep", "web_fetch", "web_search"];

/** The types of records that it needs. */
export const projectedTypes: readonly string[] = [
  "budget.set",
  "input.received",
  "model.failed",
  "model.requested",
  "model.responded",
  "resource.bound",
  "session.activated",
  "session.closed",
  "session.interrupted",
  "session.renamed",
  "session.rewound",
  "session.suspended",
  "tool.approved",
  "tool.denied",
  "tool.requested",
  "tool.settled",
  "tool.started",
  "transcript.compacted",
  "turn.ended",
  "turn.started",
  "x.claude-agents.session",
];

/** Turns events of one session into events of the API. */
export class EventProjection {
  readonly #session: SessionId;
  readonly #calls = new Map<string, RequestedCall>();
  readonly #mcp = new Set<string>();
  #isRunning = false;
  #inTurn = false;
  /** Requests of calls wait for the next other record: a rule's denial follows them. */
  #held: { readonly event: SessionEvent; readonly call: string; permission: "allow" | "ask" | "deny" }[] = [];
  #heldResults: ClaudeEvent[] = [];

  /** `state`: of the position before the first event; null before the first record. */
  constructor(session: SessionId, state: State | null) {
    this.#session = session;
    if (state === null) return;
    for (const [call, { seq, tool, phase, deadlineMs }] of state.mind.calls.entries())
      this.#calls.set(call, { seq, tool, asked: phase === "asked", external: deadlineMs !== undefined });
    for (const [name, { kind }] of state.standing.bindings.entries()) if (kind === "mcp") this.#mcp.add(name);
    this.#isRunning = state.standing.status === "running";
    this.#inTurn = state.standing.turn !== null;
  }

  /** True while requests of calls wait for the next record: no page ends here. */
  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  push(event: SessionEvent): ClaudeEvent[] {
    const body = (event.body ?? {}) as Fields;
    const content = (event.content ?? {}) as Fields;
    const handler = handlers[event.type];
    if (handler === undefined) return [];
    const isHeld = this.#held.some(({ call }) => call === body["call"]);
    if (event.type === "tool.requested" || (isHeld && holding.has(event.type)))
      return handler(this, event, body, content);
    return [...this.#release(), ...handler(this, event, body, content)];
  }

  #release(): ClaudeEvent[] {
    const held = this.#held;
    const results = this.#heldResults;
    this.#held = [];
    this.#heldResults = [];
    return [...held.map((one) => this.#toolUse(one.event, one.permission)), ...results];
  }

  #toolUse(event: SessionEvent, permission: "allow" | "ask" | "deny"): ClaudeEvent {
    const { tool } = event.body as { readonly tool: string };
    const { input = {} } = (event.content ?? {}) as { readonly input?: unknown };
    const external = (event.body as { readonly external?: unknown }).external !== undefined;
    const more = { input, evaluated_permission: permission };
    const server = [...this.#mcp].find((name) => tool.startsWith(`${name}_`));
    if (server !== undefined && !external) {
      const name = tool.slice(server.length + 1);
      return this.make(event, "agent.mcp_tool_use", { mcp_server_name: server, name, ...more });
    }
    const type = external && !toolsetNames.includes(tool) ? "agent.custom_tool_use" : "agent.tool_use";
    return this.make(event, type, { name: tool, ...more });
  }

  make({ seq, at }: SessionEvent, type: string, fields: Fields = {}, part = 0): ClaudeEvent {
    return { id: eventId(this.#session, seq, part), type, processed_at: timeText(at), ...fields };
  }

  requested(event: SessionEvent, body: Fields): ClaudeEvent[] {
    const call = String(body["call"]);
    const asked = body["ask"] === true;
    const external = body["external"] !== undefined;
    this.#calls.set(call, { seq: event.seq, tool: String(body["tool"]), asked, external });
    this.#held.push({ event, call, permission: asked ? "ask" : "allow" });
    return [];
  }

  answered(event: SessionEvent, body: Fields, result: "allow" | "deny", reason: unknown): ClaudeEvent[] {
    const call = String(body["call"]);
    const held = this.#held.find((one) => one.call === call);
    if (held !== undefined && held.permission === "allow") {
      if (result === "deny") held.permission = "deny";
      return [];
    }
    const info = this.#calls.get(call);
    if (info === undefined || !info.asked) return [];
    this.#calls.set(call, { ...info, asked: false });
    const message = result === "deny" && typeof reason === "string" ? { deny_message: reason } : {};
    const id = eventId(this.#session, info.seq);
    const confirmation = this.make(event, "user.tool_confirmation", { tool_use_id: id, result, ...message });
    // A denied call is settled by the next record.
    return result === "deny" ? [confirmation] : [confirmation, ...this.left(event)];
  }

  settled(event: SessionEvent, body: Fields, content: Fields): ClaudeEvent[] {
    const call = String(body["call"]);
    const info = this.#calls.get(call);
    if (info === undefined || body["late"] === true) return [];
    this.#calls.delete(call);
    const id = eventId(this.#session, info.seq);
    const result = this.#result(event, info, {
      id,
      content: outputBlocks(content["output"], (content["blocks"] ?? []) as readonly ContentBlock[]),
      is_error: body["status"] !== "ok",
    });
    if (this.#held.some((one) => one.call === call)) {
      this.#heldResults.push(result);
      return [];
    }
    return [result, ...this.left(event)];
  }

  #result(event: SessionEvent, { tool, external }: RequestedCall, { id, ...more }: Fields & { id: string }) {
    if (external && !toolsetNames.includes(tool))
      return this.make(event, "user.custom_tool_result", { custom_tool_use_id: id, ...more });
    if (external) return this.make(event, "user.tool_result", { tool_use_id: id, ...more });
    if ([...this.#mcp].some((name) => tool.startsWith(`${name}_`)))
      return this.make(event, "agent.mcp_tool_result", { mcp_tool_use_id: id, ...more });
    return this.make(event, "agent.tool_result", { tool_use_id: id, ...more });
  }

  /** After a partial answer: the calls that still wait. */
  left(event: SessionEvent): ClaudeEvent[] {
    if (this.#isRunning || !this.#inTurn) return [];
    const ids = this.#waiting();
    return ids.length === 0
      ? []
      : [this.idle(event, { type: "requires_action", event_ids: ids }, { part: 9 })];
  }

  #waiting(): readonly string[] {
    return [...this.#calls.values()]
      .filter(({ asked, external }) => asked || external)
      .map(({ seq }) => seq)
      .toSorted((a, b) => a - b)
      .map((seq) => eventId(this.#session, seq));
  }

  started(event: SessionEvent): ClaudeEvent[] {
    this.#inTurn = true;
    return this.running(event);
  }

  running(event: SessionEvent): ClaudeEvent[] {
    if (this.#isRunning) return [];
    this.#isRunning = true;
    return [this.make(event, "session.status_running")];
  }

  resumed(event: SessionEvent): ClaudeEvent[] {
    return this.#inTurn ? this.running(event) : [];
  }

  idle(
    event: SessionEvent,
    reason: Fields,
    { part = 0, details = null }: { readonly part?: number; readonly details?: Fields | null } = {},
  ): ClaudeEvent {
    this.#isRunning = false;
    return this.make(event, "session.status_idle", { stop_reason: reason, stop_details: details }, part);
  }

  suspended(event: SessionEvent, { by, on }: Fields, { reason }: Fields): ClaudeEvent[] {
    if (by === "budget") return [this.idle(event, { type: "budget_reached" })];
    if (by === "error") {
      const error = {
        type: "unknown_error",
        message: typeof reason === "string" ? reason : "the turn failed",
        retry_status: { type: "exhausted" },
      };
      return [
        this.make(event, "session.error", { error }, 1),
        this.idle(event, { type: "retries_exhausted" }, { part: 2 }),
      ];
    }
    const ids =
      by === "unknown" ? ((on ?? []) as readonly number[]).map((seq) => this.idAt(seq)) : this.#waiting();
    if (by === "person" || ids.length === 0) return [this.idle(event, { type: "end_turn" })];
    return [this.idle(event, { type: "requires_action", event_ids: ids })];
  }

  idAt(seq: number): string {
    return eventId(this.#session, seq);
  }

  ended(event: SessionEvent, outcome: unknown): ClaudeEvent[] {
    this.#inTurn = false;
    this.#calls.clear();
    if (outcome === "refused") {
      const details = { type: "refusal", category: null, explanation: null };
      return [this.idle(event, { type: "refusal" }, { details })];
    }
    if (outcome === "failed") return [this.idle(event, { type: "retries_exhausted" })];
    return [this.idle(event, { type: "end_turn" })];
  }

  answer(
    event: SessionEvent,
    blocks: readonly ContentBlock[],
    usage: unknown,
    isError: boolean,
  ): ClaudeEvent[] {
    const requestSeq = Number(event.cause);
    const at = timeText(event.at);
    const out: ClaudeEvent[] = [];
    if (blocks.some(({ type }) => type === "reasoning"))
      out.push({ id: thinkingId(this.#session, requestSeq), type: "agent.thinking", processed_at: at });
    const text = blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
    if (text !== "") {
      const content = [{ type: "text", text }];
      out.push({
        id: messageId(this.#session, requestSeq),
        type: "agent.message",
        processed_at: at,
        content,
      });
    }
    const request = { model_request_start_id: this.idAt(requestSeq), is_error: isError };
    return [...out, this.make(event, "span.model_request_end", { ...request, model_usage: usageOf(usage) })];
  }

  rewound(state: Fields): ClaudeEvent[] {
    const toSeq = Number(state["toSeq"]);
    for (const [call, { seq }] of this.#calls) if (seq > toSeq) this.#calls.delete(call);
    this.#inTurn = false;
    this.#isRunning = false;
    return [];
  }

  bound({ name, kind }: Fields): ClaudeEvent[] {
    if (kind === "mcp") this.#mcp.add(String(name));
    return [];
  }
}

/** Records of a held call that belong to its request. */
const holding = new Set(["tool.denied", "tool.settled"]);

const usageOf = (usage: unknown): Fields => {
  const counts = (usage ?? {}) as Partial<Record<string, number>>;
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, cacheWriteTokens = 0 } = counts;
  return {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens),
    output_tokens: outputTokens,
    cache_read_input_tokens: cachedInputTokens,
    cache_creation_input_tokens: cacheWriteTokens,
  };
};

/** Blocks that the client can show. Bytes of images and files stay in the store. */
const contentBlocks = (blocks: readonly ContentBlock[]): readonly Fields[] =>
  blocks.flatMap((block): Fields[] => {
    if (block.type === "text") return [{ type: "text", text: block.text }];
    if (block.type === "image") return [{ type: "text", text: `[image ${block.mediaType}]` }];
    if (block.type === "file") return [{ type: "text", text: `[file ${block.name ?? block.mediaType}]` }];
    return [];
  });

function outputBlocks(output: unknown, blocks: readonly ContentBlock[]): readonly Fields[] {
  const shown = contentBlocks(blocks.filter(({ type }) => type !== "text"));
  if (output === undefined || output === null || output === "") return shown;
  const text = typeof output === "string" ? output : JSON.stringify(output);
  return [{ type: "text", text }, ...shown];
}

type Handler = (to: EventProjection, event: SessionEvent, body: Fields, content: Fields) => ClaudeEvent[];

const blocksOf = ({ blocks = [] }: Fields): readonly ContentBlock[] => blocks as readonly ContentBlock[];

const handlers: Readonly<Record<string, Handler>> = {
  "input.received": (to, event, { from = "user" }, content) => {
    const type = from === "user" ? "user.message" : "system.message";
    return [to.make(event, type, { content: contentBlocks(blocksOf(content)) })];
  },
  "turn.started": (to, event) => to.started(event),
  "turn.ended": (to, event, { outcome }) => to.ended(event, outcome),
  "model.requested": (to, event, { purpose }) =>
    purpose === "compaction" ? [] : [to.make(event, "span.model_request_start")],
  "model.responded": (to, event, { usage }, content) => to.answer(event, blocksOf(content), usage, false),
  "model.failed": (to, event, { usage }, { partial }) => {
    const text = typeof partial === "string" ? partial : "";
    return to.answer(event, text === "" ? [] : [{ type: "text", text }], usage, true);
  },
  "tool.requested": (to, event, body) => to.requested(event, body),
  "tool.approved": (to, event, body) => to.answered(event, body, "allow", undefined),
  "tool.denied": (to, event, body, { reason }) => to.answered(event, body, "deny", reason),
  "tool.started": () => [],
  "tool.settled": (to, event, body, content) => to.settled(event, body, content),
  "session.suspended": (to, event, body, content) => to.suspended(event, body, content),
  "session.activated": (to, event) => to.resumed(event),
  "session.interrupted": (to, event) => [to.make(event, "user.interrupt")],
  "session.closed": (to, event) => [to.make(event, "session.status_terminated")],
  "session.renamed": (to, event, _body, { name }) => [to.make(event, "session.updated", { title: name })],
  "session.rewound": (to, _event, body) => to.rewound(body),
  "budget.set": (to, event, { limits }) => [
    to.make(event, "session.updated", {
      budget: budgetOf((limits as { readonly nanoUsd?: number }).nanoUsd),
    }),
  ],
  "transcript.compacted": (to, event) => [to.make(event, "agent.thread_context_compacted")],
  "resource.bound": (to, _event, body) => to.bound(body),
  "x.claude-agents.session": (to, event, { first }, { metadata }) =>
    first === true ? [] : [to.make(event, "session.updated", { metadata })],
};
