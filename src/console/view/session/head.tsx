/** What the session is, how it stands, and what can be done with it. */
import type { ReactNode } from "react";
import { useScope } from "./scope.ts";

export function Head(): ReactNode {
  const { id } = useScope();
  return <p>Head {id}</p>;
}
