/** A memory entry that comes from no session. */
import { itemKinds as kinds } from "../../../core/item/kind.ts";
import { useState, type ReactNode } from "react";
import { Form, Labeled, Options } from "../../ui/form.tsx";
import { showToast } from "../../ui/toast.tsx";
import { refresh, useReading } from "../../query-cache.ts";
import { engine } from "../../server.ts";

export const scopes = ["workspace", "agent", "user"] as const;
type Scope = (typeof scopes)[number];

const scopeNames: Readonly<Record<Scope, string>> = {
  workspace: "All sessions",
  agent: "Sessions of one agent",
  user: "My sessions",
};

interface MemoryForm {
  readonly scope: Scope;
  readonly owner: string;
  readonly kind: (typeof kinds)[number];
  readonly key: string;
  readonly value: string;
  readonly because: string;
}

const empty: MemoryForm = { scope: "workspace", owner: "", kind: "fact", key: "", value: "", because: "" };

export function RememberDialog({ close }: { readonly close: () => void }): ReactNode {
  const [form, setForm] = useState(empty);
  const agents = useReading("agents", () => engine.agents());
  const set = (field: keyof MemoryForm) => (event: { readonly target: { readonly value: string } }) =>
    setForm({ ...form, [field]: event.target.value });
  const send = async (): Promise<void> => {
    const { scope, owner, kind, key, value, because } = form;
    await engine.remember({
      scope,
      kind,
      key: key.trim(),
      value,
      ...(scope === "agent" ? { owner } : {}),
      ...(because.trim() === "" ? {} : { because: because.trim() }),
    });
    refresh("memory");
    showToast(`${key.trim()} added to memory.`);
    close();
  };
  return (
    <Form title="Add to memory" does="Add" send={send} close={close}>
      <Labeled name="For">
        <select className="field" value={form.scope} onChange={set("scope")}>
          <Options of={scopes} title={(scope) => scopeNames[scope]} />
        </select>
      </Labeled>
      {form.scope === "agent" ? (
        <Labeled name="Agent">
          <select className="field" required value={form.owner} onChange={set("owner")}>
            <Options of={(agents.value ?? []).map(({ name }) => name)} none="Choose one" />
          </select>
        </Labeled>
      ) : null}
      <div className="places-pair">
        <Labeled name="Key" hint="unique within its scope">
          <input className="field" required autoFocus value={form.key} onChange={set("key")} />
        </Labeled>
        <Labeled name="Kind">
          <select className="field" value={form.kind} onChange={set("kind")}>
            <Options of={kinds} />
          </select>
        </Labeled>
      </div>
      <Labeled name="Value">
        <textarea className="field" required rows={3} value={form.value} onChange={set("value")} />
      </Labeled>
      <Labeled name="Because" hint={form.kind === "decision" ? "required for a decision" : "optional"}>
        <input
          className="field"
          required={form.kind === "decision"}
          value={form.because}
          onChange={set("because")}
        />
      </Labeled>
    </Form>
  );
}
