/** A confirmation before an action that cannot be undone. */
import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

interface AskFirstProps {
  readonly title: string;
  /** The label of the confirm button. */
  readonly does: string;
  readonly act: () => Promise<unknown>;
  readonly close: () => void;
  readonly children: ReactNode;
}

export function AskFirst({ title, does, act, close, children }: AskFirstProps): ReactNode {
  const run = async (): Promise<void> => {
    await act();
    close();
  };
  return (
    <Dialog title={title} close={close}>
      <div className="stack soft">{children}</div>
      <div className="dialog-actions">
        <Button act={close}>Cancel</Button>
        <Button kind="bad" act={run}>
          {does}
        </Button>
      </div>
    </Dialog>
  );
}
