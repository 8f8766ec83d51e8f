/** A form in a dialog: errors appear in place, and the typed values stay. */
import { useState, type ReactNode } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Trouble } from "./load-error.tsx";

interface FormProps {
  readonly title: string;
  /** The label of the submit button. */
  readonly does: string;
  readonly wide?: boolean;
  /** Throws if something is invalid. */
  readonly send: () => Promise<void>;
  readonly close: () => void;
  readonly children: ReactNode;
}

export function Form({ title, does, wide = false, send, close, children }: FormProps): ReactNode {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      await send();
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} wide={wide} close={close}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        {children}
        {error === null ? null : <Trouble error={error} />}
        <div className="dialog-actions">
          <Button act={close}>Cancel</Button>
          <Button kind="main" disabled={isBusy}>
            {does}
          </Button>
        </div>
      </form>
    </Dialog>
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
