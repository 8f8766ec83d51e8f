/**
 * Which items the default rules may promote: those that a person recorded, and those of turns in which the
 * model saw what people typed and nothing else, so that nobody plants a memory through a page, a file or a
 * message.
 */
import type { DraftEvent } from "../../core/decision.ts";
import type { SessionId } from "../../core/ids.ts";
import { isPromotedByDefault } from "../../core/memory/memory.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import type { AlsoChange } from "../log/workspace-effects.ts";
import type { Deps } from "../deps.ts";
import { readEvents } from "../read/event-reader.ts";
import { readRecords } from "../read/record-pages.ts";

/** Session tools whose results are texts of elsewhere or of earlier. */
const readingTools: ReadonlySet<string> = new Set(["recall", "lookup"]);

/** Whether the default rules may promote what a draft of this change records. */
export async function trustIn(
  { store }: Deps,
  { session, state, drafts }: AlsoChange,
): Promise<(draft: DraftEvent) => boolean> {
  // Items that a compaction extracts, a merge copies or an import brings come from elsewhere.
  const isCopy = drafts.some(({ type }) =>
    ["transcript.compacted", "session.merged", "source.imported"].includes(type),
  );
  const isImported = state.standing.source !== null || state.standing.unreviewed;
  if (isCopy || isImported || !drafts.some(isWanted)) return () => false;
  const isInTurn = drafts.some((draft) => isWanted(draft) && draft.turn !== undefined);
  const isClean = !isInTurn || (await isTyped(store, session, state));
  return (draft) => hasNoOrigin(draft) && (draft.turn === undefined || isClean);
}

const isWanted = ({ type, body }: DraftEvent): boolean => {
  const { kind, key } = body as { readonly kind: string; readonly key: string };
  return type === "item.recorded" && isPromotedByDefault(kind, key);
};

const hasNoOrigin = ({ body }: DraftEvent): boolean => (body as { origin?: unknown }).origin === undefined;

/** True when the turn so far has taken in texts that people typed, and nothing else. */
async function isTyped(store: Store, session: SessionId, { standing, seq }: State): Promise<boolean> {
  const from = standing.turn?.startedSeq;
  if (from === undefined) return false;
  const types = ["turn.started", "model.requested", "tool.requested", "session.merged", "document.loaded"];
  const inputs: number[] = [];
  for await (const record of readRecords(store, session, [from, seq], { types })) {
    const body = JSON.parse(record.body) as { tool?: string; effect?: string; inputs?: [number, number][] };
    if (record.type === "session.merged" || record.type === "document.loaded") return false;
    const isOutside = body.effect !== "session" || readingTools.has(body.tool ?? "");
    if (record.type === "tool.requested" && isOutside) return false;
    inputs.push(...(body.inputs ?? []).map(([place]) => place));
  }
  for (const place of inputs) {
    for await (const input of readEvents(store, session, { fromSeq: place, toSeq: place, limit: 1 })) {
      const isPerson = input.type === "input.received" && input.actor.startsWith("user:");
      const { blocks = [] } = (input.content ?? {}) as { blocks?: readonly { readonly type: string }[] };
      if (!isPerson || blocks.length === 0 || blocks.some(({ type }) => type !== "text")) return false;
    }
  }
  return true;
}
