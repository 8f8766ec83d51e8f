/** The head of a place: its name, and the button and key that add to it. */
import type { ReactNode } from "react";
import type { OperationId } from "../../call/operations.ts";
import { useRefusal } from "../scopes.ts";
import { useShortcuts } from "../shortcut.ts";
import { Button } from "./button.tsx";
import { tell } from "./toast.tsx";

interface PlaceHeadProps {
  readonly title: string;
  /** What the button says. */
  readonly does: string;
  /** What the key is said to do, where that is more than the button says. */
  readonly what?: string;
  readonly act: () => void;
  /** What a login must be allowed to do for that. */
  readonly needs: OperationId;
}

export function PlaceHead({ title, does, what = does, act, needs }: PlaceHeadProps): ReactNode {
  const refusal = useRefusal(needs);
  useShortcuts([{ key: "a", what, act: () => (refusal === undefined ? act() : tell(refusal)) }]);
  return (
    <div className="head">
      <h1 className="spread">{title}</h1>
      <Button kind="main" act={act} refusal={refusal}>
        {does}
      </Button>
    </div>
  );
}
