/** Workers. */
import type { ReactNode } from "react";

export function Workers(): ReactNode {
  return <h1>Workers</h1>;
}
