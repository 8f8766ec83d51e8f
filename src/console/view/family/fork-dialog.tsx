/** A fork of a session of the family, from any position of it. */
import { useState, type ReactNode } from "react";
import { present } from "../../../core/present.ts";
import { Form, Labeled } from "../../ui/form.tsx";
import { showToast } from "../../ui/toast.tsx";
import { go, sessionPath } from "../../route.ts";
import { sessionOf } from "../../server.ts";
import { titleOf, type Node } from "./relative.ts";

interface ForkDialogProps {
  readonly node: Node;
  readonly close: () => void;
}

export function ForkDialog({ node, close }: ForkDialogProps): ReactNode {
  const [seq, setSeq] = useState(String(node.headSeq));
  const [objective, setObjective] = useState("");
  const [name, setName] = useState("");
  const fork = async (): Promise<void> => {
    const session = await sessionOf(node.session);
    const given = { objective: objective.trim() || undefined, name: name.trim() || undefined };
    const made = await session.fork({ atSeq: Number(seq), ...present(given) });
    close();
    showToast(`Forked at ${seq}.`);
    go(sessionPath(made.id));
  };
  return (
    <Form title={`Fork “${titleOf(node, 40)}”`} does="Fork" send={fork} close={close}>
      <p className="soft">Shares the history up to the position and continues independently.</p>
      <Labeled name="Objective (defaults to the parent's)">
        <textarea
          className="field"
          rows={2}
          autoFocus
          value={objective}
          onChange={(event) => setObjective(event.target.value)}
        />
      </Labeled>
      <div className="family-fields">
        <Labeled name="Name">
          <input className="field" value={name} onChange={(event) => setName(event.target.value)} />
        </Labeled>
        <Labeled name={`Position, 1 to ${node.headSeq}`}>
          <input
            className="field number"
            type="number"
            min={1}
            max={node.headSeq}
            required
            value={seq}
            onChange={(event) => setSeq(event.target.value)}
          />
        </Labeled>
      </div>
    </Form>
  );
}
