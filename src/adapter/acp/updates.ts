/**
 * Session updates of ACP from the events of a session: messages, tool calls, diffs, plans, usage. The same
 * code replays a loaded session and follows a live one.
 */
import { spendOf } from "../../core/budget/money.ts";
import type { SessionEvent } from "../../core/event.ts";
import type { ContentBlock } from "../../core/schema.ts";
import type { LiveDelta } from "../../runtime/turn/live.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { callStart, textContent, type ToolContent } from "./tool-call.ts";

/** The `update` of a `session/update` notification. */
export type AcpUpdate = Readonly<Record<string, unknown>> & { readonly sessionUpdate: string };

export interface UpdatesOptions {
  readonly engine: Engine;
  readonly session: Session;
  readonly send: (update: AcpUpdate) => Promise<void>;
  /** True for inputs of this connection: the editor shows them already. Decided after the input is known. */
  readonly isOwnInput: (seq: number) => Promise<boolean>;
  /** Called for changes of the mode and the model. */
  readonly onSettings: () => Promise<void>;
  /** Called when a call no longer waits for approval. */
  readonly onDecided: (call: string) => void;
}

type Fields = Readonly<Record<string, unknown>>;

interface ShownCall {
  readonly id: string;
  diffs: readonly ToolContent[];
}

/** Larger texts are not sent as a diff. */
const diffBytesMax = 262_144;
const imageBytesMax = 5_242_880;

export class SessionUpdates {
  readonly #given: UpdatesOptions;
  /** Open calls by id, and by the position of their request. */
  readonly #calls = new Map<string, ShownCall>();
  readonly #requests = new Map<number, ShownCall>();
  readonly #roots = new Map<string, string>();
  readonly #windows = new Map<string, number | null>();
  /** What was streamed of the answer to a request: reasoning and text. */
  #streamed: { seq: number; reasoning: string; text: string; isOver: boolean } | null = null;
  #early: LiveDelta[] = [];
  #isReplay = false;

  constructor(given: UpdatesOptions) {
    this.#given = given;
  }

  /** Sends past events. What only the latest of counts is sent at the end. */
  async replay(events: AsyncIterable<SessionEvent>, isShown: (seq: number) => boolean): Promise<void> {
    this.#isReplay = true;
    for await (const event of events)
      if (isShown(event.seq) || isSetting(event.type)) await this.event(event);
    this.#isReplay = false;
    await this.#plan();
    await this.usage();
  }

  async event(event: SessionEvent): Promise<void> {
    const handler = Object.hasOwn(handlers, event.type) ? handlers[event.type] : undefined;
    const fields = (event.body ?? {}) as Fields;
    await handler?.(this, event, fields, (event.content ?? {}) as Fields);
  }

  /** A piece of a streaming answer. Pieces that come before their request wait for it. */
  async delta(one: LiveDelta): Promise<void> {
    const { delta, requestSeq } = one;
    const current = this.#streamed;
    if (current === null || requestSeq > current.seq) return void this.#early.push(one);
    if (requestSeq < current.seq || current.isOver || delta.type === "tool-call") return;
    if (delta.type === "text") current.text += delta.text;
    else current.reasoning += delta.text;
    await this.#chunk(delta.type === "text" ? "agent" : "thought", requestSeq, delta.text);
  }

  async requested(seq: number): Promise<void> {
    this.#streamed = { seq, reasoning: "", text: "", isOver: false };
    const early = this.#early;
    this.#early = [];
    for (const one of early) await this.delta(one);
  }

  /** Sends the part of an answer that was not streamed. */
  async answered(requestSeq: number, blocks: readonly ContentBlock[]): Promise<void> {
    const said = (type: "text" | "reasoning"): string =>
      blocks.flatMap((block) => (block.type === type ? [(block as { text: string }).text] : [])).join("");
    const current = this.#streamed?.seq === requestSeq ? this.#streamed : null;
    const rest = (whole: string, sent = ""): string =>
      whole.startsWith(sent) ? whole.slice(sent.length) : "";
    await this.#chunk("thought", requestSeq, rest(said("reasoning"), current?.reasoning));
    await this.#chunk("agent", requestSeq, rest(said("text"), current?.text));
    if (current !== null) current.isOver = true;
  }

  /** A request without an answer: the next one has its own stream. */
  async failed(requestSeq: number, partial: unknown): Promise<void> {
    if (typeof partial === "string") return this.answered(requestSeq, [{ type: "text", text: partial }]);
    if (this.#streamed?.seq === requestSeq) this.#streamed.isOver = true;
  }

  /** A text of the agent that is not part of an answer. */
  say(text: string): Promise<void> {
    return this.#given.send(messageChunk("agent", "note", text));
  }

  async #chunk(from: "agent" | "thought", seq: number, text: string): Promise<void> {
    if (text !== "") await this.#given.send(messageChunk(from, `m${seq}`, text));
  }

  async input(seq: number, blocks: readonly ContentBlock[]): Promise<void> {
    if (!this.#isReplay && (await this.#given.isOwnInput(seq))) return;
    for (const block of blocks) {
      const content = await this.#contentOf(block);
      if (content !== null)
        await this.#given.send({ sessionUpdate: "user_message_chunk", content, messageId: `u${seq}` });
    }
  }

  async #contentOf(block: ContentBlock): Promise<Fields | null> {
    if (block.type === "text") return { type: "text", text: block.text };
    if (block.type === "file") return { type: "text", text: `[file ${block.name ?? block.mediaType}]` };
    return block.type === "image" ? this.#image(block.blob, block.mediaType) : null;
  }

  async #image(blob: string, mimeType: string): Promise<Fields> {
    const bytes = await this.#given.engine.blob(blob).catch(() => null);
    if (bytes === null || bytes.length > imageBytesMax) return { type: "text", text: `[image ${mimeType}]` };
    return { type: "image", data: Buffer.from(bytes).toString("base64"), mimeType };
  }

  async callRequested(event: SessionEvent, body: Fields, content: Fields): Promise<void> {
    const call = String(body["call"]);
    const shown = { id: `c${event.seq}`, diffs: [] };
    this.#calls.set(call, shown);
    this.#requests.set(event.seq, shown);
    const [root] = this.#roots.values();
    const start = callStart({ id: shown.id, body, content, root });
    await this.#given.send({ sessionUpdate: "tool_call", status: "pending", ...start });
  }

  async callChanged(call: unknown, change: Fields): Promise<void> {
    const id = this.#calls.get(String(call))?.id;
    if (id !== undefined)
      await this.#given.send({ sessionUpdate: "tool_call_update", toolCallId: id, ...change });
  }

  async callSettled({ call, status }: Fields, content: Fields): Promise<void> {
    const shown = this.#calls.get(String(call));
    if (shown === undefined) return;
    this.#calls.delete(String(call));
    const output = content["output"];
    const texts = textContent(output);
    const images: ToolContent[] = [];
    for (const block of (content["blocks"] ?? []) as readonly ContentBlock[])
      if (block.type === "image")
        images.push({ type: "content", content: await this.#image(block.blob, block.mediaType) });
    await this.#given.send({
      sessionUpdate: "tool_call_update",
      toolCallId: shown.id,
      status: status === "ok" ? "completed" : "failed",
      content: [...shown.diffs, ...texts, ...images],
    });
  }

  decided(call: unknown): void {
    this.#given.onDecided(String(call));
  }

  /** Changed files, as diffs of the call that changed them. */
  async filesChanged(event: SessionEvent, { name }: Fields, content: Fields): Promise<void> {
    const shown = event.cause === undefined ? undefined : this.#requests.get(Number(event.cause));
    const root = this.#roots.get(String(name));
    if (shown === undefined || root === undefined) return;
    const { files = [] } = (content["detail"] ?? {}) as { readonly files?: readonly ChangedFile[] };
    const diffs: ToolContent[] = [];
    for (const { path, before, after } of files.slice(0, 50)) {
      const [oldText, newText] = [await this.#text(before), await this.#text(after)];
      if (oldText === undefined || newText === undefined) continue;
      diffs.push({ type: "diff", path: `${root}/${path}`, oldText, newText: newText ?? "" });
    }
    if (diffs.length === 0) return;
    shown.diffs = [...shown.diffs, ...diffs];
    const locations = shown.diffs.map(({ path }) => ({ path }));
    const update = { toolCallId: shown.id, content: shown.diffs, locations };
    await this.#given.send({ sessionUpdate: "tool_call_update", ...update });
  }

  /** Null: the path does not exist. Undefined: not a text, or too large. */
  async #text(version: FileSide | null): Promise<string | null | undefined> {
    if (version === null) return null;
    if (version.kind !== "file" || version.blob === undefined || (version.bytes ?? 0) > diffBytesMax)
      return undefined;
    const bytes = await this.#given.engine.blob(version.blob).catch(() => null);
    if (bytes === null || bytes.includes(0)) return undefined;
    return new TextDecoder().decode(bytes);
  }

  /** The root of a bound directory, to name changed files by. */
  bound({ name, kind }: Fields, { path }: Fields): void {
    if (kind === "directory" && typeof path === "string") this.#roots.set(String(name), path);
  }

  /** The open and finished tasks, whole each time. */
  async #plan(): Promise<void> {
    const tasks = (await this.#given.session.items()).filter(({ kind }) => kind === "task");
    if (tasks.length === 0) return;
    const entries = tasks
      .filter(({ status }) => status !== "dropped")
      .map(({ key, value, status }) => ({
        content: typeof value === "string" && value !== "" ? value : key,
        priority: "medium",
        status: status === "done" ? "completed" : "pending",
      }));
    await this.#given.send({ sessionUpdate: "plan", entries });
  }

  plan(): Promise<void> {
    return this.#isReplay ? Promise.resolve() : this.#plan();
  }

  /** Tokens of the last request, the size of the context window, and the cost so far. */
  async usage(): Promise<void> {
    if (this.#isReplay) return;
    const { session, send } = this.#given;
    const last = session.events({ types: ["model.responded"], reverse: true, limit: 1 });
    for await (const { body } of last) {
      const { model, usage } = body as { model: string; usage: Record<string, number> };
      const size = await this.#window(model);
      if (size === null) return;
      const { nanoUsd } = spendOf(await session.fold());
      const used = (usage["inputTokens"] ?? 0) + (usage["outputTokens"] ?? 0);
      const cost = { amount: nanoUsd / 1e9, currency: "USD" };
      await send({ sessionUpdate: "usage_update", used, size, cost });
    }
  }

  async #window(model: string): Promise<number | null> {
    const known = this.#windows.get(model);
    if (known !== undefined) return known;
    const facts = await this.#given.engine.model(model).catch(() => null);
    this.#windows.set(model, facts?.windowTokens ?? null);
    return facts?.windowTokens ?? null;
  }

  async renamed(name: unknown): Promise<void> {
    if (typeof name !== "string" || this.#isReplay) return;
    await this.#given.send({ sessionUpdate: "session_info_update", title: name });
  }

  async settings(): Promise<void> {
    if (!this.#isReplay) await this.#given.onSettings();
  }
}

interface FileSide {
  readonly kind: string;
  readonly blob?: string;
  readonly bytes?: number;
}

interface ChangedFile {
  readonly path: string;
  readonly before: FileSide | null;
  readonly after: FileSide | null;
}

const messageChunk = (from: "agent" | "thought", messageId: string, text: string): AcpUpdate => ({
  sessionUpdate: `agent_${from === "agent" ? "message" : "thought"}_chunk`,
  content: { type: "text", text },
  messageId,
});

/** Events that say how to show others, also those of a past that was rewound. */
const isSetting = (type: string): boolean => type === "resource.bound";

const blocksOf = ({ blocks = [] }: Fields): readonly ContentBlock[] => blocks as readonly ContentBlock[];

type Handler = (to: SessionUpdates, event: SessionEvent, body: Fields, content: Fields) => unknown;

const taskChanged: Handler = (to, _event, { kind }) => (kind === "task" ? to.plan() : undefined);
const settingsChanged: Handler = (to) => to.settings();

const handlers: Readonly<Record<string, Handler>> = {
  "input.received": (to, { seq }, _body, content) => to.input(seq, blocksOf(content)),
  "input.imported": (to, { seq }, { from }, content) =>
    from === "user" ? to.input(seq, blocksOf(content)) : undefined,
  "answer.imported": (to, { seq }, _body, content) => to.answered(seq, blocksOf(content)),
  "call.imported": async (to, event, body, content) => {
    const imported = { ...body, call: `imported-${event.seq}` };
    await to.callRequested(event, imported, content);
    await to.callSettled(imported, content);
  },
  "model.requested": (to, { seq }, { purpose }) => (purpose === "compaction" ? undefined : to.requested(seq)),
  "model.responded": async (to, { cause }, _body, content) => {
    await to.answered(Number(cause), blocksOf(content));
    await to.usage();
  },
  "model.failed": (to, { cause }, _body, { partial }) => to.failed(Number(cause), partial),
  "tool.requested": (to, event, body, content) => to.callRequested(event, body, content),
  "tool.approved": (to, _event, { call }) => to.decided(call),
  "tool.denied": (to, _event, { call }) => to.decided(call),
  "tool.started": (to, _event, { call }) => to.callChanged(call, { status: "in_progress" }),
  "tool.settled": async (to, _event, body, content) => {
    to.decided(body["call"]);
    await to.callSettled(body, content);
  },
  "resource.bound": (to, _event, body, content) => to.bound(body, content),
  "resource.changed": (to, event, body, content) => to.filesChanged(event, body, content),
  "item.recorded": taskChanged,
  "item.retracted": taskChanged,
  "session.merged": (to) => to.plan(),
  "session.rewound": (to) => to.plan(),
  "session.renamed": (to, _event, _body, { name }) => to.renamed(name),
  "session.migrated": settingsChanged,
  "permission.set": settingsChanged,
};
