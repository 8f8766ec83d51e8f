/** The preview of a merge: incoming changes, conflicts, and the summary for the session. */
import type { ReactNode } from "react";
import { wayOut, mayIn } from "../../../protocol/library.ts";
import { Link } from "../../link.tsx";
import { Empty, WhenRead } from "../../ui/load-error.tsx";
import { useReading } from "../../query-cache.ts";
import { sessionPath } from "../../route.ts";
import { sessionOf } from "../../server.ts";
import { useScope } from "../session/scope.ts";
import type { MergePlan } from "./conflict-answer.ts";
import { Choose } from "../family/choose.tsx";
import { Conflicts } from "./conflicts.tsx";
import { Incoming } from "./incoming.tsx";
import { MergeBar, MergeSummary } from "./merge-end.tsx";
import { useMergeDraft } from "./merge-draft.ts";
import { titlesAmong, type TitledSession } from "../family/relative.ts";
import "../family/family.css";

export function Merge({ params }: { readonly params: URLSearchParams }): ReactNode {
  const { id } = useScope();
  const from = params.get("from");
  if (from === null || from === "")
    return <Choose title="Merge from" toward={(session) => sessionPath(id, "merge", { from: session })} />;
  return <Planned key={from} from={from} />;
}

function Planned({ from }: { readonly from: string }): ReactNode {
  const { id, session } = useScope();
  const read = useReading(`session/${id}/merge/${from}`, async () => {
    const other = await sessionOf(from);
    const plan = await session.merge({ from: other.id, dryRun: true });
    return { plan, other: await other.state() };
  });
  return <WhenRead of={read}>{({ plan, other }) => <Shown plan={plan} other={other} />}</WhenRead>;
}

interface ShownProps {
  readonly plan: MergePlan;
  readonly other: TitledSession;
}

function Shown({ plan, other }: ShownProps): ReactNode {
  const { id, state } = useScope();
  const draft = useMergeDraft(id, plan.from);
  const titleOf = titlesAmong([state, other]);
  const [ours, theirs] = [titleOf(state), titleOf(other)];
  const isTaking = mayIn(state.status, "write");
  if (plan.range === null)
    return (
      <Empty title="Nothing to merge">
        <p>
          “{ours}” already has everything of “{theirs}”.
        </p>
        <Link to={sessionPath(id, "compare", { with: plan.from })}>Compare</Link>
      </Empty>
    );
  return (
    <div className="family merge">
      <header className="merge-top">
        <h2>
          Merge “
          <Link to={sessionPath(plan.from)} dir="auto">
            {theirs}
          </Link>
          ” into “<bdi>{ours}</bdi>”
        </h2>
        <p className="soft">
          Positions {plan.range.fromSeq} to {plan.range.toSeq}
          {plan.base === null ? "; no common history" : `, compared with position ${plan.base.seq}`}. Nothing
          changes until you merge. <Link to={sessionPath(id, "compare", { with: plan.from })}>Compare</Link>
        </p>
      </header>
      {isTaking ? null : (
        <p className="trouble" role="alert">
          Cannot merge into this session: {wayOut[state.status]}.
        </p>
      )}
      {plan.conflicts.length === 0 ? null : (
        <Conflicts conflicts={plan.conflicts} draft={draft} ours={ours} theirs={theirs} />
      )}
      <Incoming plan={plan} />
      <MergeSummary plan={plan} draft={draft} ours={ours} />
      <MergeBar plan={plan} draft={draft} isTaking={isTaking} theirs={theirs} />
    </div>
  );
}
