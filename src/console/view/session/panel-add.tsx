/** The "Add" menu of the side panel: everything that can be added to a session. */
import type { ReactNode } from "react";
import { useRefusal, useScopeRefusal } from "../../scopes.ts";
import type { FormSpec } from "../../ui/form-dialog.tsx";
import { Menu, type Choice } from "../../ui/menu.tsx";
import { itemForm } from "./panel-items.tsx";
import { labelForm, scoreForm, triggerForm } from "./panel-more.tsx";
import { bindForm, grantForm } from "./panel-resources.tsx";
import { useScope } from "./scope.ts";
import type { Ask } from "./section.tsx";
import { saveForm } from "./session-menu.ts";

interface PanelAddProps {
  /** Null if the session cannot be changed. */
  readonly write: Ask;
  /** Null if not even its labels can be changed. */
  readonly describe: Ask;
}

export function PanelAdd({ write, describe }: PanelAddProps): ReactNode {
  const scope = useScope();
  const mayTrigger = useRefusal("session.trigger");
  const mayOperate = useScopeRefusal("operate");
  const add = (name: string, ask: Ask, form: () => FormSpec, refusal?: string): Choice => ({
    name,
    act: ask === null ? undefined : () => ask(form()),
    refusal,
  });
  if (write === null && describe === null) return null;
  const choices = [
    add("Fact…", write, () => itemForm(scope, "fact", null)),
    add("Decision…", write, () => itemForm(scope, "decision", null)),
    add("Task…", write, () => itemForm(scope, "task", null)),
    add("Artifact…", write, () => itemForm(scope, "artifact", null)),
    add("Constraint…", write, () => itemForm(scope, "constraint", null)),
    add("Preference…", write, () => itemForm(scope, "preference", null)),
    add("Hypothesis…", write, () => itemForm(scope, "hypothesis", null)),
    add("Finding…", write, () => itemForm(scope, "finding", null)),
    { ...add("Trigger…", write, () => triggerForm(scope), mayTrigger), apart: true },
    add("Binding…", write, () => bindForm(scope), mayOperate),
    add("Permission…", write, () => grantForm(scope, mayOperate)),
    { ...add("Checkpoint…", describe, () => saveForm(scope)), apart: true },
    add("Label…", describe, () => labelForm(scope)),
    add("Score…", describe, () => scoreForm(scope)),
  ];
  return (
    <Menu label="Add" kind="quiet" choices={choices}>
      Add
    </Menu>
  );
}
