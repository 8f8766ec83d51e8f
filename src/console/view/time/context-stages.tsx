/** What compactions replaced, as a tree: days, stages and turns, each read when it is opened. */
import { useState, type ReactNode } from "react";
import type { RemoteSession } from "../../../client/connect.ts";
import { Link } from "../../link.tsx";
import { useReading } from "../../query-cache.ts";
import { count, plural } from "../../ui/amount.ts";
import { WhenRead } from "../../ui/load-error.tsx";
import { Said, brief } from "../../ui/untrusted-text.tsx";
import { sessionPath } from "../../route.ts";
import { useScope } from "../session/scope.ts";

type Stages = Awaited<ReturnType<RemoteSession["stages"]>>;
type Stage = Stages["stages"][number];

/** The tree as it is now; nothing without a compaction. */
export function ContextStages(): ReactNode {
  const { state } = useScope();
  if (state.transcript.compactions === 0) return null;
  return (
    <details className="context-stages">
      <summary>What compactions replaced</summary>
      <Level node={null} />
    </details>
  );
}

/** The parts of one node; of the newest compaction without one. */
function Level({ node }: { readonly node: string | null }): ReactNode {
  const { id, session, state } = useScope();
  const key = `stages/${id}/${state.transcript.compactions}/${node ?? ""}`;
  const read = useReading(key, () => (node === null ? session.stages() : session.stages(node)));
  return (
    <WhenRead of={read}>
      {({ stages, missing }) => (
        <>
          {stages.length === 0 ? <p className="small faint">No parts were kept.</p> : null}
          <ul className="context-tree">
            {stages.map((stage) => (
              <Node key={stage.id} stage={stage} />
            ))}
          </ul>
          {missing.length === 0 ? null : (
            <p className="small soft">
              Not in the summary, nor an item: {missing.map(({ text }) => brief(text, 80)).join(" · ")}
            </p>
          )}
        </>
      )}
    </WhenRead>
  );
}

function Node({ stage }: { readonly stage: Stage }): ReactNode {
  const { id } = useScope();
  const [isOpen, setOpen] = useState(false);
  const { fromSeq, toSeq, title, summary, parts } = stage;
  const hasParts = parts !== 0;
  return (
    <li>
      <div className="row">
        <button
          type="button"
          className="button"
          data-kind="quiet"
          data-size="small"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          dir="auto"
        >
          {brief(title, 100)}
        </button>
        <Link className="small" to={sessionPath(id, "log", { seq: fromSeq })}>
          {count(fromSeq)}–{count(toSeq)}
        </Link>
        {parts === null || parts === 0 ? null : <span className="small faint">{plural(parts, "part")}</span>}
      </div>
      {isOpen ? (
        <div className="context-node">
          <Said as="p" text={summary} chars={2_000} />
          {hasParts ? <Level node={stage.id} /> : null}
        </div>
      ) : null}
    </li>
  );
}
