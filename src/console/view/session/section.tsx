/** A part of the panel. It folds, and stays as it was left. */
import { useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import type { Form } from "../../ui/form-dialog.tsx";

interface SectionProps {
  readonly title: string;
  /** How many there are; shown beside the title. */
  readonly count?: number | undefined;
  /** Unless somebody folded or unfolded it. */
  readonly isOpen?: boolean;
  /** A button or two beside the title. */
  readonly deeds?: ReactNode;
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

export function Section({ title, count, isOpen = true, deeds, children }: SectionProps): ReactNode {
  const [chosen, setChosen] = useState(() => remembered(title));
  const shown = chosen ?? isOpen;
  const turn = (): void => {
    setChosen(!shown);
    try {
      localStorage.setItem(nameOf(title), shown ? "folded" : "open");
    } catch {
      // It stays so as long as the page is there.
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
        {shown ? deeds : null}
      </div>
      {shown ? <div className="section-body">{children()}</div> : null}
    </section>
  );
}

/** Asks with a form; null where nothing may be changed. */
export type Ask = ((form: Form) => void) | null;

/** A button beside a title that asks with a form. */
export function AskButton({
  ask,
  form,
  children,
  label,
  refusal,
}: {
  readonly ask: Ask;
  readonly form: () => Form;
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
