/** A confirmation before an action that cannot be undone. */
import type { ReactNode } from "react";
import { Form } from "./form.tsx";

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
    <Form title={title} does={does} isBad send={run} close={close}>
      <div className="stack soft">{children}</div>
    </Form>
  );
}
