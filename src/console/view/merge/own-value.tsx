/** The details of a resolution: a custom value, a task's status, and the reason, which is recorded. */
import { statusesOf } from "../../../core/item/kind.ts";
import { useId, type ReactNode } from "react";
import { brief } from "../../ui/visible.ts";
import { standingOf, type ConflictChoice, type Conflict } from "./conflict-answer.ts";
import type { MergeDraft } from "./merge-draft.ts";

interface OwnValueProps {
  readonly conflict: Conflict;
  readonly answer: ConflictChoice;
  readonly amend: MergeDraft["amend"];
}

/** The reason; the log keeps it. */
export function Why({ conflict, answer, amend }: OwnValueProps): ReactNode {
  return (
    <input
      className="field merge-why"
      aria-label={`Reason for ${brief(conflict.key, 60)}`}
      placeholder="Reason (optional, kept in the log)"
      value={answer.because}
      maxLength={1_000}
      onChange={(event) => amend(conflict.name, { because: event.target.value })}
      onKeyDown={leave}
    />
  );
}

/** Escape returns to the conflict, where the digits work again. */
function leave(event: { readonly key: string; readonly currentTarget: HTMLElement }): void {
  if (event.key === "Escape") event.currentTarget.closest<HTMLElement>("article")?.focus();
}

export function OwnValue({ conflict, answer, amend }: OwnValueProps): ReactNode {
  const { name, kind } = conflict;
  const id = useId();
  const statuses = statusesOf(kind);
  const isWrong = standingOf(conflict, answer) === "wrong";
  return (
    <div className="merge-own">
      <label className="labeled">
        <span>Value</span>
        <textarea
          className="field mono"
          rows={Math.min(12, Math.max(2, answer.text.split("\n", 13).length))}
          value={answer.text}
          aria-invalid={isWrong || undefined}
          aria-describedby={isWrong ? id : undefined}
          onChange={(event) => amend(name, { text: event.target.value })}
          onKeyDown={leave}
        />
      </label>
      <div className="row wrap">
        <label className="row small soft">
          Type
          <select
            className="field merge-select"
            value={answer.isJson ? "json" : "text"}
            onChange={(event) => amend(name, { isJson: event.target.value === "json" })}
          >
            <option value="text">Text</option>
            <option value="json">JSON</option>
          </select>
        </label>
        {statuses.length > 1 ? (
          <label className="row small soft">
            Status
            <select
              className="field merge-select"
              value={answer.status ?? "open"}
              onChange={(event) =>
                amend(name, { status: statuses.find((one) => one === event.target.value) ?? null })
              }
            >
              {statuses.map((status) => (
                <option key={status}>{status}</option>
              ))}
            </select>
          </label>
        ) : null}
        {isWrong ? (
          <span className="merge-wrong small" id={id} role="alert">
            Invalid JSON. Correct it, or change the type to text.
          </span>
        ) : null}
      </div>
    </div>
  );
}
