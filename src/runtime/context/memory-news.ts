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
import type { ConsumedInputs } from "../../core/turn/commands.ts";
import type { Deps } from "../deps.ts";
import { readOne } from "../read/event-cache.ts";
import { ifDamaged } from "../workspace/memory-follow.ts";
import { agentOf } from "../workspace/session-agent.ts";
import {
  carriedIn,
  changesIn,
  isOwnOrigin,
  readersOf,
  withValues,
  type CarriedNames,
} from "./memory-changes.ts";
import { queryOf } from "./retrieve.ts";

export interface NewsAsked {
  readonly inputs: ConsumedInputs;
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

/** Null: nothing concerns the session. */
export async function memoryNews(
  deps: Deps,
  session: SessionId,
  state: State,
  asked: NewsAsked,
): Promise<CarriedMemory | null> {
  if (deps.recordedNews !== undefined) return deps.recordedNews(state);
  if ((state.standing.renderer ?? rendererNow) < 2) return null;
  const carry = await carryOf(deps, session, state);
  if (carry === null) return null;
  const last = await lastLook(deps, session, state);
  if (last === null) return null;
  const { store } = deps;
  const upTo = (await store.head(store.workspace))?.seq ?? 0;
  const known = deps.shared.memoryLooks.get(session);
  const seen = known?.carriedSeq === last.carriedSeq ? Math.max(known.upTo, last.upTo) : last.upTo;
  if (upTo <= seen) return null;
  const found = await newsSince(deps, session, state, { carry, asked, range: [seen + 1, upTo] }).catch(
    ifDamaged,
  );
  const looked = { upTo, workspace: store.workspace };
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

interface Look {
  readonly carry: CarryRules;
  readonly asked: NewsAsked;
  readonly range: Range;
}

async function newsSince(
  deps: Deps,
  session: SessionId,
  state: State,
  { carry, asked, range }: Look,
): Promise<CarriedMemory | null> {
  const owners = await readersOf(deps, session, state);
  const changes = await changesIn(
    deps,
    range,
    (name) => carry.scopes.includes(name.scope) && isOwn(name, owners),
  );
  if (changes.length === 0) return null;
  const { known, refs } = await carriedIn(deps, session, state);
  const isOfSession = await isOwnOrigin(deps, session, state);
  const isKnown = (one: (typeof changes)[number]): boolean => known.has(nameInSession(one));
  const fresh = changes.filter((one) => !isKnown(one) && one.gone === undefined && !isOfSession(one.origin));
  const held = [...changes.filter(isKnown), ...fresh.slice(-comparedMax)];
  if (held.length === 0) return null;
  const goal = (await readOne(deps, session, state.standing.objective?.seq ?? 1))?.content;
  const objective = field(goal, "objective");
  const inputs = asked.inputs.map(([seq]) => seq);
  return chooseNews(await withValues(deps, held), {
    known,
    about: [typeof objective === "string" ? objective : "", await queryOf(deps, session, inputs)],
    tokensMax: Math.min(carry.tokensMax, await roomOf(deps, session, state, { refs, ...asked })),
    count: roughTokens,
    digest: (json) => deps.world.digest("", json),
  });
}

/** What the tier of memory has left, with what came since it was planned. */
async function roomOf(
  deps: Deps,
  session: SessionId,
  { standing }: State,
  { refs, planning }: Pick<NewsAsked, "planning"> & Pick<CarriedNames, "refs">,
): Promise<number> {
  const { windowTokens, shares } = planning;
  const own = shareTokens(tierShares(shares).memory, windowTokens);
  const event = standing.plan === null ? undefined : await readOne(deps, session, standing.plan);
  const tiers = event?.type === "context.planned" ? event.body.tiers : [];
  const planned = tiers.find(({ tier }) => tier === "memory");
  const since = refs.reduce((sum, { seq, tokens }) => sum + (seq > (standing.plan ?? 0) ? tokens : 0), 0);
  return Math.max(0, (planned?.roomTokens ?? own) - (planned?.usedTokens ?? 0) - since);
}
