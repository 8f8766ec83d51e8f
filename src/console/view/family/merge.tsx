/** What a merge would do, and its conflicts. */
import type { ReactNode } from "react";
import { useScope } from "../session/scope.ts";

export function Merge({ params }: { readonly params: URLSearchParams }): ReactNode {
  const { id } = useScope();
  return (
    <p>
      Merge {id} {params.toString()}
    </p>
  );
}
