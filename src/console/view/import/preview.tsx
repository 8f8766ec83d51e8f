/** The first messages of a session of another tool, before it is imported. */
import type { ReactNode } from "react";
import type { PreviewEntry, TranscriptPreview, TranscriptRow } from "../../../client/connect.ts";
import { useReading } from "../../query-cache.ts";
import { engine } from "../../server.ts";
import { bytes } from "../../ui/amount.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { WhenRead } from "../../ui/load-error.tsx";
import { exact } from "../../ui/moment.tsx";
import { brief, Said } from "../../ui/untrusted-text.tsx";

interface PreviewProps {
  readonly row: TranscriptRow;
  readonly close: () => void;
}

export function Preview({ row, close }: PreviewProps): ReactNode {
  const reading = useReading(`transcripts/preview/${row.key}`, () => engine.previewTranscript(row.key));
  return (
    <Dialog title={brief(row.title ?? row.sourceId, 100)} wide close={close}>
      <WhenRead of={reading}>{(value) => <Shown {...value} />}</WhenRead>
      <div className="dialog-actions">
        <Button act={close}>Close</Button>
      </div>
    </Dialog>
  );
}

function Shown({
  tool,
  project,
  gitBranch,
  startedAt,
  bytes: size,
  isWhole,
  entries,
}: TranscriptPreview): ReactNode {
  const facts = [
    tool,
    ...(project === null ? [] : [brief(project, 120)]),
    ...(gitBranch === null ? [] : [brief(gitBranch, 60)]),
    bytes(size),
    ...(startedAt === null ? [] : [exact(startedAt)]),
  ];
  return (
    <>
      <p className="soft small said">{facts.join(" · ")}</p>
      <ol className="import-entries">
        {entries.map((entry, place) => (
          <li key={place} data-kind={entry.from === "context" ? "context" : entry.kind}>
            <Entry {...entry} />
          </li>
        ))}
      </ol>
      {isWhole ? null : <p className="faint small">The first {entries.length} messages are shown.</p>}
    </>
  );
}

const speakers = { input: "Person", answer: "Model", compaction: "Summary" } as const;

function Entry({ kind, from, text, model, calls = [] }: PreviewEntry): ReactNode {
  return (
    <>
      <h3>
        {from === "context" ? "Context" : speakers[kind]}
        {typeof model === "string" ? <span className="faint said"> {brief(model, 60)}</span> : null}
      </h3>
      {text === null || text === "" ? null : <Said text={text} chars={600} />}
      {calls.length === 0 ? null : (
        <p className="row wrap">
          {calls.map(({ name, status }, place) => (
            <span key={place} className="mark" data-tone={status === "error" ? "bad" : undefined}>
              <span className="mono">{brief(name ?? "tool", 60)}</span>
              {status === "ok" ? "" : ` ${status}`}
            </span>
          ))}
        </p>
      )}
    </>
  );
}
