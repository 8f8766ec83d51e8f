/** The parameters of a command, and its result. */
import { Options } from "../ui/form.tsx";
import { useId, useState, type ReactNode } from "react";
import { operationOf, type OperationId } from "../../call/operations.ts";
import { Button } from "../ui/button.tsx";
import { bytes } from "../ui/amount.ts";
import { Json, Said } from "../ui/untrusted-text.tsx";
import { LoadError } from "../ui/load-error.tsx";
import { useReading } from "../query-cache.ts";
import { engine } from "../server.ts";
import { brief } from "../ui/visible.ts";
import type { PaletteOutcome } from "./call.ts";
import { commandOf, needsSession } from "./commands.ts";
import { fieldsOf, paramsOf, titleOf, type ParamField, type TypedValues } from "./form.ts";

export interface SentCommand {
  readonly session: string | null;
  readonly params: Readonly<Record<string, unknown>>;
  readonly file: File | null;
}

interface CommandFormProps {
  readonly id: OperationId;
  /** The current session; null: the form asks for one. */
  readonly session: string | null;
  readonly send: (sent: SentCommand) => Promise<void>;
  readonly back: () => void;
}

/** Fields of the form; of a command with a view only those that the view needs. */
export function shownFields(id: OperationId): readonly ParamField[] {
  const { does } = commandOf(id);
  const all = fieldsOf(operationOf(id));
  if (does.how !== "go") return all;
  return all.filter(({ name }) => does.fields?.includes(name) === true);
}

export function CommandForm({ id, session, send, back }: CommandFormProps): ReactNode {
  const operation = operationOf(id);
  const { title, does } = commandOf(id);
  const fields = shownFields(id);
  const asksSession = needsSession(id) && session === null;
  const [typed, setTyped] = useState<TypedValues>({});
  const [named, setNamed] = useState("");
  const [file, setFile] = useState<File | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await send({ session: session ?? (named.trim() || null), params: paramsOf(fields, typed), file });
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <form
      className="stack palette-form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <div>
        <h1>{title}</h1>
        <p className="soft">{operation.summary}</p>
      </div>
      {asksSession ? <SessionField named={named} setNamed={setNamed} /> : null}
      {operation.takes === "bytes" ? <FileField setFile={setFile} /> : null}
      {fields.map((field, nth) => (
        <FieldInput
          key={field.name}
          field={field}
          isFirst={nth === 0 && !asksSession}
          value={typed[field.name] ?? ""}
          set={(value) => setTyped({ ...typed, [field.name]: value })}
        />
      ))}
      {error === null ? null : <LoadError error={error} />}
      <div className="dialog-actions">
        {does.how === "form" && does.warning !== undefined ? (
          <p className="palette-bad">{does.warning}</p>
        ) : null}
        <Button kind="quiet" act={back}>
          Back
        </Button>
        <Button kind={does.how === "form" && does.warning !== undefined ? "bad" : "main"} disabled={isBusy}>
          {isBusy ? "Working…" : title.split(/[:,]/, 1)[0]}
        </Button>
      </div>
    </form>
  );
}

function SessionField({
  named,
  setNamed,
}: {
  readonly named: string;
  readonly setNamed: (text: string) => void;
}): ReactNode {
  const list = useId();
  const rows = useReading("sessions/palette/", () => engine.sessions({ limit: 50 })).value?.rows ?? [];
  return (
    <label className="labeled">
      <span>Session id, or a unique suffix</span>
      <input
        className="field"
        required
        autoFocus
        list={list}
        value={named}
        onChange={({ target }) => setNamed(target.value)}
      />
      <datalist id={list}>
        {rows.map(({ session, name, objective }) => (
          <option key={session} value={session}>
            {brief(name || objective || "", 80)}
          </option>
        ))}
      </datalist>
    </label>
  );
}

function FileField({ setFile }: { readonly setFile: (file: File | null) => void }): ReactNode {
  return (
    <label className="labeled">
      <span>File</span>
      <input
        className="field"
        type="file"
        required
        onChange={({ target }) => setFile(target.files?.[0] ?? null)}
      />
    </label>
  );
}

interface FieldInputProps {
  readonly field: ParamField;
  readonly isFirst: boolean;
  readonly value: string;
  readonly set: (value: string) => void;
}

function FieldInput({ field, isFirst, value, set }: FieldInputProps): ReactNode {
  const { kind, isRequired, name } = field;
  if (kind === "flag")
    return (
      <label className="row palette-flag">
        <input
          type="checkbox"
          autoFocus={isFirst}
          checked={value === "true"}
          onChange={({ target }) => set(target.checked ? "true" : "")}
        />
        {titleOf(name)}
      </label>
    );
  return (
    <label className="labeled">
      <span>
        {titleOf(name)}
        {isRequired ? "" : " (optional)"}
      </span>
      <Typing field={field} isFirst={isFirst} value={value} set={set} />
    </label>
  );
}

function Typing({ field, isFirst, value, set }: FieldInputProps): ReactNode {
  const { kind, isRequired, choices, charsMax, hint } = field;
  const given = {
    className: kind === "json" ? "field mono" : "field",
    required: isRequired,
    autoFocus: isFirst,
    value,
  };
  if (kind === "choice")
    return (
      <select {...given} onChange={({ target }) => set(target.value)}>
        <Options
          of={choices}
          none={isRequired ? "Choose" : "Not set"}
          title={(choice) => ({ true: "Yes", false: "No" })[choice] ?? choice}
        />
      </select>
    );
  if (kind === "long" || kind === "json" || kind === "loose")
    return (
      <textarea
        {...given}
        rows={kind === "loose" ? 1 : 3}
        maxLength={charsMax}
        placeholder={hint}
        spellCheck={kind === "long"}
        onChange={({ target }) => set(target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          event.currentTarget.form?.requestSubmit();
        }}
      />
    );
  return (
    <input
      {...given}
      type={kind === "number" ? "number" : "text"}
      step="any"
      maxLength={charsMax}
      placeholder={hint}
      onChange={({ target }) => set(target.value)}
    />
  );
}

interface AnswerProps {
  readonly id: OperationId;
  readonly outcome: Extract<PaletteOutcome, { readonly what: "answer" | "file" }>;
  readonly back: () => void;
}

export function Answer({ id, outcome, back }: AnswerProps): ReactNode {
  const copy = async (): Promise<void> => {
    if (outcome.what === "answer")
      await navigator.clipboard.writeText(JSON.stringify(outcome.value, null, 2));
  };
  return (
    <div className="stack palette-form">
      <h1>{commandOf(id).title}</h1>
      {outcome.what === "file" ? (
        <p>
          {outcome.name}: {bytes(outcome.bytes)} downloaded.
        </p>
      ) : (
        <div className="palette-answer" tabIndex={0} role="region" aria-label="Result">
          <WhatCame value={outcome.value} />
        </div>
      )}
      <div className="dialog-actions">
        <Button kind="quiet" act={back} autoFocus>
          Back
        </Button>
        {outcome.what === "answer" ? <Button act={copy}>Copy as JSON</Button> : null}
      </div>
    </div>
  );
}

/** A text, such as a handoff, as text; the rest of the result below. */
function WhatCame({ value }: { readonly value: unknown }): ReactNode {
  const { text, ...rest } = (value ?? {}) as { readonly text?: unknown };
  if (Array.isArray(value) || typeof text !== "string") return <Json value={value} />;
  return (
    <div className="stack">
      <Said text={text} />
      {Object.keys(rest).length === 0 ? null : <Json value={rest} />}
    </div>
  );
}
