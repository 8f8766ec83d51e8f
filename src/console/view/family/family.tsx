/** The family as a graph. */
import type { ReactNode } from "react";
import { useScope } from "../session/scope.ts";

export function Family(): ReactNode {
  const { id } = useScope();
  return <p>Family {id}</p>;
}
