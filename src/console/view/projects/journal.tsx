/** The journal of a project: what people and agents wrote, and what was decided, the latest first. */
import { useState, type ReactNode } from "react";
import { actorWords } from "../../ui/event-summary.ts";
import { Ago } from "../../ui/moment.tsx";
import { SessionName } from "../../ui/session-name.tsx";
import { brief } from "../../ui/visible.ts";
import type { engine } from "../../server.ts";

export type ProjectView = Awaited<ReturnType<typeof engine.project>>;
type Item = ProjectView["items"][number];

interface JournalEntry {
  readonly seq: number;
  readonly at: number;
  readonly actor: string;
  readonly session: string | null;
  /** What it is, if it is an item: "decision provider". */
  readonly item: { readonly kind: string; readonly key: string } | null;
  /** Null when it was erased. */
  readonly text: string | null;
}

/** Notes and items in one order. */
function entriesOf({ journal, items }: Pick<ProjectView, "journal" | "items">): readonly JournalEntry[] {
  const notes = journal.map((note): JournalEntry => ({ ...note, item: null }));
  const found = items.map((item): JournalEntry => {
    const { seq, at, actor, kind, key, origin } = item;
    return { seq, at, actor, session: origin?.session ?? null, item: { kind, key }, text: valueText(item) };
  });
  return [...notes, ...found].toSorted((a, b) => b.seq - a.seq);
}

export function valueText({ value, erased }: Pick<Item, "value" | "erased">): string | null {
  if (erased) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

const shownAtFirst = 8;

export function Journal({ view }: { readonly view: ProjectView }): ReactNode {
  const [isAll, setAll] = useState(false);
  const all = entriesOf(view);
  const shown = isAll ? all : all.slice(0, shownAtFirst);
  return (
    <section className="sheet" aria-label="Journal">
      <header className="projects-card-head">
        <h2>Journal</h2>
        {all.length <= shownAtFirst ? null : (
          <button type="button" className="projects-all" onClick={() => setAll(!isAll)}>
            {isAll ? "Fewer" : `All ${all.length}`}
          </button>
        )}
      </header>
      {all.length === 0 ? <p className="projects-card soft">Nothing noted yet.</p> : null}
      <ul className="projects-journal">
        {shown.map((entry) => (
          <Entry key={entry.seq} entry={entry} />
        ))}
      </ul>
    </section>
  );
}

const textChars = 400;

function Entry({ entry }: { readonly entry: JournalEntry }): ReactNode {
  const { at, actor, session, item, text } = entry;
  return (
    <li data-kind={item?.kind}>
      {item === null ? null : (
        <b>
          {capital(item.kind)} {brief(item.key, 80)}:{" "}
        </b>
      )}
      {text === null ? (
        <span className="faint">erased</span>
      ) : (
        <span className="said">{brief(text, textChars)}</span>
      )}
      <span className="small faint projects-by">
        {session === null ? actorWords(actor) : <SessionName id={session} />} · <Ago at={at} />
      </span>
    </li>
  );
}

const capital = (word: string): string => brief(word.charAt(0).toUpperCase() + word.slice(1), 40);
