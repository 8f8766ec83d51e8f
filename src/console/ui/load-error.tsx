/** What is shown in place of what could not be read, is not there yet, or is not there at all. */
import type { ReactNode } from "react";
import type { Reading } from "../query-cache.ts";
import { wordsOf } from "./toast.tsx";

export function Trouble({ error }: { readonly error: unknown }): ReactNode {
  const { text, hint } = wordsOf(error);
  return (
    <div className="trouble" role="alert">
      <p className="said">{text}</p>
      {hint === undefined ? null : <p className="small said">{hint}</p>}
    </div>
  );
}

/** Says what would be here, and how it gets here. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

interface WhenReadProps<T> {
  readonly of: Reading<T>;
  readonly children: (value: T) => ReactNode;
}

/** What was read, or why not, or that it is under way. */
export function WhenRead<T>({ of: { value, error }, children }: WhenReadProps<T>): ReactNode {
  if (value !== undefined) return children(value);
  if (error !== undefined) return <Trouble error={error} />;
  return (
    <p className="waiting" role="status">
      Reading…
    </p>
  );
}
