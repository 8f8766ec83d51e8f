/** The other differences of two branches: transcripts, state, files that tools changed. */
import { useState, type ReactNode } from "react";
import { Link } from "../../link.tsx";
import { plural } from "../../ui/amount.ts";
import { Ago } from "../../ui/moment.tsx";
import { Said } from "../../ui/untrusted-text.tsx";
import { brief, visible } from "../../ui/visible.ts";
import { sessionPath } from "../../route.ts";
import type { CompareSide } from "./compare.tsx";
import { fieldText, fieldWords, type Diff, type FieldChange, type FileDiff } from "./difference.ts";
import type { PlacedText as Spoken } from "./difference.ts";

interface Sides {
  readonly left: CompareSide;
  readonly right: CompareSide;
}

/** On a narrow screen one of the two is shown at a time. */
export function ComparedTranscript({
  transcript,
  left,
  right,
}: Sides & { readonly transcript: Diff["transcript"] }): ReactNode {
  const [side, setSide] = useState<"left" | "right">("left");
  if (transcript === undefined) return null;
  const { removed, added, isCut } = transcript;
  const isSame = removed.length + added.length === 0;
  return (
    <section aria-label="Transcript" className="compare-part" data-side={side}>
      <h2>
        Transcript{" "}
        <span className="soft">
          {isSame ? "the same" : wordsOf(left, removed.length, right, added.length)}
          {isCut ? "; first ones shown" : ""}
        </span>
      </h2>
      {isSame ? null : (
        <>
          <div className="compare-switch" role="group" aria-label="Transcript of">
            {(["left", "right"] as const).map((one) => (
              <button
                key={one}
                type="button"
                className="button"
                aria-pressed={side === one}
                onClick={() => setSide(one)}
              >
                <bdi className="cut">{(one === "left" ? left : right).title}</bdi>
              </button>
            ))}
          </div>
          <div className="compare-sides compare-said">
            <Column said={removed} side={left} />
            <Column said={added} side={right} />
          </div>
        </>
      )}
    </section>
  );
}

const wordsOf = (left: CompareSide, removed: number, right: CompareSide, added: number): string =>
  `${removed} in ${brief(left.title, 24)}, ${added} in ${brief(right.title, 24)}`;

const kinds: Readonly<Record<string, string>> = {
  "input.received": "Input",
  "message.received": "Message",
  "model.responded": "Answer",
  "tool.requested": "Call",
  "tool.settled": "Result",
  "transcript.compacted": "Compaction",
  "session.merged": "Merge",
};
const saidAtFirst = 40;

function Column({ said, side }: { readonly said: readonly Spoken[]; readonly side: CompareSide }): ReactNode {
  const [shown, setShown] = useState(saidAtFirst);
  if (said.length === 0) return <p className="faint">No messages since.</p>;
  return (
    <ol aria-label={`Messages in ${brief(side.title, 60)}`}>
      {said.slice(0, shown).map(({ seq, at, type, text }) => (
        <li key={seq} data-type={type}>
          <div className="row small faint">
            <span>{kinds[type] ?? brief(type, 40)}</span>
            <Link to={sessionPath(side.session, "transcript", { at: seq })} className="number">
              {seq}
            </Link>
            <Ago at={at} />
          </div>
          <Said text={text} chars={500} />
        </li>
      ))}
      {said.length > shown ? (
        <li>
          <button type="button" className="button" data-size="small" onClick={() => setShown(shown * 4)}>
            Show {said.length - shown} more
          </button>
        </li>
      ) : null}
    </ol>
  );
}

export function ComparedState({
  changes,
  left,
  right,
}: Sides & { readonly changes: readonly FieldChange[] }): ReactNode {
  return (
    <section aria-label="State" className="compare-part">
      <h2>
        State{" "}
        <span className="soft">
          {changes.length === 0 ? "the same" : plural(changes.length, "difference")}
        </span>
      </h2>
      {changes.length === 0 ? null : (
        <table className="plain compare-state">
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">
                <bdi>{brief(left.title, 40)}</bdi>
              </th>
              <th scope="col">
                <bdi>{brief(right.title, 40)}</bdi>
              </th>
            </tr>
          </thead>
          <tbody>
            {changes.map(({ field, from, to }) => (
              <tr key={field}>
                <th scope="row">{brief(fieldWords(field), 80)}</th>
                <Value value={from} whose={left.title} />
                <Value value={to} whose={right.title} />
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Value({ value, whose }: { readonly value: unknown; readonly whose: string }): ReactNode {
  const text = fieldText(value);
  return (
    <td data-whose={brief(whose, 40)}>
      {text === null ? <span className="faint">none</span> : <Said text={text} chars={400} />}
    </td>
  );
}

export function ComparedFiles({ files }: { readonly files: Diff["files"] }): ReactNode {
  if (files === undefined || files.files.length + files.unkept.length === 0) return null;
  return (
    <section aria-label="Files" className="compare-part">
      <h2>
        Files <span className="soft">{plural(files.files.length, "difference")}</span>
      </h2>
      {files.files.map((file) => (
        <FileChange key={`${file.name}/${file.path}`} file={file} />
      ))}
      {files.unkept.length === 0 ? null : (
        <p className="soft small">
          Some changes may be missing: {plural(files.unkept.length, "change")} could not be stored.
        </p>
      )}
    </section>
  );
}

const linesAtFirst = 200;

function FileChange({ file }: { readonly file: FileDiff }): ReactNode {
  const [shown, setShown] = useState(linesAtFirst);
  const { text = [] } = file;
  return (
    <article className="compare-file">
      <h3>
        <span className="mark">{file.change}</span> <bdi className="mono">{brief(file.path, 200)}</bdi>
      </h3>
      {text.length === 0 ? null : (
        <pre className="said" dir="auto">
          {text.slice(0, shown).map((line, place) => (
            <span key={place} data-line={line[0]}>
              {visible(line.slice(0, 2_000))}
              {"\n"}
            </span>
          ))}
        </pre>
      )}
      {text.length > shown ? (
        <button type="button" className="button" data-size="small" onClick={() => setShown(shown * 4)}>
          Show {plural(text.length - shown, "more line")}
        </button>
      ) : null}
    </article>
  );
}
