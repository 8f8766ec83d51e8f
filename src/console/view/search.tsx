/** Search. */
import type { ReactNode } from "react";

export function Search({ params }: { readonly params: URLSearchParams }): ReactNode {
  return <h1>Search {String(params)}</h1>;
}
