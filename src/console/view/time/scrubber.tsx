/** The bar: the whole log from left to right, with its marks, and a draggable thumb. */
import {
  memo,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
} from "react";
import { count } from "../../ui/amount.ts";
import { lostStretches, markNear, sampleMarks, seqAt, shareOf, type TimelineMark } from "./marks.ts";

const columns = 360;
/** How near to a mark the pointer must be to show its name: a share of the bar. */
const nearShare = 0.006;

const nearMark = (marks: readonly TimelineMark[], seq: number, headSeq: number): TimelineMark | null =>
  markNear(marks, seq, Math.round(headSeq * nearShare));

export interface Moves {
  /** While dragging. */
  draw(seq: number): void;
  rest(seq: number): void;
  /** By a key: it rests if no other key follows. */
  step(seq: number): void;
  turn(step: 1 | -1): void;
}

interface ScrubberProps {
  readonly seq: number;
  readonly headSeq: number;
  readonly marks: readonly TimelineMark[];
  /** The ranges of the current transcript. */
  readonly ranges: readonly (readonly [number, number])[];
  readonly words: string;
  readonly moves: Moves;
}

export function Scrubber({ seq, headSeq, marks, ranges, words, moves }: ScrubberProps): ReactNode {
  const track = useRef<HTMLDivElement>(null);
  const [isHeld, setHeld] = useState(false);
  const [hover, setHover] = useState<number | null>(null);
  const placeOf = (event: PointerEvent): number => {
    const { left = 0, width = 1 } = track.current?.getBoundingClientRect() ?? {};
    return seqAt((event.clientX - left) / Math.max(1, width), headSeq);
  };
  const press = (event: PointerEvent<HTMLDivElement>): void => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    setHeld(true);
    const place = placeOf(event);
    // A click near a mark goes to the mark.
    moves.draw(nearMark(marks, place, headSeq)?.seq ?? place);
  };
  const move = (event: PointerEvent): void => {
    const place = placeOf(event);
    setHover(event.pointerType === "mouse" ? place : null);
    if (isHeld && place !== seq) moves.draw(place);
  };
  const leave = (): void => {
    if (!isHeld) return;
    setHeld(false);
    setHover(null);
    moves.rest(seq);
  };
  return (
    <div
      ref={track}
      className="time-track"
      role="slider"
      tabIndex={0}
      aria-label="Position in the log"
      aria-valuemin={1}
      aria-valuemax={headSeq}
      aria-valuenow={seq}
      aria-valuetext={`${count(seq)} of ${count(headSeq)}: ${words}`}
      data-held={isHeld || undefined}
      onPointerDown={press}
      onPointerMove={move}
      onPointerUp={leave}
      onPointerCancel={leave}
      onPointerLeave={() => setHover(null)}
      onKeyDown={(event) => stepByKey(event, { seq, headSeq, moves })}
    >
      <div className="time-rail" />
      <div className="time-past" style={{ width: `${shareOf(seq, headSeq) * 100}%` }} />
      <Marks marks={marks} ranges={ranges} headSeq={headSeq} />
      <div className="time-thumb" style={{ left: `${shareOf(seq, headSeq) * 100}%` }} />
      {hover === null || hover === seq || isHeld ? null : <Tip seq={hover} headSeq={headSeq} marks={marks} />}
    </div>
  );
}

function stepByKey(
  event: KeyboardEvent,
  { seq, headSeq, moves }: Pick<ScrubberProps, "seq" | "headSeq" | "moves">,
): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
  const turn = { PageUp: -1 as const, PageDown: 1 as const }[event.key];
  const end = { Home: 1, End: headSeq }[event.key];
  if (step === undefined && turn === undefined && end === undefined) return;
  event.preventDefault();
  if (turn !== undefined) moves.turn(turn);
  else moves.step(end ?? Math.min(headSeq, Math.max(1, seq + (step ?? 0))));
}

interface MarksProps extends Pick<ScrubberProps, "marks" | "ranges" | "headSeq"> {}

/** Rendered again when the log changes, not while dragging. */
const Marks = memo(function Marks({ marks, ranges, headSeq }: MarksProps): ReactNode {
  const shown = useMemo(() => sampleMarks(marks, headSeq, columns), [marks, headSeq]);
  const lost = useMemo(() => lostStretches(ranges, marks), [ranges, marks]);
  const percent = (seq: number): number => shareOf(seq, headSeq) * 100;
  return (
    <div className="time-marks" aria-hidden="true">
      {lost.map(([from, to]) => (
        <span
          key={`lost ${from}`}
          className="time-lost"
          style={{ left: `${percent(from)}%`, width: `max(2px, ${percent(to) - percent(from)}%)` }}
        />
      ))}
      {shown.map(({ seq, kind }) => (
        <span
          key={`${kind} ${seq}`}
          className="time-mark"
          data-kind={kind}
          style={{ left: `${percent(seq)}%` }}
        />
      ))}
    </div>
  );
});

function Tip({ seq, headSeq, marks }: Pick<ScrubberProps, "seq" | "headSeq" | "marks">): ReactNode {
  const mark = nearMark(marks, seq, headSeq);
  const share = shareOf(seq, headSeq);
  return (
    <div
      className="time-tip"
      style={share > 0.5 ? { right: `${(1 - share) * 100}%` } : { left: `${share * 100}%` }}
    >
      {mark === null ? (
        <span className="number">{count(seq)}</span>
      ) : (
        <>
          <span className="time-tip-mark" data-kind={mark.kind} />
          <span className="number">{count(mark.seq)}</span>
          <span className="said cut">{mark.words}</span>
        </>
      )}
    </div>
  );
}
