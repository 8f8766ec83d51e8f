/** Which positions of the log the transcript tells of: a stretch that grows where somebody looks. */
import { useRef, useState } from "react";
import { gapsIn, stepBack, type Ranges } from "./story.ts";

const stepEvents = 300;
/** More are not held: what is far from where somebody looks is let go. */
const heldEvents = 6_000;

interface Stretch {
  readonly fromSeq: number;
  /** Null: up to the end, wherever that is. */
  readonly toSeq: number | null;
}

export function useStretch(ranges: Ranges, endSeq: number) {
  const lost = gapsIn(ranges);
  const first = (): Stretch => ({ fromSeq: stepBack(endSeq + 1, stepEvents, lost), toSeq: null });
  const [chosen, setChosen] = useState<Stretch>(first);
  const shown = useRef(chosen);
  // Another position is looked at, far from the stretch: it begins anew there.
  const isNear = chosen.fromSeq <= endSeq && (chosen.toSeq !== null || endSeq - chosen.fromSeq <= heldEvents);
  shown.current = isNear ? chosen : first();
  const { fromSeq } = shown.current;
  const toSeq = Math.min(shown.current.toSeq ?? endSeq, endSeq);
  const isEnd = toSeq === endSeq;
  return {
    fromSeq,
    toSeq,
    isEnd,
    older(): void {
      if (fromSeq === 1) return;
      const from = stepBack(fromSeq, stepEvents, lost);
      const isLong = toSeq - from > heldEvents;
      setChosen({ fromSeq: from, toSeq: isLong ? from + heldEvents : shown.current.toSeq });
    },
    newer(): void {
      if (isEnd) return;
      const to = toSeq + stepEvents;
      const from = Math.max(fromSeq, to - heldEvents);
      setChosen({ fromSeq: from, toSeq: to >= endSeq ? null : to });
    },
    toEnd(): void {
      if (!isEnd) setChosen(first());
    },
    /** Whether the position is within; if not, it is gone to. */
    show(seq: number): boolean {
      const at = Math.min(Math.max(1, seq), endSeq);
      if (fromSeq <= at && at <= toSeq) return true;
      const to = at + stepEvents;
      setChosen({ fromSeq: stepBack(at, stepEvents, lost), toSeq: to >= endSeq ? null : to });
      return false;
    },
  };
}
