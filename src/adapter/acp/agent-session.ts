/**
 * One session that an editor has open: it follows the log, and runs prompts one after the other. The log is
 * the truth: after a kill another connection loads the session and continues.
 */
import type { SessionEvent } from "../../core/event.ts";
import type { ContentBlock } from "../../core/schema.ts";
import { nextOf } from "../../core/turn/next.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { RunResult } from "../../runtime/turn/runner.ts";
import { askPermission, waitingCalls } from "./permission.ts";
import { textOf, titleOf } from "./prompt.ts";
import { RpcError, rpcCode, type RpcConnection } from "./json-rpc.ts";
import { SessionUpdates, type AcpUpdate } from "./updates.ts";

export interface AttachOptions {
  readonly engine: Engine;
  readonly session: Session;
  readonly connection: RpcConnection;
  /** The updates that tell the current mode and settings. */
  readonly settings: (session: Session) => Promise<readonly AcpUpdate[]>;
  /** Reports a failure that no request waits for. */
  readonly failed: (error: unknown) => void;
}

/** The answer to a prompt. */
export interface PromptResult {
  readonly stopReason: "end_turn" | "max_tokens" | "max_turn_requests" | "cancelled";
}

export class AttachedSession {
  readonly #given: AttachOptions;
  readonly #updates: SessionUpdates;
  readonly #over = new AbortController();
  readonly #ownInputs = new Set<number>();
  /** Calls whose approval is asked for: aborted when another client answers. */
  readonly #asking = new Map<string, AbortController>();
  readonly #waiting: { seq: number; reached(): void }[] = [];
  /** The prompts, one after the other. */
  #lane: Promise<unknown> = Promise.resolve();
  /** Updates, one after the other. */
  #sending: Promise<unknown> = Promise.resolve();
  #appending: Promise<unknown> = Promise.resolve();
  #seenSeq = 0;
  /** Aborted by a cancellation, which covers every prompt that was sent before it. */
  #cancelled = new AbortController();
  #isNamed = false;

  constructor(given: AttachOptions) {
    this.#given = given;
    const { engine, session } = given;
    this.#updates = new SessionUpdates({
      engine,
      session,
      send: (update) => this.#send(update),
      isOwnInput: async (seq) => {
        await this.#appending.catch(() => undefined);
        return this.#ownInputs.delete(seq);
      },
      onSettings: async () => {
        for (const update of await given.settings(session)) await this.#send(update);
      },
      onDecided: (call) => this.#asking.get(call)?.abort(),
    });
  }

  /** Follows the log from its end; with `replay`, after sending the conversation so far. */
  async attach({ replay }: { readonly replay: boolean }): Promise<void> {
    const { session, engine } = this.#given;
    const { seq } = await session.head();
    const isShown = await conversationOf(session, seq);
    if (replay) await this.#updates.replay(session.events({ toSeq: seq }), isShown);
    else
      for await (const event of session.events({ types: ["resource.bound"] }))
        await this.#updates.event(event);
    this.#seenSeq = seq;
    this.#isNamed = (await session.fold()).standing.name !== null;
    const unsubscribe = internalsOf(engine).live.subscribe(session.id, (delta) => {
      void this.#enqueue(() => this.#updates.delta(delta));
    });
    this.#over.signal.addEventListener("abort", unsubscribe, { once: true });
    void this.#follow(seq + 1).catch(this.#given.failed);
  }

  /** Continues what a crash or another editor left: an unfinished turn, or a question. */
  resume(): void {
    const going = this.#queue(async () => {
      const state = await this.#given.session.fold();
      const isAsking = (await waitingCalls(this.#given.session)).length > 0;
      if (!isAsking && nextOf(state, { steered: false, stepsMax: Infinity }).next === "rest") return;
      await this.#runToRest(await this.#given.session.run(), this.#cancelled.signal);
    });
    going.catch(this.#given.failed);
  }

  /** One prompt: after those before it. */
  prompt(blocks: readonly ContentBlock[]): Promise<PromptResult> {
    const cancelled = this.#cancelled.signal;
    return this.#queue(() => this.#prompt(blocks, cancelled));
  }

  /** Interrupts the turn, and answers all prompts that were sent so far with `cancelled`. */
  cancel(): void {
    this.#cancelled.abort();
    this.#cancelled = new AbortController();
    this.#given.session.interrupt().catch(() => undefined);
  }

  /** Lets go of the session. What runs continues until the engine closes. */
  detach(): void {
    this.#over.abort();
  }

  /** Waits until no prompt is in progress. */
  async settled(): Promise<void> {
    await this.#lane.catch(() => undefined);
  }

  async #prompt(blocks: readonly ContentBlock[], cancelled: AbortSignal): Promise<PromptResult> {
    if (cancelled.aborted) return { stopReason: "cancelled" };
    const { session } = this.#given;
    await this.#name(blocks);
    const { seq: fromSeq } = await session.head();
    const first = (await this.#answerText(blocks)) ?? (await this.#ask(blocks, cancelled));
    const { status, by } = await this.#runToRest(first, cancelled);
    await this.#reached((await session.head()).seq);
    if (status === "suspended") return this.#suspended(by, cancelled);
    return this.#ended(fromSeq);
  }

  async #ask(blocks: readonly ContentBlock[], cancelled: AbortSignal): Promise<RunResult> {
    const run = this.#given.session.ask(blocks);
    const noteOwn = async (): Promise<void> => {
      this.#ownInputs.add((await run.started).seq);
      // The cancellation came before there was a turn to interrupt.
      if (cancelled.aborted) this.cancel();
    };
    this.#appending = noteOwn();
    await this.#appending;
    return run.result;
  }

  /** A session that waits for a person's word gets the prompt as the answer. */
  async #answerText(blocks: readonly ContentBlock[]): Promise<RunResult | null> {
    const { session } = this.#given;
    const { status, why } = (await session.fold()).standing;
    if (status !== "suspended" || (why?.by !== "unknown" && why?.by !== "error")) return null;
    const text = textOf(blocks);
    const answer = async (): Promise<void> => {
      const { seq, headSeq } = await session.answer({ allow: true, ...(text === "" ? {} : { text }) });
      for (let one = seq; one <= headSeq; one++) this.#ownInputs.add(one);
    };
    this.#appending = answer();
    await this.#appending;
    return session.run();
  }

  /** Asks for approvals and runs on, until the session rests or waits for something else. */
  async #runToRest(first: RunResult, cancelled: AbortSignal): Promise<RunResult> {
    const { session } = this.#given;
    for (let result = first; ; result = await session.run()) {
      if (result.status !== "suspended" || result.by !== "approval" || cancelled.aborted) return result;
      await this.#reached((await session.head()).seq);
      for (const call of await waitingCalls(session)) {
        const decided = new AbortController();
        this.#asking.set(call.call, decided);
        const signal = AbortSignal.any([decided.signal, cancelled, this.#over.signal]);
        const answered = await askPermission(this.#given, call, signal).finally(() =>
          this.#asking.delete(call.call),
        );
        if (answered === "cancelled") await session.interrupt().catch(() => undefined);
        if (answered === "cancelled" || this.#over.signal.aborted) return session.run();
      }
    }
  }

  /** The session stands still, and says why. */
  async #suspended(by: string | null, cancelled: AbortSignal): Promise<PromptResult> {
    if (cancelled.aborted) return { stopReason: "cancelled" };
    const { why } = await this.#given.session.state();
    const reason = why?.reason ?? by ?? "no reason given";
    if (by === "error") throw new RpcError(rpcCode.internal, reason, { suspended: by });
    await this.#enqueue(() => this.#updates.say(`[${suspendedText[by ?? ""] ?? "suspended"}: ${reason}]`));
    return { stopReason: by === "budget" ? "max_turn_requests" : "end_turn" };
  }

  async #ended(fromSeq: number): Promise<PromptResult> {
    const { session } = this.#given;
    const last = async (type: string): Promise<Readonly<Record<string, unknown>>> => {
      const events = session.events({ types: [type], fromSeq: fromSeq + 1, reverse: true, limit: 1 });
      for await (const { body } of events) return body as Readonly<Record<string, unknown>>;
      return {};
    };
    const { outcome } = await last("turn.ended");
    switch (outcome) {
      case "interrupted":
      case "cancelled":
        return { stopReason: "cancelled" };
      case "failed":
        throw new RpcError(rpcCode.internal, "the turn failed");
      case "length": {
        const isCut = (await last("model.responded"))["finish"] === "length";
        return { stopReason: isCut ? "max_tokens" : "max_turn_requests" };
      }
      case "refused":
        // Not `refusal`: an editor would drop the prompt, and the session keeps it.
        await this.#enqueue(() => this.#updates.say("[the model refused to answer]"));
    }
    return { stopReason: "end_turn" };
  }

  /** A session without a name gets the first line of its first prompt. */
  async #name(blocks: readonly ContentBlock[]): Promise<void> {
    const title = this.#isNamed ? null : titleOf(blocks);
    if (title === null) return;
    this.#isNamed = true;
    await this.#given.session.rename(title);
  }

  async #follow(fromSeq: number): Promise<void> {
    const { signal } = this.#over;
    for await (const event of this.#given.session.events({ fromSeq, follow: true, signal })) {
      await this.#enqueue(() => this.#event(event));
    }
  }

  async #event(event: SessionEvent): Promise<void> {
    await this.#updates.event(event);
    this.#seenSeq = event.seq;
    for (const one of this.#waiting.splice(0)) {
      if (one.seq <= event.seq) one.reached();
      else this.#waiting.push(one);
    }
  }

  /** Resolves when everything up to a position was sent. */
  async #reached(seq: number): Promise<void> {
    if (this.#seenSeq >= seq || this.#over.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ seq, reached: resolve });
    this.#over.signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
  }

  #queue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#lane.catch(() => undefined).then(work);
    this.#lane = done;
    done.catch(() => undefined);
    return done;
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#sending.then(work);
    this.#sending = done.catch(this.#given.failed);
    return done;
  }

  async #send(update: AcpUpdate): Promise<void> {
    if (this.#over.signal.aborted) return;
    const { connection, session } = this.#given;
    await connection.notify("session/update", { sessionId: session.id, update });
  }
}

const suspendedText: Readonly<Record<string, string>> = {
  budget: "the budget is used up; the session continues when it has more",
  unknown: "the outcome of a call is unknown; say what happened, and the session continues",
  tool: "waiting for the result of an external call",
  person: "the session was suspended by a person",
  zone: "the session was suspended by its agent's policy for this zone of the context",
};

/** What a person would read of a session: without the stretches that a rewind has left behind. */
async function conversationOf(session: Session, toSeq: number): Promise<(seq: number) => boolean> {
  const gone: [number, number][] = [];
  for await (const { seq, body } of session.events({ types: ["session.rewound"], toSeq })) {
    const { toSeq: kept } = body as { toSeq: number };
    gone.push([kept + 1, seq]);
  }
  return (seq) => !gone.some(([from, to]) => from <= seq && seq <= to);
}
