/** Toasts: what was done, and what failed and why. Errors stay until they are dismissed. */
import { useEffect, useRef, type ReactNode } from "react";
import { SkeinError } from "../../client/connect.ts";
import { cell, useCell } from "../signal.ts";
import { after } from "../world.ts";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly hint: string | undefined;
  readonly tone: "plain" | "bad";
  readonly undo: { readonly name: string; readonly act: () => void } | undefined;
  /** Of the same subject the last one is shown. */
  readonly about?: string | undefined;
}

const toasts = cell<readonly Toast[]>([]);
const shownMs = 5_000;
const shownMax = 4;
let count = 0;

function show(toast: Omit<Toast, "id">): void {
  const id = ++count;
  const isOld = ({ text, about }: Toast): boolean =>
    text === toast.text || (about !== undefined && about === toast.about);
  const others = toasts.get().filter((one) => !isOld(one));
  toasts.set([...others.slice(-shownMax + 1), { ...toast, id }]);
  if (toast.tone === "plain") after(shownMs, () => drop(id));
}

const drop = (id: number): void => toasts.set(toasts.get().filter((one) => one.id !== id));

/** Reports an action; with a link, such as to a new session. */
export const showToast = (text: string, undo?: Toast["undo"], about?: string): void =>
  show({ text, hint: undefined, tone: "plain", undo, about });

export function showError(error: unknown): void {
  const { text, hint } = wordsOf(error);
  show({ text, hint, tone: "bad", undo: undefined });
}

/** An error for people: the problem, and what to do. */
export function wordsOf(error: unknown): { readonly text: string; readonly hint: string | undefined } {
  if (error instanceof SkeinError) return { text: error.message, hint: error.hint };
  return { text: error instanceof Error ? error.message : String(error), hint: undefined };
}

export function Toasts(): ReactNode {
  const shown = useCell(toasts);
  const layer = useRef<HTMLDivElement>(null);
  // A dialog covers everything except what opened later.
  useEffect(() => {
    if (layer.current?.matches(":popover-open") === true) layer.current.hidePopover();
    if (shown.length > 0) layer.current?.showPopover();
  }, [shown]);
  return (
    <div ref={layer} className="toasts" role="status" aria-live="polite" popover="manual">
      {shown.map(({ id, text, hint, tone, undo }) => (
        <div className="toast" data-tone={tone} key={id}>
          <div className="spread">
            <p className="said">{text}</p>
            {hint === undefined ? null : <p className="soft small said">{hint}</p>}
          </div>
          {undo === undefined ? null : (
            <button
              className="button"
              data-size="small"
              type="button"
              onClick={() => {
                drop(id);
                undo.act();
              }}
            >
              {undo.name}
            </button>
          )}
          <button
            className="button"
            data-kind="quiet"
            data-size="small"
            type="button"
            aria-label="Dismiss"
            onClick={() => drop(id)}
          >
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
