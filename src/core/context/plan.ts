/**
 * The plan of a context: what it shows of items, memory and documents. It is made once, at a boundary (the
 * opening, a compaction, a rewind, a migration, a lifted overlay), logged as `context.planned` with the first
 * request after it, and read by the renderer, which chooses nothing. So nothing that was sent moves before
 * the next boundary.
 */
import type { BodyOf, ContentOf } from "../catalog.ts";
import type { State } from "../state.ts";
import { planDocuments, type PlannedDocument } from "./plan-documents.ts";
import { planItems, pinText, type PlannedItem } from "./plan-items.ts";
import { planMemory, type PlannedMemory } from "./plan-memory.ts";
import { shareTokens, TierRooms, tierShares, type ContextShares } from "./tiers.ts";
import type { CountTokens } from "./token-count.ts";

/** What was chosen: positions of items, characters of documents, numbers of memory entries. */
export type PlanChoice = NonNullable<ContentOf<"context.planned">>;

/** A plan that is not yet logged. */
export interface PlanDraft {
  readonly body: BodyOf<"context.planned">;
  readonly choice: PlanChoice;
}

/** What a plan is made for. */
export interface Planning {
  readonly windowTokens: number;
  readonly shares?: ContextShares | undefined;
}

/** Tokens of the pinned items, and their room. */
export interface PinnedSize {
  readonly tokens: number;
  readonly roomTokens: number;
}

/** Whether the next request starts a context that has no plan. Renderer 1 has none. */
export const needsPlan = ({ standing }: Pick<State, "standing">, renderer: number): boolean =>
  renderer >= 2 && standing.renderer === null && standing.plan === null;

export interface PlanInput extends Planning {
  readonly renderer: number;
  readonly count: CountTokens;
  /** A count that is closer and takes longer, for documents. */
  readonly measure?: CountTokens;
  readonly instructionTokens: number;
  readonly pinned: readonly PlannedItem[];
  /** Items that are not pinned and that the transcript does not show. */
  readonly items: readonly PlannedItem[];
  /** More items, too many to read. */
  readonly unread: number;
  /** Items recorded up to here are planned; later ones stand in the transcript. */
  readonly itemsToSeq: number;
  readonly memory: readonly PlannedMemory[];
  readonly documents: readonly PlannedDocument[];
  /** Null: the context does not begin with one. */
  readonly summary: string | null;
  /** What the model is about to be asked. */
  readonly query: string;
}

/** Chooses what each tier shows, in the order of the tiers: what one leaves over flows on. */
export function planContext(input: PlanInput): PlanDraft {
  const { windowTokens, renderer, count, query } = input;
  const rooms = new TierRooms(windowTokens, tierShares(input.shares));
  rooms.use("instructions", input.instructionTokens);
  rooms.use("pinned", pinnedTokens(input.pinned, count));
  const items = planItems(input.items, { roomTokens: rooms.roomOf("items"), count, query });
  rooms.use("items", items.usedTokens);
  const memory = planMemory(input.memory, count, rooms.roomOf("memory"));
  rooms.use("memory", memory.usedTokens);
  const documents = planDocuments(input.documents, {
    roomTokens: rooms.roomOf("documents"),
    count,
    measure: input.measure ?? count,
    query,
  });
  rooms.use("documents", documents.usedTokens);
  rooms.use("summary", input.summary === null ? 0 : count(input.summary));
  const unlisted = input.unread + input.items.length - items.shown.length - items.listed.length;
  return {
    body: {
      renderer,
      windowTokens,
      tiers: rooms.uses.map((one) => ({ ...one })),
      shown: input.pinned.length + items.shown.length,
      ...(items.listed.length === 0 ? {} : { listed: items.listed.length }),
      ...(unlisted === 0 ? {} : { left: unlisted }),
      itemsToSeq: input.itemsToSeq,
    },
    choice: {
      pinned: rangesOf(input.pinned.map(({ seq }) => seq)),
      items: rangesOf(items.shown),
      listed: rangesOf(items.listed),
      documents: documents.chosen.map(({ seq, ranges }) => ({ seq, ranges })),
      memory: memory.chosen.map(({ seq, shown, left = 0 }) => ({
        seq,
        shown: rangesOf(shown),
        ...(left === 0 ? {} : { left }),
      })),
    },
  };
}

const pinnedTokens = (pinned: readonly PlannedItem[], count: CountTokens): number =>
  pinned.reduce((sum, item) => sum + count(pinText(item, item.content)), 0);

/** The size of these pins, as the context shows them, beside their share. */
export const sizeOfPins = (
  pinned: readonly PlannedItem[],
  { windowTokens, shares }: Planning,
  count: CountTokens,
): PinnedSize => ({
  tokens: pinnedTokens(pinned, count),
  roomTokens: shareTokens(tierShares(shares).pinned, windowTokens),
});

/** Positions as ranges. */
function rangesOf(seqs: readonly number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const seq of seqs.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && seq <= last[1] + 1) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges;
}
