/** The sessions of a project on a time line: a line for each piece of work, with seams where it went on. */
import type { CSSProperties, ReactNode } from "react";
import { plural } from "../../ui/amount.ts";
import { exact } from "../../ui/moment.tsx";
import { Portion } from "../../ui/show-more.tsx";
import { brief } from "../../ui/visible.ts";
import { Link } from "../../link.tsx";
import { goWith, sessionPath } from "../../route.ts";
import { now } from "../../world.ts";
import {
  linesOf,
  placeOf,
  rangeOf,
  ranges,
  ticksOf,
  type ProjectNode,
  type RangeName,
  type TimeRange,
  type WorkBar,
  type WorkLine,
} from "./lines.ts";

const rangeWords: Readonly<Record<RangeName, string>> = { day: "Day", week: "Week", all: "All" };

interface TimeLineProps {
  readonly nodes: readonly ProjectNode[];
  readonly range: RangeName;
}

export function TimeLine({ nodes, range: name }: TimeLineProps): ReactNode {
  const nowMs = now();
  const lines = linesOf(nodes, nowMs);
  const range = rangeOf(lines, name, nowMs);
  return (
    <section className="sheet projects-lines" aria-label="Sessions">
      <header className="projects-card-head">
        <h2>Sessions</h2>
        <Legend />
        <span className="projects-ranges" role="group" aria-label="Period">
          {ranges.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === name}
              onClick={() => goWith({ range: one === "all" ? null : one }, { replace: true })}
            >
              {rangeWords[one]}
            </button>
          ))}
        </span>
      </header>
      <div className="projects-time">
        <Axis range={range} nowMs={nowMs} />
        <Portion of={lines}>
          {(shown) => (
            <ul className="projects-rows">
              {shown.map((line) => (
                <Line key={line.id} line={line} range={range} />
              ))}
            </ul>
          )}
        </Portion>
      </div>
    </section>
  );
}

const legend = [
  ["busy", "Running"],
  ["warn", "Needs you"],
  ["rest", "Asleep"],
  ["open", "Open"],
  ["done", "Finished"],
] as const;

const Legend = (): ReactNode => (
  <span className="projects-legend small soft" aria-hidden="true">
    {legend.map(([tone, word]) => (
      <span key={tone}>
        <i className="projects-swatch" data-tone={tone} />
        {word}
      </span>
    ))}
  </span>
);

const dayName = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
const timeName = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const at = (left: number): CSSProperties => ({ left: `${left}%` });

/** For the eye: each bar says its times in words. */
function Axis({ range, nowMs }: { readonly range: TimeRange; readonly nowMs: number }): ReactNode {
  const offset = -new Date(nowMs).getTimezoneOffset() * 60_000;
  const place = placeOf({ from: nowMs, to: nowMs }, range);
  return (
    <div className="projects-axis small faint number" aria-hidden="true">
      {ticksOf(range, offset)
        .filter(({ left }) => left < 90)
        .map((tick) => (
          <span key={tick.at} style={at(tick.left)}>
            {(tick.isDay ? dayName : timeName).format(tick.at)}
          </span>
        ))}
      {place === null ? null : (
        <>
          <i className="projects-now-line" style={at(place.left)} />
          <b className="projects-now" style={at(place.left)}>
            now
          </b>
        </>
      )}
    </div>
  );
}

const origins = { fork: "Fork", child: "Child" } as const;

function Line({ line, range }: { readonly line: WorkLine; readonly range: TimeRange }): ReactNode {
  const { title, origin, bars } = line;
  const shown = bars.flatMap((bar) => {
    const place = placeOf(bar, range);
    return place === null ? [] : [{ bar, place }];
  });
  return (
    <li className="projects-line" data-origin={origin ?? undefined}>
      <span className="projects-line-name cut" dir="auto" title={brief(title, 200)}>
        {origin === null ? null : <span className="faint">{origins[origin]} · </span>}
        {brief(title, 80)}
      </span>
      <span className="projects-track">
        {shown.map(({ bar, place }) => (
          <Bar key={bar.session} bar={bar} of={line} left={place.left} width={place.width} />
        ))}
        {shown.length === 0 ? <span className="small faint projects-outside">earlier</span> : null}
      </span>
    </li>
  );
}

interface BarProps {
  readonly bar: WorkBar;
  readonly of: WorkLine;
  readonly left: number;
  readonly width: number;
}

function Bar({ bar, of, left, width }: BarProps): ReactNode {
  const { session, status, tone, number, from, to, isSeam } = bar;
  const order = of.bars.length === 1 ? "" : `session ${number} of ${plural(of.bars.length, "session")}, `;
  const words = `${brief(of.title, 80)}: ${order}${status}, ${exact(from)} to ${exact(to)}`;
  const label =
    of.bars.length === 1 ? status : number === of.bars.length ? `${number} · ${status}` : `${number}`;
  return (
    <Link
      to={sessionPath(session)}
      className="projects-bar"
      data-tone={tone}
      data-seam={isSeam || undefined}
      style={{ left: `${left}%`, width: `${width}%` }}
      title={words}
      aria-label={words}
    >
      {isSeam ? <Seam /> : null}
      <span aria-hidden="true" data-long={label.length > 2 || undefined}>
        {label}
      </span>
    </Link>
  );
}

const zigzag = "M5 0l3 4-6 4 6 4-6 4 6 4-3 4";

const Seam = (): ReactNode => (
  <svg className="projects-seam" viewBox="0 0 10 24" aria-hidden="true" focusable="false">
    <path d={zigzag} className="projects-seam-gap" />
    <path d={zigzag} />
  </svg>
);
