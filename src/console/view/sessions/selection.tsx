/** The selected sessions, their actions, and the progress. */
import type { ReactNode } from "react";
import { useCell } from "../../signal.ts";
import { plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { actions, doable, isEntitled, keyOfAction, type Action } from "./action.ts";
import { clearSelected } from "./row-selection.ts";
import type { SessionListRow } from "./filter.ts";
import type { SessionListing } from "./list.ts";
import { underway } from "./perform.ts";
import type { Me } from "../../../client/connect.ts";

interface SelectionProps {
  readonly rows: readonly SessionListRow[];
  readonly listing: SessionListing;
  readonly me: Me | undefined;
  readonly act: (action: Action, rows: readonly SessionListRow[]) => void;
}

/** Selecting all selects only loaded rows: the text says so. */
const selectedWords = (picked: number, { rows, isWhole }: Pick<SessionListing, "rows" | "isWhole">): string =>
  picked < rows.length || isWhole
    ? `${plural(picked, "session")} selected`
    : `${plural(picked, "session")} selected (more not loaded)`;

export function Selection({ rows, listing, me, act }: SelectionProps): ReactNode {
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
    <div className="sessions-selection" role="toolbar" aria-label="Actions for the selection">
      <span className="number">{selectedWords(rows.length, listing)}</span>
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
