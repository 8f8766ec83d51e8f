/** Triggers. */
import type { ReactNode } from "react";

export function Triggers(): ReactNode {
  return <h1>Triggers</h1>;
}
