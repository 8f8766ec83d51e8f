/** A new template: its trigger, and the options of its sessions. */
import { useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Form, Labeled, Options } from "../../ui/form.tsx";
import { showToast } from "../../ui/toast.tsx";
import { refresh, useReading } from "../../query-cache.ts";
import { engine } from "../../server.ts";
import { emptySpec, formKinds, kindNames, specOf, type SpecForm } from "./spec.ts";

interface Opens {
  readonly name: string;
  readonly objective: string;
  readonly agent: string;
  readonly model: string;
}

const emptyOpens: Opens = { name: "", objective: "", agent: "", model: "" };

export function TemplateDialog({ close }: { readonly close: () => void }): ReactNode {
  const [spec, setSpec] = useState(emptySpec);
  const [opens, setOpens] = useState(emptyOpens);
  const [token, setToken] = useState<string | null>(null);
  const agents = useReading("agents", () => engine.agents());
  const set = (field: keyof Opens) => (event: { readonly target: { readonly value: string } }) =>
    setOpens({ ...opens, [field]: event.target.value });
  const send = async (): Promise<void> => {
    const { objective, agent, model, name } = opens;
    const open = {
      objective,
      ...(agent === "" ? {} : { agent }),
      ...(model.trim() === "" ? {} : { model: model.trim() }),
    };
    const made = await engine.trigger(name.trim(), specOf(spec), { open });
    refresh("triggers");
    if (made.token === undefined) {
      showToast(`Template ${made.name} set.`);
      close();
    } else setToken(made.token);
  };
  if (token !== null) return <Token token={token} close={close} />;
  return (
    <Form title="New template" does="Set template" send={send} close={close}>
      <p className="soft">
        Opens a new session each time it fires. For files, commits, messages and checks:{" "}
        <code>skein trigger --help</code> explains them.
      </p>
      <Labeled name="Name" hint="replaces a template of the same name">
        <input className="field" required autoFocus value={opens.name} onChange={set("name")} />
      </Labeled>
      <SpecFields spec={spec} set={setSpec} />
      <Labeled name="Objective of each session">
        <textarea className="field" required rows={2} value={opens.objective} onChange={set("objective")} />
      </Labeled>
      <Labeled name="Agent">
        <select className="field" value={opens.agent} onChange={set("agent")}>
          <Options of={(agents.value ?? []).map(({ name }) => name)} none="None" />
        </select>
      </Labeled>
      <Labeled name="Model" hint="provider/model (default: the agent's)">
        <input className="field mono" value={opens.model} onChange={set("model")} />
      </Labeled>
    </Form>
  );
}

interface SpecFieldsProps {
  readonly spec: SpecForm;
  readonly set: (spec: SpecForm) => void;
}

function SpecFields({ spec, set }: SpecFieldsProps): ReactNode {
  const put = (field: keyof SpecForm) => (event: { readonly target: { readonly value: string } }) =>
    set({ ...spec, [field]: event.target.value });
  return (
    <>
      <Labeled name="It fires">
        <select className="field" value={spec.kind} onChange={put("kind")}>
          <Options of={formKinds} title={(kind) => kindNames[kind]} />
        </select>
      </Labeled>
      {spec.kind === "cron" ? (
        <div className="places-pair">
          <Labeled name="Cron expression" hint="minute hour day month weekday">
            <input className="field mono" required value={spec.cron} onChange={put("cron")} />
          </Labeled>
          <Labeled name="Time zone" hint="yours by default; empty: UTC">
            <input className="field" placeholder="Europe/Vienna" value={spec.zone} onChange={put("zone")} />
          </Labeled>
        </div>
      ) : null}
      {spec.kind === "every" ? (
        <Labeled name="Interval in minutes">
          <input
            className="field number"
            required
            inputMode="decimal"
            value={spec.everyMinutes}
            onChange={put("everyMinutes")}
          />
        </Labeled>
      ) : null}
      {spec.kind === "at" ? (
        <Labeled name="Day and time" hint="your time zone">
          <input className="field" required type="datetime-local" value={spec.at} onChange={put("at")} />
        </Labeled>
      ) : null}
    </>
  );
}

function Token({ token, close }: { readonly token: string; readonly close: () => void }): ReactNode {
  const address = `${location.origin}/v1/hooks/${token}`;
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(address);
    showToast("URL copied.");
  };
  return (
    <Dialog title="Webhook URL" close={close}>
      <p>
        Shown only once: save it. It can fire this template, and nothing else. The request body becomes the
        first input of the session.
      </p>
      <pre className="said places-code">{address}</pre>
      <p className="soft">For example:</p>
      <pre className="said places-code">curl -X POST {address} -d &quot;Order 1042 came in&quot;</pre>
      <div className="dialog-actions">
        <Button act={copy}>Copy URL</Button>
        <Button kind="main" act={close}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
