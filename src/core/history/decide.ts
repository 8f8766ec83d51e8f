/** Decisions on conversations of another tool. */
import { type Decisions, type DraftEvent, accept, draft, refuse } from "../decision.ts";
import { isUnreviewed, suspendForReview } from "../govern/review.ts";
import { itemKey } from "../item/fold.ts";
import { limit } from "../limit.ts";
import type { State } from "../state.ts";
import type { HistoryCommand, HistoryEntry } from "./commands.ts";

export const historyDecisions: Decisions<HistoryCommand["do"]> = {
  /** History is added before a person has activated the session: after that the log is the session's own. */
  import: (state, { after, afterIds, entries, source, tasks = [] }) => {
    const { mind, standing } = state;
    const known = standing.source?.entries ?? 0;
    if (known !== after) {
      return refuse("conflict", `import: expected ${after} entries in the session, found ${known}`);
    }
    if (afterIds !== undefined && standing.source !== null && standing.source.ids !== afterIds) {
      return refuse("conflict", "import: another import has added to the session");
    }
    const isEmpty = standing.source === null && mind.toSeq === 0 && standing.inbox.received === 0;
    if (!isEmpty && !isUnreviewed(state)) {
      return refuse("refused", "import: the session was continued after its import", continuedHint);
    }
    const drafts: DraftEvent[] = isUnreviewed(state) ? [] : [suspendForReview(importReason)];
    for (const entry of entries) drafts.push(...entryDrafts(state, entry, drafts.length));
    for (const { key, text, status } of tasks.slice(0, limit.itemsMax - mind.items.size)) {
      if (mind.items.get(itemKey("task", key))?.status === status) continue;
      drafts.push(draft("item.recorded", { kind: "task", key, status }, { value: text }));
    }
    drafts.push(draft("source.imported", source.body, source.content));
    return accept(...drafts);
  },
};

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
