/** Memory. */
import type { ReactNode } from "react";

export function Memory({ params }: { readonly params: URLSearchParams }): ReactNode {
  return <h1>Memory {String(params)}</h1>;
}
