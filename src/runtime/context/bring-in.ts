/**
 * What stands right before the inputs of a turn: what is new in memory, and what the inputs are about and the
 * context does not show. Both go in the append that takes the inputs.
 */
import type { Planning } from "../../core/context/plan.ts";
import type { Settings } from "../../core/context/part.ts";
import type { SessionId } from "../../core/ids.ts";
import type { CarriedMemory } from "../../core/item/commands.ts";
import { memoryLine } from "../../core/memory/choice.ts";
import { roughTokens } from "../../core/context/token-count.ts";
import type { State } from "../../core/state.ts";
import type { ConsumedInputs } from "../../core/turn/commands.ts";
import type { Deps } from "../deps.ts";
import { memoryAccess, memoryNews, roomOf } from "./memory-news.ts";
import { retrieve, type RetrievedBody } from "./retrieve.ts";

export interface BringInOptions {
  readonly inputs: ConsumedInputs;
  readonly settings: Settings;
  readonly planning: Planning;
  /** Inputs in the middle of a turn: news waits for the next one. */
  readonly isSteering?: boolean;
}

export interface BroughtIn {
  readonly carried?: CarriedMemory;
  readonly retrieved?: RetrievedBody;
}

export async function bringIn(
  deps: Deps,
  session: SessionId,
  state: State,
  { inputs, settings, planning, isSteering = false }: BringInOptions,
): Promise<BroughtIn> {
  const { windowTokens } = planning;
  const access = await memoryAccess(deps, session, state);
  const looks = access !== null && !isSteering;
  const recorded = isSteering ? null : (deps.recordedNews?.(state) ?? null);
  const roomBeside = (beside: CarriedMemory | null) => async (): Promise<number> =>
    access === null ? 0 : (await roomOf(deps, session, state, { access, planning })) - (beside?.tokens ?? 0);
  const news = looks ? await memoryNews(deps, session, state, { access, planning }) : recorded;
  const memory = access === null ? null : { access, news, room: roomBeside(news) };
  const found = await retrieve(deps, session, state, { inputs, settings, windowTokens, memory });
  if (found === null) return news === null ? {} : { carried: news };
  if (found.carried.length === 0)
    return { ...(news === null ? {} : { carried: news }), retrieved: found.body };
  const before = news?.items ?? [];
  const entries = found.body.entries.map((one) =>
    one.seq === 0 ? { ...one, number: (one.number ?? 1) + before.length } : one,
  );
  const tokens = found.carried.reduce((sum, item) => sum + roughTokens(`${memoryLine(item)}\n`), 0);
  const looked = { upTo: (looks ? access.upTo : access?.last.upTo) ?? 0, workspace: deps.store.workspace };
  const items = [...before, ...found.carried];
  return {
    carried: { ...looked, ...news, items, tokens: tokens + (news?.tokens ?? 0) },
    retrieved: { ...found.body, entries },
  };
}
