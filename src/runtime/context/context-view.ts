/** A context for people: its parts, why each is there, and its token count. */
import { agentRules } from "../../core/workspace/agent.ts";
import type { PartReason } from "../../core/context/source.ts";
import type { SessionId } from "../../core/ids.ts";
import type { ContextPart, Settings } from "../../core/context/part.ts";
import { estimateError } from "../../core/context/token-count.ts";
import { zoneTokens, type ZoneTokens } from "../../core/context/zone.ts";
import { readContext } from "./context-reader.ts";
import type { Deps } from "../deps.ts";
import { agentOf } from "../workspace/session-agent.ts";
import { tiersOf, type ContextTier } from "./context-tiers.ts";
import { modelOf, planningFor, settingsFor } from "./model-settings.ts";

/** The context of a model call: the result of `session.context`. */
export interface RenderedContext {
  readonly parts: readonly ContextPart[];
  /** One for each part: what it is, why it is there, its origin, and its tokens as counted here. */
  readonly reasons: readonly (PartReason & { readonly tokens: number })[];
  /** Every token by tier, with what each tier leaves out and why. */
  readonly tiers: readonly ContextTier[];
  readonly digest: string;
  readonly renderer: number;
  readonly model: string;
  /** The request that sent exactly this; null for the next request. */
  readonly requestSeq: number | null;
  /**
   * True when the digest equals the one that the request recorded; null where there is nothing to compare.
   */
  readonly matches: boolean | null;
  readonly tokens: number;
  /** The provider's count, once it has answered; else null. */
  readonly countedTokens: number | null;
  /** The error of the estimate before the request: 0.1 is a tenth too much. Null without a count. */
  readonly estimateError: number | null;
  /** The context window of the model; null when it is unknown here. */
  readonly windowTokens: number | null;
  /** Where its zones begin, by the agent's thresholds; turns and age may reach them earlier. */
  readonly zones: ZoneTokens;
}

export async function showContext(
  deps: Deps,
  session: SessionId,
  options: { readonly atSeq: number; readonly uncompacted?: boolean },
): Promise<RenderedContext> {
  const settings = await nextSettings(deps, session);
  const known = await deps.writer.current(session);
  const planning = await planningFor(deps, session, known);
  const read = await readContext(deps, session, { ...options, ...settings, planning, known, whole: true });
  const { tokens, perPart } = await deps.tokenizer.estimate(read.parts);
  const { parts, reasons, digest, renderer, model, requestSeq, matches } = read;
  const counted = reasons.map((reason, place) => ({ ...reason, tokens: perPart[place] ?? 0 }));
  const facts = await modelOf(deps, model).then(
    (known) => known.facts,
    () => null,
  );
  const windowTokens = facts?.windowTokens ?? null;
  const tiers = await tiersOf(deps, session, read.plan, counted);
  const shown = { parts, reasons: counted, tiers, digest, renderer, model, requestSeq, matches, tokens };
  const { agent } = await agentOf(deps, session, read.state);
  const zones = zoneTokens(windowTokens, agentRules(agent, facts?.effective?.tokens).zones);
  return { ...shown, ...(await compareCounts(deps, session, requestSeq)), windowTokens, zones };
}

/** The provider's count beside the estimate before the request. */
async function compareCounts(
  { store }: Deps,
  session: SessionId,
  requestSeq: number | null,
): Promise<Pick<RenderedContext, "countedTokens" | "estimateError">> {
  const none = { countedTokens: null, estimateError: null };
  if (requestSeq === null) return none;
  const types = ["model.requested", "model.responded"];
  const range = { fromSeq: requestSeq, toSeq: Infinity, limit: 2, types, contents: false };
  const [request, answer] = await store.read(session, range);
  if (request === undefined || answer?.type !== "model.responded") return none;
  const { estimatedTokens } = JSON.parse(request.body) as { estimatedTokens?: number };
  const { usage } = JSON.parse(answer.body) as { usage: { inputTokens: number; estimated?: boolean } };
  if (usage.estimated === true) return none;
  const { inputTokens: countedTokens } = usage;
  const off = estimatedTokens === undefined ? null : estimateError(estimatedTokens, countedTokens);
  return { countedTokens, estimateError: off };
}

/** The settings of the next request; empty when the model is unavailable, then those of the last request. */
async function nextSettings(deps: Deps, session: SessionId): Promise<{ readonly settings?: Settings }> {
  const state = await deps.writer.current(session);
  const { agent } = await agentOf(deps, session, state);
  const model = await modelOf(deps, state.standing.model ?? agent?.model).catch(() => null);
  return model === null ? {} : { settings: settingsFor(model, agent, state) };
}
