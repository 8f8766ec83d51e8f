/** Cost. */
import type { ReactNode } from "react";

export function Cost({ params }: { readonly params: URLSearchParams }): ReactNode {
  return <h1>Cost {String(params)}</h1>;
}
