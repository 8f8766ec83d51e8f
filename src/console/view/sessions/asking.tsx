/** The dialogs before an action on sessions: the priority, or a confirmation. */
import { useEffect, useRef, useState, type ReactNode } from "react";
import { limit } from "../../../protocol/library.ts";
import { plural } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { brief } from "../../ui/visible.ts";
import { actionOf, doable, type Action } from "./action.ts";
import { titleOf, type SessionListRow } from "./filter.ts";
import { perform } from "./perform.ts";

export interface ActionQuestion {
  readonly action: Action;
  readonly rows: readonly SessionListRow[];
}

interface AskProps {
  readonly rows: readonly SessionListRow[];
  readonly close: () => void;
}

export function Ask({
  asking,
  close,
}: {
  readonly asking: ActionQuestion;
  readonly close: () => void;
}): ReactNode {
  return asking.action.name === "delete" ? (
    <AskDelete rows={asking.rows} close={close} />
  ) : (
    <AskPriority rows={asking.rows} close={close} />
  );
}

const priorities = Array.from({ length: limit.priorityMax + 1 }, (_, priority) => priority);

function AskPriority({ rows, close }: AskProps): ReactNode {
  const [only] = rows;
  const usual = useRef<HTMLButtonElement>(null);
  useEffect(() => usual.current?.focus(), []);
  const set = (priority: number): void => {
    close();
    void perform(actionOf("prioritize"), rows, { priority });
  };
  return (
    <Dialog
      title={rows.length === 1 ? "Priority" : `Priority of ${plural(rows.length, "session")}`}
      close={close}
    >
      <p className="soft">0 is the most urgent, 9 the least. Or press a digit.</p>
      <div
        className="sessions-priorities"
        role="group"
        aria-label="Priority"
        onKeyDown={({ key }) => {
          if (/^[0-9]$/.test(key)) set(Number(key));
        }}
      >
        {priorities.map((priority) => (
          <button
            key={priority}
            type="button"
            className="button number"
            ref={priority === (only?.priority ?? 5) ? usual : undefined}
            aria-pressed={rows.length === 1 && only?.priority === priority}
            onClick={() => set(priority)}
          >
            {priority}
          </button>
        ))}
      </div>
    </Dialog>
  );
}

const namedMax = 5;

function AskDelete({ rows, close }: AskProps): ReactNode {
  const [said, setSaid] = useState("");
  const able = doable(actionOf("delete"), rows);
  const many = able.length > 1;
  const word = String(able.length);
  return (
    <Dialog title={many ? `Delete ${plural(able.length, "session")}` : "Delete session"} close={close}>
      <ul>
        {able.slice(0, namedMax).map((row) => (
          <li key={row.session} className="cut">
            {brief(titleOf(row), 100) || row.session}
          </li>
        ))}
        {able.length > namedMax ? <li className="soft">and {able.length - namedMax} more</li> : null}
      </ul>
      <p className="soft">
        All data of {many ? "them" : "it"} is deleted for good. Forks keep what they share.
        {rows.length > able.length ? " Running sessions are skipped: interrupt them first." : ""}
      </p>
      {many ? (
        <label className="labeled">
          <span>Type {word} to confirm</span>
          <input
            className="field"
            inputMode="numeric"
            autoFocus
            value={said}
            onChange={({ target }) => setSaid(target.value)}
          />
        </label>
      ) : null}
      <div className="dialog-actions">
        <Button act={close} autoFocus={!many}>
          Keep
        </Button>
        <Button
          kind="bad"
          disabled={able.length === 0 || (many && said.trim() !== word)}
          act={() => {
            close();
            void perform(actionOf("delete"), able);
          }}
        >
          Delete
        </Button>
      </div>
    </Dialog>
  );
}
