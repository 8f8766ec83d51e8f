/** What is selected, what can be done with it, and how far that is. */
import type { ReactNode } from "react";
import { useCell } from "../../cell.ts";
import { plural } from "../../part/amount.ts";
import { Button } from "../../part/button.tsx";
import { actions, doable, isEntitled, keyOfAction, type Action } from "./action.ts";
import { clearSelected } from "./chosen.ts";
import type { Row } from "./filter.ts";
import { underway } from "./perform.ts";
import type { Me } from "../../../client/connect.ts";

interface SelectionProps {
  readonly rows: readonly Row[];
  readonly me: Me | undefined;
  readonly act: (action: Action, rows: readonly Row[]) => void;
}

export function Selection({ rows, me, act }: SelectionProps): ReactNode {
  const doing = useCell(underway);
  if (doing !== null && doing.all > 1)
    return (
      <div className="sessions-selection" role="status">
        <span>
          {doing.title} {doing.done} of {doing.all}
        </span>
        <progress value={doing.done} max={doing.all} aria-label={doing.title} />
      </div>
    );
  if (rows.length === 0) return null;
  return (
    <div className="sessions-selection" role="toolbar" aria-label="With what is selected">
      <span className="number">{plural(rows.length, "session")} selected</span>
      {actions
        .filter((action) => isEntitled(action, me) && doable(action, rows).length > 0)
        .map((action) => (
          <Button
            key={action.name}
            size="small"
            {...(action.name === "delete" ? { kind: "bad" as const } : {})}
            act={() => act(action, rows)}
          >
            {action.title} <kbd className="key">{keyOfAction[action.name] ?? ""}</kbd>
          </Button>
        ))}
      <Button size="small" kind="quiet" act={clearSelected}>
        Clear <kbd className="key">Esc</kbd>
      </Button>
    </div>
  );
}
