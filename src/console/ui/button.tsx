/** A button, which shows a busy state while its action runs. */
import { useState, type ButtonHTMLAttributes, type ReactNode } from "react";
import { showError } from "./toast.tsx";

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "onClick"> {
  readonly kind?: "main" | "bad" | "quiet";
  readonly size?: "small";
  /** A toast reports a failure. */
  readonly act?: () => unknown;
  /** Why this login cannot use it: shown as a tooltip. */
  readonly refusal?: string | undefined;
}

export function Button({ kind, size, act, refusal, disabled, children, ...rest }: ButtonProps): ReactNode {
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      await act?.();
    } catch (error) {
      showError(error);
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
