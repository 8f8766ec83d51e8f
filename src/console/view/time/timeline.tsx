/** The timeline: a slider over the whole log. */
import type { ReactNode } from "react";
import { useScope } from "../session/scope.ts";

export function Timeline(): ReactNode {
  const { id } = useScope();
  return <p>Timeline {id}</p>;
}
