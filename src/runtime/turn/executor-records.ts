/** The records of a turn that an executor runs: answers, calls, outcomes, files, plans and costs. */
import type { ToolCallDraft } from "../../core/tool/commands.ts";
import { limit } from "../../core/limit.ts";
import type { TreeChange } from "../../core/tool/file-version.ts";
import type { OpenCall, State } from "../../core/state.ts";
import type { ExecutorCall, ExecutorEvent, ExecutorSession } from "../../core/turn/executor.ts";
import type { WatchedCalls } from "../../tool/port.ts";
import type { Deps } from "../deps.ts";
import { safeJson, safeText } from "../log/redact.ts";
import { takeCalls, type Drive } from "./drive.ts";
import { blocksOf, linkOf, takeCost, type ExecutorLink } from "./executor-link.ts";
import { watchExecutor } from "./file-changes.ts";
import type { RunContext } from "./run-context.ts";
import { shapeOutput } from "./tool-output.ts";

export type Verdict = Pick<ToolCallDraft, "verdict" | "reason">;

const unknownText = (tool: string): string =>
  `the agent was cut off while it ran ${tool}: the effect is not known. Look before repeating it`;

export class ExecutorRecords {
  readonly #given: { readonly deps: Deps; readonly drive: Drive; readonly runContext: RunContext };
  #watched: WatchedCalls | undefined;

  constructor(given: { readonly deps: Deps; readonly drive: Drive; readonly runContext: RunContext }) {
    this.#given = given;
  }

  /** No file is watched from here on. */
  async release(): Promise<void> {
    await this.#watched?.over().catch(() => undefined);
  }

  /** Records what the agent said, and the call that follows. Null when the turn ended meanwhile. */
  async respond(
    agent: ExecutorSession,
    requestSeq: number,
    call: ExecutorCall,
    verdict: Verdict,
  ): Promise<string | null> {
    const { deps, drive, runContext } = this.#given;
    const link = linkOf(agent);
    const usage = await this.usage(link);
    const block = { type: "tool-call" as const, call: call.id, tool: call.tool, input: call.input ?? {} };
    const said = safeJson(deps.world, [...blocksOf(link), block]);
    let id: string | null = null;
    await drive.change((state) => {
      const model = runContext.model.name;
      id = null;
      if (state.standing.reserved?.seq !== requestSeq)
        return { do: "fail", model, requestSeq, error: "overtaken", retryable: false, costNanoUsd: 0, usage };
      const { blocks, calls } = takeCalls(said, state, () => ({ effect: call.effect }));
      id = calls[0]?.call ?? null;
      const judged = calls.map((one): ToolCallDraft => ({ ...one, ...verdict }));
      // The last answer of a prompt carries the cost of all.
      return { do: "respond", model, finish: "tool-calls", usage, costNanoUsd: 0, blocks, calls: judged };
    });
    if (id !== null && verdict.verdict !== "deny") link.calls.set(id, call.id);
    return id;
  }

  async ended(
    link: ExecutorLink,
    requestSeq: number,
    reason: Extract<ExecutorEvent, { type: "ended" }>["reason"],
  ): Promise<void> {
    const { deps, drive, runContext } = this.#given;
    const usage = await this.usage(link);
    const costNanoUsd = takeCost(link);
    const finish = reason === "length" ? "length" : reason === "refused" ? "refusal" : "stop";
    const model = runContext.model.name;
    const blocks = safeJson(deps.world, blocksOf(link));
    await this.noteFiles();
    await drive.change((state) =>
      state.standing.reserved?.seq === requestSeq
        ? { do: "respond", model, finish, usage, costNanoUsd, blocks, calls: [] }
        : { do: "fail", model, requestSeq, error: "overtaken", retryable: false, costNanoUsd, usage },
    );
  }

  async start(call: string): Promise<boolean> {
    const { deps, drive } = this.#given;
    const { state } = await drive.change({ do: "start", calls: [call], nowMs: deps.world.now() });
    return state.mind.calls.get(call)?.phase === "started";
  }

  async settle(call: string, { status, output }: ExecutorCall): Promise<void> {
    const { deps, drive } = this.#given;
    const seq = drive.latest.mind.calls.get(call)?.seq;
    if (seq === undefined) return;
    const said = safeJson(deps.world, output ?? "");
    const shaped = await shapeOutput(deps, said, seq);
    const write = async (changed: readonly TreeChange[]): Promise<void> => {
      const files = changed.length === 0 ? {} : { changed };
      const result = status === "ok" ? ("ok" as const) : ("error" as const);
      await drive.change({ do: "settle", call, ...shaped, ...files, status: result, late: true });
    };
    await (this.#watched === undefined ? write([]) : this.#watched.record(write));
  }

  /** Settles a call that no process runs any more. */
  async abandon(call: string, open: OpenCall, outcome?: "skipped" | "unknown"): Promise<void> {
    const { drive, runContext } = this.#given;
    const status = outcome ?? (open.phase === "started" ? "unknown" : "skipped");
    const skipped = "the agent was stopped while this call waited; it may request it again";
    const output = status === "unknown" ? unknownText(open.tool) : skipped;
    const isDangerous = status === "unknown" && open.effect !== "read";
    const ask = isDangerous && runContext.rules.onUnknown === "ask";
    await drive.change({ do: "settle", call, status, output, ask });
  }

  async fail(error: string, message: string, state: State, partial = ""): Promise<void> {
    const { deps, drive, runContext } = this.#given;
    const model = state.standing.reserved?.model ?? runContext.model.name;
    const said = partial === "" ? {} : { partial: safeText(deps.world, partial) };
    const retryable = error !== "auth";
    await drive.change({ do: "fail", model, error, retryable, costNanoUsd: null, message, ...said });
  }

  async suspend(reason: string): Promise<void> {
    const shown = reason.slice(0, limit.reasonCharsMax);
    await this.#given.drive.change({ do: "suspend", by: "error", reason: shown });
  }

  /** The agent's plan as tasks. */
  async plan(link: ExecutorLink, tasks: Extract<ExecutorEvent, { type: "plan" }>["tasks"]): Promise<void> {
    const { deps, drive } = this.#given;
    const now = tasks.slice(0, 50).map(({ text, done }) => `${done ? "done" : "open"} ${text}`);
    for (let place = 0; place < Math.max(now.length, link.plan.length); place++) {
      if (now[place] === link.plan[place]) continue;
      const said = now[place] ?? `dropped ${link.plan[place]?.replace(/^\w+ /, "") ?? ""}`;
      const [status = "open", ...words] = said.split(" ");
      const value = safeText(deps.world, words.join(" ").slice(0, limit.reasonCharsMax));
      const item = { kind: "task", key: `plan-${place + 1}`, value, status: status as "open" } as const;
      await drive.change({ do: "record", ...item });
    }
    link.plan = now;
  }

  /** True when the money budget is used up. */
  async isSpent(link: ExecutorLink, totalNanoUsd: number | null): Promise<boolean> {
    if (totalNanoUsd === null) return false;
    link.totalNanoUsd = totalNanoUsd;
    const { limits, used } = this.#given.drive.latest.standing;
    const more = totalNanoUsd - link.recordedNanoUsd;
    return limits.nanoUsd !== undefined && used.nanoUsd + more > limits.nanoUsd;
  }

  /** Tokens are counted here: agents report their context, not their usage. */
  async usage(link: ExecutorLink): Promise<{ inputTokens: number; outputTokens: number; estimated: true }> {
    const inputTokens = link.promptTokens;
    link.promptTokens = 0;
    const outputTokens = await this.#given.deps.tokenizer.count(link.reasoning + link.text);
    return { inputTokens, outputTokens, estimated: true };
  }

  /** From before the prompt: a call may be over when it is reported. */
  async watch(): Promise<void> {
    const { deps, runContext } = this.#given;
    this.#watched ??= await watchExecutor(deps, runContext.files, runContext.model.name);
  }

  /** Changes that belong to no call. */
  async noteFiles(): Promise<void> {
    await this.#watched?.record(async (changed) => {
      if (changed.length > 0) await this.#given.drive.change({ do: "note", changed });
    });
  }
}
