/** Agents. */
import type { ReactNode } from "react";

export function Agents({ name }: { readonly name: string | null }): ReactNode {
  return <h1>Agents {String(name)}</h1>;
}
