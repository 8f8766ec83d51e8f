/**
 * The state at the viewed position. While a slider is dragged positions are read as fast as the server
 * answers, and the page always shows one position; the URL follows when it rests.
 */
import { useEffect, useRef, useState } from "react";
import type { RemoteSession } from "../../../client/connect.ts";
import { showError } from "../../ui/toast.tsx";
import { useReading, type CachedQuery } from "../../query-cache.ts";
import { goWith } from "../../route.ts";
import type { Scope, State } from "../session/scope.ts";
import { latestReader, type LatestReader } from "./latest.ts";

interface PlacedState {
  /** The wanted position of the state; null: now. */
  readonly at: number | null;
  readonly state: CachedQuery<State>;
  /** Whether the state is of another position, while this one loads. */
  readonly isBehind: boolean;
  readonly isDrawn: boolean;
  readonly travel: Scope["travel"];
}

interface DrawnState {
  readonly seq: number;
  readonly state: State;
}

const keyOf = (id: string, at: number | null): string => `session/${id}/state/${at ?? "now"}`;

export function useStateAt(session: RemoteSession, inAddress: number | null): PlacedState {
  const [drawn, setDrawn] = useState<DrawnState | null>(null);
  const drawing = useRef<LatestReader<State> | null>(null);
  /** The resting position of a drag is not read twice. */
  const rested = useRef<DrawnState | null>(null);
  const at = drawn?.seq ?? inAddress;
  const reading = useReading<State>(drawn === null ? keyOf(session.id, inAddress) : null, async () => {
    const before = rested.current;
    rested.current = null;
    if (before !== null && before.seq === inAddress) return before.state;
    return session.state(inAddress === null ? {} : { atSeq: inAddress });
  });
  useEffect(() => {
    rested.current = null;
  }, [inAddress, drawn]);
  const last = useRef<State | undefined>(undefined);
  const value = drawn?.state ?? reading.value;
  if (value !== undefined) last.current = value;
  useEffect(
    () => () => {
      drawing.current?.stop();
      drawing.current = null;
    },
    [session],
  );

  const travel: Scope["travel"] = (seq, { resting = true } = {}) => {
    if (!resting && seq !== null) {
      drawing.current ??= latestReader({
        load: (place) => session.state({ atSeq: place }),
        tell: (place, state) => setDrawn({ seq: place, state }),
        fail: showError,
      });
      drawing.current.ask(seq);
      return;
    }
    const known = seq === null ? undefined : drawing.current?.known(seq);
    if (seq !== null && known !== undefined) rested.current = { seq, state: known };
    drawing.current?.stop();
    drawing.current = null;
    setDrawn(null);
    // Between positions, going back returns to where the journey began.
    goWith({ at: seq }, { replace: seq !== null && inAddress !== null });
  };
  return {
    at,
    state: last.current === undefined ? reading : { ...reading, value: last.current },
    isBehind: value === undefined,
    isDrawn: drawn !== null,
    travel,
  };
}
