/** The head of a column of numbers. */
import type { ReactNode } from "react";

interface NumberHeadProps {
  readonly children: ReactNode;
  readonly className?: string;
}

export function NumberHead({ children, className = "" }: NumberHeadProps): ReactNode {
  return (
    <th scope="col" className={`right ${className}`.trimEnd()}>
      {children}
    </th>
  );
}
