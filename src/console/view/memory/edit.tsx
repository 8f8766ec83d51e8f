/** A new value for an entry of memory. */
import { useState, type ReactNode } from "react";
import { Form, Labeled } from "../../ui/form.tsx";
import { showToast } from "../../ui/toast.tsx";
import { brief } from "../../ui/visible.ts";
import { refresh } from "../../query-cache.ts";
import { engine } from "../../server.ts";

type Entry = Awaited<ReturnType<typeof engine.memory>>[number];

interface EditProps {
  readonly entry: Entry;
  readonly close: () => void;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("Value: expected JSON.");
  }
}

/** A text is edited as it is, anything else as JSON. */
export function EditDialog({ entry, close }: EditProps): ReactNode {
  const { scope, owner, kind, key, because, origin } = entry;
  const isText = typeof entry.value === "string" || entry.erased;
  const [value, setValue] = useState(
    typeof entry.value === "string" ? entry.value : entry.erased ? "" : JSON.stringify(entry.value, null, 2),
  );
  const [why, setWhy] = useState(because ?? "");
  const send = async (): Promise<void> => {
    await engine.remember({
      scope,
      kind,
      key,
      value: isText ? value : jsonIn(value),
      ...(owner === null ? {} : { owner }),
      ...(why.trim() === "" ? {} : { because: why.trim() }),
    });
    refresh("memory");
    refresh("memory-review");
    showToast(`${brief(key, 60)} changed.`);
    close();
  };
  return (
    <Form title={`Edit ${brief(key, 60)}`} does="Save" send={send} close={close}>
      {origin === null ? null : (
        <p className="soft">
          The entry no longer follows its session, and counts as added by hand. Sessions that carry it learn
          of the change.
        </p>
      )}
      <Labeled name="Value" {...(isText ? {} : { hint: "JSON" })}>
        <textarea
          className={isText ? "field" : "field mono"}
          required
          autoFocus
          rows={5}
          value={value}
          onChange={({ target }) => setValue(target.value)}
        />
      </Labeled>
      <Labeled name="Because" hint={kind === "decision" ? "required for a decision" : "optional"}>
        <input
          className="field"
          required={kind === "decision"}
          maxLength={2000}
          value={why}
          onChange={({ target }) => setWhy(target.value)}
        />
      </Labeled>
    </Form>
  );
}
