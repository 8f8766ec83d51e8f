/** The dialog of the current keys. */
import type { ReactNode } from "react";
import { useCell } from "./signal.ts";
import { keyName, keyRows } from "./key-rows.ts";
import { Dialog } from "./ui/dialog.tsx";
import { shortcuts } from "./shortcut.ts";
import "./palette/palette.css";

export function Keys({ close }: { readonly close: () => void }): ReactNode {
  const rows = keyRows(useCell(shortcuts));
  return (
    <Dialog title="Keys" close={close}>
      <dl className="facts keys">
        {rows.map(({ what, keys }) => (
          <div key={what} className="keys-row">
            <dt>
              {keys.map((key, nth) => (
                <span key={key}>
                  {nth === 0 ? null : <span className="faint"> or </span>}
                  {key === " " ? (
                    <Cap name={key} />
                  ) : (
                    key.split(" ").map((one) => <Cap key={one} name={one} />)
                  )}
                </span>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

const Cap = ({ name }: { readonly name: string }): ReactNode => <kbd className="key">{keyName(name)}</kbd>;
