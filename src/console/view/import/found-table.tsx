/** The sessions that were found: to select, to preview, and what became of each. */
import type { ReactNode } from "react";
import type { TranscriptResult, TranscriptRow, TranscriptTool } from "../../../client/connect.ts";
import { Link } from "../../link.tsx";
import { sessionPath } from "../../route.ts";
import { bytes } from "../../ui/amount.ts";
import { Ago } from "../../ui/moment.tsx";
import { NumberHead } from "../../ui/number-head.tsx";
import { brief } from "../../ui/visible.ts";

interface FoundTableProps {
  readonly rows: readonly TranscriptRow[];
  readonly tools: readonly TranscriptTool[];
  /** Keys. */
  readonly chosen: ReadonlySet<string>;
  readonly choose: (keys: ReadonlySet<string>) => void;
  readonly preview: (row: TranscriptRow) => void;
  readonly results: ReadonlyMap<string, TranscriptResult>;
}

export function FoundTable({ rows, tools, chosen, choose, preview, results }: FoundTableProps): ReactNode {
  const titles = new Map(tools.map(({ tool, title }) => [tool, title]));
  const isAll = rows.every(({ key }) => chosen.has(key));
  const turn = (key: string): void => {
    const next = new Set(chosen);
    if (!next.delete(key)) next.add(key);
    choose(next);
  };
  return (
    <table className="plain import-found">
      <caption className="aside">Sessions of other tools</caption>
      <thead>
        <tr>
          <th scope="col">
            <input
              type="checkbox"
              aria-label="Select all"
              checked={isAll}
              onChange={() => choose(new Set(isAll ? [] : rows.map(({ key }) => key)))}
            />
          </th>
          <th scope="col">Session</th>
          <th scope="col" className="import-wide">
            Tool
          </th>
          <NumberHead className="import-wide">Size</NumberHead>
          <NumberHead>Changed</NumberHead>
          <th scope="col">Result</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const { key, tool, title, project, sourceId, bytes: size, modifiedAt } = row;
          const name = brief(title ?? sourceId, 120);
          return (
            <tr key={key}>
              <td>
                <input
                  type="checkbox"
                  aria-label={`Select ${name}`}
                  checked={chosen.has(key)}
                  onChange={() => turn(key)}
                />
              </td>
              <th scope="row">
                <button type="button" className="import-title" dir="auto" onClick={() => preview(row)}>
                  {name}
                </button>
                {project === null ? null : <p className="faint small said">{brief(project, 120)}</p>}
              </th>
              <td className="import-wide soft">{titles.get(tool) ?? tool}</td>
              <td className="right number import-wide">{bytes(size)}</td>
              <td className="right number">
                <Ago at={modifiedAt} />
              </td>
              <td>
                <Result of={results.get(key)} />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

const words: Readonly<Record<TranscriptResult["status"], string>> = {
  new: "Imported",
  grown: "Updated",
  same: "Up to date",
  rewritten: "Rewritten by its tool",
  continued: "Continued here",
  exported: "Exported from here",
  failed: "Failed",
  excluded: "Excluded",
  found: "Found",
};

/** What the import removed or could not show. */
function countsOf({ redacted, unknown, damaged, tooLarge }: TranscriptResult): string[] {
  const counts: readonly (readonly [number, string])[] = [
    [redacted ?? 0, "redacted"],
    [unknown, "of unknown kinds"],
    [damaged - tooLarge, "damaged"],
    [tooLarge, "too large"],
  ];
  return counts.flatMap(([many, what]) => (many === 0 ? [] : [`${many} ${what}`]));
}

export function Result({ of }: { readonly of: TranscriptResult | undefined }): ReactNode {
  if (of === undefined) return null;
  const { session, status, reason } = of;
  if (session === null)
    return (
      <span className="import-failed said">
        {words[status]}
        {reason === null ? "" : `: ${brief(reason, 160)}`}
      </span>
    );
  return (
    <>
      <Link to={sessionPath(session)}>Open</Link>{" "}
      <span className="soft small">{[words[status], ...countsOf(of)].join(" · ")}</span>
    </>
  );
}
