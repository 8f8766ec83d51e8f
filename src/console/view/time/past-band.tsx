/** The banner of an earlier position, with a way back. */
import type { ReactNode } from "react";
import { useCell } from "../../signal.ts";
import { count } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { useShortcuts } from "../../shortcut.ts";
import { useScope } from "../session/scope.ts";
import "./time.css";

const dayAndTime = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

export function PastBand(): ReactNode {
  const { at } = useScope();
  return at === null ? null : <Band at={at} />;
}

function Band({ at }: { readonly at: number }): ReactNode {
  const { log, state, travel } = useScope();
  const headSeq = useCell(log.headSeq);
  useShortcuts([{ key: "Escape", what: "Back to now", act: () => travel(null) }]);
  return (
    <div className="time-band">
      <p className="number">
        Viewing position <strong>{count(at)}</strong> of {count(headSeq)}
        <time dateTime={new Date(state.at).toISOString()}> · {dayAndTime.format(state.at)}</time>
      </p>
      <Button size="small" act={() => travel(null)}>
        Back to now <kbd className="key">Esc</kbd>
      </Button>
    </div>
  );
}
