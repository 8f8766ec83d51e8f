/** One event: a line, which expands to its header, body and content. */
import type { MouseEvent, ReactNode } from "react";
import { Link } from "../../link.tsx";
import { count } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { copyText } from "../../ui/copy.tsx";
import { actorWords, toneOfEvent, summaryOf } from "../../ui/event-summary.ts";
import { exact } from "../../ui/moment.tsx";
import { brief, Json, visible } from "../../ui/untrusted-text.tsx";
import { sessionPath } from "../../route.ts";
import type { SessionEvent } from "../../../core/event.ts";
import { useScope } from "../session/scope.ts";

export const eventJson = (events: readonly SessionEvent[]): string => {
  const [first] = events;
  return JSON.stringify(events.length === 1 ? first : events, null, 2);
};

export const rowId = (seq: number): string => `log-row-${seq}`;

interface RowProps {
  readonly seq: number;
  readonly event: SessionEvent | undefined;
  readonly isChosen: boolean;
  readonly isPicked: boolean;
  readonly isOpen: boolean;
  /** It is after the viewed position. */
  readonly isLater: boolean;
  readonly choose: (event: MouseEvent) => void;
}

const clock = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

export function Row({ seq, event, isChosen, isPicked, isOpen, isLater, choose }: RowProps): ReactNode {
  return (
    <div
      className="log-row"
      data-chosen={isChosen || undefined}
      data-picked={isPicked || undefined}
      data-later={isLater || undefined}
      data-tone={event === undefined ? undefined : (toneOfEvent(event) ?? undefined)}
    >
      <div id={rowId(seq)} role="row" className="log-cells" aria-selected={isPicked} onClick={choose}>
        <span role="gridcell" className="number log-seq">
          {count(seq)}
        </span>
        {event === undefined ? (
          <span role="gridcell" className="faint">
            Loading…
          </span>
        ) : (
          <Cells event={event} isOpen={isOpen} />
        )}
      </div>
      {isOpen && event !== undefined ? <Unfolded event={event} /> : null}
    </div>
  );
}

function Cells({ event, isOpen }: { readonly event: SessionEvent; readonly isOpen: boolean }): ReactNode {
  return (
    <>
      <span role="gridcell" className="number faint log-time" title={exact(event.at)}>
        {clock.format(event.at)}
      </span>
      <span role="gridcell" className="mono cut log-type">
        {brief(event.type, 100)}
      </span>
      <span role="gridcell" className="cut soft log-actor" title={visible(event.actor)}>
        {actorWords(event.actor)}
      </span>
      <span role="gridcell" className="number faint log-turn">
        {event.turn ?? ""}
      </span>
      <span role="gridcell" className="said cut log-words">
        {summaryOf(event)}
      </span>
      <span role="gridcell" className="faint log-fold">
        <span className="aside">{isOpen ? "unfolded" : "folded"}</span>
        <span aria-hidden="true">{isOpen ? "−" : "+"}</span>
      </span>
    </>
  );
}

const headerNames = [
  ...(["session", "seq", "at", "type", "v", "actor", "turn", "cause", "key"] as const),
  ...(["contentHash", "contentBytes", "hash"] as const),
];

function Unfolded({ event }: { readonly event: SessionEvent }): ReactNode {
  const { id } = useScope();
  return (
    <div className="log-unfolded" role="row">
      <div role="gridcell" className="stack">
        <div className="row wrap">
          <Button size="small" act={() => copyText(eventJson([event]), `event ${event.seq} as JSON`)}>
            Copy as JSON
          </Button>
          <Link className="button" data-size="small" to={sessionPath(id, "transcript", { at: event.seq })}>
            View the session here
          </Link>
        </div>
        <section>
          <h2>Header</h2>
          <dl className="facts log-header">
            {headerNames.map((name) =>
              event[name] === null ? null : (
                <div key={name} className="keys-row">
                  <dt>{name}</dt>
                  <dd className="mono said">{visible(String(event[name]))}</dd>
                </div>
              ),
            )}
          </dl>
        </section>
        <section>
          <h2>Body</h2>
          <Json value={event.body} />
        </section>
        <section>
          <h2>Content</h2>
          {event.content === undefined ? (
            <p className="soft">
              {event.erased ? "Erased. Its hash and length are in the header." : "None."}
            </p>
          ) : (
            <Json value={event.content} chars={8_000} />
          )}
        </section>
      </div>
    </div>
  );
}
