/**
 * Runs turns by an executor: another agent with its own model, tools and context. One turn is one prompt. Its
 * answers, calls and plans become the same records that the turn loop writes, so budget, approvals, workers,
 * interrupts and recovery work as always. Its context is its own: requests are marked `outside`.
 *
 * A call runs in the executor, often before Skein hears of it. So `tool.started` cannot come before the
 * effect; what was in progress when either side died is settled as unknown.
 */
import type { Command } from "../../core/command.ts";
import { SkeinError } from "../../core/error.ts";
import { errorText } from "../../core/first-error.ts";
import { limit } from "../../core/limit.ts";
import type { State } from "../../core/state.ts";
import type { ExecutorCall, ExecutorEvent, ExecutorSession, TurnExecutor } from "../../core/turn/executor.ts";
import type { Next } from "../../core/turn/next.ts";
import { nextContext } from "../context/context-reader.ts";
import type { Deps } from "../deps.ts";
import { judgeCall } from "../govern/rules.ts";
import { safeText } from "../log/redact.ts";
import { nextTaken } from "../read/inbox.ts";
import type { Drive } from "./drive.ts";
import {
  costBefore,
  executorPrompt,
  executorSessionIn,
  executorSessionType,
  workDirectory,
} from "./executor-prompt.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import { rulesOf, type RunContext } from "./run-context.ts";
import { linkOf, takeCost, type ExecutorLink } from "./executor-link.ts";
import { ExecutorRecords, type Verdict } from "./executor-records.ts";

export interface ExecutorWorld {
  readonly deps: Deps;
  readonly drive: Drive;
  readonly runContext: RunContext;
  readonly keeper: LeaseKeeper;
  readonly executor: TurnExecutor;
  /** The command that begins a turn. */
  readonly begin: (state: State) => Promise<Command>;
}

type LostEvent = Extract<ExecutorEvent, { type: "lost" | "locked" }>;

/** With the hint: the person who reads it can do something. */
const reasonOf = (error: unknown): string =>
  error instanceof SkeinError && error.hint !== undefined
    ? `${error.message} (${error.hint})`
    : errorText(error);

export class ExecutorRun {
  readonly #given: ExecutorWorld;
  readonly #records: ExecutorRecords;
  #agent: ExecutorSession | null = null;

  constructor(given: ExecutorWorld) {
    this.#given = given;
    this.#records = new ExecutorRecords(given);
  }

  /** What the state asks for next; the caller loops. */
  async perform(next: Exclude<Next, { next: "rest" }>, state: State): Promise<void> {
    const { drive, begin } = this.#given;
    switch (next.next) {
      case "begin":
        await drive.change(begin);
        return;
      case "write-off":
        return this.#records.fail("crashed", "the runner that asked the agent is gone", state);
      case "calls":
        return this.#calls(state);
      case "request":
        return this.#request(state);
      case "end":
        if (this.#agent?.isWorking === true) await this.#agent.cancel();
        await drive.change({ do: "end", outcome: next.outcome });
    }
  }

  /** Ends the agent's process, unless it waits for an approval: then it is kept for the next run. */
  async release(): Promise<void> {
    const agent = this.#agent;
    this.#agent = null;
    await this.#records.release();
    if (agent === null) return;
    const { standing } = this.#given.drive.latest;
    if (agent.asking.length > 0 && standing.status === "suspended") agent.park();
    else await agent.close();
  }

  async #request(state: State): Promise<void> {
    const { deps, drive, runContext } = this.#given;
    const { attempts } = state.standing.turn ?? { attempts: 0 };
    if (attempts >= limit.attemptsMax) return this.#records.suspend(`the agent failed ${attempts} times`);
    const refusal = await this.#mayStart(state);
    if (refusal !== null) return this.#records.suspend(refusal);
    let agent: ExecutorSession;
    try {
      agent = await this.#connect(state);
    } catch (error) {
      if (this.#given.keeper.signal.aborted) return;
      return this.#records.suspend(`${runContext.model.name}: ${reasonOf(error)}`);
    }
    const link = linkOf(agent);
    const isGoingOn = agent.isWorking || link.queue.length > 0;
    await this.#records.watch();
    let prompt: string | undefined;
    const requested = await drive.change(async (now) => {
      const inputs = isGoingOn ? [] : await nextTaken(deps.store, drive.session, now);
      const settings = runContext.settings;
      const rendered = await nextContext(deps, drive.session, { state: now, settings, inputs });
      if (!isGoingOn) prompt = await executorPrompt(deps, drive.session, now, { agent, rendered, inputs });
      return {
        do: "request",
        model: runContext.model.name,
        renderer: rendered.renderer,
        context: rendered.digest,
        digestForm: rendered.digestForm,
        parts: rendered.parts.length,
        inputs,
        // Without a cost from the agent a money budget cannot be enforced: decide suspends the session.
        reserved: now.standing.unpriced > 0 ? {} : { nanoUsd: 1 },
        outputTokensMax: runContext.model.facts.outputTokensMax,
        settings,
        ...(prompt === undefined ? {} : { prompt: safeText(deps.world, prompt) }),
        nowMs: deps.world.now(),
        outside: true,
      };
    });
    if (requested.state.standing.reserved === null) return;
    if (prompt !== undefined) {
      link.promptTokens = await deps.tokenizer.count(prompt);
      agent.send(prompt);
    }
    await this.#listen(agent, requested.headSeq);
  }

  /** Why the agent may not start; null when it may. Outside of a sandbox a rule must allow it. */
  async #mayStart(state: State): Promise<string | null> {
    const { deps, drive, runContext, executor } = this.#given;
    if (this.#agent !== null || executor.isContained) return null;
    const rules = await rulesOf(deps, drive.session, state, runContext);
    const { name } = runContext.model;
    const { rule, by } = judgeCall(rules, {
      tool: name,
      effect: "unsafe",
      input: { command: executor.command },
    });
    if (rule === "allow" && by !== null) return null;
    if (rule === "deny") return `a rule denies ${name}`;
    return (
      `${name} runs "${executor.command}" with your rights, outside of Skein's sandbox; to allow it in ` +
      `this session: skein grant ID ${name} allow, then skein activate ID and skein run ID`
    );
  }

  async #connect(state: State): Promise<ExecutorSession> {
    if (this.#agent !== null) return this.#agent;
    const { deps, drive, keeper, executor } = this.#given;
    const known = await executorSessionIn(deps, drive.session);
    const cwd = await workDirectory(deps, drive.session, state);
    const id = known?.id ?? null;
    const agent = await executor.connect({ session: drive.session, cwd, id, signal: keeper.signal });
    this.#agent = agent;
    const link = linkOf(agent);
    if (agent.id !== known?.id) {
      // Before the first prompt: after a crash the next runner resumes it.
      const content = { session: drive.session, id: agent.id };
      await drive.change({ do: "append", records: [{ type: executorSessionType, body: {}, content }] });
    } else if (agent.isResumed && link.totalNanoUsd === null) {
      link.recordedNanoUsd = await costBefore(deps, drive.session, known.seq);
    }
    answerRefused(agent, state);
    return agent;
  }

  /** Hears the agent until it reports a call or ends. */
  async #listen(agent: ExecutorSession, requestSeq: number): Promise<void> {
    const { deps, drive } = this.#given;
    const link = linkOf(agent);
    const held = new Map<string, ExecutorCall>();
    link.text = "";
    link.reasoning = "";
    try {
      for (;;) {
        const event = await this.#next(agent);
        if (event === null) return await this.#interrupted(agent, requestSeq);
        switch (event.type) {
          case "text":
          case "reasoning":
            link[event.type] += event.text;
            deps.live.publish(drive.session, { type: "delta", requestSeq, delta: event });
            break;
          case "call":
            // It may still ask for permission.
            if (event.call.status === "waiting") held.set(event.call.id, event.call);
            else return await this.#reported(agent, requestSeq, event.call);
            break;
          case "permission":
            return await this.#asked(agent, requestSeq, event.call);
          case "plan":
            await this.#records.plan(link, event.tasks);
            break;
          case "cost":
            if (await this.#records.isSpent(link, event.totalNanoUsd))
              link.queue.push(...(await agent.cancel()));
            break;
          case "ended": {
            const [left] = held.values();
            if (left === undefined) return await this.#records.ended(link, requestSeq, event.reason);
            link.queue.unshift(event);
            return await this.#reported(agent, requestSeq, left);
          }
          case "lost":
            return await this.#lost(event, requestSeq);
          case "locked":
            return await this.#lost(event, requestSeq);
        }
      }
    } finally {
      deps.live.end(drive.session, requestSeq);
    }
  }

  /** Null once the run is interrupted, or has lost its lease. */
  async #next(agent: ExecutorSession): Promise<ExecutorEvent | null> {
    const { signal } = this.#given.keeper;
    const queued = linkOf(agent).queue.shift();
    if (queued !== undefined) return queued;
    try {
      return await agent.next(signal);
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }

  /** A call that the agent runs by itself. Rules cannot stop it any more. */
  async #reported(agent: ExecutorSession, requestSeq: number, call: ExecutorCall): Promise<void> {
    const id = await this.#records.respond(agent, requestSeq, call, { verdict: "run" });
    if (id === null) return;
    await this.#records.start(id);
    if (call.status === "ok" || call.status === "error") await this.#records.settle(id, call);
  }

  /** A call that the agent asks about: the rules decide, or a person. */
  async #asked(agent: ExecutorSession, requestSeq: number, call: ExecutorCall): Promise<void> {
    const { deps, drive, runContext } = this.#given;
    const rules = await rulesOf(deps, drive.session, drive.latest, runContext);
    const { rule, reason } = judgeCall(rules, { tool: call.tool, effect: call.effect, input: call.input });
    const why = reason === null ? "not allowed" : `not allowed: ${reason}`;
    const verdicts = {
      allow: { verdict: "run" },
      ask: { verdict: "ask" },
      deny: { verdict: "deny", reason: why },
    };
    const id = await this.#records.respond(agent, requestSeq, call, verdicts[rule] as Verdict);
    if (rule === "deny" || id === null) agent.decide(call.id, "reject");
    if (rule !== "allow" || id === null) return;
    await this.#records.start(id);
    agent.decide(call.id, "allow");
  }

  /** Open calls: those of the agent go on; calls that no process runs any more get their outcome. */
  async #calls(state: State): Promise<void> {
    const { drive, executor } = this.#given;
    const open = [...state.mind.calls.entries()];
    const asked = open.filter(([, { phase }]) => phase === "asked");
    if (asked.length > 0) {
      const on = asked.map(([, { seq }]) => seq).slice(0, 100);
      await drive.change({ do: "suspend", by: "approval", on, reason: "tool calls wait for approval" });
      return;
    }
    this.#agent ??= executor.parked(drive.session);
    const agent = this.#agent;
    for (const [id, call] of open) {
      const theirs = agent === null ? undefined : linkOf(agent).calls.get(id);
      const isAsking = agent?.asking.some((one) => one.id === theirs) === true;
      if (theirs === undefined || (call.phase !== "started" && !isAsking))
        await this.#records.abandon(id, call);
      else if (isAsking && call.phase !== "started") {
        if (await this.#records.start(id)) agent?.decide(theirs, "allow");
      }
    }
    await this.#records.watch();
    if (agent !== null && drive.latest.mind.calls.size > 0) await this.#untilSettled(agent);
  }

  /** Reads the agent's events until no call is open; events about other things wait for the next request. */
  async #untilSettled(agent: ExecutorSession): Promise<void> {
    const { drive } = this.#given;
    const link = linkOf(agent);
    const later: ExecutorEvent[] = [];
    while (drive.latest.mind.calls.size > 0 && drive.latest.standing.status === "running") {
      const event = await this.#next(agent);
      if (event === null) {
        // The end of the turn settles what is open.
        await agent.cancel();
        break;
      }
      if (event.type === "lost" || event.type === "locked") return this.#lost(event, null);
      const mine = "call" in event ? this.#openCall(link, event.call.id) : undefined;
      if (event.type === "ended") {
        for (const [id, call] of drive.latest.mind.calls.entries())
          await this.#records.abandon(id, call, event.reason === "interrupted" ? "skipped" : "unknown");
        later.push(event);
      } else if (event.type === "permission" && mine !== undefined) agent.decide(event.call.id, "reject");
      else if (event.type === "call" && mine !== undefined) {
        if (event.call.status === "ok" || event.call.status === "error")
          await this.#records.settle(mine, event.call);
      } else later.push(event);
    }
    link.queue.unshift(...later);
  }

  #openCall(link: ExecutorLink, theirs: string): string | undefined {
    const { mind } = this.#given.drive.latest;
    return [...link.calls.entries()].findLast(([call, id]) => id === theirs && mind.calls.has(call))?.[0];
  }

  /** The agent's process died, or refuses to work: its calls are unknown, and its prompt failed. */
  async #lost({ type, message }: LostEvent, requestSeq: number | null): Promise<void> {
    const agent = this.#agent;
    this.#agent = null;
    await agent?.close();
    const state = this.#given.drive.latest;
    if (requestSeq !== null) {
      const partial = agent === null ? "" : linkOf(agent).text;
      if (type === "lost") return this.#records.fail("dropped", message, state, partial);
      await this.#records.fail("auth", message, state, partial);
      return this.#records.suspend(`${this.#given.runContext.model.name}: ${message}`);
    }
    for (const [id, call] of state.mind.calls.entries()) await this.#records.abandon(id, call);
  }

  async #interrupted(agent: ExecutorSession, requestSeq: number): Promise<void> {
    const link = linkOf(agent);
    for (const event of await agent.cancel()) {
      if (event.type === "text") link.text += event.text;
      if (event.type === "cost" && event.totalNanoUsd !== null) link.totalNanoUsd = event.totalNanoUsd;
    }
    this.#given.keeper.assertHeld();
    const { deps, drive, runContext } = this.#given;
    const [usage, costNanoUsd] = [await this.#records.usage(link), takeCost(link)];
    const partial = link.text === "" ? {} : { partial: safeText(deps.world, link.text) };
    const model = runContext.model.name;
    const fail = { do: "fail", model, requestSeq, error: "interrupted", retryable: false } as const;
    await drive.change({ ...fail, costNanoUsd, usage, message: "the turn was interrupted", ...partial });
  }
}

/** Calls that a person has denied meanwhile. */
function answerRefused(agent: ExecutorSession, { mind }: State): void {
  const { calls } = linkOf(agent);
  for (const asking of agent.asking) {
    const open = [...calls.entries()].some(([call, id]) => id === asking.id && mind.calls.has(call));
    if (!open) agent.decide(asking.id, "reject");
  }
}
