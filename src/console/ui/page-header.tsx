/** The header of a view: its name, and the button and key that add to it. */
import type { ReactNode } from "react";
import type { OperationId } from "../../call/operations.ts";
import { useRefusal } from "../scopes.ts";
import { useShortcuts } from "../shortcut.ts";
import { Button } from "./button.tsx";
import { showToast } from "./toast.tsx";

interface PlaceHeadProps {
  readonly title: string;
  /** The label of the button. */
  readonly does: string;
  /** The description of the key, if it says more than the button. */
  readonly what?: string;
  readonly act: () => void;
  /** The operation that the login must be allowed to call. */
  readonly needs: OperationId;
}

export function PlaceHead({ title, does, what = does, act, needs }: PlaceHeadProps): ReactNode {
  const refusal = useRefusal(needs);
  useShortcuts([{ key: "a", what, act: () => (refusal === undefined ? act() : showToast(refusal)) }]);
  return (
    <div className="head">
      <h1 className="spread">{title}</h1>
      <Button kind="main" act={act} refusal={refusal}>
        {does}
      </Button>
    </div>
  );
}
