/** A fork of a session of the family, from any position of it. */
import { useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { tell, tellError } from "../../ui/toast.tsx";
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
  const [isBusy, setBusy] = useState(false);
  const fork = async (): Promise<void> => {
    const session = await sessionOf(node.session);
    const made = await session.fork({
      atSeq: Number(seq),
      ...(objective.trim() === "" ? {} : { objective: objective.trim() }),
      ...(name.trim() === "" ? {} : { name: name.trim() }),
    });
    close();
    tell(`Forked at ${seq}.`);
    go(sessionPath(made.id));
  };
  const submit = (event: { preventDefault(): void }): void => {
    event.preventDefault();
    setBusy(true);
    fork()
      .catch(tellError)
      .finally(() => setBusy(false));
  };
  return (
    <Dialog title={`Fork “${titleOf(node, 40)}”`} close={close}>
      <form className="stack" onSubmit={submit}>
        <p className="soft">Shares the history up to the position and continues independently.</p>
        <label className="labeled">
          <span>Objective (defaults to the parent's)</span>
          <textarea
            className="field"
            rows={2}
            autoFocus
            value={objective}
            onChange={(event) => setObjective(event.target.value)}
          />
        </label>
        <div className="family-fields">
          <label className="labeled">
            <span>Name</span>
            <input className="field" value={name} onChange={(event) => setName(event.target.value)} />
          </label>
          <label className="labeled">
            <span>Position, 1 to {node.headSeq}</span>
            <input
              className="field number"
              type="number"
              min={1}
              max={node.headSeq}
              required
              value={seq}
              onChange={(event) => setSeq(event.target.value)}
            />
          </label>
        </div>
        <div className="dialog-actions">
          <Button act={close}>Cancel</Button>
          <Button kind="main" disabled={isBusy} aria-busy={isBusy || undefined}>
            Fork
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
