/** A button that copies a text to the clipboard, and says so. */
import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { showToast } from "./toast.tsx";

export async function copyText(text: string, what: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  showToast(`Copied: ${what}.`);
}

interface CopyProps {
  readonly text: string;
  /** What it is, after "Copied:". */
  readonly what: string;
}

export function Copy({ text, what }: CopyProps): ReactNode {
  return (
    <Button kind="quiet" size="small" aria-label={`Copy: ${what}`} act={() => copyText(text, what)}>
      Copy
    </Button>
  );
}
