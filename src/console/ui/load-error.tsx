/** Placeholders: for content that failed to load, is loading, or does not exist. */
import type { ReactNode } from "react";
import type { CachedQuery } from "../query-cache.ts";
import { wordsOf } from "./toast.tsx";

export function LoadError({ error }: { readonly error: unknown }): ReactNode {
  const { text, hint } = wordsOf(error);
  return (
    <div className="trouble" role="alert">
      <p className="said">{text}</p>
      {hint === undefined ? null : <p className="small said">{hint}</p>}
    </div>
  );
}

/** Says what would be here, and how to add it. */
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
  readonly of: CachedQuery<T>;
  readonly children: (value: T) => ReactNode;
}

/** The value, the error, or that it is loading. */
export function WhenRead<T>({ of: { value, error }, children }: WhenReadProps<T>): ReactNode {
  if (value !== undefined) return children(value);
  if (error !== undefined) return <LoadError error={error} />;
  return (
    <p className="waiting" role="status">
      Loading…
    </p>
  );
}
