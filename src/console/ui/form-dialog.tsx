/** A dialog with a few fields, and its action. */
import { useRef, useState, type SubmitEvent, type ReactNode } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Trouble } from "./load-error.tsx";

export interface Field {
  readonly name: string;
  readonly label: string;
  /** `count`: a whole number. */
  readonly kind?: "line" | "text" | "number" | "count" | "choice" | "moment" | "tick";
  readonly value?: string;
  readonly choices?: readonly (readonly [value: string, title: string])[];
  readonly required?: boolean;
  readonly placeholder?: string;
}

export type Given = Readonly<Record<string, string>>;

export interface Form {
  readonly title: string;
  readonly lead?: string;
  readonly fields: readonly Field[];
  /** The label of the confirm button. */
  readonly confirm: string;
  /** It deletes something for good. */
  readonly isBad?: boolean;
  /** An empty field is an empty text; a checked box is `on`. The dialog closes when it is done. */
  readonly act: (given: Given) => unknown;
}

interface FormDialogProps {
  readonly form: Form;
  readonly close: () => void;
}

export function FormDialog({ form, close }: FormDialogProps): ReactNode {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const element = useRef<HTMLFormElement>(null);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (element.current === null || isBusy) return;
    const given = Object.fromEntries(
      [...new FormData(element.current)].map(([name, value]) => [
        name,
        typeof value === "string" ? value : "",
      ]),
    );
    // A browser accepts a space as a value.
    const missing = form.fields.find(
      ({ name, required }) => required === true && (given[name] ?? "").trim() === "",
    );
    if (missing !== undefined) return setError(new Error(`${missing.label.split(";")[0]}: required.`));
    setBusy(true);
    setError(null);
    try {
      await form.act(given);
      close();
    } catch (caught) {
      setError(caught);
      setBusy(false);
    }
  };
  return (
    <Dialog title={form.title} close={close}>
      <form ref={element} className="stack" onSubmit={(event) => void submit(event)}>
        {form.lead === undefined ? null : <p className="soft">{form.lead}</p>}
        {form.fields.map((field, place) => (
          <FieldOf key={field.name} field={field} isFirst={place === 0} />
        ))}
        {error === null ? null : <Trouble error={error} />}
        <div className="dialog-actions">
          <Button act={close}>Cancel</Button>
          <Button
            kind={form.isBad === true ? "bad" : "main"}
            disabled={isBusy}
            data-first={(form.fields.length === 0 && form.isBad !== true) || undefined}
          >
            {isBusy ? "Working…" : form.confirm}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function FieldOf({ field, isFirst }: { readonly field: Field; readonly isFirst: boolean }): ReactNode {
  const { name, label, kind = "line", value = "", required = false, placeholder } = field;
  const shared = { name, required, placeholder, defaultValue: value, autoFocus: isFirst, className: "field" };
  if (kind === "tick")
    return (
      <label className="row">
        <input type="checkbox" name={name} defaultChecked={value === "on"} />
        <span>{label}</span>
      </label>
    );
  return (
    <label className="labeled">
      <span>{label}</span>
      {kind === "text" ? <textarea {...shared} rows={3} /> : null}
      {kind === "choice" ? (
        <select name={name} className="field" defaultValue={value} autoFocus={isFirst}>
          {(field.choices ?? []).map(([one, title]) => (
            <option key={one} value={one}>
              {title}
            </option>
          ))}
        </select>
      ) : null}
      {kind === "line" || kind === "number" || kind === "count" || kind === "moment" ? (
        <input
          {...shared}
          type={{ line: "text", number: "number", count: "number", moment: "datetime-local" }[kind]}
          {...(kind === "number" ? { min: 0, step: "any" } : kind === "count" ? { min: 0, step: 1 } : {})}
        />
      ) : null}
    </label>
  );
}
