/** The context: exactly what the model saw, or would see next; each part with its kind and reason. */
import type { ReactNode } from "react";
import { useCell } from "../../signal.ts";
import { Link } from "../../link.tsx";
import { count, plural, tokens } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { copyText } from "../../ui/copy.tsx";
import { brief } from "../../ui/untrusted-text.tsx";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { WindowBar } from "../../ui/window-bar.tsx";
import { sessionPath, useRoute } from "../../route.ts";
import { useScope } from "../session/scope.ts";
import { ContextParts } from "./context-parts.tsx";
import { ContextStages } from "./context-stages.tsx";
import { ContextTiers } from "./context-tiers.tsx";
import { useContextAt, useSettled, type Context, type Which } from "./context-reading.ts";
import "./time.css";

const settleMs = 500;

export function ContextView(): ReactNode {
  const { at, log, isDrawn } = useScope();
  const { params } = useRoute();
  const headSeq = useCell(log.headSeq);
  const named = params.get("context");
  const which: Which = named === "sent" || named === "next" ? named : at === null ? "next" : "sent";
  const settled = useSettled(headSeq, settleMs);
  const seq = at ?? settled;
  const { isBehind, context } = useContextAt(isDrawn ? null : seq, which);
  return (
    <div className="context" data-behind={isBehind || undefined}>
      <Choice which={which} seq={seq} context={context.value} />
      <WhenRead of={context}>
        {(shown) => (
          <>
            <Facts context={shown} isBehind={isBehind} />
            <WindowBar context={shown} />
            <ContextTiers context={shown} />
            <ContextStages />
            {shown.parts.length === 0 ? (
              <Empty title="Empty context">
                <p>There are no instructions and no messages yet.</p>
              </Empty>
            ) : (
              <ContextParts context={shown} />
            )}
          </>
        )}
      </WhenRead>
    </div>
  );
}

interface ChoiceProps {
  readonly which: Which;
  readonly seq: number;
  readonly context: Context | undefined;
}

function Choice({ which, seq, context }: ChoiceProps): ReactNode {
  const { id, at } = useScope();
  const choices = [
    ["sent", "Sent to the model"],
    ["next", "Next request"],
  ] as const;
  return (
    <nav className="row wrap context-choice" aria-label={`Context at ${count(seq)}`}>
      {choices.map(([name, title]) => (
        <Link
          key={name}
          className="button"
          data-size="small"
          to={sessionPath(id, "context", { at, context: name })}
          aria-current={which === name ? "true" : undefined}
        >
          {title}
        </Link>
      ))}
      <span className="spread" />
      <Button
        size="small"
        kind="quiet"
        disabled={context === undefined}
        act={() => copyText(JSON.stringify(context, null, 2), "the context as JSON")}
      >
        Copy as JSON
      </Button>
    </nav>
  );
}

interface FactsProps {
  readonly context: Context;
  readonly isBehind: boolean;
}

function Facts({ context, isBehind }: FactsProps): ReactNode {
  const { id } = useScope();
  const { requestSeq, model, renderer, digest, parts, tokens: sum, windowTokens, countedTokens } = context;
  const whole = windowTokens === null ? "" : ` of ${tokens(windowTokens)}`;
  return (
    <div className="row wrap context-facts">
      {requestSeq === null ? (
        <span className="soft">Not sent yet</span>
      ) : (
        <span>
          Sent by the request at{" "}
          <Link to={sessionPath(id, "log", { seq: requestSeq })}>{count(requestSeq)}</Link>
        </span>
      )}
      <Matches matches={context.matches} />
      <span className="mono">{brief(model, 80)}</span>
      <span className="number">
        {tokens(sum)}
        {whole} tokens{countedTokens === null ? "" : `, ${tokens(countedTokens)} by the provider`}
      </span>
      <span className="soft">{plural(parts.length, "part")}</span>
      <span className="soft">renderer {renderer}</span>
      <span className="mono faint" title={digest}>
        {brief(digest, 200).slice(0, 12)}
      </span>
      {isBehind ? (
        <span className="soft" role="status">
          Loading…
        </span>
      ) : null}
    </div>
  );
}

const differs =
  "Its digest differs from the request's: contents were erased since, or the log was altered. " +
  "Verify the log to find out.";

/** Whether the rebuilt context is what was sent, byte for byte. */
function Matches({ matches }: { readonly matches: boolean | null }): ReactNode {
  if (matches === null) return null;
  return matches ? (
    <span className="mark" data-tone="good" title="Rebuilt from the log with the same digest as the request">
      matches the log
    </span>
  ) : (
    <span className="mark" data-tone="warn" title={differs}>
      differs from what was sent
    </span>
  );
}
