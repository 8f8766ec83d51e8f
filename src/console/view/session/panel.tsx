/** What the session knows and has: beside the transcript. */
import type { ReactNode } from "react";
import { useScope } from "./scope.ts";

export function Panel(): ReactNode {
  const { id } = useScope();
  return <p>Panel {id}</p>;
}
