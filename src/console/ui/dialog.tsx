/** A dialog: the browser's own, so that focus, Escape and what lies behind are right. */
import { useEffect, useRef, type ReactNode } from "react";

interface DialogProps {
  readonly title: string;
  readonly wide?: boolean;
  /** The title is read aloud only: what is inside says it, or needs none. */
  readonly bare?: boolean;
  readonly close: () => void;
  readonly children: ReactNode;
}

/** Is there while it is open. Whatever has `data-first` gets the focus; else the first that can. */
export function Dialog({ title, wide = false, bare = false, close, children }: DialogProps): ReactNode {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    if (dialog === null || dialog.open) return;
    dialog.showModal();
    dialog.querySelector<HTMLElement>("[data-first]")?.focus();
  }, []);
  return (
    <dialog
      ref={element}
      className="dialog"
      aria-label={title}
      data-wide={wide || undefined}
      data-bare={bare || undefined}
      onClose={close}
      onClick={(event) => {
        // The second click of two was meant for what opened it.
        if (event.target === element.current && event.detail < 2) close();
      }}
    >
      <div className="stack">
        {bare ? null : <h1>{title}</h1>}
        {children}
      </div>
    </dialog>
  );
}
