/** Duplicates and contradictions, with the entries to edit or forget. */
import type { ReactNode } from "react";
import { plural } from "../../ui/amount.ts";
import { brief } from "../../ui/visible.ts";
import { useReading } from "../../query-cache.ts";
import { engine } from "../../server.ts";
import { EntryRow } from "./entry.tsx";

/** Nothing while there is nothing to settle. It compares all entries, so not again with every event. */
export function Review(): ReactNode {
  const { value } = useReading("memory-review", () => engine.reviewMemory());
  if (value === undefined || value.findings.length === 0) return null;
  const { findings, more } = value;
  const all = findings.length + more;
  return (
    <details className="memory-queue">
      <summary>
        {plural(all, "duplicate or contradiction", "duplicates and contradictions")} to settle
      </summary>
      <ul>
        {findings.map(({ finding, about, entries }) => (
          <li key={`${finding} ${entries.map(({ seq }) => seq).join()}`}>
            <p className="row wrap">
              <span className="mark">{finding}</span> <span className="said">{brief(about, 120)}</span>
            </p>
            <ul>
              {entries.map((entry) => (
                <EntryRow key={entry.seq} entry={entry} />
              ))}
            </ul>
          </li>
        ))}
      </ul>
      {more > 0 ? <p className="faint small">More follow once these are settled.</p> : null}
    </details>
  );
}
