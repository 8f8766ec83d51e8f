/** The timeline: a slider over the whole log. The whole page follows it; at rest, you can fork or rewind. */
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useCell } from "../../signal.ts";
import { useRefusal } from "../../scopes.ts";
import { count } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { actorWords, summaryOf } from "../../ui/event-summary.ts";
import { exact } from "../../ui/moment.tsx";
import { brief } from "../../ui/untrusted-text.tsx";
import { showToast, showError } from "../../ui/toast.tsx";
import { refresh, useReading } from "../../query-cache.ts";
import { go, sessionPath, useRoute } from "../../route.ts";
import { useShortcuts } from "../../shortcut.ts";
import { after } from "../../world.ts";
import type { SessionEvent } from "../../../core/event.ts";
import { useScope, type Scope, type State } from "../session/scope.ts";
import { ContextSummary } from "./context-summary.tsx";
import { marksKey, turnFrom, useEventAt, useLastNotable, useMarks } from "./reading.ts";
import { RewindDialog, useRewind } from "./rewind-dialog.tsx";
import { Scrubber, type Moves } from "./scrubber.tsx";
import "./time.css";

const restMs = 220;

export function Timeline(): ReactNode {
  const scope = useScope();
  const { at, log, session } = scope;
  const headSeq = useCell(log.headSeq);
  const [thumb, setThumb] = useState<number | null>(null);
  const seq = Math.min(thumb ?? at ?? headSeq, headSeq);
  const moves = useMoves(scope, { seq, headSeq, setThumb });
  const event = useEventAt(seq, thumb !== null);
  const last = useLastNotable(headSeq);
  const marks = useMarks();
  // Rewound ranges are those of now, at any viewed position.
  const { value: now } = useReading<State>(`session/${session.id}/state/now`, () => session.state({}));
  const isPast = thumb !== null || at !== null;
  return (
    <section className="time" aria-label="Timeline" data-past={isPast || undefined}>
      <div className="time-line">
        <Steps seq={seq} headSeq={headSeq} moves={moves} />
        <Happened event={isPast ? event : last} />
        {isPast ? <Ways seq={seq} isDrawn={thumb !== null} /> : null}
      </div>
      <Scrubber
        seq={seq}
        headSeq={headSeq}
        marks={marks}
        ranges={now?.transcript.ranges ?? []}
        words={event === undefined ? "" : summaryOf(event)}
        moves={moves}
      />
    </section>
  );
}

interface TimelinePosition {
  readonly seq: number;
  readonly headSeq: number;
  readonly setThumb: (seq: number | null) => void;
}

/** The thumb moves at once; the page follows as it can, and the URL when it rests. */
function useMoves(
  { session, at, isDrawn, travel }: Scope,
  { seq, headSeq, setThumb }: TimelinePosition,
): Moves {
  const waiting = useRef<(() => void) | null>(null);
  const latest = useRef({ seq, headSeq, travel });
  latest.current = { seq, headSeq, travel };
  useEffect(() => () => waiting.current?.(), []);
  const wasDrawn = useRef(false);
  useEffect(() => {
    // The view returned to now in between: nothing is left to rest.
    if (wasDrawn.current && !isDrawn && at === null) {
      waiting.current?.();
      setThumb(null);
    }
    wasDrawn.current = isDrawn;
  }, [at, isDrawn]);
  const draw = (to: number): void => {
    waiting.current?.();
    setThumb(to);
    latest.current.seq = to;
    latest.current.travel(to, { resting: false });
  };
  const rest = (to: number): void => {
    waiting.current?.();
    setThumb(null);
    latest.current.travel(to >= latest.current.headSeq ? null : to);
  };
  const step = (to: number): void => {
    draw(to);
    waiting.current = after(restMs, () => rest(to));
  };
  const turn = async (by: 1 | -1): Promise<void> => {
    const found = await turnFrom(session, latest.current.seq, by);
    step(found ?? (by === 1 ? latest.current.headSeq : 1));
  };
  return { draw, rest, step, turn: (by) => void turn(by).catch(showError) };
}

function Steps({
  seq,
  headSeq,
  moves,
}: Omit<TimelinePosition, "setThumb"> & { readonly moves: Moves }): ReactNode {
  const back = (): void => moves.step(Math.max(1, seq - 1));
  const on = (): void => moves.step(Math.min(headSeq, seq + 1));
  useShortcuts([
    { key: "[", what: "Previous event", act: back },
    { key: "]", what: "Next event", act: on },
    { key: "{", what: "Previous turn", act: () => moves.turn(-1) },
    { key: "}", what: "Next turn", act: () => moves.turn(1) },
  ]);
  return (
    <div className="row time-steps">
      <Button kind="quiet" size="small" aria-label="Previous event" disabled={seq <= 1} act={back}>
        ‹
      </Button>
      <span className="number">
        {count(seq)} <span className="faint">of {count(headSeq)}</span>
      </span>
      <Button kind="quiet" size="small" aria-label="Next event" disabled={seq >= headSeq} act={on}>
        ›
      </Button>
    </div>
  );
}

/** The effect of the event, its actor and time. */
function Happened({ event }: { readonly event: SessionEvent | undefined }): ReactNode {
  if (event === undefined) return <div className="time-event spread" />;
  const words = summaryOf(event);
  return (
    <div className="time-event spread" title={words}>
      <p className="said cut">{words}</p>
      <p className="small faint cut">
        <span className="mono">{brief(event.type, 80)}</span> · {actorWords(event.actor)} ·{" "}
        <time dateTime={new Date(event.at).toISOString()}>{exact(event.at)}</time>
      </p>
    </div>
  );
}

/** The actions at this position. */
function Ways({ seq, isDrawn }: { readonly seq: number; readonly isDrawn: boolean }): ReactNode {
  const { id, session, travel } = useScope();
  const [asks, setAsks] = useState(false);
  const rewind = useRewind(seq);
  const refusal = useRefusal("session.fork", "session.rewind");
  const route = useRoute();
  const showsContext = route.at === "session" && route.aspect === "context";
  const fork = async (): Promise<void> => {
    const made = await session.fork({ atSeq: seq });
    refresh(marksKey(id));
    showToast(`Forked at ${count(seq)}. This is the fork.`, {
      name: "Go back",
      act: () => go(sessionPath(id, "transcript", { at: seq })),
    });
    go(sessionPath(made.id));
  };
  return (
    <>
      {showsContext ? null : <ContextSummary seq={seq} isDrawn={isDrawn} />}
      <div className="row time-ways">
        <Button size="small" disabled={isDrawn} refusal={refusal} act={fork}>
          Fork from here
        </Button>
        <Button size="small" disabled={isDrawn} refusal={refusal} act={() => rewind()}>
          Rewind to here
        </Button>
        <Button
          size="small"
          kind="quiet"
          title="Preview the rewind and choose options"
          disabled={isDrawn}
          refusal={refusal}
          act={() => setAsks(true)}
        >
          Rewind…
        </Button>
        <Button size="small" kind="quiet" title="Back to now" act={() => travel(null)}>
          Now
        </Button>
      </div>
      {asks ? <RewindDialog seq={seq} close={() => setAsks(false)} /> : null}
    </>
  );
}
