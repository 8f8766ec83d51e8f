/** The context: exactly what the model saw, or would see next. */
import type { ReactNode } from "react";
import { useScope } from "../session/scope.ts";

export function ContextView(): ReactNode {
  const { id } = useScope();
  return <p>ContextView {id}</p>;
}
