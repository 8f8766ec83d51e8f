/** Folds of conversations of another tool. */
import { type Folds, heard, refOf, stand, think } from "../state-change.ts";
import type { State } from "../state.ts";
import type { historyEvents } from "./events.ts";

export const historyFolds: Folds<keyof typeof historyEvents> = {
  "source.imported": (state, event) => {
    const { tool, entries, ids } = event.body;
    return stand(state, { source: { tool, entries, ids, ...refOf(event) } });
  },
  "input.imported": (state, { seq }) => begun(state, seq),
  "answer.imported": (state, { body, seq }) => {
    const { usage, costNanoUsd, continues = false } = body;
    const { imported } = state.standing;
    const sum = {
      calls: imported.calls + (continues ? 0 : 1),
      inputTokens: imported.inputTokens + (usage?.inputTokens ?? 0),
      outputTokens: imported.outputTokens + (usage?.outputTokens ?? 0),
      nanoUsd: imported.nanoUsd + (costNanoUsd ?? 0),
      unpriced: imported.unpriced + (continues || typeof costNanoUsd === "number" ? 0 : 1),
    };
    return begun(stand(state, { imported: sum }), seq);
  },
  "call.imported": (state, { seq }) => heard(state, seq),
};

/** Extends the transcript to here. Documents loaded later are not part of the instructions. */
const begun = (state: State, seq: number): State =>
  heard(think(state, { firstTurnSeq: state.mind.firstTurnSeq || seq }), seq);
