/** A dialog: the browser's own, so that focus, Escape and the backdrop are right. */
import { useEffect, useRef, type ReactNode } from "react";

interface DialogProps {
  readonly title: string;
  readonly wide?: boolean;
  /** The title is for screen readers only: the content shows it, or needs none. */
  readonly bare?: boolean;
  readonly close: () => void;
  readonly children: ReactNode;
}

/** Open while mounted. The element with `data-first` gets the focus; otherwise the first focusable one. */
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
        // The second click of a double click belongs to the opener.
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
