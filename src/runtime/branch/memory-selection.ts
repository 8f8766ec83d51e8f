/**
 * The memory entries that a session carries, selected when it is opened and written with its first append: so
 * the log says what came along and why, whatever happens to memory later.
 */
import type { CarriedMemory } from "../../core/item/commands.ts";
import { share } from "../../core/context/text.ts";
import type { SessionId } from "../../core/ids.ts";
import { memoryId, type MemoryName, type MemoryRef } from "../../core/memory/name.ts";
import {
  carriedValue,
  carryRules,
  memoryLine,
  rankMemory,
  type CarriedEntry,
} from "../../core/memory/choice.ts";
import type { State } from "../../core/state.ts";
import { roughTokens } from "../../core/context/token-count.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { lookedMax } from "../context/memory-news.ts";
import { readEntry } from "../workspace/memory.ts";
import { ifDamaged, principalOf } from "../workspace/memory-follow.ts";
import { agentOf } from "../workspace/session-agent.ts";

export interface CarryAsked {
  /** The objective of the session. */
  readonly objective: string;
  readonly agent: string | null;
  readonly definition: unknown;
  /** What it already knows: not carried a second time. */
  readonly known?: ReadonlySet<string>;
}

/** Of a session that is opened without memory: none reaches it later. */
export const noMemory: CarriedMemory = { items: [], tokens: 0, off: true };

/** Preferences that the objective is not about take at most this share of the room. */
const preferencesShare = 0.5;
/** After so many entries that do not fit, the search stops. */
const misfitsMax = 8;
/** The line above them all, and the frame of a part. A line begins a token, so lines add up. */
const frameTokens = 10;
/** The maximum error of the token estimate. */
const roughShare = 0.4;

/** Null: nothing is relevant, or carrying is off. */
export async function carriedFor(deps: Deps, asked: CarryAsked): Promise<CarriedMemory | null> {
  const { memory: reader, actor } = deps;
  const carry = carryRules(asked.definition);
  if (carry === null) return null;
  const indexed = await reader.index().catch(ifDamaged);
  if (indexed === undefined) return null;
  const { memory, relevance, values, headSeq: upTo } = indexed;
  const looked = { upTo, workspace: deps.store.workspace };
  const owners = { agent: asked.agent, user: principalOf(actor) };
  const ranked = rankMemory(memory, relevance, asked.objective, { owners, scopes: carry.scopes });
  const items: CarriedEntry[] = [];
  let [used, misfits, chars] = [frameTokens, 0, 0];
  // While there is room an estimate suffices: a tokenizer takes long to load.
  let count: (text: string) => number | Promise<number> = roughTokens;
  for (const { entry, why, isRelevant } of ranked) {
    if (misfits >= misfitsMax) break;
    const id = memoryId(entry);
    const stored = values.has(id) ? values.get(id) : await readValue(deps, entry);
    if (stored === undefined) continue;
    const value = carriedValue(entry, stored);
    const { scope, kind, key, origin } = entry;
    const item: CarriedEntry = { scope, kind, key, value, why, ...(origin === null ? {} : { origin }) };
    if (asked.known?.has(knownAs(entry, value)) === true) continue;
    let tokens = await count(lineOf(item));
    const room = isRelevant ? carry.tokensMax : carry.tokensMax * preferencesShare;
    if (count === roughTokens && used + tokens > room * roughShare) {
      count = (text) => deps.tokenizer.count(text);
      used = frameTokens;
      for (const one of items) used += await count(lineOf(one));
      tokens = await count(lineOf(item));
    }
    if (used + tokens > room || chars + lineOf(item).length > share.memoryCharsMax) {
      misfits++;
      continue;
    }
    used += tokens;
    chars += lineOf(item).length;
    items.push(item);
  }
  if (items.length === 0) return upTo < lookedMax ? null : { items, tokens: 0, ...looked };
  return { items, tokens: used, ...looked };
}

const lineOf = (item: CarriedEntry): string => `${memoryLine(item)}\n`;

async function readValue(deps: Deps, entry: MemoryRef): Promise<unknown> {
  const { value, erased } = await readEntry(deps, entry);
  return erased ? undefined : value;
}

/** What a fork with a new objective carries besides what it inherits. */
export async function carriedForFork(
  deps: Deps,
  session: SessionId,
  state: State,
  objective: string | undefined,
): Promise<CarriedMemory | null> {
  if (objective === undefined) return null;
  const { agent } = await agentOf(deps, session, state);
  const name = state.standing.agent?.name ?? null;
  const known = await alreadyCarried(deps, session, state);
  return carriedFor(deps, { objective, agent: name, definition: agent, known });
}

async function alreadyCarried(
  { store }: Deps,
  session: SessionId,
  { mind }: State,
): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  for (const { seq } of mind.memory) {
    const content = (await readContent(store, session, seq)) as
      | { items?: readonly CarriedEntry[] }
      | undefined;
    for (const item of content?.items ?? []) known.add(knownAs(item as unknown as MemoryName, item.value));
  }
  return known;
}

const knownAs = ({ scope, kind, key }: MemoryName, value: unknown): string =>
  `${memoryId({ scope, owner: null, kind, key })}\n${JSON.stringify(value)}`;

/** True for a session that was opened without memory. */
export async function hasNoMemory(
  { store }: Pick<Deps, "store">,
  session: SessionId,
  { mind }: State,
): Promise<boolean> {
  const seq = mind.memory.at(-1)?.seq;
  if (seq === undefined) return false;
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  return record !== undefined && (JSON.parse(record.body) as { readonly off?: boolean }).off === true;
}
