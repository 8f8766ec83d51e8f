/** A dialog with a few fields, and its action. */
import type { ReactNode } from "react";
import { Form as FormShell } from "./form.tsx";

export interface FormField {
  readonly name: string;
  readonly label: string;
  /** `count`: a whole number. */
  readonly kind?: "line" | "text" | "number" | "count" | "choice" | "moment" | "tick";
  readonly value?: string;
  readonly choices?: readonly (readonly [value: string, title: string])[];
  readonly required?: boolean;
  readonly placeholder?: string;
}

export type FormValues = Readonly<Record<string, string>>;

export interface FormSpec {
  readonly title: string;
  readonly lead?: string;
  readonly fields: readonly FormField[];
  /** The label of the confirm button. */
  readonly confirm: string;
  /** It deletes something for good. */
  readonly isBad?: boolean;
  /** An empty field is an empty text; a checked box is `on`. The dialog closes when it is done. */
  readonly act: (given: FormValues) => unknown;
}

interface FormDialogProps {
  readonly form: FormSpec;
  readonly close: () => void;
}

export function FormDialog({ form, close }: FormDialogProps): ReactNode {
  const { title, lead, fields, confirm, isBad = false } = form;
  const send = async (element: HTMLFormElement): Promise<void> => {
    const values = [...new FormData(element)].map(([name, value]) => [
      name,
      typeof value === "string" ? value : "",
    ]);
    const given = Object.fromEntries(values) as FormValues;
    // A browser accepts a space as a value.
    const missing = fields.find(
      ({ name, required }) => required === true && (given[name] ?? "").trim() === "",
    );
    if (missing !== undefined) throw new Error(`${missing.label.split(";")[0]}: required.`);
    await form.act(given);
    close();
  };
  const isPlain = fields.length === 0 && !isBad;
  return (
    <FormShell title={title} does={confirm} isBad={isBad} isPlain={isPlain} send={send} close={close}>
      {lead === undefined ? null : <p className="soft">{lead}</p>}
      {fields.map((field, place) => (
        <FieldOf key={field.name} field={field} isFirst={place === 0} />
      ))}
    </FormShell>
  );
}

function FieldOf({ field, isFirst }: { readonly field: FormField; readonly isFirst: boolean }): ReactNode {
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
