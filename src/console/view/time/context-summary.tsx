/** The context in a line: model, tokens, contents. It links to the whole. */
import type { ReactNode } from "react";
import { Link } from "../../link.tsx";
import { count, tokens } from "../../ui/amount.ts";
import { brief } from "../../ui/untrusted-text.tsx";
import { WindowBar } from "../../ui/window-bar.tsx";
import { sessionPath } from "../../route.ts";
import { useScope } from "../session/scope.ts";
import { useContextAt } from "./context-reading.ts";

interface ContextSummaryProps {
  readonly seq: number;
  /** Nothing is read while the slider is dragged. */
  readonly isDrawn: boolean;
}

export function ContextSummary({ seq, isDrawn }: ContextSummaryProps): ReactNode {
  const { id } = useScope();
  const {
    isBehind,
    context: { value },
  } = useContextAt(isDrawn ? null : seq, "sent");
  if (value === undefined) return <span className="time-context" />;
  const { requestSeq, model } = value;
  return (
    <Link
      className="time-context"
      to={sessionPath(id, "context", { at: seq })}
      data-behind={isBehind || isDrawn || undefined}
      title={requestSeq === null ? "Next context" : `Context sent at ${count(requestSeq)}`}
    >
      <span className="small cut">
        {brief(model, 60)} · {tokens(value.tokens)} tokens
      </span>
      <WindowBar context={value} compact />
    </Link>
  );
}
