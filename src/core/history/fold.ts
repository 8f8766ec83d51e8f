/** Folds of conversations of another tool. */
import { type Folds, heard, refOf, stand, think } from "../state-change.ts";
import type { BodyOf } from "../catalog.ts";
import type { ImportedUsage, OtherUsage, State } from "../state.ts";
import type { historyEvents } from "./events.ts";

export const historyFolds: Folds<keyof typeof historyEvents> = {
  "source.imported": (state, event) => {
    const { tool, entries, ids, usage, costNanoUsd } = event.body;
    const { source, imported } = state.standing;
    const other = addOther(source?.other ?? null, usage, costNanoUsd ?? 0);
    const next = stand(state, { source: { tool, entries, ids, other, ...refOf(event) } });
    return usage === undefined ? next : stand(next, { imported: added(imported, usage, costNanoUsd) });
  },
  "input.imported": (state, { seq }) => begun(state, seq),
  "answer.imported": (state, { body, seq }) => {
    const { usage, costNanoUsd, copied, continues = false } = body;
    if (copied === true) return begun(state, seq);
    const sum = added(state.standing.imported, usage, continues ? (costNanoUsd ?? 0) : costNanoUsd);
    return begun(stand(state, { imported: { ...sum, calls: sum.calls + (continues ? 0 : 1) } }), seq);
  },
  "call.imported": (state, { seq }) => heard(state, seq),
};

const added = (
  sum: ImportedUsage,
  usage: Tokens | undefined,
  costNanoUsd: number | null | undefined,
): ImportedUsage => ({
  calls: sum.calls,
  inputTokens: sum.inputTokens + (usage?.inputTokens ?? 0),
  outputTokens: sum.outputTokens + (usage?.outputTokens ?? 0),
  nanoUsd: sum.nanoUsd + (costNanoUsd ?? 0),
  unpriced: sum.unpriced + (typeof costNanoUsd === "number" ? 0 : 1),
});

type Tokens = BodyOf<"source.imported">["usage"] & object;

const addOther = (sum: OtherUsage | null, usage: Tokens | undefined, nanoUsd: number): OtherUsage | null =>
  usage === undefined
    ? sum
    : {
        inputTokens: (sum?.inputTokens ?? 0) + usage.inputTokens,
        outputTokens: (sum?.outputTokens ?? 0) + usage.outputTokens,
        nanoUsd: (sum?.nanoUsd ?? 0) + nanoUsd,
      };

/** Extends the transcript to here. Documents loaded later are not part of the instructions. */
const begun = (state: State, seq: number): State =>
  heard(think(state, { firstTurnSeq: state.mind.firstTurnSeq || seq }), seq);
