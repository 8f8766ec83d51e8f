/** The transcript: what was said and done, as it comes. */
import type { ReactNode } from "react";
import { useScope } from "./scope.ts";

export function Transcript(): ReactNode {
  const { id } = useScope();
  return <p>Transcript {id}</p>;
}
