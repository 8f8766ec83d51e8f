/** A form in a dialog: errors appear in place, and the typed values stay. */
import { useState, type ReactNode } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { LoadError } from "./load-error.tsx";

interface FormProps {
  readonly title: string;
  /** The label of the submit button. */
  readonly does: string;
  readonly wide?: boolean;
  /** The submit button removes something for good. */
  readonly isBad?: boolean;
  /** The submit button has the focus first: there are no fields. */
  readonly isPlain?: boolean;
  /** Throws if something is invalid. */
  readonly send: (element: HTMLFormElement) => Promise<void>;
  readonly close: () => void;
  readonly children: ReactNode;
}

export function Form({ title, does, wide = false, isBad, isPlain, ...rest }: FormProps): ReactNode {
  const { send, close, children } = rest;
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (element: HTMLFormElement): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setError(null);
    await send(element).catch(setError);
    setBusy(false);
  };
  return (
    <Dialog title={title} wide={wide} close={close}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void run(event.currentTarget);
        }}
      >
        {children}
        {error === null ? null : <LoadError error={error} />}
        <div className="dialog-actions">
          <Button act={close}>Cancel</Button>
          <Button kind={isBad === true ? "bad" : "main"} disabled={isBusy} data-first={isPlain || undefined}>
            {isBusy ? "Working…" : does}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface OptionsProps<T extends string | number> {
  readonly of: readonly T[];
  /** The title of an empty choice, which comes first. */
  readonly none?: string;
  readonly title?: (one: T) => string;
}

/** The choices of a `select`. */
export function Options<T extends string | number>({ of, none, title = String }: OptionsProps<T>): ReactNode {
  return (
    <>
      {none === undefined ? null : <option value="">{none}</option>}
      {of.map((one) => (
        <option key={one} value={one}>
          {title(one)}
        </option>
      ))}
    </>
  );
}

interface LabeledProps {
  readonly name: string;
  readonly hint?: string;
  readonly children: ReactNode;
}

/** A field with its label. */
export function Labeled({ name, hint, children }: LabeledProps): ReactNode {
  return (
    <label className="labeled">
      <span>
        {name}
        {hint === undefined ? null : <span className="faint"> {hint}</span>}
      </span>
      {children}
    </label>
  );
}
