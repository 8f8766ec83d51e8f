/** A menu that opens below its button: arrows choose, Enter runs, Escape closes. */
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { showError } from "./toast.tsx";

export interface Choice {
  readonly name: string;
  /** Absent: not available now. */
  readonly act?: (() => unknown) | undefined;
  /** Why this login cannot use it: shown as a tooltip. */
  readonly refusal?: string | undefined;
  readonly key?: string;
  /** A line above it. */
  readonly apart?: boolean;
}

interface MenuProps {
  readonly label: string;
  readonly choices: readonly Choice[];
  readonly children: ReactNode;
  readonly kind?: "quiet";
}

export function Menu({ label, choices, children, kind }: MenuProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    const [menu, opener] = [list.current, button.current];
    if (!isOpen || menu === null || opener === null) return;
    menu.showPopover();
    const { left, right, bottom, top } = opener.getBoundingClientRect();
    const { width, height } = menu.getBoundingClientRect();
    const fits = left + width < innerWidth - 8;
    menu.style.left = `${Math.max(8, fits ? left : right - width)}px`;
    menu.style.top = `${bottom + height + 8 < innerHeight ? bottom + 4 : Math.max(8, top - height - 4)}px`;
    menu.querySelector<HTMLButtonElement>("button:not(:disabled)")?.focus();
    const put = (event: Event): void => {
      if ((event as ToggleEvent).newState === "closed") setOpen(false);
    };
    menu.addEventListener("toggle", put);
    return () => menu.removeEventListener("toggle", put);
  }, [isOpen]);

  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const items = [...(list.current?.querySelectorAll<HTMLButtonElement>("button:not(:disabled)") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLButtonElement);
    items[(at + step + items.length) % items.length]?.focus();
  };

  const choose = async ({ act }: Choice): Promise<void> => {
    list.current?.hidePopover();
    button.current?.focus();
    try {
      await act?.();
    } catch (error) {
      showError(error);
    }
  };

  return (
    <>
      <button
        ref={button}
        type="button"
        className="button"
        data-kind={kind}
        data-size="small"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-label={label}
        onClick={() => setOpen(!isOpen)}
      >
        {children}
      </button>
      {isOpen ? (
        <div
          ref={list}
          id={id}
          popover="auto"
          role="menu"
          className="menu"
          aria-label={label}
          onKeyDown={move}
        >
          {choices.map((choice) => (
            <div key={choice.name} role="none">
              {choice.apart === true ? <hr /> : null}
              <button
                type="button"
                role="menuitem"
                disabled={choice.act === undefined || choice.refusal !== undefined}
                title={choice.refusal}
                onClick={() => void choose(choice)}
              >
                <span>{choice.name}</span>
                {choice.key === undefined ? null : <kbd className="key">{choice.key}</kbd>}
              </button>
            </div>
          ))}
        </div>
      ) : null}
    </>
  );
}
