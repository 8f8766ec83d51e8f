/**
 * Drives a session: the lease, and the commands of a turn under it. The turn loop is one driver; another
 * harness may be another, and keeps its own loop while Skein keeps the log.
 *
 *   begin → request → respond → start → settle → request → … → end
 *
 * Each call is one append, written only while the lease is in force. When it resolves the records are
 * durable: so act only after `request` or `start` has resolved.
 */
import type { ContentBlock } from "../../core/schema.ts";
import type { ToolCallDraft } from "../../core/tool/commands.ts";
import type { CountedUsage } from "../../core/turn/commands.ts";
import { present } from "../../core/present.ts";
import { checkOptions, SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { checkJson } from "../../core/text/json.ts";
import { limit } from "../../core/limit.ts";
import type { ContextPart, Settings } from "../../core/context/part.ts";
import type { State } from "../../core/state.ts";
import { rendererNow } from "../../core/context/context.ts";
import { needsPlan } from "../../core/context/plan.ts";
import { nextContext, type Context } from "../context/context-reader.ts";
import { planningFor } from "../context/model-settings.ts";
import { pinsReason } from "../context/plan-reader.ts";
import { bringIn } from "../context/bring-in.ts";
import { nextTaken, readWaiting, takenOf } from "../read/inbox.ts";
import { takeLeaseAt, type SessionLease } from "./lease.ts";
import type { Deps } from "../deps.ts";
import { safeJson, safeText } from "../log/redact.ts";
import { shapeOutput } from "./tool-output.ts";
import type { Also } from "../log/workspace-effects.ts";
import type { Build, Change } from "../log/writer.ts";
import type { NextFollowUp } from "../log/follow-up.ts";

/** Options of `session.drive`. */
export interface DriveOptions {
  /** The holder's name; shown to others that find the session leased. */
  readonly holder?: string;
  readonly leaseMs?: number;
}

export interface DriveChangeOptions {
  readonly actor?: string;
  readonly also?: Also;
  readonly asked?: boolean | undefined;
  readonly followUp?: NextFollowUp | undefined;
}

/** Options of `drive.request`. */
export interface RequestOptions {
  /** `provider/model`. */
  readonly model: string;
  readonly images?: boolean;
  readonly temperature?: number;
  /** The maximum use of the call, counted against the budget until it is settled. */
  readonly reserve?: { readonly tokens?: number; readonly nanoUsd?: number };
  readonly outputTokensMax?: number;
  /** The context window of the model, if Skein does not know the model; by default 200,000. */
  readonly windowTokens?: number;
}

/** Options of `drive.respond`: the model's answer. */
export interface RespondOptions {
  readonly finish: "stop" | "tool-calls" | "length" | "refusal" | "content-filter" | "other";
  readonly usage: CountedUsage;
  /** In nano-dollars; null when the price is unknown. */
  readonly costNanoUsd: number | null;
  /** The model's answer. A tool-call block has `call`, `tool` and `input`. */
  readonly blocks: readonly ContentBlock[];
  /** The effect of each requested tool; defaults to `unsafe`. */
  readonly effects?: Readonly<Record<string, "read" | "idempotent" | "unsafe">>;
}

/** Options of `drive.fail`. */
export interface FailOptions {
  readonly error: string;
  readonly message?: string;
  /** The text that the model had streamed. */
  readonly partial?: string;
  readonly usage?: CountedUsage;
  /** In nano-dollars; null, or absent, when it is unknown. */
  readonly costNanoUsd?: number | null;
  /** The upper bound of further use of the call. */
  readonly unconfirmed?: { readonly tokens?: number; readonly nanoUsd?: number };
}

/** A call that may run once it is started. */
export interface DrivenCall {
  readonly call: string;
  readonly tool: string;
  readonly input: unknown;
  /** The position of the request. */
  readonly seq: number;
  /** The same when the call runs again after a crash. */
  readonly key: string;
}

/** The context to send to the model: the result of `drive.request`. */
export interface RequestResult {
  readonly seq: number;
  readonly parts: readonly ContextPart[];
  readonly digest: string;
}

/** The commands of a turn under a lease, for your own loop. */
export class Drive implements AsyncDisposable {
  readonly session: SessionId;
  readonly lease: SessionLease;
  readonly #deps: Deps;
  /** @internal In whose name it writes. */
  readonly actor: string;
  #latest: State;

  constructor(deps: Deps, lease: SessionLease, actor: string, state: State) {
    this.#deps = deps;
    this.session = lease.session;
    this.lease = lease;
    this.actor = actor;
    this.#latest = state;
  }

  /**
   * @internal The last state that this drive wrote or read, without a read. A decision on a stale state
   * conflicts, and is made again.
   */
  get latest(): State {
    return this.#latest;
  }

  /** The state at the head, with what others wrote in the meantime. */
  async state(): Promise<State> {
    const { writer } = this.#deps;
    const state = await writer.current(this.session);
    writer.assertHistory(this.session, this.lease.history);
    return this.#note(state);
  }

  /** Calls of a turn run in parallel: an earlier write of one may arrive later. */
  #note(state: State): State {
    if (state.seq >= this.#latest.seq) this.#latest = state;
    return state;
  }

  /** @internal Any command of a turn, for the runner. */
  async change(build: Build, options: DriveChangeOptions = {}): Promise<Change> {
    const { writer } = this.#deps;
    const { actor = this.actor, ...rest } = options;
    const { epoch, history } = this.lease;
    const change = await writer.change(this.session, build, { ...rest, actor, epoch, history });
    this.lease.noteState(this.#note(change.state));
    return change;
  }

  /** Begins a turn with the queued input. Returns its number. */
  async begin(
    options: { readonly tools?: { readonly digest: string; readonly definitions: readonly unknown[] } } = {},
  ): Promise<number> {
    checkOptions("begin", options, ["tools"]);
    const { store } = this.#deps;
    const change = await this.change(async (state) => {
      const inputs = takenOf(await readWaiting(store, this.session, state));
      const known = state.standing.tools.at(-1)?.digest === options.tools?.digest;
      const tools = known ? {} : options;
      const settings = { model: state.standing.model ?? "offline/offline", images: false };
      const planning = await planningFor(this.#deps, this.session, state);
      const brought = await bringIn(this.#deps, this.session, state, { inputs, settings, planning });
      return { do: "begin", inputs, ...tools, ...brought };
    });
    return this.#going(change).lastTurn;
  }

  /** Records what is about to be sent, and returns it. Send it only once this has resolved. */
  async request(options: RequestOptions): Promise<RequestResult> {
    const known = ["model", "images", "temperature", "reserve", "outputTokensMax", "windowTokens"];
    checkOptions("request", options, known);
    const { model, images = false, temperature, reserve = {}, outputTokensMax = 4_096 } = options;
    const { windowTokens } = options;
    const settings: Settings = { model, images, ...present({ temperature }) };
    const { store, world } = this.#deps;
    let rendered: Context | null = null;
    const change = await this.change(async (state) => {
      const takes = await nextTaken(store, this.session, state);
      const planning = needsPlan(state, rendererNow)
        ? { planning: await planningFor(this.#deps, this.session, state, model, windowTokens) }
        : {};
      const next = { state, settings, inputs: takes, isKept: true, ...planning };
      rendered = await nextContext(this.#deps, this.session, next);
      const tooMuch = pinsReason(rendered);
      if (tooMuch !== null) throw new SkeinError("refused", `request: ${tooMuch}`);
      return {
        do: "request",
        model,
        renderer: rendered.renderer,
        context: rendered.digest,
        digestForm: rendered.digestForm,
        parts: rendered.parts.length,
        inputs: takes,
        plan: rendered.newPlan?.draft,
        reserved: reserve,
        outputTokensMax,
        settings,
        nowMs: world.now(),
      };
    });
    this.#going(change);
    if (rendered === null) throw new Error("invariant: a request was rendered");
    const { parts, digest } = rendered as Omit<RequestResult, "seq">;
    return { seq: change.headSeq, parts, digest };
  }

  /** Records the answer, and returns the calls it requests. */
  async respond(options: RespondOptions): Promise<readonly DrivenCall[]> {
    checkOptions("respond", options, ["finish", "usage", "costNanoUsd", "blocks", "effects"]);
    const { finish, usage, costNanoUsd, effects = {} } = options;
    if (!Array.isArray(options.blocks) || typeof usage !== "object" || usage === null) {
      throw new SkeinError("invalid", "respond: blocks and usage: missing", {
        hint: "pass the response's blocks and its token usage",
      });
    }
    const before = await this.state();
    const said = safeJson(this.#deps.world, options.blocks);
    const { blocks, calls } = takeCalls(said, before, (tool) => ({
      effect: effects[tool] ?? "unsafe",
    }));
    const change = await this.change({
      do: "respond",
      model: inFlight(before),
      finish,
      usage,
      costNanoUsd,
      blocks,
      calls,
    });
    return calls.flatMap(({ call, tool, input }) => {
      const open = change.state.mind.calls.get(call);
      return open === undefined ? [] : [{ call, tool, input, seq: open.seq, key: this.key(open.seq) }];
    });
  }

  /**
   * Records a failed model call. Give `usage` and `costNanoUsd` as far as they are known; without them, the
   * whole reservation stays unconfirmed. `partial` is the text that was streamed before it ended.
   */
  async fail(options: FailOptions): Promise<void> {
    checkOptions("fail", options, ["error", "message", "partial", "usage", "costNanoUsd", "unconfirmed"]);
    const { costNanoUsd = null, error, usage, unconfirmed } = options;
    const { world } = this.#deps;
    const said = (text: string | undefined) => (text === undefined ? undefined : safeText(world, text));
    const [message, partial] = [said(options.message), said(options.partial)];
    const model = inFlight(await this.state());
    const known = present({ usage, unconfirmed, message, partial });
    await this.change({ do: "fail", model, error, retryable: true, costNanoUsd, ...known });
  }

  /** Records that these calls are about to run. Run them only once this has resolved. */
  async start(...calls: readonly string[]): Promise<void> {
    const nowMs = this.#deps.world.now();
    this.#going(await this.change({ do: "start", calls, nowMs }));
  }

  /** Records the outcome of a call. A long output is stored whole; the model sees its beginning and end. */
  async settle(
    call: string,
    result: {
      readonly status: "ok" | "error" | "unknown" | "skipped";
      readonly output?: unknown;
      readonly ms?: number;
    },
  ): Promise<void> {
    checkOptions("settle", result, ["status", "output", "ms"]);
    const { status, output = "" } = result;
    if (typeof output !== "string") checkJson("settle: output", output);
    const { length } = typeof output === "string" ? output : JSON.stringify(output);
    const seq = length <= limit.toolOutputCharsMax ? null : (await this.state()).mind.calls.get(call)?.seq;
    const shaped = typeof seq === "number" ? await shapeOutput(this.#deps, output, seq) : {};
    await this.change({ do: "settle", call, ...result, ...shaped, status });
  }

  /** Ends the turn. */
  async end(
    outcome: "completed" | "interrupted" | "failed" | "refused" | "length" = "completed",
  ): Promise<void> {
    await this.change({ do: "end", outcome });
  }

  /** The key of the call that was requested at a position. */
  key(seq: number): string {
    return this.#deps.world.digest("", `${this.session}\n${seq}`);
  }

  /** A lease that cannot be released expires; the drive has ended all the same. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.lease.release();
    } catch (error) {
      const outOfReach = error instanceof SkeinError && ["unavailable", "unknown"].includes(error.code);
      if (!outOfReach) throw error;
    }
  }

  /** At a budget limit the session is suspended instead of executing the command. */
  #going({ state }: Change): State["standing"] {
    const { standing } = state;
    if (standing.status === "running") return standing;
    throw new SkeinError(
      "refused",
      `the session is ${standing.status} (${standing.why?.by ?? "no reason"})`,
      {
        hint: "answer its approvals, raise its budget or activate it, then retry",
      },
    );
  }
}

/** The model of the call in flight. */
function inFlight({ standing }: State): string {
  if (standing.reserved !== null) return standing.reserved.model;
  throw new SkeinError("refused", "no model call is in flight", { hint: "call request first" });
}

/**
 * Moves the arguments of calls out of the blocks, where they would be a second time, and gives each call an
 * id that no open call has. Providers repeat ids, and some give none. An external call has an id that no
 * other call of the session has, so that a late result never settles another call.
 */
export function takeCalls(
  blocks: readonly ContentBlock[],
  state: State,
  factsOf: (tool: string) => Pick<ToolCallDraft, "effect" | "deadlineMs">,
): { readonly blocks: ContentBlock[]; readonly calls: ToolCallDraft[] } {
  const calls: ToolCallDraft[] = [];
  const taken = new Set<string>(state.mind.calls.keys());
  const kept = blocks.map((block): ContentBlock => {
    if (block.type !== "tool-call") return block;
    const { input, ...rest } = block;
    const facts = factsOf(block.tool);
    const wanted = facts.deadlineMs === undefined ? block.call : externalId(block.call, state);
    const call = freshId(wanted, taken);
    taken.add(call);
    calls.push({ call, tool: block.tool, ...facts, input: input ?? {}, verdict: "run" });
    return { ...rest, call };
  });
  return { blocks: kept, calls };
}

const externalId = (wanted: string, { seq }: State): string => `${wanted.slice(0, 48) || "call"}-at${seq}`;

function freshId(wanted: string, taken: ReadonlySet<string>): string {
  const clean = wanted.replace(/[^A-Za-z0-9_.:-]/g, "-").slice(0, 100) || "call";
  if (!taken.has(clean)) return clean;
  for (let number = 2; ; number++) if (!taken.has(`${clean}-${number}`)) return `${clean}-${number}`;
}

export async function takeDrive(
  deps: Deps,
  session: SessionId,
  options: DriveOptions & {
    readonly actor?: string;
    readonly expectSeq?: number;
    readonly followUp?: NextFollowUp | undefined;
  } = {},
): Promise<Drive> {
  const { holder = deps.holder, leaseMs = deps.leaseMs, actor = deps.actor, expectSeq, followUp } = options;
  const { lease, state } = await takeLeaseAt(deps, session, { holder, leaseMs, expectSeq, followUp });
  return new Drive(deps, lease, actor, state);
}
