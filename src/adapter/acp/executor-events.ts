/** The events of an ACP agent that works on a prompt: its updates, in order, until its answer. */
import type { ExecutorCall, ExecutorEvent } from "../../core/turn/executor.ts";
import { RpcError, rpcCode } from "./json-rpc.ts";

type Fields = Readonly<Record<string, unknown>>;

interface PermissionRequest {
  readonly call: ExecutorCall;
  readonly answer: (answer: "allow" | "reject" | "cancelled") => void;
}

const reading = ["read", "search", "fetch", "think"];

const ends: readonly ExecutorEvent["type"][] = ["ended", "lost", "locked"];

export class ExecutorEvents {
  #queue: ExecutorEvent[] = [];
  #changed = Promise.withResolvers<void>();
  readonly #calls = new Map<
    string,
    {
      title: string;
      kind: string;
      name: string;
      input: unknown;
      status: ExecutorCall["status"];
      output: unknown;
    }
  >();
  readonly #asking = new Map<string, PermissionRequest>();
  #sessionId: string | null = null;
  /** The agent has not answered the prompt yet. */
  #isWorking = false;
  /** The end of the prompt was not read yet. */
  #isOpen = false;
  #isLost = false;

  get isWorking(): boolean {
    return this.#isOpen;
  }

  get asking(): readonly ExecutorCall[] {
    return [...this.#asking.values()].map(({ call }) => call);
  }

  /** From here on updates count: those before belong to a replay. */
  begin(sessionId: string): void {
    this.#sessionId = sessionId;
    this.#queue = [];
    this.#calls.clear();
    if (this.#isLost) this.lost("the agent ended");
  }

  prompted(): void {
    // Events after the end of the last prompt do not belong to this one; the cost is a total.
    this.#queue = this.#queue.filter(({ type }) => type === "cost");
    this.#isWorking = true;
    this.#isOpen = true;
    if (this.#isLost) this.#push({ type: "lost", message: "the agent ended" });
  }

  ended(stopReason: unknown): void {
    this.#isWorking = false;
    const cut = stopReason === "max_tokens" || stopReason === "max_turn_requests";
    const reason =
      stopReason === "cancelled"
        ? "interrupted"
        : stopReason === "refusal"
          ? "refused"
          : cut
            ? "length"
            : "completed";
    this.#push({ type: "ended", reason });
  }

  /** `isLocked`: it refused to work before someone logs in. */
  lost(message: string, isLocked = false): void {
    if (this.#isLost && !this.#isWorking) return;
    this.#isLost = true;
    this.#isWorking = false;
    for (const one of this.#asking.values()) one.answer("cancelled");
    this.#push({ type: isLocked ? "locked" : "lost", message });
  }

  update(params: unknown): void {
    const { sessionId, update } = Object(params) as { sessionId?: unknown; update?: unknown };
    if (sessionId !== this.#sessionId || typeof update !== "object" || update === null) return;
    const fields = update as Fields;
    switch (fields["sessionUpdate"]) {
      case "agent_message_chunk":
        return this.#text("text", fields["content"]);
      case "agent_thought_chunk":
        return this.#text("reasoning", fields["content"]);
      case "tool_call":
      case "tool_call_update":
        return this.#call(fields);
      case "plan": {
        const entries = (Array.isArray(fields["entries"]) ? fields["entries"] : []) as readonly Fields[];
        const tasks = entries.map(({ content, status }) => ({
          text: typeof content === "string" ? content : "",
          done: status === "completed",
        }));
        return this.#push({ type: "plan", tasks });
      }
      case "usage_update":
        return this.#push({ type: "cost", totalNanoUsd: nanoUsdOf(fields["cost"]) });
    }
  }

  /** Waits until `decide`; the connection's end cancels it. */
  async permission(params: unknown): Promise<unknown> {
    const { sessionId, toolCall, options } = Object(params) as Fields;
    if (
      sessionId !== this.#sessionId ||
      typeof toolCall !== "object" ||
      toolCall === null ||
      !Array.isArray(options)
    )
      throw new RpcError(rpcCode.invalidParams, "expected sessionId, toolCall and options");
    const call = this.#known(toolCall as Fields);
    if (call === null) throw new RpcError(rpcCode.invalidParams, "toolCall: expected a toolCallId");
    const { promise, resolve } = Promise.withResolvers<"allow" | "reject" | "cancelled">();
    this.#asking.set(call.id, { call, answer: resolve });
    this.#push({ type: "permission", call });
    const answer = await promise;
    this.#asking.delete(call.id);
    const option = answer === "cancelled" ? undefined : optionFor(options as readonly Fields[], answer);
    if (option === undefined) return { outcome: { outcome: "cancelled" } };
    return { outcome: { outcome: "selected", optionId: option } };
  }

  decide(call: string, answer: "allow" | "reject"): void {
    const asking = this.#asking.get(call);
    this.#asking.delete(call);
    asking?.answer(answer);
  }

  cancelAsking(): void {
    for (const one of this.#asking.values()) one.answer("cancelled");
    this.#asking.clear();
  }

  async next(signal: AbortSignal): Promise<ExecutorEvent> {
    for (;;) {
      signal.throwIfAborted();
      const event = this.#queue.shift();
      if (event !== undefined && ends.includes(event.type)) this.#isOpen = false;
      if (event !== undefined) return event;
      const aborted = Promise.withResolvers<void>();
      const stop = (): void => aborted.resolve();
      signal.addEventListener("abort", stop, { once: true });
      await Promise.race([this.#changed.promise, aborted.promise]);
      signal.removeEventListener("abort", stop);
    }
  }

  /** Everything up to the end of the prompt, or to the abort. */
  async rest(signal: AbortSignal): Promise<readonly ExecutorEvent[]> {
    const all: ExecutorEvent[] = [];
    while (this.#isWorking || this.#queue.length > 0) {
      const event = await this.next(signal).catch(() => null);
      if (event === null) break;
      all.push(event);
    }
    return all;
  }

  #push(event: ExecutorEvent): void {
    this.#queue.push(event);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #text(type: "text" | "reasoning", content: unknown): void {
    const { text } = Object(content) as { text?: unknown };
    if (typeof text === "string" && text !== "") this.#push({ type, text });
  }

  #call(fields: Fields): void {
    const before = this.#calls.get(String(fields["toolCallId"]))?.status;
    const call = this.#known(fields);
    // A call that is over says no more; and one whose text alone has changed says nothing new.
    if (call === null || before === "ok" || before === "error" || before === call.status) return;
    this.#push({ type: "call", call });
  }

  /** The call as known so far. An update may come before its announcement. */
  #known(fields: Fields): ExecutorCall | null {
    const id = fields["toolCallId"];
    if (typeof id !== "string" || id === "") return null;
    const fresh = { title: "", kind: "other", name: "", input: {}, status: "waiting" as const, output: "" };
    const known = this.#calls.get(id) ?? fresh;
    const text = (name: string, or: string): string => (typeof fields[name] === "string" ? fields[name] : or);
    const content = contentText(fields["content"]);
    const next = {
      title: text("title", known.title),
      kind: text("kind", known.kind),
      name: text("name", known.name),
      input: fields["rawInput"] ?? known.input,
      status: statusOf(fields["status"]) ?? known.status,
      output: content ?? fields["rawOutput"] ?? known.output,
    };
    this.#calls.set(id, next);
    const { title, kind, name, status, output } = next;
    const tool = (name || kind).replaceAll(/[^A-Za-z0-9_.:/-]/g, "_").slice(0, 100) || "other";
    const isBare =
      typeof next.input !== "object" || next.input === null || Object.keys(next.input).length === 0;
    const input = isBare ? { title } : next.input;
    return { id, tool, effect: reading.includes(kind) ? "read" : "unsafe", input, status, output };
  }
}

function statusOf(status: unknown): ExecutorCall["status"] | undefined {
  if (status === "completed") return "ok";
  if (status === "failed") return "error";
  if (status === "in_progress") return "running";
  return status === "pending" ? "waiting" : undefined;
}

/** Texts and diffs of a call. Undefined: nothing that a person could read. */
function contentText(content: unknown): string | undefined {
  if (!Array.isArray(content)) return undefined;
  const texts = (content as readonly Fields[]).flatMap((one) => {
    if (one["type"] === "diff") return [`changed ${String(one["path"])}`];
    const { text } = Object(one["content"]) as { text?: unknown };
    return typeof text === "string" ? [text] : [];
  });
  return texts.length === 0 ? undefined : texts.join("\n");
}

function nanoUsdOf(cost: unknown): number | null {
  const { amount, currency } = Object(cost) as { amount?: unknown; currency?: unknown };
  if (typeof amount !== "number" || !(amount >= 0) || currency !== "USD") return null;
  const nanoUsd = Math.ceil(amount * 1e9);
  return Number.isSafeInteger(nanoUsd) ? nanoUsd : null;
}

/** The narrowest option: Skein alone remembers approvals. */
function optionFor(options: readonly Fields[], answer: "allow" | "reject"): string | undefined {
  for (const kind of [`${answer}_once`, `${answer}_always`]) {
    const option = options.find((one) => one["kind"] === kind)?.["optionId"];
    if (typeof option === "string") return option;
  }
  return undefined;
}
