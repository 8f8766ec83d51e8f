/** Chooses types of events, by family. */
import { useEffect, useRef, type ReactNode } from "react";
import { Button } from "../../part/button.tsx";
import { Dialog } from "../../part/dialog.tsx";
import { eventFamilies, type EventFamily } from "../../part/event-words.ts";
import { chosenOf, withFamily, withType } from "./filter.ts";

interface TypesDialogProps {
  readonly types: readonly string[];
  readonly choose: (types: readonly string[]) => void;
  readonly close: () => void;
}

const families = Object.keys(eventFamilies) as readonly EventFamily[];

export function TypesDialog({ types, choose, close }: TypesDialogProps): ReactNode {
  return (
    <Dialog title="Types of events" wide close={close}>
      <div className="log-families">
        {families.map((family) => (
          <fieldset key={family}>
            <legend>
              <FamilyBox family={family} types={types} choose={choose} />
            </legend>
            {eventFamilies[family].map((type) => (
              <label key={type} className="row">
                <input
                  type="checkbox"
                  checked={types.includes(type)}
                  onChange={() => choose(withType(types, type))}
                />
                <span className="mono">{type}</span>
              </label>
            ))}
          </fieldset>
        ))}
      </div>
      <div className="dialog-actions">
        <Button kind="quiet" disabled={types.length === 0} act={() => choose([])}>
          All types
        </Button>
        <Button kind="main" act={close}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

function FamilyBox({
  family,
  types,
  choose,
}: Omit<TypesDialogProps, "close"> & { readonly family: EventFamily }): ReactNode {
  const box = useRef<HTMLInputElement>(null);
  const chosen = chosenOf(family, types);
  useEffect(() => {
    if (box.current !== null) box.current.indeterminate = chosen === "some";
  }, [chosen]);
  return (
    <label className="row">
      <input
        ref={box}
        type="checkbox"
        checked={chosen === "all"}
        onChange={() => choose(withFamily(types, family))}
      />
      {family}
    </label>
  );
}
