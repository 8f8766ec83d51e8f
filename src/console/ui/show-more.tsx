/** The first of many rows, and the next ones on demand. */
import { useState, type ReactNode } from "react";
import { count } from "./amount.ts";

const portionRows = 100;

interface PortionProps<T> {
  readonly of: readonly T[];
  readonly children: (shown: readonly T[]) => ReactNode;
}

export function Portion<T>({ of, children }: PortionProps<T>): ReactNode {
  const [most, setMost] = useState(portionRows);
  return (
    <>
      {children(of.slice(0, most))}
      {of.length <= most ? null : (
        <div className="row">
          <button type="button" className="button" onClick={() => setMost(most + portionRows)}>
            Show {count(of.length - most)} more
          </button>
        </div>
      )}
    </>
  );
}

interface PortionListProps<T> {
  readonly of: readonly T[];
  /** One of them, with its key. */
  readonly children: (one: T) => ReactNode;
}

export function PortionList<T>({ of, children }: PortionListProps<T>): ReactNode {
  return <Portion of={of}>{(shown) => <ul>{shown.map((one) => children(one))}</ul>}</Portion>;
}
