/** The tiers of a context: their share of the window, what each uses and leaves out, and what is pinned. */
import type { ReactNode } from "react";
import { useMe } from "../session/entry.tsx";
import { Link } from "../../link.tsx";
import { count, plural, tokens } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { brief } from "../../ui/visible.ts";
import { mayIn } from "../../../protocol/library.ts";
import { sessionPath } from "../../route.ts";
import { mayWrite } from "../session/standing.tsx";
import { useScope, type Scope, type State } from "../session/scope.ts";
import type { Context } from "./context-reading.ts";

type Tier = Context["tiers"][number];
type Item = State["items"][number];

const names: Readonly<Record<string, string>> = {
  tools: "Tools",
  instructions: "Instructions",
  pinned: "Pinned",
  items: "Items",
  memory: "Memory",
  documents: "Documents",
  summary: "Summary",
  transcript: "Transcript",
};

/** Left-out parts listed of one tier. */
const listedMax = 12;

export function ContextTiers({ context: { tiers } }: { readonly context: Context }): ReactNode {
  const scope = useScope();
  const me = useMe();
  const { at, state } = scope;
  const mayPin = at === null && state.newer === null && mayWrite(me) && mayIn(state.status, "write");
  const pinned = state.items.filter((item) => item.pinned === true);
  const isPlanned = tiers.some(({ shareTokens }) => shareTokens !== null);
  return (
    <details className="context-tiers" open>
      <summary>
        Tiers
        {isPlanned ? null : (
          <span className="soft"> · not planned: renderer 1, or before the first request</span>
        )}
      </summary>
      <table className="plain">
        <thead>
          <tr>
            <th>Tier</th>
            <th className="right">Tokens</th>
            <th className="right">Share</th>
            <th>Left out</th>
          </tr>
        </thead>
        <tbody>
          {tiers.map((tier) => (
            <tr key={tier.tier} data-tier={tier.tier}>
              <td>{names[tier.tier] ?? brief(tier.tier, 40)}</td>
              <td className="right number">{tokens(tier.usedTokens)}</td>
              <td className="right number">{shareOf(tier)}</td>
              <td>
                {tier.tier === "pinned" ? (
                  <Pins scope={scope} items={pinned} mayPin={mayPin} />
                ) : (
                  <LeftOut scope={scope} tier={tier} mayPin={mayPin} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

const shareOf = ({ shareTokens, flowedTokens }: Tier): string =>
  shareTokens === null
    ? "–"
    : (flowedTokens ?? 0) === 0
      ? tokens(shareTokens)
      : `${tokens(shareTokens)} + ${tokens(flowedTokens ?? 0)}`;

interface PinsProps {
  readonly scope: Scope;
  readonly items: readonly Item[];
  readonly mayPin: boolean;
}

/** What is pinned now, in place of what is left out: pinned items are always whole. */
function Pins({ scope, items, mayPin }: PinsProps): ReactNode {
  if (items.length === 0) return <span className="faint">Nothing is pinned.</span>;
  return (
    <ul className="context-left">
      {items.map((item) => (
        <li key={`${item.kind}/${item.key}`}>
          <ItemLink scope={scope} name={`${item.kind} ${item.key}`} seq={item.seq} />
          {mayPin ? <PinButton scope={scope} item={item} /> : null}
        </li>
      ))}
    </ul>
  );
}

function LeftOut({
  scope,
  tier: { leftOut },
  mayPin,
}: {
  readonly scope: Scope;
  readonly tier: Tier;
  readonly mayPin: boolean;
}): ReactNode {
  if (leftOut.length === 0) return null;
  const more = leftOut.length - listedMax;
  return (
    <ul className="context-left">
      {leftOut.slice(0, listedMax).map(({ name, seq, why }) => {
        const item = scope.state.items.find((one) => one.seq === seq && seq > 0);
        return (
          <li key={`${seq} ${name}`} title={brief(why, 200)}>
            {seq === 0 ? <span>{brief(name, 80)}</span> : <ItemLink scope={scope} name={name} seq={seq} />}
            {item === undefined || !mayPin ? null : <PinButton scope={scope} item={item} />}
          </li>
        );
      })}
      {more > 0 ? <li className="faint">and {plural(more, "more")}</li> : null}
    </ul>
  );
}

function ItemLink({
  scope: { id },
  name,
  seq,
}: {
  readonly scope: Scope;
  readonly name: string;
  readonly seq: number;
}): ReactNode {
  return (
    <Link to={sessionPath(id, "log", { seq })} title={`Position ${count(seq)}`} dir="auto">
      {brief(name, 80)}
    </Link>
  );
}

/** Pins an item, or unpins it. A pin that does not fit is refused with its size: a toast says so. */
function PinButton({ scope, item }: { readonly scope: Scope; readonly item: Item }): ReactNode {
  const { kind, key, pinned } = item;
  const act = async (): Promise<void> => {
    await (pinned === true ? scope.session.unpin(kind, key) : scope.session.pin(kind, key));
    scope.reread();
  };
  const verb = pinned === true ? "Unpin" : "Pin";
  return (
    <Button size="small" kind="quiet" act={act} aria-label={`${verb} ${brief(key, 60)}`}>
      {verb}
    </Button>
  );
}
