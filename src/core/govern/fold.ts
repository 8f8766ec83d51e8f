/** Folds of erasure, holds and scores. */
import type { governEvents } from "./events.ts";
import * as range from "../range.ts";
import { type Folds, stand } from "../state-change.ts";

export const governFolds: Folds<keyof typeof governEvents> = {
  "content.erased": (state, { body }) => {
    const { ranges, records, bytes } = state.standing.erased;
    return stand(state, {
      erased: {
        ranges: range.union(ranges, body.ranges),
        records: records + body.records,
        bytes: bytes + body.bytes,
      },
    });
  },
  "hold.set": (state, { body, seq }) => stand(state, { holds: state.standing.holds.set(body.name, seq) }),
  "hold.lifted": (state, { body }) => stand(state, { holds: state.standing.holds.delete(body.name) }),
  "score.recorded": (state, { body, seq }) =>
    stand(state, { scores: state.standing.scores.set(body.name, { value: body.value, seq }) }),
};
