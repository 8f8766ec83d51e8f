/** The head of a place: its name, and the button and key that add to it. */
import type { ReactNode } from "react";
import { useShortcuts } from "../shortcut.ts";
import { Button } from "./button.tsx";

interface PlaceHeadProps {
  readonly title: string;
  /** What the button says. */
  readonly does: string;
  /** What the key is said to do, where that is more than the button says. */
  readonly what?: string;
  readonly act: () => void;
}

export function PlaceHead({ title, does, what = does, act }: PlaceHeadProps): ReactNode {
  useShortcuts([{ key: "a", what, act }]);
  return (
    <div className="head">
      <h1 className="spread">{title}</h1>
      <Button kind="main" act={act}>
        {does}
      </Button>
    </div>
  );
}
