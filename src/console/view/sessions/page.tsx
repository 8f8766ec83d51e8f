/** The process table: every session and how it stands, live. */
import type { ReactNode } from "react";

interface SessionsProps {
  readonly params: URLSearchParams;
  /** Opens the dialog for a new session. */
  readonly open: () => void;
}

export function Sessions({ params }: SessionsProps): ReactNode {
  return <h1>Sessions {params.toString()}</h1>;
}
