/** The conflicts of a merge, one below the other: both versions of an item, and the choice. */
import { useRef, useState, type ReactNode } from "react";
import { plural } from "../../ui/amount.ts";
import { useShortcuts } from "../../shortcut.ts";
import { countOpen, nextOpen, ownAnswer, takesOf, type Conflict, type Take } from "./conflict-answer.ts";
import { ConflictCard } from "./conflict-card.tsx";
import type { MergeDraft } from "./merge-draft.ts";

interface ConflictsProps {
  readonly conflicts: readonly Conflict[];
  readonly draft: MergeDraft;
  readonly ours: string;
  readonly theirs: string;
}

/** Conflicts are rendered up to the current one, in steps of so many. */
const stepConflicts = 40;

export function Conflicts({ conflicts, draft, ours, theirs }: ConflictsProps): ReactNode {
  const list = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState(() => nextOpen(conflicts, draft.answers, null));
  const at = Math.max(
    0,
    conflicts.findIndex(({ name }) => name === current),
  );
  const [least, setLeast] = useState(stepConflicts);
  const shown = Math.max(least, Math.ceil((at + 1) / stepConflicts) * stepConflicts);
  const move = (name: string | null, within = ""): void => {
    if (name === null) return;
    setCurrent(name);
    requestAnimationFrame(() => show(list.current, name, within));
  };
  const take = (conflict: Conflict, taken: Take): void => {
    const answers = draft.take(conflict, taken);
    if (taken === "value") move(conflict.name, "textarea");
    else setCurrent(conflict.name);
    if (countOpen(conflicts, answers) === 0) return;
    if (taken !== "value") move(nextOpen(conflicts, answers, conflict.name));
  };
  const press = (place: number) => (): void => {
    const conflict = conflicts[at];
    const taken = conflict && takesOf(conflict)[place];
    if (conflict !== undefined && taken !== undefined) take(conflict, taken);
  };
  const left = countOpen(conflicts, draft.answers);
  useShortcuts([
    { key: "1", what: "Take ours", act: press(0) },
    { key: "2", what: "Take theirs", act: press(1) },
    { key: "3", what: "Custom value", act: press(2) },
    { key: "4", what: "Keep both", act: press(3) },
    { key: "j", what: "Next conflict", act: () => move(conflicts[at + 1]?.name ?? null) },
    { key: "k", what: "Previous conflict", act: () => move(conflicts[at - 1]?.name ?? null) },
  ]);
  return (
    <section className="compare-part" aria-label="Conflicts" ref={list}>
      <h2>
        {plural(conflicts.length, "conflict")}{" "}
        <span className="soft" role="status">
          {left === 0 ? "all resolved" : `${left} left`}
        </span>
      </h2>
      {conflicts.slice(0, shown).map((conflict) => (
        <ConflictCard
          key={conflict.name}
          conflict={conflict}
          answer={ownAnswer(draft.answers, conflict.name)}
          amend={draft.amend}
          ours={ours}
          theirs={theirs}
          isCurrent={conflict.name === current}
          focused={() => setCurrent(conflict.name)}
          take={(taken) => take(conflict, taken)}
        />
      ))}
      {conflicts.length > shown ? (
        <button type="button" className="button" onClick={() => setLeast(shown + stepConflicts)}>
          Show {plural(conflicts.length - shown, "more conflict")}
        </button>
      ) : null}
    </section>
  );
}

function show(list: HTMLElement | null, name: string, within: string): void {
  const card = list?.querySelector<HTMLElement>(`[data-conflict="${CSS.escape(name)}"]`);
  const target = within === "" ? card : (card?.querySelector<HTMLElement>(within) ?? card);
  target?.focus({ preventScroll: true });
  // A typed custom value replaces ours.
  if (target instanceof HTMLTextAreaElement) target.select();
  card?.scrollIntoView({ block: "nearest" });
}
