/** Decisions on what another session learned, and on judgments. */
import type { CommandOf } from "../command.ts";
import { accept, draft, forbidden, present, refuse, type Decisions, type DraftEvent } from "../decision.ts";
import { itemKey } from "../fold/durable.ts";
import { limit } from "../limit.ts";
import type { MergeWrite } from "../branch/merge.ts";
import type { State } from "../state.ts";

export const mergeDecisions: Decisions<"merge" | "score"> = {
  merge: (state, command) => {
    const refusal = forbidden(state, "write", "take in what another session learned");
    if (refusal !== null) return refusal;
    const { from, writes, note } = command;
    if (from === state.standing.session)
      return refuse(
        "invalid",
        "a session cannot be merged with itself",
        "name the session that it comes from",
      );
    const { items } = state.mind;
    const nameOf = ({ kind, key }: MergeWrite): string => itemKey(kind, key);
    const missing = writes.find((write) => write.write === "retract" && !items.has(nameOf(write)));
    if (missing !== undefined)
      return refuse("not-found", `there is no ${missing.kind} "${missing.key}" to retract`);
    const grown = new Set(writes.filter(({ write }) => write === "record").map(nameOf));
    const gone = writes.length - grown.size;
    const size = items.size - gone + [...grown].filter((name) => !items.has(name)).length;
    if (size > limit.itemsMax && size > items.size) {
      return refuse(
        "refused",
        `with what would come in there were ${size} items; there are at most ${limit.itemsMax}`,
        "retract what no longer holds, here or there",
      );
    }
    return accept(...mergeDrafts(state, command, note === undefined ? writes.length : writes.length + 1));
  },
  score: (state, { name, value, seq, because }) => {
    if (!Number.isFinite(value)) return refuse("invalid", `the score "${name}" is no number`);
    if (seq !== undefined && !(Number.isInteger(seq) && seq >= 1 && seq <= state.seq))
      return refuse("not-found", `there is no position ${seq}; the session ends at ${state.seq}`);
    const { scores } = state.standing;
    if (!scores.has(name) && scores.size >= limit.scoresMax)
      return refuse("refused", `a session holds at most ${limit.scoresMax} scores`);
    const content = because === undefined ? undefined : { because };
    return (
      forbidden(state, "describe", "be given a score") ??
      accept(draft("score.recorded", present({ name, value, seq }), content))
    );
  },
};

/**
 * The items, and the note last. The note, or else the last record of the append, is the cause of the others:
 * what has a cause is not told to the model by itself, and the note tells of all.
 */
function mergeDrafts(
  state: State,
  { from, writes, note }: CommandOf<"merge">,
  count: number,
): readonly DraftEvent[] {
  const { turn } = state.standing;
  const inTurn = turn === null ? {} : { turn: turn.number };
  const more = { ...inTurn, cause: state.seq + count };
  const drafts = writes.map((write) => writeDraft(write, more));
  if (note === undefined) return drafts;
  const { summary, resolutions, ...body } = note;
  const content = resolutions.length === 0 ? { summary } : { summary, resolutions: [...resolutions] };
  return [...drafts, draft("session.merged", { from, ...body }, content, inTurn)];
}

function writeDraft(write: MergeWrite, more: { readonly turn?: number; readonly cause: number }): DraftEvent {
  const { kind, key, because } = write;
  if (write.write === "retract") {
    return draft("item.retracted", { kind, key }, because === undefined ? undefined : { because }, more);
  }
  const { value, status, origin } = write;
  return draft(
    "item.recorded",
    present({ kind, key, status: kind === "task" ? (status ?? "open") : undefined, origin }),
    present({ value, because }),
    more,
  );
}
