/** A section of the panel. It collapses, and remembers its state. */
import { useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import type { FormSpec } from "../../ui/form-dialog.tsx";

interface SectionProps {
  readonly title: string;
  /** The count next to the title. */
  readonly count?: number | undefined;
  /** The default, until the user toggles it. */
  readonly isOpen?: boolean;
  /** A button or two next to the title. */
  readonly actions?: ReactNode;
  readonly children: () => ReactNode;
}

const nameOf = (title: string): string => `skein-section-${title}`;

function remembered(title: string): boolean | null {
  try {
    const kept = localStorage.getItem(nameOf(title));
    return kept === null ? null : kept === "open";
  } catch {
    return null;
  }
}

export function Section({ title, count, isOpen = true, actions, children }: SectionProps): ReactNode {
  const [chosen, setChosen] = useState(() => remembered(title));
  const shown = chosen ?? isOpen;
  const turn = (): void => {
    setChosen(!shown);
    try {
      localStorage.setItem(nameOf(title), shown ? "folded" : "open");
    } catch {
      // It lasts as long as the page.
    }
  };
  return (
    <section className="section" aria-label={title}>
      <div className="section-head">
        <h2>
          <button type="button" aria-expanded={shown} onClick={turn}>
            <span className="call-turn" aria-hidden="true" />
            {title}
            {count === undefined || count === 0 ? null : <span className="faint number">{count}</span>}
          </button>
        </h2>
        {actions}
      </div>
      {shown ? <div className="section-body">{children()}</div> : null}
    </section>
  );
}

/** Opens a form; null if nothing may be changed. */
export type Ask = ((form: FormSpec) => void) | null;

/** A button next to a title that opens a form. */
export function AskButton({
  ask,
  form,
  children,
  label,
  refusal,
}: {
  readonly ask: Ask;
  readonly form: () => FormSpec;
  readonly children: ReactNode;
  readonly label?: string;
  readonly refusal?: string | undefined;
}): ReactNode {
  if (ask === null) return null;
  return (
    <Button kind="quiet" size="small" aria-label={label} refusal={refusal} act={() => ask(form())}>
      {children}
    </Button>
  );
}
