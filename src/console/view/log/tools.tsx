/** The toolbar above the rows: the filter, "go to", and verification. */
import { useEffect, useState, type ReactNode } from "react";
import type { RemoteSession } from "../../../client/connect.ts";
import { count, plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { exact } from "../../ui/moment.tsx";
import { showToast, showError } from "../../ui/toast.tsx";
import { goWith } from "../../route.ts";
import { after, now } from "../../world.ts";
import { useScope } from "../session/scope.ts";
import { placeOf, textMax, type LogFilter } from "./filter.ts";
import { TypesDialog } from "./types-dialog.tsx";
import { VerifyState } from "./verification.tsx";

interface ToolsProps {
  readonly filter: LogFilter;
  readonly picked: ReadonlySet<number>;
  readonly copy: () => Promise<void>;
}

export function Tools({ filter, picked, copy }: ToolsProps): ReactNode {
  const [choosesTypes, setChoosesTypes] = useState(false);
  const { types } = filter;
  return (
    <div className="log-tools">
      <Button size="small" aria-haspopup="dialog" act={() => setChoosesTypes(true)}>
        {types.length === 0 ? "All types" : plural(types.length, "type")}
      </Button>
      {types.length === 0 ? null : (
        <Button size="small" kind="quiet" act={() => goWith({ types: null })}>
          Show all
        </Button>
      )}
      <TextFilter text={filter.text} />
      <GoTo />
      {picked.size === 0 ? null : (
        <Button size="small" act={copy}>
          Copy {count(picked.size)} as JSON
        </Button>
      )}
      <span className="spread" />
      <VerifyState />
      {choosesTypes ? (
        <TypesDialog
          types={types}
          choose={(chosen) => goWith({ types: chosen.join(",") || null, seq: null }, { replace: true })}
          close={() => setChoosesTypes(false)}
        />
      ) : null}
    </div>
  );
}

const typingMs = 200;

function TextFilter({ text }: { readonly text: string }): ReactNode {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed === text) return;
    return after(typingMs, () => goWith({ q: typed, seq: null }, { replace: true }));
  }, [typed]);
  return (
    <input
      className="field log-field"
      type="search"
      aria-label="Filter by text"
      placeholder="Text"
      maxLength={textMax}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  );
}

export const nowhereWords = (seq: number, lastSeq: number): string =>
  `Position ${count(seq)} does not exist: the last one is ${count(lastSeq)}.`;

function GoTo(): ReactNode {
  const { session, log, at } = useScope();
  const [typed, setTyped] = useState("");
  const go = async (): Promise<void> => {
    const place = placeOf(typed, now());
    if (place === null) {
      showToast("Enter a position such as 57, or a time such as 14:02, 2026-11-03 14:02, or 2 h.");
      return;
    }
    const lastSeq = at ?? log.headSeq.get();
    if ("seq" in place && (place.seq < 1 || place.seq > lastSeq)) {
      showToast(nowhereWords(place.seq, lastSeq));
      return;
    }
    const seq = "seq" in place ? place.seq : await firstSince(session, place.time);
    goWith({ seq, time: null });
    setTyped("");
  };
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        go().catch(showError);
      }}
    >
      <input
        className="field log-field"
        aria-label="Go to a position or time"
        placeholder="Position or time"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      <Button size="small" disabled={typed.trim() === ""}>
        Go
      </Button>
    </form>
  );
}

/** The first event since a time; without one, a toast says so and the last event is shown. */
async function firstSince(session: RemoteSession, time: number): Promise<number> {
  for await (const event of session.events({ since: time, limit: 1 })) return event.seq;
  showToast(`No events since ${exact(time)}. This is the last event.`);
  return (await session.head()).seq;
}

/** A URL may contain a time; it is resolved to a position. */
export function useNamedTime(params: URLSearchParams): boolean {
  const { session } = useScope();
  const named = params.get("time");
  useEffect(() => {
    if (named === null) return;
    const place = /^\d{12,15}$/.test(named) ? { time: Number(named) } : placeOf(named, now());
    const found = place === null ? null : "seq" in place ? place.seq : firstSince(session, place.time);
    void Promise.resolve(found).then((seq) => goWith({ seq, time: null }, { replace: true }), showError);
  }, [named, session]);
  return named !== null;
}
