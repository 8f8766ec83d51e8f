/** A new session, in two keystrokes: n, and Enter once it is said what for. */
import type { ReactNode } from "react";
import { Dialog } from "../part/dialog.tsx";

export function OpenDialog({ close }: { readonly close: () => void }): ReactNode {
  return (
    <Dialog title="New session" close={close}>
      <p />
    </Dialog>
  );
}
