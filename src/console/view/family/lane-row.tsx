/** A session of the family as text: its title, status and actions. */
import { shortId } from "../../../core/text/short-id.ts";
import type { ReactNode } from "react";
import { Link } from "../../link.tsx";
import { spendText } from "../../../core/text/money.ts";
import { Icon } from "../../ui/icon.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Status } from "../../ui/status.tsx";
import { sessionPath } from "../../route.ts";
import { choicesOf, type Acts } from "./act.ts";
import type { Lane } from "./layout.ts";
import { placeOf, originLines, titleOf, titlesAmong, type Node, type SessionCost } from "./relative.ts";

interface LaneRowProps {
  readonly lane: Lane;
  readonly rowPx: number;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly isPresent: boolean;
  /** The row that Tab focuses. */
  readonly isCurrent: boolean;
  readonly cost: SessionCost | undefined;
  readonly acts: Acts;
  readonly focused: () => void;
  readonly rest: () => void;
}

const indentMax = 8;

export function LaneRow(props: LaneRowProps): ReactNode {
  const { lane, rowPx, nodes, isPresent, isCurrent, acts, focused, rest } = props;
  const node = nodes.get(lane.session);
  if (node === undefined) return null;
  const choices = choicesOf(node, acts);
  const nameOf = (session: string): string => {
    const found = nodes.get(session);
    return found === undefined ? shortId(session) : titlesAmong(nodes)(found);
  };
  return (
    <li
      className="family-row"
      data-present={isPresent || undefined}
      data-current={isCurrent || undefined}
      style={{ top: lane.row * rowPx, height: rowPx }}
      onFocus={focused}
      onMouseEnter={rest}
    >
      <div className="family-label" style={{ paddingLeft: 12 + Math.min(lane.depth, indentMax) * 14 }}>
        <div className="spread">
          <div className="row">
            <Name node={node} isPresent={isPresent} tabIndex={isCurrent ? 0 : -1} />
            <Status status={node.status} />
          </div>
          <Under {...props} node={node} />
          <span className="aside">{originLines(node, nameOf).join(". ")}</span>
        </div>
        {choices.length === 0 ? null : (
          <Menu label={`Actions for ${nameOf(lane.session)}`} choices={choices} kind="quiet">
            <Icon name="more" />
          </Menu>
        )}
      </div>
    </li>
  );
}

interface NameProps {
  readonly node: Node;
  readonly isPresent: boolean;
  readonly tabIndex: number;
}

function Name({ node, isPresent, tabIndex }: NameProps): ReactNode {
  const { session, status } = node;
  if (status === "absent")
    return (
      <span className="cut family-name faint" data-session={session} tabIndex={tabIndex}>
        {titleOf(node)}
      </span>
    );
  return (
    <Link
      to={sessionPath(session)}
      className="cut family-name"
      data-session={session}
      tabIndex={tabIndex}
      aria-current={isPresent ? "page" : undefined}
      dir="auto"
    >
      {titleOf(node)}
    </Link>
  );
}

/** The line below: its fork point, its position, its cost. */
function Under({ node, nodes, isPresent, cost }: LaneRowProps & { readonly node: Node }): ReactNode {
  const { session, parent, relation, status, headSeq, merged } = node;
  const words = [
    // The name may be truncated, so the distinguishing suffix appears here.
    ...(titlesAmong(nodes)(node) === titleOf(node) ? [] : [shortId(session)]),
    ...(isPresent ? ["this session"] : []),
    ...(parent === null ? [] : [`${relation ?? "fork"}${placeOf(parent.seq)}`]),
    ...(status === "absent" ? ["deleted or moved"] : [`at ${headSeq}`]),
    ...(merged.length === 0 ? [] : [`${merged.length} merged in`]),
    ...(cost === undefined || cost.calls === 0 ? [] : [spendText(cost)]),
  ];
  return (
    <div className="small soft cut number" aria-hidden="true">
      {words.join(" · ")}
    </div>
  );
}
