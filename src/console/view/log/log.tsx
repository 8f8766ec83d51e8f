/** The raw events. */
import type { ReactNode } from "react";
import { useScope } from "../session/scope.ts";

export function Log({ params }: { readonly params: URLSearchParams }): ReactNode {
  const { id } = useScope();
  return (
    <p>
      Log {id} {params.toString()}
    </p>
  );
}
