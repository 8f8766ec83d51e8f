/** Selects event types, by family. */
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { eventFamilies, typesOf, type EventFamily } from "../../ui/event-summary.ts";
import { chosenOf, othersOf, typeOf, withFamily, withType } from "./filter.ts";

interface TypesDialogProps {
  readonly types: readonly string[];
  readonly choose: (types: readonly string[]) => void;
  readonly close: () => void;
}

export function TypesDialog({ types, choose, close }: TypesDialogProps): ReactNode {
  return (
    <Dialog title="Event types" wide close={close}>
      <div className="log-families">
        {eventFamilies.map((family) => (
          <fieldset key={family}>
            <legend>
              <FamilyBox family={family} types={types} choose={choose} />
            </legend>
            {typesOf(family).map((type) => (
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
        <Others types={types} choose={choose} />
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

/** Types of other programs have arbitrary names. */
function Others({ types, choose }: Omit<TypesDialogProps, "close">): ReactNode {
  const [typed, setTyped] = useState("");
  const type = typeOf(typed);
  const add = (): void => {
    if (type === null) return;
    if (!types.includes(type)) choose([...types, type]);
    setTyped("");
  };
  return (
    <fieldset>
      <legend>Other programs</legend>
      {othersOf(types).map((other) => (
        <label key={other} className="row">
          <input type="checkbox" checked onChange={() => choose(withType(types, other))} />
          <span className="mono">{other}</span>
        </label>
      ))}
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <input
          className="field mono"
          aria-label="Type of another program"
          placeholder="x.name"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <Button size="small" disabled={type === null}>
          Add
        </Button>
      </form>
    </fieldset>
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
      <span className="log-family">{family}</span>
    </label>
  );
}
