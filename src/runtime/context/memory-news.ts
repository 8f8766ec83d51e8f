/**
 * What other sessions and people had remembered while a session was open. At the beginning of a turn the
 * session looks at the records of the workspace's log since its last look, and at no others: so it costs by
 * what is new. How far it has looked is in its own log, in the newest `memory.carried` of its mind.
 */
import { rendererNow } from "../../core/context/context.ts";
import type { Planning } from "../../core/context/plan.ts";
import { field } from "../../core/context/source.ts";
import { shareTokens, tierShares } from "../../core/context/tiers.ts";
import { roughTokens } from "../../core/context/token-count.ts";
import type { SessionId } from "../../core/ids.ts";
import type { CarriedMemory } from "../../core/item/commands.ts";
import { carryRules, isOwn, type CarryRules } from "../../core/memory/choice.ts";
import { chooseNews, nameInSession } from "../../core/memory/news.ts";
import type { Range } from "../../core/range.ts";
import type { State } from "../../core/state.ts";
import type { Deps } from "../deps.ts";
import { readOne } from "../read/event-cache.ts";
import { ifDamaged } from "../workspace/memory-follow.ts";
import { agentOf } from "../workspace/session-agent.ts";
import { carriedIn, changesIn, isOwnOrigin, readersOf, withValues } from "./memory-changes.ts";

/** A session that reads memory: by what rules, how far it has looked, and how far there is to look. */
export interface MemoryAccess {
  readonly carry: CarryRules;
  readonly last: MemoryLook;
  /** The head of the workspace's log. */
  readonly upTo: number;
}

interface NewsAsked {
  readonly access: MemoryAccess;
  readonly planning: Planning;
}

/** After so many records a look is recorded even if it found nothing, so that none is looked at again. */
export const lookedMax = 200;
/** New entries that are compared with what the session is about; of more, the newest. */
const comparedMax = 500;

/** What an engine keeps of a session, to look at nothing twice. It is derived, and gone with the process. */
export interface MemoryLook {
  /** The newest `memory.carried` of the mind then. */
  readonly carriedSeq: number;
  readonly upTo: number;
}

/** Null: the session carries no memory, or it runs again as its recording did. */
export async function memoryAccess(
  deps: Deps,
  session: SessionId,
  state: State,
): Promise<MemoryAccess | null> {
  if (deps.recordedNews !== undefined || (state.standing.renderer ?? rendererNow) < 2) return null;
  const carry = await carryOf(deps, session, state);
  const last = carry === null ? null : await lastLook(deps, session, state);
  if (carry === null || last === null) return null;
  const { store } = deps;
  return { carry, last, upTo: (await store.head(store.workspace))?.seq ?? 0 };
}

/** Null: nothing concerns the session. */
export async function memoryNews(
  deps: Deps,
  session: SessionId,
  state: State,
  asked: NewsAsked,
): Promise<CarriedMemory | null> {
  const { last, upTo } = asked.access;
  const known = deps.shared.memoryLooks.get(session);
  const seen = known?.carriedSeq === last.carriedSeq ? Math.max(known.upTo, last.upTo) : last.upTo;
  if (upTo <= seen) return null;
  const found = await newsSince(deps, session, state, { ...asked, range: [seen + 1, upTo] }).catch(ifDamaged);
  const looked = { upTo, workspace: deps.store.workspace };
  if (found !== undefined && found !== null) return { ...found, ...looked };
  if (upTo - last.upTo >= lookedMax) return { items: [], tokens: 0, ...looked };
  deps.shared.memoryLooks.set(session, { carriedSeq: last.carriedSeq, upTo });
  return null;
}

/** Null: its agent carries nothing, or it is not known whether it does. */
async function carryOf(deps: Deps, session: SessionId, state: State): Promise<CarryRules | null> {
  const { agent } = state.standing;
  if (agent === null || agent.version === 0) return carryRules(null);
  const place = `${session}@${agent.seq}`;
  const known = deps.shared.carryRules.get(place);
  if (known !== undefined) return known;
  const { agent: definition, agentUnknown } = await agentOf(deps, session, state);
  const rules = agentUnknown ? null : carryRules(definition);
  deps.shared.carryRules.set(place, rules);
  return rules;
}

/** How far the session has looked; null if it was opened without memory. */
async function lastLook(deps: Deps, session: SessionId, { mind }: State): Promise<MemoryLook | null> {
  const carriedSeq = mind.memory.at(-1)?.seq ?? 0;
  const event = carriedSeq === 0 ? undefined : await readOne(deps, session, carriedSeq);
  if (event?.type !== "memory.carried") return { carriedSeq, upTo: 0 };
  const { off, upTo = 0, workspace } = event.body;
  if (off === true) return null;
  // A session that came from another store has looked at another log.
  return { carriedSeq, upTo: workspace === deps.store.workspace ? upTo : 0 };
}

async function newsSince(
  deps: Deps,
  session: SessionId,
  state: State,
  { range, ...asked }: NewsAsked & { readonly range: Range },
): Promise<CarriedMemory | null> {
  const { carry } = asked.access;
  const owners = await readersOf(deps, session, state);
  const changes = await changesIn(
    deps,
    range,
    (name) => carry.scopes.includes(name.scope) && isOwn(name, owners),
  );
  if (changes.length === 0) return null;
  const { names: known } = await carriedIn(deps, session, state);
  const isOfSession = await isOwnOrigin(deps, session, state);
  const isKnown = (one: (typeof changes)[number]): boolean => known.has(nameInSession(one));
  const fresh = changes.filter((one) => !isKnown(one) && one.gone === undefined && !isOfSession(one.origin));
  const held = [...changes.filter(isKnown), ...fresh.slice(-comparedMax)];
  if (held.length === 0) return null;
  const goal = (await readOne(deps, session, state.standing.objective?.seq ?? 1))?.content;
  const objective = field(goal, "objective");
  return chooseNews(await withValues(deps, held), {
    known,
    about: typeof objective === "string" ? objective : "",
    tokensMax: await roomOf(deps, session, state, asked),
    count: roughTokens,
    digest: (json) => deps.world.digest("", json),
  });
}

/** What one turn may bring of memory: what its tier has left, with what came since it was planned. */
export async function roomOf(
  deps: Deps,
  session: SessionId,
  state: State,
  { access, planning }: Pick<NewsAsked, "access" | "planning">,
): Promise<number> {
  const { windowTokens, shares } = planning;
  const plan = state.standing.plan ?? 0;
  const { refs } = await carriedIn(deps, session, state);
  const own = shareTokens(tierShares(shares).memory, windowTokens);
  const event = plan === 0 ? undefined : await readOne(deps, session, plan);
  const tiers = event?.type === "context.planned" ? event.body.tiers : [];
  const planned = tiers.find(({ tier }) => tier === "memory");
  const since = refs.reduce((sum, { seq, tokens }) => sum + (seq > plan ? tokens : 0), 0);
  const left = (planned?.roomTokens ?? own) - (planned?.usedTokens ?? 0) - since;
  return Math.max(0, Math.min(access.carry.tokensMax, left));
}
