/** How full the context window is, and of what: a stacked bar with its zones marked, and a legend. */
import type { ReactNode } from "react";
import { count, tokens as short } from "./amount.ts";
import { sharesOf, type WindowFill } from "./window-share.ts";
import "./window-bar.css";

interface WindowBarProps {
  readonly context: WindowFill;
  /** The bar alone, for narrow layouts. */
  readonly compact?: boolean;
}

export function WindowBar({ context, compact = false }: WindowBarProps): ReactNode {
  const { shares, free, marks } = sharesOf(context);
  const { tokens, windowTokens } = context;
  const whole = windowTokens === null ? "" : ` of ${count(windowTokens)}`;
  const said = shares.map((share) => `${share.name} ${count(share.tokens)}`).join(", ");
  return (
    <div className="window-bar" data-compact={compact || undefined}>
      <div className="window-bar-track" role="img" aria-label={`${count(tokens)}${whole} tokens: ${said}`}>
        {shares.map(({ kind, name, tokens: part, percent }) => (
          <span
            key={kind}
            data-kind={kind}
            title={`${name}: ${count(part)} tokens`}
            style={{ width: `${percent}%` }}
          />
        ))}
        {marks.map(({ zone, percent }) => (
          <i key={zone} data-zone={zone} title={`${zone} from here`} style={{ left: `${percent}%` }} />
        ))}
      </div>
      {compact ? null : (
        <ul className="window-bar-legend">
          {shares.map(({ kind, name, tokens: part }) => (
            <li key={kind} title={`${count(part)} tokens`}>
              <span className="window-bar-patch" data-kind={kind} />
              {name} <span className="number">{short(part)}</span>
            </li>
          ))}
          {free === null ? null : (
            <li title={`${count(free)} tokens`}>
              <span className="window-bar-patch" />
              Free <span className="number">{short(free)}</span>
            </li>
          )}
          {marks.length === 0 ? null : (
            <li className="faint">
              <span className="window-bar-tick" />
              {marks.map(({ zone }) => zone).join(", ")}
            </li>
          )}
        </ul>
      )}
    </div>
  );
}
