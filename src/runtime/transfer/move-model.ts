/**
 * Continues with another model. The context is rendered again for it, so nothing is converted; what it cannot
 * be shown is counted and named, and a transcript that is too long for its context window is compacted first.
 */
import { agentRules, type AgentDefinition } from "../../core/workspace/agent.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { isOverfull } from "../../core/compaction/plan.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { mayIn, wayOut } from "../../core/session/lifecycle.ts";
import { leftBehind } from "../../core/context/left-behind.ts";
import type { ContextPart } from "../../core/context/part.ts";
import type { State } from "../../core/state.ts";
import type { Model } from "../../model/port.ts";
import { compactNow } from "../turn/compact.ts";
import { contentOf } from "../read/content.ts";
import { readContext } from "../context/context-reader.ts";
import { gatherCrew, type RunContext } from "../turn/run-context.ts";
import { takeDrive } from "../turn/drive.ts";
import { keepLease } from "../turn/lease-keeper.ts";
import type { Deps } from "../deps.ts";
import { writtenBefore } from "../log/workspace-log.ts";
import { agentOf } from "../workspace/session-agent.ts";
import { modelOf } from "../context/model-settings.ts";
import { needForModel } from "../govern/rules.ts";
import { wayTo } from "../read/move-target.ts";

/** The result of a migration to another model. */
export interface ModelReport {
  readonly session: SessionId;
  readonly seq: number;
  /** Null when it had none before. */
  readonly from: string | null;
  readonly to: string;
  /** What the new model is not shown, in words. */
  readonly left: readonly string[];
  /** True when the context was compacted first. */
  readonly compacted: boolean;
}

export async function changeModel(deps: Deps, session: SessionId, name: string): Promise<ModelReport> {
  const { writer, actor } = deps;
  const before = await writtenBefore(deps, session);
  if (before?.type === "session.migrated") return reportIn(deps, session, before);
  needForModel(deps, name);
  const state = await writer.current(session);
  const { status } = state.standing;
  if (!mayIn(status, "migrate")) {
    throw new SkeinError("refused", `the session is ${status} and cannot be migrated`, {
      hint: status === "moved" ? await wayTo(deps.store, session, state) : wayOut[status],
    });
  }
  const { agent } = await agentOf(deps, session, state);
  const to = await modelOf(deps, name);
  const from = await modelOf(deps, state.standing.model ?? agent?.model).catch(() => null);
  if (from?.name === to.name && state.standing.model === to.name) {
    throw new SkeinError("refused", `migrate: the session already uses ${to.name}`);
  }
  const compacted = await fit(deps, session, { agent, from: from ?? to, to });
  const now = await writer.current(session);
  const left = leftBehind(await partsFor(deps, session, now, from ?? to), to.facts, from?.name);
  const { firstSeq } = await writer.change(session, { do: "migrate", model: to.name, left }, { actor });
  return { session, seq: firstSeq, from: state.standing.model, to: to.name, left, compacted };
}

/** The result of a repeated migration; whether the context was compacted is unknown. */
async function reportIn({ store }: Deps, session: SessionId, record: StoredRecord): Promise<ModelReport> {
  const { from = null, to } = JSON.parse(record.body) as { readonly from?: string; readonly to: string };
  const content = (await contentOf(store, record)) as { readonly left?: readonly string[] } | undefined;
  return { session, seq: record.seq, from, to, left: content?.left ?? [], compacted: false };
}

interface Change {
  readonly agent: AgentDefinition | null;
  /** The model that summarizes: the one that knows the transcript best. */
  readonly from: Model;
  readonly to: Model;
}

/** Compacts a context that would not fit. True when it is smaller now. */
async function fit(deps: Deps, session: SessionId, { agent, from, to }: Change): Promise<boolean> {
  const { windowTokens } = to.facts;
  const state = await deps.writer.current(session);
  const { compaction } = agentRules(agent);
  const { tokens } = await deps.tokenizer.estimate(await partsFor(deps, session, state, to));
  if (!isOverfull(tokens, windowTokens, compaction)) return false;
  const { actor } = await agentOf(deps, session, state);
  await using drive = await takeDrive(deps, session, { actor });
  await using keeper = keepLease(deps, drive);
  const named: State = { ...state, standing: { ...state.standing, model: from.name } };
  await using runContext = await gatherCrew(deps, session, named, { signal: keeper.signal });
  const step = {
    deps,
    drive,
    runContext: inWindow(runContext, windowTokens),
    signal: keeper.signal,
    lesson: null,
  };
  return await compactNow(step, { reason: "threshold" });
}

/** The run context as if its model had the context window of the next one. */
function inWindow(runContext: RunContext, windowTokens: number): RunContext {
  const { model } = runContext;
  const facts = { ...model.facts, windowTokens: Math.min(windowTokens, model.facts.windowTokens) };
  return { ...runContext, model: { name: model.name, facts, stream: (call) => model.stream(call) } };
}

async function partsFor(
  deps: Deps,
  session: SessionId,
  { seq }: State,
  { name: model, facts }: Model,
): Promise<readonly ContextPart[]> {
  const settings = { model, images: facts.images };
  return (await readContext(deps, session, { atSeq: seq, settings })).parts;
}
