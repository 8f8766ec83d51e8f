/** Two branches side by side. */
import type { ReactNode } from "react";
import { useScope } from "../session/scope.ts";

export function Compare({ params }: { readonly params: URLSearchParams }): ReactNode {
  const { id } = useScope();
  return (
    <p>
      Compare {id} {params.toString()}
    </p>
  );
}
