/** Decisions on conversations of another tool. */
import { type Decisions, type DraftEvent, accept, draft, refuse } from "../decision.ts";
import { isUnreviewed, suspendForReview } from "../govern/review.ts";
import { itemKey } from "../item/fold.ts";
import { limit } from "../limit.ts";
import { includes } from "../range.ts";
import { mayIn } from "../session/lifecycle.ts";
import type { State } from "../state.ts";
import type { HistoryCommand, HistoryEntry } from "./commands.ts";

export const historyDecisions: Decisions<HistoryCommand["do"]> = {
  /** Nothing of it runs: a new session waits for review, and one that was activated stays as it is. */
  import: (state, { after, afterIds, entries, source, tasks = [] }) => {
    const { mind, standing } = state;
    const known = standing.source?.entries ?? 0;
    if (known !== after) {
      return refuse("conflict", `import: expected ${after} entries in the session, found ${known}`);
    }
    if (afterIds !== undefined && standing.source !== null && standing.source.ids !== afterIds) {
      return refuse("conflict", "import: another import has added to the session");
    }
    if (!takesHistory(state)) {
      return refuse("refused", "import: the session was continued after its import", continuedHint);
    }
    const isFirst = standing.source === null && !isUnreviewed(state);
    const drafts: DraftEvent[] = isFirst ? [suspendForReview(importReason)] : [];
    for (const entry of entries) drafts.push(...entryDrafts(state, entry, drafts.length));
    for (const { key, text, status } of tasks.slice(0, limit.itemsMax - mind.items.size)) {
      if (mind.items.get(itemKey("task", key))?.status === status) continue;
      drafts.push(draft("item.recorded", { kind: "task", key, status }, { value: text }));
    }
    drafts.push(draft("source.imported", source.body, source.content));
    return accept(...drafts);
  },
};

/**
 * Whether history may be added: the session is new, or nothing was said or rewound here since its last
 * import. Activating, binding, naming and recording items do not prevent it.
 */
export function takesHistory(state: State): boolean {
  const { mind, standing } = state;
  const { source, inbox, turn, status } = standing;
  if (!mayIn(status, "describe") || inbox.received > 0 || turn !== null) return false;
  if (source === null) return mind.toSeq === 0 || isUnreviewed(state);
  return mind.toSeq <= source.seq && !includes(mind.lost, source.seq);
}

const importReason =
  "its conversation took place in another tool: bind its directory and tools as you want them before it runs";

const continuedHint = "import it as a separate session: skein import TOOL PATH --again";

function entryDrafts(state: State, entry: HistoryEntry, before: number): DraftEvent[] {
  if (entry.type !== "compaction") {
    return [draft(`${entry.type}.imported`, entry.body, entry.content as never)];
  }
  const { summary, kept, tokensBefore, tokensAfter } = entry;
  const toSeq = state.seq + before - kept;
  if (toSeq < 1) return [];
  const body = { fromSeq: 1, toSeq, strategy: "summarize", tokensBefore, tokensAfter } as const;
  return [draft("transcript.compacted", body, { summary })];
}
