/** A new agent, or a new version of one. */
import { useId, useState, type ReactNode } from "react";
import { Form, Labeled } from "../../ui/form.tsx";
import { showToast } from "../../ui/toast.tsx";
import { refresh } from "../../query-cache.ts";
import { go } from "../../route.ts";
import { engine } from "../../server.ts";
import { definitionOf, type AgentForm } from "./definition.ts";

interface AgentFormProps {
  readonly first: AgentForm;
  /** The version it is based on; null for a new agent. */
  readonly version: number | null;
  /** Names of known models. */
  readonly models: readonly string[];
  readonly close: () => void;
}

export function AgentDialog({ first, version, models, close }: AgentFormProps): ReactNode {
  const [form, setForm] = useState(first);
  const list = useId();
  const set = (field: keyof AgentForm) => (event: { readonly target: { readonly value: string } }) =>
    setForm({ ...form, [field]: event.target.value });
  const send = async (): Promise<void> => {
    const added = await engine.addAgent(definitionOf(form));
    refresh("agents");
    close();
    showToast(
      added.version === version
        ? "No changes: this is already the newest version."
        : `${added.name}@${added.version} added. Open sessions keep their version.`,
    );
    go(`/agents/${encodeURIComponent(added.name)}`);
  };
  return (
    <Form
      wide
      title={version === null ? "New agent" : `New version of ${first.name}`}
      does={version === null ? "Add agent" : "Add version"}
      send={send}
      close={close}
    >
      {version !== null ? null : (
        <Labeled name="Name" hint="letters, digits, dots and dashes">
          <input className="field" required autoFocus value={form.name} onChange={set("name")} />
        </Labeled>
      )}
      <Labeled name="Description">
        <input className="field" value={form.description} onChange={set("description")} />
      </Labeled>
      <Labeled name="Model" hint="provider/model (default: the session's)">
        <input className="field mono" list={list} value={form.model} onChange={set("model")} />
      </Labeled>
      <datalist id={list}>
        {models.map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
      <Labeled name="Instructions">
        <textarea
          className="field"
          required
          rows={8}
          value={form.instructions}
          onChange={set("instructions")}
        />
      </Labeled>
      <Labeled name="Settings" hint="JSON: tools, permissions, budget, stepsMax, zones, memory …">
        <textarea
          className="field mono"
          rows={6}
          spellCheck={false}
          value={form.rest}
          onChange={set("rest")}
        />
      </Labeled>
    </Form>
  );
}
