/** A button, which shows that it is at work while what it does takes time. */
import { useState, type ButtonHTMLAttributes, type ReactNode } from "react";
import { tellError } from "./toast.tsx";

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "onClick"> {
  readonly kind?: "main" | "bad" | "quiet";
  readonly size?: "small";
  /** What fails is told in a note. */
  readonly act?: () => unknown;
  /** Why it cannot be used by this login: it is said to whoever points at it. */
  readonly refusal?: string | undefined;
}

export function Button({ kind, size, act, refusal, disabled, children, ...rest }: ButtonProps): ReactNode {
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      await act?.();
    } catch (error) {
      tellError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type={act === undefined ? "submit" : "button"}
      className="button"
      data-kind={kind}
      data-size={size}
      aria-busy={isBusy || undefined}
      disabled={disabled === true || isBusy || refusal !== undefined}
      {...(act === undefined ? {} : { onClick: () => void run() })}
      {...rest}
      {...(refusal === undefined ? {} : { title: refusal })}
    >
      {children}
    </button>
  );
}
