/** The keys that can be pressed here. */
import type { ReactNode } from "react";
import { useCell } from "./cell.ts";
import { Dialog } from "./part/dialog.tsx";
import { shortcuts } from "./shortcut.ts";

export function Keys({ close }: { readonly close: () => void }): ReactNode {
  const all = useCell(shortcuts).flat();
  return (
    <Dialog title="Keys" close={close}>
      <dl className="facts">
        {all.map(({ key, what }) => (
          <div key={key} className="keys-row">
            <dt>
              {key.split(" ").map((one) => (
                <kbd className="key" key={one}>
                  {one.replace("ctrl+", "Ctrl ")}
                </kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
