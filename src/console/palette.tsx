/** The command palette: every system call and every session, by a few letters. */
import type { ReactNode } from "react";
import { Dialog } from "./part/dialog.tsx";

interface PaletteProps {
  readonly close: () => void;
  /** Opens the dialog for a new session. */
  readonly open: () => void;
}

export function Palette({ close }: PaletteProps): ReactNode {
  return (
    <Dialog title="Commands" close={close}>
      <p />
    </Dialog>
  );
}
