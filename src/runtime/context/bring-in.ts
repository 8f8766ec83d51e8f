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
import { present } from "../../core/present.ts";
import type { State } from "../../core/state.ts";
import type { ConsumedInputs } from "../../core/turn/commands.ts";
import type { Deps } from "../deps.ts";
import { memoryAccess, memoryNews, roomOf } from "./memory-news.ts";
import { readOne } from "../read/event-cache.ts";
import { projectNews } from "./project-news.ts";
import { retrieve, type RetrievedBody } from "./retrieve.ts";

export interface BringInOptions {
  readonly inputs: ConsumedInputs;
  readonly settings: Settings;
  readonly planning: Planning;
  /** Inputs in the middle of a turn: news waits for the next one. */
  readonly isSteering?: boolean;
  /** What is found is not written: it only prepares indexes and vectors. */
  readonly isRehearsal?: boolean;
}

export interface BroughtIn {
  readonly carried?: CarriedMemory;
  readonly retrieved?: RetrievedBody;
}

export async function bringIn(
  deps: Deps,
  session: SessionId,
  state: State,
  { inputs, settings, planning, isSteering = false, isRehearsal = false }: BringInOptions,
): Promise<BroughtIn> {
  const { windowTokens } = planning;
  const access = await memoryAccess(deps, session, state);
  const looks = access !== null && !isSteering;
  const recorded = isSteering ? null : (deps.recordedNews?.(state) ?? null);
  const roomBeside = (beside: CarriedMemory | null) => async (): Promise<number> =>
    access === null ? 0 : (await roomOf(deps, session, state, { access, planning })) - (beside?.tokens ?? 0);
  const ofMemory = looks ? await memoryNews(deps, session, state, { access, planning }) : recorded;
  const ofProject = isSteering ? null : await projectNews(deps, session, state);
  const news = await besideProject(deps, session, state, { ofMemory, ofProject, access });
  const memory = access === null ? null : { access, news, room: roomBeside(news) };
  const found = await retrieve(deps, session, state, { inputs, settings, windowTokens, memory, isRehearsal });
  if (found === null) return news === null ? {} : { carried: news };
  if (found.carried.length === 0)
    return { ...(news === null ? {} : { carried: news }), retrieved: found.body };
  const before = news?.items ?? [];
  const entries = found.body.entries.map((one) =>
    one.seq === 0 ? { ...one, number: (one.number ?? 1) + before.length } : one,
  );
  const tokens = found.carried.reduce((sum, item) => sum + roughTokens(`${memoryLine(item)}\n`), 0);
  const earlier = await lastCarried(deps, session, state);
  const looked = {
    ...present({ projectUpTo: earlier.projectUpTo }),
    upTo: (looks ? access.upTo : access?.last.upTo) ?? 0,
    workspace: deps.store.workspace,
  };
  const items = [...before, ...found.carried];
  return {
    carried: { ...looked, ...news, items, tokens: tokens + (news?.tokens ?? 0) },
    retrieved: { ...found.body, entries },
  };
}

/** Both in one record, which also keeps how far each was looked at. */
async function besideProject(
  deps: Deps,
  session: SessionId,
  state: State,
  found: {
    readonly ofMemory: CarriedMemory | null;
    readonly ofProject: CarriedMemory | null;
    readonly access: Awaited<ReturnType<typeof memoryAccess>>;
  },
): Promise<CarriedMemory | null> {
  const { ofMemory, ofProject, access } = found;
  if (ofMemory === null && ofProject === null) return null;
  if (deps.recordedNews !== undefined) return ofMemory;
  const before = await lastCarried(deps, session, state);
  const { upTo, workspace, projectUpTo, off } = before;
  const kept = access === null ? present({ upTo, workspace, off }) : {};
  const looked = access === null ? kept : { upTo: access.last.upTo, workspace: deps.store.workspace };
  const items = [...(ofProject?.items ?? []), ...(ofMemory?.items ?? [])];
  const withdrawn = [...(ofProject?.withdrawn ?? []), ...(ofMemory?.withdrawn ?? [])];
  return {
    ...present({ projectUpTo }),
    ...looked,
    ...ofProject,
    ...ofMemory,
    items,
    withdrawn,
    tokens: (ofProject?.tokens ?? 0) + (ofMemory?.tokens ?? 0),
    left: (ofProject?.left ?? 0) + (ofMemory?.left ?? 0),
  };
}

/** How far the session has looked, by the newest record of what it carries. */
async function lastCarried(
  deps: Deps,
  session: SessionId,
  { mind }: State,
): Promise<Pick<CarriedMemory, "upTo" | "workspace" | "projectUpTo" | "off">> {
  const seq = mind.memory.at(-1)?.seq;
  const event = seq === undefined ? undefined : await readOne(deps, session, seq);
  if (event?.type !== "memory.carried") return {};
  const { upTo, workspace, projectUpTo, off } = event.body;
  return present({ upTo, workspace, projectUpTo, off: off === true ? (true as const) : undefined });
}
